"""`adeq change ls`: changes of a state, an author, a reviewer, a resource, a team or a tag."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change_asking import Domain, existing_changes, pages
from pyadeq.ext.cli.change_words import STYLES, brief, risk_of, text_of, title_of, with_iso
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_lines
from pyadeq.ext.cli.tables import print_rows
from pyadeq.keys import check_name

COLUMNS = ("change", "state", "rev", "risk", "score", "age", "author", "title")
PAGE = 100


class StateName(StrEnum):
    """The states of a change, those first in which somebody has to do something."""

    reviewing = "reviewing"
    submitted = "submitted"
    approved = "approved"
    applying = "applying"
    draft = "draft"
    failed = "failed"
    rejected = "rejected"
    completed = "completed"
    cancelled = "cancelled"


def ls(
    state: Annotated[StateName | None, typer.Option(case_sensitive=False, help="Only changes in this state.")] = None,
    author: Annotated[str | None, typer.Option(metavar="ID", help="Only changes of this author.")] = None,
    reviewer: Annotated[
        str | None, typer.Option(metavar="WHO", help="Only changes with a request to user:ID or group:NAME.")
    ] = None,
    resource: Annotated[str | None, typer.Option(metavar="TYPE:ID", help="Only changes to this resource.")] = None,
    team: Annotated[str | None, typer.Option(metavar="NAME", help="Only changes of this team.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="NAME", help="Only changes with this tag.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="List at most this many.")] = 100,
    all: Annotated[bool, typer.Option("--all", help="No limit.")] = False,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List changes, the newest first: all of the domain, state by state, or those that match.

    --state goes with one of the other conditions. OVERDUE is a review whose time is over.
    """
    given = {"author": author, "reviewer": reviewer, "resource": resource, "team": team, "tag": tag}
    wanted = {name: check_name(f"--{name}", value, "label") for name, value in given.items() if value is not None}
    if len(wanted) > 1:
        raise ConfigError(f"{' and '.join(f'--{name}' for name in wanted)}: give one of them, if need be with --state")
    if reviewer is not None:
        check_reviewer("--reviewer", reviewer)
    with connected(url) as adeq:
        _print(_find(adeq, existing_changes(adeq, domain), state, wanted), output, None if all else limit)


def check_reviewer(option: str, text: str) -> str:
    """A reviewer, `user:<id>` or `group:<name>`. ConfigError for anything else."""
    kind, _, name = text.partition(":")
    if kind not in ("user", "group") or not name:
        raise ConfigError(f"{option}: {text!r} is not accepted; allowed: user:ID for a person, group:NAME for a group")
    return check_name(option, text, "label")


def _find(adeq: Adeq, changes: Any, state: StateName | None, wanted: dict[str, str]) -> Iterator[tuple[Any, float]]:
    """Entries, each with the domain's time when it was read."""
    lists = list(wanted.items()) or [("state", one.value) for one in ([state] if state else StateName)]
    for by, value in lists:
        for page in pages(adeq, changes, "list", by=by, value=value, limit=PAGE):
            yield from ((one, page.now) for one in page.items if state in (None, one.state))


def _print(entries: Iterator[tuple[Any, float]], output: Format, limit: int | None) -> None:
    shown = entries if limit is None else islice(entries, limit)
    if output != Format.table:
        print_lines((_as_json(entry) for entry, _ in shown), output)
        return
    rows = (_row(entry, now) for entry, now in shown)
    print_rows(COLUMNS, rows, right=["rev", "score", "age"], spare=["score", "author", "age"], styles=STYLES)
    if limit is not None and next(entries, None) is not None:
        print(f"\nThere are more than {limit:,}: --limit N, or --all", file=sys.stderr)


def _as_json(entry: Any) -> dict[str, Any]:
    about = {"id": entry.id, "state": entry.state, "rev": entry.rev, "overdue": bool(entry.overdue)}
    return {**about, **with_iso(entry.summary)}


def _row(entry: Any, now: float) -> tuple[str, ...]:
    summary = entry.summary
    return (
        entry.id,
        "OVERDUE" if entry.overdue else entry.state.upper(),
        str(entry.rev),
        risk_of(summary),
        text_of(summary["risk_score"]),
        brief(now - summary["created"]),
        summary["author"],
        title_of(summary["description"]),
    )

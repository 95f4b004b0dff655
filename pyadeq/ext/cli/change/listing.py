"""`adeq change ls`: changes of a state, an author, a reviewer, a resource, a team or a tag."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.asking import Domain, existing_changes, pages
from pyadeq.ext.cli.change.words import STYLES, brief, risk_of, text_of, title_of, with_iso
from pyadeq.ext.cli.shared.arguments import Most
from pyadeq.ext.cli.shared.running import Lines, with_client
from pyadeq.keys import check_name

COLUMNS = ("change", "state", "rev", "risk", "score", "age", "author", "title")
PAGE = 100

StateName = StrEnum(
    "StateName",
    ["reviewing", "submitted", "approved", "applying", "draft", "failed", "rejected", "completed", "cancelled"],
)
"""The states of a change, those first in which somebody has to do something."""


@with_client
def ls(
    adeq: Adeq,
    state: Annotated[StateName | None, typer.Option(case_sensitive=False, help="Only changes in this state.")] = None,
    author: Annotated[str | None, typer.Option(metavar="ID", help="Only changes of this author.")] = None,
    reviewer: Annotated[
        str | None, typer.Option(metavar="WHO", help="Only changes with a request to user:ID or group:NAME.")
    ] = None,
    resource: Annotated[str | None, typer.Option(metavar="TYPE:ID", help="Only changes to this resource.")] = None,
    team: Annotated[str | None, typer.Option(metavar="NAME", help="Only changes of this team.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="NAME", help="Only changes with this tag.")] = None,
    most: Most = None,
    domain: Domain = "default",
) -> Lines:
    """List changes, the newest first: all of the domain, state by state, or those that match.

    --state goes with one of the other conditions. OVERDUE is a review whose time is over.
    """
    given = {"author": author, "reviewer": reviewer, "resource": resource, "team": team, "tag": tag}
    wanted = {name: check_name(f"--{name}", value, "label") for name, value in given.items() if value is not None}
    if len(wanted) > 1:
        raise ConfigError(f"{' and '.join(f'--{name}' for name in wanted)}: give one of them, if need be with --state")
    if reviewer is not None:
        check_reviewer("--reviewer", reviewer)
    return Lines(
        _find(adeq, existing_changes(adeq, domain), state, wanted),
        COLUMNS,
        lambda read: _row(*read),
        lambda read: _as_json(read[0]),
        right=["rev", "score", "age"],
        spare=["score", "author", "age"],
        styles=STYLES,
        limit=most,
    )


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

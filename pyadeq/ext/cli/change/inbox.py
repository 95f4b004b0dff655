"""`adeq inbox`: what waits for a reviewer, the most urgent first."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from pyadeq import Adeq
from pyadeq.ext.cli.change.asking import ThisDomain, pages
from pyadeq.ext.cli.change.who import YOU, Actor, GroupsOf, Principal, actor_of
from pyadeq.ext.cli.change.words import STYLES, brief, risk_of, text_of, title_of, with_iso
from pyadeq.ext.cli.shared.arguments import Most, many, time_option
from pyadeq.ext.cli.shared.common import PLACE, Format, Output
from pyadeq.ext.cli.shared.live import again, watched
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT
from pyadeq.ext.cli.shared.running import Answer, Document, Lines, with_client
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.shared.columns import columns
from pyadeq.keys import check_name

COLUMNS = ("change", "priority", "age", "due", "risk", "title", "score", "rev", "type", "author")
RIGHT = ("age", "due", "score", "rev")
WIDE = 4  # columns that only -o wide has
SHORTEST = 0.1  # seconds between two looks


@with_client
def inbox(
    adeq: Adeq,
    user: Annotated[
        str | None, typer.Argument(metavar="[USER]", help="Whose. [default: the one of --as, or your user name]")
    ] = None,
    groups: GroupsOf = YOU,
    actor: Actor = None,
    principal: Principal = None,
    most: Most = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again when it changes. Ctrl-C ends it.")] = False,
    interval: Annotated[float, time_option("With --watch: time between two reads.")] = "2",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("With --watch: end after this time.", "--for")] = None,
    domain: ThisDomain = DEFAULT,
    output: Output = Format.table,
) -> Answer:
    """List the changes that wait for an answer of a user, and of its groups, the most urgent first.

    It leaves out what the user cannot answer: changes that the user has written, or has answered. `age` is the time
    since the submit, `due` the end of the review. Read one with adeq change show, then answer with adeq change
    approve, reject or request-changes.
    """
    name = actor_of(actor) if user is None else check_name("user", user, "label")
    asked = {"user": name, "principal": principal or None, "groups": groups}
    if watch:
        looks = again(lambda: _read(adeq, domain, asked, most), max(interval, SHORTEST), seconds)
        return watched(
            looks,
            output,
            lambda look: _picture(asked, *look),
            lambda look: _line(asked, look[0]),
            lambda look: [_as_json(one) for one in look[0]],
        )
    found, now, more = _read(adeq, domain, asked, most)
    if output != Format.table:
        return Lines(map(_as_json, found), ())
    if not found:
        return Document(None, _nothing(asked))
    print_rows(_columns(), _rows(found, now), right=RIGHT, styles=STYLES)
    return Document(None, [], note="There are more: --limit N, or --all" if more else "")


def _read(adeq: Adeq, changes: Any, asked: dict[str, Any], limit: int | None) -> tuple[list[Any], float, bool]:
    """The first entries, the domain's time, and whether there are more."""
    found: list[Any] = []
    now = 0.0
    for page in pages(adeq, changes, "inbox", **asked, limit=100):
        found += page.items
        now = page.now
        if limit is not None and len(found) > limit:
            return found[:limit], now, True
    return found, now, False


def _nothing(asked: dict[str, Any]) -> str:
    if not asked["groups"]:
        return f"Nothing waits for {asked['user']}. If you answer for a group, add --group NAME."
    return f"Nothing waits for {asked['user']} and {many(len(asked['groups']), 'group')}."


def _as_json(entry: Any) -> dict[str, Any]:
    about = {"id": entry.id, "slot": entry.slot, "rev": entry.rev, "digest": entry.digest, "due": entry.due}
    return with_iso({**about, **entry.summary})


def _columns() -> tuple[str, ...]:
    return COLUMNS if PLACE.wide else COLUMNS[:-WIDE]


def _rows(found: list[Any], now: float) -> list[tuple[str, ...]]:
    """A row for each change: a person answers once, whether asked alone or in a group."""
    first: dict[str, Any] = {}
    for one in found:
        first.setdefault(one.id, one)
    rows = (_row(one, now) for one in first.values())
    return [row if PLACE.wide else row[:-WIDE] for row in rows]


def _row(entry: Any, now: float) -> tuple[str, ...]:
    summary = entry.summary
    return (
        entry.id,
        text_of(summary["review_priority"]).upper(),
        brief(now - summary["submitted"]),
        brief(entry.due - now),
        risk_of(summary),
        title_of(summary["description"]),
        text_of(summary["risk_score"]),
        str(entry.rev),
        summary["type"],
        summary["author"],
    )


# Live


def _line(asked: dict[str, Any], found: list[Any]) -> str:
    if not found:
        return _nothing(asked)
    ids = dict.fromkeys(one.id for one in found)
    return f"{many(len(ids), 'change')} for {asked['user']}: {' '.join(ids)}"


def _picture(asked: dict[str, Any], found: list[Any], now: float, more: bool) -> RenderableType:
    end = Text("\nThere are more: --limit N, or --all" if more else "\nCtrl-C ends it", style="dim")
    if not found:
        return Group(Text(_nothing(asked)), end)
    rows = [[Text(cell, STYLES.get(cell.lower(), "")) for cell in row] for row in _rows(found, now)]
    return Group(columns(_columns(), rows, right=RIGHT), end)

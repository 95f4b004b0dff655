"""What `adeq migrate` prints of a migration."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.shared.arguments import many
from pyadeq.ext.cli.shared.common import FAILED, Format, print_json
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.shared.terminal import safe

if TYPE_CHECKING:
    from pyadeq.ext.move.migrate import Mirrored, Moved, Place, Reasons

SHOWN_IDS = 3
NOTHING = "no migration has begun, or the last one was cleaned up; see adeq migrate plan"


def hint_of(source: str, key_prefix: str) -> str:
    """What to try if nothing was found, "" if nothing: with another prefix, it is another source."""
    prefixed = source in ("celery", "bullmq") and not key_prefix
    return "if the old keys have a prefix, add --key-prefix" if prefixed else ""


def check_begun(begun: bool, source: str, key_prefix: str) -> None:
    """Raise AdeqError if no migration of this source has begun."""
    if not begun:
        raise AdeqError("; ".join(filter(None, [NOTHING, hint_of(source, key_prefix)])))


def row_of(place: Place, to: str) -> dict[str, Any]:
    """The first columns of a place."""
    return {"queue": place.queue, "priority": place.priority if place.priority is not None else "each", "to": to}


def print_table(rows: list[dict[str, Any]], nothing: str) -> None:
    """Print rows, or a line if there are none."""
    if not rows:
        print(nothing)
        return
    heads = list(rows[0])
    cells = [[safe(f"{value:,}" if isinstance(value, int) else value) for value in row.values()] for row in rows]
    print_rows(heads, cells, right=[head for head in heads if head not in ("queue", "to", "state")])


def print_left(left: Reasons, what: str) -> None:
    """Print how many messages were left, by the reason."""
    for one in left.as_json():
        more = ", …" if one["count"] > SHOWN_IDS else ""
        ids = f" ({', '.join(one['ids'][:SHOWN_IDS])}{more})" if one["ids"] else ""
        print(safe(f"{one['count']:,} {what}: {one['why']}{ids}"))


def print_moved(done: Moved, name: str, output: Format) -> None:
    """Print what a move did."""
    if output != Format.table:
        reasons = {"left": done.left.as_json(), "delivered": done.delivered.as_json()}
        print_json({**asdict(done), **reasons, "source": name}, output)
        return
    speed = f", {done.moved / done.seconds:,.0f}/s" if done.moved >= 1000 else ""
    print(f"{many(done.moved, 'task')} moved in {done.seconds:.1f} s{speed}")
    if done.again:
        print(f"{many(done.again, 'message')} of tasks that had moved before: the old system had delivered them again")
    print_left(done.delivered, "to look at")
    print_left(done.left, "left")


def print_mirrored(found: Mirrored, name: str, output: Format) -> None:
    """Print what a mirror or a shadow found."""
    if output != Format.table:
        print_json({**asdict(found), "differences": found.differences.as_json(), "source": name}, output)
        return
    print(f"{many(found.equal + found.copied, 'task')} with a copy, {found.copied:,} of them copied now")
    if found.ended:
        print(f"{found.ended:,} copies of tasks that no longer wait on the old server")
    print_left(found.differences, "different")


def check_unsure(count: int, choice: str) -> None:
    """Exit with 1 if messages may have been moved before, and say how to go on."""
    if count:
        typer.echo(
            f"{many(count, 'message')} may have been moved before, and pyadeq does not know their tasks: a command was "
            "killed too long ago to be sure, or a server has lost them; look for what they have done, then repeat with "
            f"--unsure {choice} or --unsure done",
            err=True,
        )
        raise typer.Exit(FAILED)


def print_others(others: dict[str, int]) -> None:
    """Print which tasks are only counted."""
    for what, count in others.items():
        if count:
            print(f"{many(count, 'task')} {what}: not moved")

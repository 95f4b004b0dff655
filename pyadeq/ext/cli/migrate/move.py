"""`adeq migrate plan|move|status|rollback|cleanup`: waiting tasks of any source move into pyadeq, and back."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.migrate.report import (
    NOTHING,
    check_begun,
    check_unsure,
    hint_of,
    print_left,
    print_moved,
    print_others,
    print_table,
    row_of,
)
from pyadeq.ext.cli.migrate.source import (
    From,
    KeyPrefix,
    Old,
    Queues,
    TasksPaths,
    Trust,
    UnsureOption,
    opened,
    reader_of,
)
from pyadeq.ext.cli.shared.arguments import many
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, print_json
from pyadeq.ext.shared.terminal import safe


class UnsureBackChoice(StrEnum):
    """The choices for messages whose state a rollback does not know: put them back, or count them as done."""

    back = "back"
    done = "done"


def plan(
    source: From,
    old: Old,
    queue: Queues = None,
    tasks: TasksPaths = None,
    key_prefix: KeyPrefix = "",
    trust_pickle: Trust = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show what would move, and what cannot move and why. Nothing is written."""
    with opened(old, reader_of(source, tasks, key_prefix, trust_pickle), queue, url, "Reading") as migration:
        found = migration.plan()
    rows = [
        row_of(one.place, one.to)
        | {"state": one.place.state, "moves": one.moves, "delayed": one.delayed, "left": one.left}
        for one in found.places
    ]
    if output != Format.table:
        about = {"source": migration.name, **found.others, "queues": rows, "empty": found.empty}
        print_json({**about, "left": found.left.as_json(), "digest": found.digest}, output)
        return
    if rows or not found.empty:
        print_table(rows, "; ".join(filter(None, ["no task is waiting", hint_of(source, key_prefix)])))
    if found.empty:
        elsewhere = f"tasks wait in {', '.join(found.elsewhere)}" if found.elsewhere else "nor in another queue"
        print(safe(f"no task is waiting in {', '.join(found.empty)}; {elsewhere}"))
    print_left(found.left, "would be left")
    print_others(found.others)


def move(
    source: From,
    old: Old,
    queue: Queues = None,
    tasks: TasksPaths = None,
    key_prefix: KeyPrefix = "",
    trust_pickle: Trust = False,
    unsure: UnsureOption = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Move all waiting tasks. The command may be killed and repeated at any time; no task is created twice.

    Let producers enqueue into pyadeq first. Old workers may run meanwhile. What cannot be moved is put back, and the
    old workers run it. The old server keeps every moved message until `adeq migrate cleanup`.
    """
    with opened(old, reader_of(source, tasks, key_prefix, trust_pickle), queue, url, "Moving") as migration:
        done = migration.move(unsure=unsure.value if unsure else None)
    print_moved(done, migration.name, output)
    check_unsure(done.unsure, "enqueue")


def status(
    source: From,
    old: Old,
    key_prefix: KeyPrefix = "",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show how far a migration is: what waits on the old server, and the messages that it keeps."""
    from pyadeq.ext.move.migrate import IN_PROGRESS, State

    with opened(old, reader_of(source, None, key_prefix), None, url, "Reading") as migration:
        found = migration.status()
    if found is None:
        if output != Format.table:
            print_json({"source": migration.name, "queues": []}, output)
        else:
            print(*filter(None, [NOTHING, hint_of(source, key_prefix)]), sep="\n")
        return
    rows = [
        {
            **row_of(place, to),
            "waiting": waiting,
            "moved": counts[State.moved] + counts[State.again],
            "left": min(counts[State.kept], waiting),  # old workers may have run some since
            "in progress": sum(counts[state] for state in IN_PROGRESS),
            "unsure": counts[State.unsure],
            "put back": counts[State.back],
            "stayed": counts[State.done],
        }
        for place, to, waiting, counts in found.places
    ]
    if output != Format.table:
        about = {"source": migration.name, "to": found.to, "phase": found.phase or "move"}
        print_json({**about, **found.others, "queues": rows}, output)
        return
    if found.phase not in ("", "back"):
        print(f"phase: {found.phase}")
    print_table(rows, NOTHING)
    print_others(found.others)
    if found.phase == "rollback":
        print("\nA rollback has begun. Finish it: adeq migrate rollback")
    elif sum(row["in progress"] for row in rows):
        print("\nA command runs, or was killed. Then repeat it: nothing is created twice.")


def rollback(
    source: From,
    old: Old,
    key_prefix: KeyPrefix = "",
    unsure: Annotated[
        UnsureBackChoice | None,
        typer.Option(
            "--unsure",
            help="Messages that may have been moved before, while pyadeq does not know their tasks: put them back, or "
            "count them as done.",
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Put all moved tasks that have not begun back into their lists, in the old order.

    The queues of pyadeq are paused meanwhile. Tasks that have begun stay there, and are reported. The command may be
    killed and repeated at any time.
    """
    with opened(old, reader_of(source, None, key_prefix), None, url, "Putting back") as migration:
        begun = migration.status() is not None
        done = migration.rollback(unsure=unsure.value if unsure else None)
    if output != Format.table:
        print_json({**asdict(done), "stayed": done.stayed.as_json(), "source": migration.name}, output)
    elif begun:
        print(f"{many(done.back, 'message')} put back")
        print_left(done.stayed, "stayed in pyadeq")
    check_begun(begun, source, key_prefix)
    check_unsure(done.unsure, "back")


def cleanup(
    source: From,
    old: Old,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Do not ask: the name of the source, as status shows it."),
    ] = None,
    key_prefix: KeyPrefix = "",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Delete the messages that the old server keeps. After that there is no rollback."""
    with opened(old, reader_of(source, None, key_prefix), None, url, "Deleting") as migration:
        begun = migration.status() is not None
        if name is None and begun:
            if not sys.stdin.isatty():
                raise ConfigError(f"this deletes all moved messages for good; to say so, add --name {migration.name!r}")
            name = typer.prompt(f"This deletes all moved messages for good. Type the name {migration.name!r}", err=True)
        if name is not None and name != migration.name:
            raise ConfigError(f"--name: {name!r} is not accepted; the name is {migration.name!r}; nothing was deleted")
        count = migration.cleanup()
    if output != Format.table:
        print_json({"source": migration.name, "deleted": count}, output)
    elif begun:
        print(f"{many(count, 'message')} deleted")
    check_begun(begun, source, key_prefix)

"""`adeq migrate mirror|shadow|cutover`: tasks of an older layout are copied, compared, and moved."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.migrate.report import check_unsure, print_left, print_mirrored, print_moved
from pyadeq.ext.cli.migrate.source import Old, OldLayout, Queues, SourceName, UnsureOption, opened, reader_of
from pyadeq.ext.cli.shared.arguments import many
from pyadeq.ext.cli.shared.common import DEFAULT_URL, FAILED, Format, Output, Url, print_json

if TYPE_CHECKING:
    from pyadeq.ext.move.migrate import Migration

ShadowName = StrEnum("ShadowName", ["stream", "lists", "locks"])
"""What can be compared."""


Follow = Annotated[bool, typer.Option("--follow", help="Repeat it each second, until you interrupt it.")]


def mirror(
    source: OldLayout,
    old: Old,
    queue: Queues = None,
    follow: Follow = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Copy all waiting tasks into paused queues, where no worker takes them. Old workers go on.

    From now on producers with a writer of pyadeq write both. The command may be killed and repeated at any time: it
    copies what has come since, and deletes the copies of tasks that no longer wait.
    """
    with opened(old, reader_of(SourceName(source), None, ""), queue, url, "Copying") as migration:
        for first in _rounds(follow):
            found = migration.mirror()
            if first or found.copied or found.ended:
                print_mirrored(found, migration.name, output)


def shadow(
    source: Annotated[ShadowName, typer.Argument(metavar="SOURCE", help="The old layout: stream, lists or locks.")],
    old: Old,
    queue: Queues = None,
    domain: Annotated[str, typer.Option("--domain", metavar="NAME", help="The lock domain, for locks.")] = "default",
    key_prefix: Annotated[
        str, typer.Option("--key-prefix", metavar="TEXT", help="Of the old keys of locks.")
    ] = "lock:",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Compare all waiting tasks with their copies, or all locks, and report each difference.

    The status is 1 if a task has no equal copy, or a lock is held in the old layout alone.
    """
    name = ShadowName.stream if source == ShadowName.locks else source
    with opened(old, reader_of(SourceName(name), None, ""), queue, url, "Comparing") as migration:
        if source == ShadowName.locks:
            differs = _compare_locks(migration, domain, key_prefix, output)
        else:
            found = migration.shadow()
            print_mirrored(found, migration.name, output)
            differs = bool(found.differences.counts)
    if differs:
        raise typer.Exit(FAILED)


def cutover(
    source: OldLayout,
    old: Old,
    queue: Queues = None,
    unsure: UnsureOption = None,
    follow: Follow = False,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish-failures", help="Publish moved tasks that are dead where the old workers did (stream)."
        ),
    ] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let producers write to pyadeq alone, move all waiting tasks, and delete the copies.

    With --follow it goes on to move what other programs write in the old layout. The command may be killed and
    repeated at any time; no task is created twice.
    """
    from pyadeq.ext.move.migrate.stream import publish_failures

    name = SourceName(source)
    if publish and name != SourceName.stream:
        raise ConfigError("--publish-failures: it is an option for stream")
    with opened(old, reader_of(name, None, ""), queue, url, "Moving") as migration:
        for first in _rounds(follow):
            done = migration.cutover(unsure=unsure.value if unsure else None)
            if first or done.moved:
                print_moved(done, migration.name, output)
            for to in migration.queues() if publish else ():
                publish_failures(migration.adeq, migration.source.client, to)
            check_unsure(done.unsure, "enqueue")


def _compare_locks(migration: Migration, domain: str, prefix: str, output: Format) -> bool:
    """Print which locks are held where. Returns whether any is held in the old layout alone."""
    from pyadeq.ext.move.migrate import LockBridge

    found = LockBridge(migration.adeq, migration.source.client, domain=domain, prefix=prefix).compare()
    if output != Format.table:
        print_json({"both": found.both, "old": found.old.as_json(), "new": found.new.as_json()}, output)
    else:
        print(f"{many(found.both, 'lock')} held in both")
        print_left(found.old, "held")
        print_left(found.new, "held")
    return bool(found.old.counts)


def _rounds(follow: bool) -> Iterator[bool]:
    """Yield True, and then again and again False each second until the process is interrupted."""
    yield True
    while follow:
        sleep(1)
        yield False

"""What is done to a whole queue: `adeq queue pause, resume, drain, purge, trim`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import Yes, confirm, many
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.resolve import AnyQueue, parts
from pyadeq.ext.cli.shared.running import Document, with_client

if TYPE_CHECKING:
    from pyadeq import Queue

MODES = {
    "paused": "is paused: it accepts tasks, and workers get none. `adeq queue resume` ends this",
    "draining": "is draining: it refuses new tasks, and workers finish the others. `adeq queue resume` ends this",
    "running": "is running",
}


@with_client
def pause(queue: ThisQueue) -> Document:
    """Stop leasing tasks until `resume`. New tasks are accepted, and running tasks continue."""
    queue.admin.pause()
    return _mode(queue)


@with_client
def resume(queue: ThisQueue) -> Document:
    """End `pause` or `drain`."""
    queue.admin.resume()
    return _mode(queue)


@with_client
def drain(queue: ThisQueue) -> Document:
    """Accept no new tasks until `resume`: producers get an error. Existing tasks run to their end."""
    queue.admin.drain()
    return _mode(queue)


def _mode(queue: AnyQueue) -> Document:
    stats = queue.stats()
    return Document(
        {"queue": queue.name, "mode": stats.mode, "pending": stats.pending, "running": stats.running},
        f"queue {queue.name} {MODES[stats.mode]} ({stats.pending:,} waiting, {stats.running:,} running)",
    )


@with_client
def purge(
    queue: ThisQueue,
    all: Annotated[bool, typer.Option("--all", help="Also finished and dead tasks.")] = False,
    lane: Annotated[str | None, typer.Option(metavar="LANE", help="Only ready tasks of this lane.")] = None,
    yes: Yes = False,
) -> Document:
    """Delete the waiting tasks: ready, delayed and blocked ones. Running tasks stay."""
    queues = parts(queue)
    there = sum(_there(one, all, lane) for one in queues)
    if there:
        which = "waiting, finished and dead tasks" if all else "waiting tasks"
        which = which if lane is None else f"ready tasks of lane {lane!r}"
        confirm(f"This deletes for good all {which} of queue {queue.name!r}: {there:,}.", yes)
    with Bar("Purging", there, "tasks") as bar:
        deleted = 0
        for one in queues:
            deleted += one.admin.purge(all=all, lane=lane, progress=partial(_advance, bar, deleted))
    return _deleted(queue, deleted)


def _advance(bar: Bar, before: int, count: int) -> None:
    bar.update(before + count)


def _there(queue: Queue, all: bool, lane: str | None) -> int:
    """How many tasks there are to be purged."""
    if lane is not None:
        if all:
            raise ConfigError("--all: with --lane, only the ready tasks of the lane are deleted; leave one of them out")
        return queue.inspect.length([lane])[0]
    stats = queue.stats()
    return stats.pending + (stats.finished + stats.dead if all else 0)


@with_client
def trim(queue: ThisQueue) -> Document:
    """Delete finished and dead tasks that the settings no longer keep, now. Workers also do this by themselves."""
    return _deleted(queue, sum(one.admin.trim() for one in parts(queue)))


def _deleted(queue: AnyQueue, count: int) -> Document:
    return Document({"queue": queue.name, "deleted": count}, f"{many(count, 'task')} deleted")

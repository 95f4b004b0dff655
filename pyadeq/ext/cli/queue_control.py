"""What is done to a whole queue: `adeq queue pause, resume, drain, purge, trim`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from pyadeq import Queue, QueueStats
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import Yes, confirm, many
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.progress import Bar
from pyadeq.ext.cli.queue_arguments import QueueName
from pyadeq.ext.cli.resolve import existing_queue, parts

MODES = {
    "paused": "is paused: it accepts tasks, and workers get none. `adeq queue resume` ends this",
    "draining": "is draining: it refuses new tasks, and workers finish the others. `adeq queue resume` ends this",
    "running": "is running",
}


def pause(name: QueueName, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Stop leasing tasks until `resume`. New tasks are accepted, and running tasks continue."""
    with connected(url) as adeq:
        queue = existing_queue(adeq, name)
        queue.pause()
        _answer_mode(name, queue.stats(), output)


def resume(name: QueueName, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """End `pause` or `drain`."""
    with connected(url) as adeq:
        queue = existing_queue(adeq, name)
        queue.resume()
        _answer_mode(name, queue.stats(), output)


def drain(name: QueueName, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Accept no new tasks until `resume`: producers get an error. Existing tasks run to their end."""
    with connected(url) as adeq:
        queue = existing_queue(adeq, name)
        queue.drain()
        _answer_mode(name, queue.stats(), output)


def _answer_mode(name: str, stats: QueueStats, output: Format) -> None:
    if output != Format.table:
        print_json({"queue": name, "mode": stats.mode, "pending": stats.pending, "running": stats.running}, output)
    else:
        print(f"queue {name} {MODES[stats.mode]} ({stats.pending:,} waiting, {stats.running:,} running)")


def purge(
    name: QueueName,
    all: Annotated[bool, typer.Option("--all", help="Also finished and dead tasks.")] = False,
    lane: Annotated[str | None, typer.Option(metavar="LANE", help="Only ready tasks of this lane.")] = None,
    yes: Yes = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Delete the waiting tasks: ready, delayed and blocked ones. Running tasks stay."""
    with connected(url) as adeq:
        queues = parts(existing_queue(adeq, name))
        there = sum(_there(queue, all, lane) for queue in queues)
        if there:
            which = "waiting, finished and dead tasks" if all else "waiting tasks"
            which = which if lane is None else f"ready tasks of lane {lane!r}"
            confirm(f"This deletes for good all {which} of queue {name!r}: {there:,}.", yes)
        with Bar("Purging", there, "tasks") as bar:
            deleted = 0
            for queue in queues:
                deleted += queue.purge(all=all, lane=lane, progress=partial(_advance, bar, deleted))
    if output != Format.table:
        print_json({"queue": name, "deleted": deleted}, output)
    else:
        print(f"{many(deleted, 'task')} deleted")


def _advance(bar: Bar, before: int, count: int) -> None:
    bar.update(before + count)


def _there(queue: Queue, all: bool, lane: str | None) -> int:
    """How many tasks there are to be purged."""
    if lane is not None:
        if all:
            raise ConfigError("--all: with --lane, only the ready tasks of the lane are deleted; leave one of them out")
        return queue.length([lane])[0]
    stats = queue.stats()
    return stats.pending + (stats.finished + stats.dead if all else 0)


def trim(name: QueueName, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Delete finished and dead tasks that the settings no longer keep, now. Workers also do this by themselves."""
    with connected(url) as adeq:
        deleted = sum(queue.trim() for queue in parts(existing_queue(adeq, name)))
    if output != Format.table:
        print_json({"queue": name, "deleted": deleted}, output)
    else:
        print(f"{many(deleted, 'task')} deleted")

"""`adeq schedule pause|resume|rm`: schedules that fire no more, or again."""

from __future__ import annotations

from collections.abc import Iterable

from pyadeq.ext.cli.arguments import Yes, confirm, many
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, InQueue
from pyadeq.ext.cli.resolve import AnyQueue
from pyadeq.ext.cli.running import Document, each, with_client
from pyadeq.ext.cli.schedule_listing import Names

NAMED = 5  # schedules in a question


@with_client
def pause(names: Names, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Stop schedules until `resume`. Times in between are not made up for.

    Exits with 1 if a schedule does not exist.
    """
    return _answer(queue, names, map(queue.schedules.pause, names), "paused")


@with_client
def resume(names: Names, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """End `pause`: the next time is the first from now on. Exits with 1 if a schedule does not exist."""
    return _answer(queue, names, map(queue.schedules.resume, names), "resumed")


@with_client
def rm(names: Names, yes: Yes = False, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Delete schedules. Tasks that they have enqueued stay. Exits with 1 if a schedule does not exist."""
    if there := [name for name in names if queue.schedules.get(name)]:
        more = f" and {len(there) - NAMED:,} more" if len(there) > NAMED else ""
        which = f"{many(len(there), 'schedule')} of queue {queue.name!r} for good: {', '.join(there[:NAMED])}{more}"
        confirm(f"This deletes {which}.", yes)
    return _answer(queue, names, map(queue.schedules.remove, names), "removed")


def _answer(queue: AnyQueue, names: Iterable[str], statuses: Iterable[str], done: str) -> Document:
    """done: what it is called if it was done to a schedule."""
    rows = [
        {"schedule": name, "status": done if status == "done" else status}
        for name, status in zip(names, statuses, strict=True)
    ]
    return each({"queue": queue.name, "schedules": rows}, done, "unchanged")

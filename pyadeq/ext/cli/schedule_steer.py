"""`adeq schedule pause|resume|rm`: schedules that fire no more, or again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyadeq.ext.cli.arguments import Yes, confirm, many
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import AnySchedules, existing_queue
from pyadeq.ext.cli.schedule_listing import Names, answer_each, distinct

NAMED = 5  # schedules in a question


def pause(
    names: Names, queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table
) -> None:
    """Stop schedules until `resume`. Times in between are not made up for.

    Exits with 1 if a schedule does not exist.
    """
    _steer(queue, names, url, output, "paused", lambda schedules, name: schedules.pause(name))


def resume(
    names: Names, queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table
) -> None:
    """End `pause`: the next time is the first from now on. Exits with 1 if a schedule does not exist."""
    _steer(queue, names, url, output, "resumed", lambda schedules, name: schedules.resume(name))


def rm(
    names: Names,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Delete schedules. Tasks that they have enqueued stay. Exits with 1 if a schedule does not exist."""
    meant = distinct(names)
    with connected(url) as adeq:
        schedules = existing_queue(adeq, queue).schedules
        if there := [name for name in meant if schedules.get(name)]:
            more = f" and {len(there) - NAMED:,} more" if len(there) > NAMED else ""
            which = f"{many(len(there), 'schedule')} of queue {queue!r} for good: {', '.join(there[:NAMED])}{more}"
            confirm(f"This deletes {which}.", yes)
        statuses = [schedules.remove(name) for name in meant]
    _answer(queue, meant, statuses, "removed", output)


def _steer(
    queue: str, names: Sequence[str], url: str, output: Format, done: str, steer: Callable[[AnySchedules, str], str]
) -> None:
    """Do it to each; done: what that is called."""
    meant = distinct(names)
    with connected(url) as adeq:
        schedules = existing_queue(adeq, queue).schedules
        statuses = [steer(schedules, name) for name in meant]
    _answer(queue, meant, statuses, done, output)


def _answer(queue: str, names: Sequence[str], statuses: Sequence[str], done: str, output: Format) -> None:
    rows = [
        {"schedule": name, "status": done if status == "done" else status}
        for name, status in zip(names, statuses, strict=True)
    ]
    answer_each(queue, rows, (done, "unchanged"), output)

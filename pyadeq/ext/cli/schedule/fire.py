"""`adeq schedule trigger|backfill|fire`: tasks of schedules, enqueued from here."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.schedule.listing import Name, Names, firing_dict, local, local_and_ahead, read_one
from pyadeq.ext.cli.shared.arguments import many, moment
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, InQueue
from pyadeq.ext.cli.shared.resolve import AnySchedules
from pyadeq.ext.cli.shared.running import Document, Table, each, with_client
from pyadeq.ext.shared.terminal import safe

if TYPE_CHECKING:
    from pyadeq import Adeq, Firing

STATUSES = ("fired", "exists", "skipped")  # of a backfill, told even where there are none


@with_client
def trigger(names: Names, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Enqueue a task of each of these schedules now, in addition to their times, and print its id. Pauses are ignored.

    Exits with 1 if a schedule does not exist, or if one is `skipped`, because an earlier task has not ended and the
    overlap policy allows no other.
    """
    firings = [queue.schedules.trigger(name) for name in names]
    rows = [{"schedule": firing.schedule, "status": firing.status, "id": firing.id} for firing in firings]
    return each({"queue": queue.name, "schedules": rows}, "fired")


@with_client
def backfill(
    adeq: Adeq,
    name: Name,
    start: Annotated[float, typer.Option("--from", parser=moment, metavar="WHEN", help="The first time, inclusive.")],
    end: Annotated[
        float | None,
        typer.Option("--to", parser=moment, metavar="WHEN", help="The last time, inclusive. [default: now]"),
    ] = None,
    queue: InQueue = DEFAULT_QUEUE,
) -> Document:
    """Enqueue the task of a schedule for each of its past times. Times that have already fired get `exists`.

    Its overlap policy applies: with `skip`, all but the first are skipped unless their tasks end at once. If the
    command is broken off, repeat it: it does the rest.

    WHEN is an ISO 8601 time with a zone, or seconds since the epoch.
    """
    _, now = read_one(adeq, queue, name)
    end = now if end is None else end
    if end < start:
        raise ConfigError(f"--to: {iso(end)} is before --from, {iso(start)}; change one of them")
    firings = _backfill(queue.schedules, name, start, end)
    found = Counter[str](firing.status for firing in firings)
    counts = {status: found[status] for status in (*STATUSES, *(one for one in found if one not in STATUSES))}
    span = {"from": start, "to": end, "from_iso": iso(start), "to_iso": iso(end)}
    each_one = [firing_dict(firing) for firing in firings]
    listed = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    gone = AdeqError(f"schedule: {name!r} was deleted in the meantime; enqueued tasks stay")
    return Document(
        {"queue": queue.name, "schedule": name, **span, **counts, "firings": each_one},
        f"{name} has {many(len(firings), 'time')} from {local(start)} to {local(end)}: {listed}",
        failed=gone if found["not_found"] else False,
    )


def _backfill(schedules: AnySchedules, name: str, start: float, end: float) -> list[Firing]:
    """All of it; an error that interrupts it says how far it is."""
    done = total = 0
    with ExitStack() as shown:
        bar: Bar | None = None

        def progress(now_done: int, of: int) -> None:
            nonlocal bar, done, total
            done, total = now_done, of
            bar = bar or shown.enter_context(Bar("Backfilling", total, "times"))
            bar.update(done)

        try:
            return schedules.backfill(name, start, end, progress=progress)
        except (AdeqError, KeyboardInterrupt):
            if done:
                print(f"{done:,} of {many(total, 'time')} done; the same command does the rest", file=sys.stderr)
            raise


@with_client
def fire(queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Fire all due times now, once. For programs without workers, for instance from a crontab; workers fire by
    themselves.

    Exits with 1 if a schedule could not be fired; the others are still fired.
    """
    fired = queue.schedules.fire_due()
    firings, began = list(fired.firings), fired.now
    while fired.firings and fired.next is not None and fired.next <= began:  # one call fires a limited number
        fired = queue.schedules.fire_due()
        firings += (firing for firing in fired.firings if firing.status != "failed")
    next_iso = None if fired.next is None else iso(fired.next)
    when = "none is due later" if fired.next is None else f"next {local_and_ahead(fired.next, fired.now)}"
    table = Table(("schedule", "time", "status", "task"), map(_row, firings))
    failed = [firing for firing in firings if firing.status == "failed"]
    return Document(
        {
            "queue": queue.name,
            "firings": [firing_dict(firing) for firing in firings],
            "next": fired.next,
            "next_iso": next_iso,
        },
        [table, when] if firings else f"nothing is due; {when}",
        note="\n\n".join(f"{firing.schedule}: {safe(firing.error or '')}" for firing in failed),
        failed=bool(failed),
    )


def _row(firing: Firing) -> tuple[str, ...]:
    return firing.schedule, local(firing.at), firing.status, firing.id or ""

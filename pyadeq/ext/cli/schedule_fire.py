"""`adeq schedule trigger|backfill|fire`: tasks of schedules, enqueued from here."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from typing import Annotated

import typer

from pyadeq import Firing
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.arguments import many, moment
from pyadeq.ext.cli.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, iso, print_json, safe
from pyadeq.ext.cli.progress import Bar
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import AnySchedules, existing_queue
from pyadeq.ext.cli.schedule_listing import (
    Name,
    Names,
    answer_each,
    distinct,
    firing_dict,
    local,
    local_and_ahead,
    read_one,
)
from pyadeq.ext.cli.tables import print_rows

STATUSES = ("fired", "exists", "skipped")  # of a backfill, told even where there are none


def trigger(
    names: Names, queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table
) -> None:
    """Enqueue a task of each of these schedules now, in addition to their times, and print its id. Pauses are ignored.

    Exits with 1 if a schedule does not exist, or if one is `skipped`, because an earlier task has not ended and the
    overlap policy allows no other.
    """
    meant = distinct(names)
    with connected(url) as adeq:
        schedules = existing_queue(adeq, queue).schedules
        firings = [schedules.trigger(name) for name in meant]
    rows = [{"schedule": firing.schedule, "status": firing.status, "id": firing.id} for firing in firings]
    answer_each(queue, rows, ("fired",), output)


def backfill(
    name: Name,
    start: Annotated[float, typer.Option("--from", parser=moment, metavar="WHEN", help="The first time, inclusive.")],
    end: Annotated[
        float | None,
        typer.Option("--to", parser=moment, metavar="WHEN", help="The last time, inclusive. [default: now]"),
    ] = None,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Enqueue the task of a schedule for each of its past times. Times that have already fired get `exists`.

    Its overlap policy applies: with `skip`, all but the first are skipped unless their tasks end at once. If the
    command is broken off, repeat it: it does the rest.

    WHEN is an ISO 8601 time with a zone, or seconds since the epoch.
    """
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        _, now = read_one(adeq, there, name)
        end = now if end is None else end
        if end < start:
            raise ConfigError(f"--to: {iso(end)} is before --from, {iso(start)}; change one of them")
        firings = _backfill(there.schedules, name, start, end)
    found = Counter[str](firing.status for firing in firings)
    counts = {status: found[status] for status in (*STATUSES, *(one for one in found if one not in STATUSES))}
    if output != Format.table:
        span = {"from": start, "to": end, "from_iso": iso(start), "to_iso": iso(end)}
        each = [firing_dict(firing) for firing in firings]
        print_json({"queue": queue, "schedule": name, **span, **counts, "firings": each}, output)
    else:
        listed = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        print(f"{name} has {many(len(firings), 'time')} from {local(start)} to {local(end)}: {listed}")
    if found["not_found"]:
        raise AdeqError(f"schedule: {name!r} was deleted in the meantime; enqueued tasks stay")


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


def fire(queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Fire all due times now, once. For programs without workers, for instance from a crontab; workers fire by
    themselves.

    Exits with 1 if a schedule could not be fired; the others are still fired.
    """
    with connected(url) as adeq:
        schedules = existing_queue(adeq, queue).schedules
        fired = schedules.fire_due()
        firings, began = list(fired.firings), fired.now
        while fired.firings and fired.next is not None and fired.next <= began:  # one call fires a limited number
            fired = schedules.fire_due()
            firings += (firing for firing in fired.firings if firing.status != "failed")
    if output != Format.table:
        next_iso = None if fired.next is None else iso(fired.next)
        each = [firing_dict(firing) for firing in firings]
        print_json({"queue": queue, "firings": each, "next": fired.next, "next_iso": next_iso}, output)
    else:
        if firings:
            print_rows(("schedule", "time", "status", "task"), [_row(firing) for firing in firings])
        when = "none is due later" if fired.next is None else f"next {local_and_ahead(fired.next, fired.now)}"
        print(f"\n{when}" if firings else f"nothing is due; {when}")
    failed = [firing for firing in firings if firing.status == "failed"]
    for firing in failed if output == Format.table else []:
        typer.echo(f"\n{firing.schedule}: {safe(firing.error or '')}", err=True)
    if failed:
        raise typer.Exit(FAILED)


def _row(firing: Firing) -> tuple[str, ...]:
    return firing.schedule, local(firing.at), firing.status, firing.id or ""

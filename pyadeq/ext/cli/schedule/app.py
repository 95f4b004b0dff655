"""`adeq schedule`: tasks that are enqueued when their time comes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pyadeq.errors import BadArgument, ConfigError
from pyadeq.ext.cli.schedule import fire as schedule_fire
from pyadeq.ext.cli.schedule import put as schedule_put
from pyadeq.ext.cli.schedule.listing import (
    PAGE,
    Name,
    as_dict,
    local,
    local_and_ahead,
    read_all,
    read_one,
    timing_fields,
    words,
)
from pyadeq.ext.cli.shared.arguments import Most
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, InQueue
from pyadeq.ext.cli.shared.resolve import AnyQueue
from pyadeq.ext.cli.shared.running import Document, Lines, with_client
from pyadeq.ext.cli.shared.shown import ahead, span
from pyadeq.ext.cli.shared.tables import print_fields
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.cli.task.listing import shown_text
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.tiers import shown_schedule

if TYPE_CHECKING:
    from pyadeq import Adeq, Schedule

app = noun(NOUNS["schedule"])
COLUMNS = ("name", "timing", "next", "in", "state", "overlap", "fired", "skipped", "missed", "last")
RIGHT = ("in", "fired", "skipped", "missed")
SPARE = ("last", "overlap", "missed", "skipped", "next", "fired")
UPCOMING = 5  # times that `show` tells


@app.command()
@with_client
def ls(adeq: Adeq, queue: InQueue = DEFAULT_QUEUE, most: Most = None) -> Lines:
    """List the schedules of a queue by next time, without their payloads.

    Tables have times in the time zone of this machine, JSON in UTC. An `ended` schedule has no time left.
    """
    tier = queue.settings().tier
    return Lines(
        read_all(adeq, queue, PAGE if most is None else min(most + 1, PAGE)),
        COLUMNS,
        lambda read: _row(*read),
        lambda read: as_dict(shown_schedule(read[0], tier), headers=False),
        right=RIGHT,
        spare=SPARE,
        limit=most,
        none=f"queue {queue.name!r} has no schedules; adeq schedule set creates one",
    )


def _row(schedule: Schedule, now: float) -> tuple[str, ...]:
    return (
        schedule.name,
        words(schedule),
        local(schedule.next),
        ahead(now, schedule.next),
        schedule.state,
        schedule.overlap,
        f"{schedule.fired:,}",
        f"{schedule.skipped:,}",
        f"{schedule.missed:,}",
        local(schedule.last),
    )


@app.command()
@with_client
def show(adeq: Adeq, name: Name, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Show everything about a schedule: its settings, the task that it enqueues, and its next five times."""
    schedule, now = read_one(adeq, queue, name)
    times = _upcoming(queue, schedule)
    schedule = shown_schedule(schedule, queue.settings().tier)
    upcoming = [{"at": at, "at_iso": iso(at)} for at in times]
    stored = schedule.model_dump(mode="json", include={"payload", "payload_base64"})
    data = {name: value for name, value in stored.items() if value is not None or name == "payload"}
    return Document(
        {"queue": queue.name, **as_dict(schedule), **data, "upcoming": upcoming},
        lambda: _print(schedule, now, times),
    )


def _print(schedule: Schedule, now: float, times: Sequence[float]) -> None:
    console, payload = stdout(), shown_text(schedule, "payload")
    print_fields([(field, safe(text)) for field, text in _fields(schedule, now)])
    if len(times) > 1:
        console.print(Text("\nnext", style="bold"))
        for at in times:
            console.print(Text(local_and_ahead(at, now)))
    if payload is not None:
        console.print(Text("\npayload", style="bold"))
        console.print(Text(safe(payload)), soft_wrap=True)


def _upcoming(queue: AnyQueue, schedule: Schedule) -> list[float]:
    """The times when it fires next; of one whose calendar is not to be had here, the first."""
    try:
        return queue.schedules.upcoming(schedule, UPCOMING)
    except (ConfigError, BadArgument) as error:
        print(f"adeq: only the first of the next times is known: {error}", file=sys.stderr)
        return [] if schedule.next is None else [schedule.next]


def _fields(schedule: Schedule, now: float) -> list[tuple[str, str]]:
    """What is set, for people."""
    timing: dict[str, Any] = timing_fields(schedule) or {}
    moments: dict[str, object] = {field: local(timing[field]) for field in ("start", "until") if field in timing}
    fields: dict[str, object] = {
        "name": schedule.name,
        "state": schedule.state,
        "timing": words(schedule),
        **{field: timing[field] for field in ("cron", "tz") if field in timing},
        **moments,
        "next": local_and_ahead(schedule.next, now) if schedule.next is not None else "",
        "overlap": schedule.overlap,
        "catch-up": span(schedule.catch_up),
        "jitter": span(schedule.jitter) if schedule.jitter else "",
        "fired": f"{schedule.fired:,}",
        "skipped": f"{schedule.skipped:,}",
        "missed": f"{schedule.missed:,}",
        "last": local(schedule.last),
        "last task": schedule.last_id or "",
        "open": " ".join(schedule.open),
        "created": local(schedule.created),
        "changed": local(schedule.changed),
        "rev": schedule.rev,
        **{f"task {field}": _text(value) for field, value in schedule.envelope.items()},
    }
    return [(field, str(value)) for field, value in fields.items() if value != ""]


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


app.command("set")(schedule_put.set_)
app.command()(schedule_fire.trigger)
app.command()(schedule_fire.backfill)
app.command()(schedule_fire.fire)

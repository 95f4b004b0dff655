"""Schedules as they are shown: when they fire, in words; times by this machine's clock for people, in UTC in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from heapq import merge
from math import inf
from typing import Annotated, Any

import typer

from pyadeq import Adeq, At, Cron, Every, Firing, Queue, Schedule
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.complete import schedule_names
from pyadeq.ext.cli.shared.resolve import AnyQueue, parts
from pyadeq.ext.cli.shared.running import Read
from pyadeq.ext.cli.shared.shown import ahead, is_time
from pyadeq.ext.shared.schedule_words import cron_words, period_words
from pyadeq.ext.shared.terminal import safe
from pyadeq.keys import check_name
from pyadeq.models.base import Moment

PAGE = 100
LEFT_OUT = {"timing", "payload", "payload_base64"}


def distinct(names: Sequence[str]) -> list[str]:
    """The names in order, each once. ConfigError for what can be none."""
    return [check_name("schedule", name) for name in dict.fromkeys(names)]


Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule.", autocompletion=schedule_names)]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="The schedules.", autocompletion=schedule_names),
    Read(distinct),
]


def read_all(adeq: Adeq, queue: AnyQueue, page: int = PAGE) -> Iterator[tuple[Schedule, float]]:
    """All schedules by when they are due next, each with the server's time when it was read."""
    return merge(*(_read(adeq, part, page) for part in parts(queue)), key=lambda read: read[0].next or inf)


def _read(adeq: Adeq, queue: Queue, page: int) -> Iterator[tuple[Schedule, float]]:
    cursor = ""
    while True:
        found, cursor, now = adeq.send(queue.calls.schedules(cursor=cursor, limit=page))
        yield from ((schedule, now) for schedule in found)
        if not cursor:
            return


def read_one(adeq: Adeq, queue: AnyQueue, name: str) -> tuple[Schedule, float]:
    """A schedule with its payload, and the server's time. AdeqError if there is none of that name."""
    for part in parts(queue):
        found, _, now = adeq.send(part.calls.schedules(name=check_name("schedule", name)))
        if found:
            return found[0], now
    raise not_found(queue.name, name)


def not_found(queue: str, name: str) -> AdeqError:
    """The error for a schedule that there is not."""
    return AdeqError(
        f"schedule: queue {queue!r} has no schedule with the name {name!r}; see adeq schedule ls --queue {queue}"
    )


def as_dict(schedule: Schedule, *, headers: bool = True) -> dict[str, Any]:
    """A schedule as JSON has it, but for its payload. headers: with those of its tasks."""
    fields = schedule.model_dump(mode="json", exclude=LEFT_OUT)
    if not headers:
        fields["envelope"].pop("headers", None)
    times = {f"{name}_iso": iso(fields[name]) for name in fields if is_time(fields[name])}
    shown = {"name": fields.pop("name"), "state": schedule.state, "timing": timing_fields(schedule)}
    return {**shown, "words": words(schedule), **fields, **times}


def firing_dict(firing: Firing) -> dict[str, Any]:
    """What became of a time, as JSON has it."""
    return {**firing.model_dump(), "at_iso": iso(firing.at)}


def timing_fields(schedule: Schedule) -> dict[str, Any] | None:
    """When it fires, by the names of the command line's options."""
    match timing := schedule.timing:
        case None:
            return None
        case At():
            return {"at": _seconds(timing.moment), "at_iso": iso(_seconds(timing.moment))}
        case Every():
            fields: dict[str, Any] = {"every": timing.period, "offset": timing.offset}
        case Cron():
            fields = {"cron": timing.expression, "tz": timing.tz}
    for name, moment in (("start", timing.start), ("until", timing.until)):
        if moment is not None:
            fields |= {name: _seconds(moment), f"{name}_iso": iso(_seconds(moment))}
    return fields


def words(schedule: Schedule) -> str:
    """`at 03:00 every day, Europe/Berlin`, `every 15m`, `at 2030-01-31T09:00:00+01:00`."""
    match schedule.timing:
        case None:
            return "unknown to this release: upgrade it"
        case At(moment=moment):
            return f"at {local(_seconds(moment))}"
        case Every(period=period, offset=offset):
            return f"every {period_words(period)}" + (f", {period_words(offset)} past" if offset else "")
        case Cron(expression=expression, tz=tz):
            return safe(f"{cron_words(expression)}, {tz}")


def _seconds(moment: Moment) -> float:
    return moment.timestamp() if isinstance(moment, datetime) else moment


def local(seconds: float | None) -> str:
    """A point in time as ISO 8601 in this machine's time zone, or nothing."""
    if seconds is None:
        return ""
    precision = "milliseconds" if seconds % 1 else "seconds"
    return datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec=precision)


def local_and_ahead(seconds: float, now: float) -> str:
    """`2030-01-31T03:00:00+01:00 (in 2h10m)`."""
    return f"{local(seconds)} ({ahead(now, seconds)})"

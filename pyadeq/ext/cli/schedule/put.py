"""`adeq schedule set`: a schedule is made, or changed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import At, Cron, Every
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.schedule.listing import Name, as_dict, local_and_ahead, read_one, words
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.shared.complete import zone_names
from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.shared.resolve import queue_or_new, warn_of_kind
from pyadeq.ext.cli.task.enqueue import Payload, read_payload
from pyadeq.ext.cli.task.options import ONCE, given, moment_option, option, with_task_options
from pyadeq.keys import check_name


class OverlapPolicy(StrEnum):
    """What happens where a task of the schedule has not ended when the next is due."""

    skip = "skip"
    buffer_one = "buffer_one"
    buffer_all = "buffer_all"
    cancel_other = "cancel_other"
    allow = "allow"


@with_task_options(before="queue", without=(*ONCE, "source"))
def set_(
    name: Name,
    cron: Annotated[
        str | None, option("When: minute, hour, day, month, weekday; with six fields, seconds first.", "'* * * * *'")
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The time zone of --cron. [default: UTC]", autocompletion=zone_names),
    ] = None,
    every: Annotated[float | None, time_option("When: every period, counted from 1970.")] = None,
    offset: Annotated[float | None, time_option("Start each period of --every later: 5 minutes past the hour.")] = None,
    at: Annotated[float | None, moment_option("When: once, at this time.")] = None,
    start: Annotated[float | None, moment_option("No time before this.")] = None,
    until: Annotated[float | None, moment_option("No time after this.")] = None,
    overlap: Annotated[
        OverlapPolicy,
        typer.Option(
            help="If an earlier task has not ended: skip the time (skip), let one task wait (buffer_one) or up to 63"
            " (buffer_all), cancel the earlier task (cancel_other), or run both (allow)."
        ),
    ] = OverlapPolicy.skip,
    catch_up: Annotated[
        float | None, time_option("The age up to which a missed time is still fired. [default: 1h]")
    ] = None,
    jitter: Annotated[float | None, time_option("Start each task up to this much later, at random.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send the payload as it is.")] = False,
    payload: Payload = None,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **task: Any,
) -> None:
    """Create a schedule, or change the one with that name. Its queue is created if it does not exist.

    The command sets the whole schedule: what it does not name is at its default. The answer is `created`, `changed`, or
    `unchanged` if nothing changed. A paused schedule stays paused. Workers fire it; without workers, use `adeq schedule
    fire`.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d. WHEN is an ISO 8601 time with a zone, or seconds since the
    epoch.
    """
    check_name("schedule", name)
    timing = _timing(cron, tz, every, offset, at, start, until)
    data = read_payload(payload, raw)
    timed = {"catch_up": catch_up, "jitter": jitter}
    fields: dict[str, Any] = {field: value for field, value in timed.items() if value is not None} | given(task)
    with connected(url) as adeq:
        there = queue_or_new(adeq, queue)
        answer = there.schedules.set(name, timing, data, overlap=overlap.value, **fields)
        warn_of_kind(adeq, queue, fields.get("kind"))
        schedule, now = read_one(adeq, there, name)
    if output != Format.table:
        print_json({"queue": queue, "status": answer.status, **as_dict(schedule)}, output)
        return
    when = {
        "active": f"next {local_and_ahead(schedule.next or now, now)}",
        "paused": "paused: adeq schedule resume ends this",
        "ended": "it has no time left",
    }
    print(f"{answer.status} {name}: {words(schedule)}; {when[schedule.state]}")


def _timing(
    cron: str | None,
    tz: str | None,
    every: float | None,
    offset: float | None,
    at: float | None,
    start: float | None,
    until: float | None,
) -> Cron | Every | At:
    if (cron is not None) + (every is not None) + (at is not None) != 1:
        raise ConfigError("when? Give --cron '0 3 * * *', or --every 15m, or --at 2030-01-31T09:00:00Z; one of these")
    if tz is not None and cron is None:
        raise ConfigError("--tz: it is the time zone of --cron; leave it out, or give --cron")
    if offset is not None and every is None:
        raise ConfigError("--offset: it goes with --every; leave it out, or give --every")
    if cron is not None:
        return Cron(cron, tz=tz or "UTC", start=start, until=until)
    if every is not None:
        return Every(every, offset=offset or 0.0, start=start, until=until)
    if start is not None or until is not None:
        raise ConfigError("--start, --until: --at is one point in time; leave them out, or give --cron or --every")
    assert at is not None
    return At(at)

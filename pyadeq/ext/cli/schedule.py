"""`adeq schedule`: tasks that are enqueued when their time comes."""

from __future__ import annotations

import sys
from itertools import chain, islice
from typing import Annotated, Any

import typer
from rich.text import Text

from pyadeq import Schedule
from pyadeq.errors import BadArgument, ConfigError
from pyadeq.ext.cli import schedule_fire, schedule_put, schedule_steer
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    Format,
    Output,
    Url,
    connected,
    iso,
    print_json,
    print_lines,
    safe,
    stdout,
)
from pyadeq.ext.cli.listing import shown_text
from pyadeq.ext.cli.lock_listing import ahead, span
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import AnyQueue, existing_queue
from pyadeq.ext.cli.schedule_listing import (
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
from pyadeq.ext.cli.tables import print_fields, print_rows
from pyadeq.ext.cli.tree import NOUNS, noun
from pyadeq.tiers import shown_schedule

app = noun(NOUNS["schedule"])
COLUMNS = ("name", "timing", "next", "in", "state", "overlap", "fired", "skipped", "missed", "last")
RIGHT = ("in", "fired", "skipped", "missed")
SPARE = ("last", "overlap", "missed", "skipped", "next", "fired")
UPCOMING = 5  # times that `show` tells


@app.command()
def ls(
    queue: QueueOption = DEFAULT_QUEUE,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="List at most this many.")] = 100,
    all: Annotated[bool, typer.Option("--all", help="No limit.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the schedules of a queue by next time, without their payloads.

    Tables have times in the time zone of this machine, JSON in UTC. An `ended` schedule has no time left.
    """
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        tier, rest = there.settings().tier, read_all(adeq, there, PAGE if all else min(limit + 1, PAGE))
        shown = rest if all else islice(rest, limit)
        if output != Format.table:
            print_lines((as_dict(shown_schedule(one, tier), headers=False) for one, _ in shown), output)
            return
        rows = (_row(schedule, now) for schedule, now in shown)
        first = list(islice(rows, 1))
        print_rows(COLUMNS, chain(first, rows), right=RIGHT, spare=SPARE)
        if not first:
            typer.echo(f"\nqueue {queue!r} has no schedules; adeq schedule set creates one", err=True)
        if not all and next(rest, None) is not None:
            print(f"\nThere are more than {limit:,}: --limit N, or --all", file=sys.stderr)


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
def show(name: Name, queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Show everything about a schedule: its settings, the task that it enqueues, and its next five times."""
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        schedule, now = read_one(adeq, there, name)
        times = _upcoming(there, schedule)
        schedule = shown_schedule(schedule, there.settings().tier)
    payload = shown_text(schedule, "payload")
    if output != Format.table:
        upcoming = [{"at": at, "at_iso": iso(at)} for at in times]
        stored = schedule.model_dump(mode="json", include={"payload", "payload_base64"})
        data = {name: value for name, value in stored.items() if value is not None or name == "payload"}
        print_json({"queue": queue, **as_dict(schedule), **data, "upcoming": upcoming}, output)
        return
    console = stdout()
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
app.command("add", hidden=True)(schedule_put.set_)  # its name in earlier builds
app.command()(schedule_steer.pause)
app.command()(schedule_steer.resume)
app.command()(schedule_fire.trigger)
app.command()(schedule_fire.backfill)
app.command()(schedule_fire.fire)
app.command()(schedule_steer.rm)

"""`adeq events`: groups that read the events of a queue, a lock domain and so on."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from pyadeq import Adeq, Event, EventGap, EventGroup, Events, PartitionedQueue
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import Format, Output, iso, print_json
from pyadeq.ext.cli.shared.generated import Commands
from pyadeq.ext.cli.shared.noun_arguments import noun_with
from pyadeq.ext.cli.shared.resolve import existing, existing_queue
from pyadeq.ext.cli.shared.running import Document, Table, each, with_client
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.shared.terminal import safe

COLUMNS = ("group", "lag", "pending", "lost", "gap", "read", "holds")
EXAMPLE = "adeq events groups --stream queue:default"

app = noun_with("events", "--stream")

Stream = Annotated[
    str,
    typer.Option(
        "--stream",
        metavar="NOUN:NAME",
        envvar="ADEQ_EVENTS_STREAM",
        help="Whose events: queue:default (with all partitions), lock:default, session:web/c7 (a partition).",
    ),
]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group.")]


@app.command()
@with_client
def add(
    adeq: Adeq,
    group: GroupName,
    now: Annotated[bool, typer.Option("--now", help="Begin with the next event, not with the oldest.")] = False,
    create: Annotated[bool, typer.Option("--create", help="Also if nothing is stored there yet.")] = False,
    stream: Stream = "queue:default",
) -> Document:
    """Register a group. From now on it holds events that it has not acknowledged.

    A group that exists goes on where it is.
    """
    made = _events(adeq, stream).add(group, start="now" if now else "oldest", create=create)
    status = "registered" if made else "exists"
    return Document({"stream": stream, "group": group, "status": status}, status)


@app.command()
@with_client
def read(
    adeq: Adeq,
    group: GroupName,
    limit: Annotated[int, typer.Option(min=1, max=10**9, metavar="N", help="At most this number of events.")] = 100,
    wait: Annotated[float | None, time_option("Wait for events, if there are none.")] = None,
    hold: Annotated[
        float | None, time_option("An event comes again after this time, unless it is acknowledged. Default: 60.")
    ] = None,
    peek: Annotated[bool, typer.Option("--peek", help="Do not acknowledge: the events come again.")] = False,
    stream: Stream = "queue:default",
    output: Output = Format.table,
) -> None:
    """Read the next events of a group, and acknowledge them after they are printed.

    Events that were lost to the bound of memory are reported on stderr as a gap. With -o jsonl, there is one event per
    line.
    """
    events = _events(adeq, stream)
    left, seen, gaps = limit, list[Event](), list[EventGap]()
    while left:
        batch = events.read(
            group,
            limit=min(left, 1000),
            hold=60.0 if hold is None else hold,
            wait=(wait or 0.0) if left == limit else 0.0,
        )
        if not batch.events and (batch.gap is None or batch.gap in gaps):
            break
        if batch.gap and batch.gap not in gaps:
            typer.echo(f"gap: {_lost(batch.gap)}", err=True)
            gaps.append(batch.gap)
            if not peek:
                events.ack(group, gap=batch.gap)
        seen += batch.events
        left -= len(batch.events)
        if output == Format.jsonl:
            for one in batch.events:
                print_json(one.as_json(), output)
            if not peek:
                sys.stdout.flush()  # if the reader of a pipe is gone, this fails, and the events come again
                events.ack(group, batch)
    if output == Format.json:
        print_json([one.as_json() for one in seen], output)
    elif output == Format.table:
        print_rows(["time", "event", "ids", "payload"], map(_event, seen), spare=["payload", "ids"])
    if not peek:
        sys.stdout.flush()
        events.ack(group, seen)


@app.command()
@with_client
def groups(adeq: Adeq, stream: Stream = "queue:default") -> Document:
    """List the groups of a stream: how far they are, and what they have lost."""
    found = _events(adeq, stream).groups()
    about = {"stream": stream, "length": found.length, "first": found.first, "last": found.last}
    rows = [row for one in found.groups for row in (_row(one), *_parts(one))]
    table = Table(COLUMNS, rows, right=["lag", "pending", "lost"], spare=["gap"])
    return Document({**about, "groups": [_plain(one) for one in found.groups]}, [table, f"{found.length:,} events"])


@app.command()
@with_client
def trim(
    adeq: Adeq,
    older_than: Annotated[
        float | None, time_option("Delete events older than this, in place of the setting.", "--older-than")
    ] = None,
    stream: Stream = "queue:default",
) -> Document:
    """Delete old events that all groups have acknowledged, in whole blocks of usually 100."""
    before = None
    if older_than is not None:
        seconds, micros = adeq.client.time()
        before = seconds + micros / 1e6 - older_than
    found = _events(adeq, stream).trim(before)
    held = f"; group {found.held_by} holds the events after them" if found.held_by else ""
    return Document(
        {"stream": stream, "removed": found.removed, "held_by": found.held_by}, f"{found.removed:,} deleted{held}"
    )


@app.command()
@with_client
def rm(
    adeq: Adeq,
    names: Annotated[list[str], typer.Argument(metavar="GROUP...", help="The groups.")],
    stream: Stream = "queue:default",
) -> Document:
    """Drop groups: they hold no events any more. Exits with 1 if one of them does not exist."""
    dropped = _events(adeq, stream).remove(*names)
    rows = [{"group": name, "status": "dropped" if name in dropped else "unknown"} for name in names]
    return each({"stream": stream, "groups": rows}, "dropped")


class Settings(Commands):
    """The command that changes settings: in each partition of a queue."""

    def _parts(self, adeq: Adeq, name: str, found: Events) -> list[Events]:
        noun, _, own = name.partition(":")
        if noun != "queue" or "/" in own or adeq.slot is not None:
            return [found]
        queue = adeq.partitioned(own)
        return [queue.events.part(one.tag) for one in queue.partitions()]


app.command("configure", help="Change settings of an event stream: how long events are kept, and when a group lapses.")(
    Settings("events", EXAMPLE).function("configure")
)


def _events(adeq: Adeq, stream: str) -> Events:
    noun, colon, name = stream.partition(":")
    if not colon:
        raise ConfigError(f"--stream: {stream!r} is not accepted; allowed: NOUN:NAME, such as queue:default")
    owner, _, tag = name.partition("/")
    if not tag and noun == "queue":
        queue = existing_queue(adeq, owner)
        return queue.events if isinstance(queue, PartitionedQueue) else adeq.events(noun, owner)
    if not tag:
        existing(adeq, noun, owner, f"adeq {noun} ls")
    return adeq.events(noun, name)


def _event(one: Event) -> list[str]:
    payload = " ".join(f"{name}={value}" if name else value for name, value in one.payload.items())
    return [iso(one.timestamp), one.event, safe(" ".join(one.ids)), safe(payload)]


def _lost(gap: EventGap) -> str:
    lost = "an unknown number of" if gap.lost is None else f"{gap.lost:,}"
    return f"{lost} events between {gap.after} and {gap.before} are lost"


def _row(one: EventGroup) -> list[str]:
    lost = f"{one.lost + one.missed:,}"
    gap = _lost(one.gap) if one.gap else ""
    return [one.name, f"{one.lag:,}", f"{one.pending:,}", lost, gap, iso(one.read), "no" if one.lapsed else "yes"]


def _parts(one: EventGroup) -> list[list[str]]:
    return [_row(part.model_copy(update={"name": f"  {tag}"})) for tag, part in one.partitions.items()]


def _plain(one: EventGroup) -> dict[str, Any]:
    gap = one.gap and one.gap._asdict()
    times = {"read_iso": iso(one.read), "registered_iso": iso(one.registered)}
    parts = {tag: _plain(part) for tag, part in one.partitions.items()}
    return {**one.model_dump(), **times, "gap": gap, **({"partitions": parts} if parts else {})}

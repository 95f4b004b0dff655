"""`adeq archive`: events and records of ended tasks and changes, in a folder or at any URL that fsspec knows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from time import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.arguments import many, moment, time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, iso, print_json
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.running import Answer, Document, Lines, Table, with_client_of, without_client
from pyadeq.ext.cli.shared.tables import print_fields
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.shared.terminal import safe

if TYPE_CHECKING:
    from pyadeq import Adeq
    from pyadeq.ext.operate.archive import Archive, Archived, Written

app = noun(NOUNS["archive"])

Place = Annotated[
    str, typer.Argument(metavar="PLACE", help="A folder, or a URL that fsspec knows: s3://bucket/folder.")
]
Streams = Annotated[
    list[str] | None,
    typer.Option("--stream", metavar="NOUN:NAME", help="Only this stream: queue:default, session:web/c7. Repeatable."),
]
GroupName = Annotated[str, typer.Option("--group", metavar="NAME", help="The group that reads the events.")]
Since = Annotated[float | None, time_option("Only events of this last time, such as 7d.", "--since")]


@app.command()
@with_client_of(codec=None)
def write(
    adeq: Adeq,
    place: Place,
    stream: Streams = None,
    since: Since = None,
    tasks: Annotated[bool, typer.Option("--tasks/--no-tasks", help="Archive the records of tasks that end.")] = True,
    changes: Annotated[
        bool, typer.Option("--changes/--no-changes", help="Archive the records of changes that end.")
    ] = True,
    group: GroupName = "archive",
    hold: Annotated[float, time_option("Events that a killed run has read come again after this time.")] = "1m",  # type: ignore[assignment]
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="About this number of events a stream.")] = None,
    output: Output = Format.table,
) -> Answer:
    """Archive the events that are not archived yet, and the records of the tasks and changes that they end.

    It reads as a group of the events, so each run goes on where the last one has ended, also if that was killed. What
    the data tier of a task hides stays out; payloads that a codec has sealed stay sealed. Each archive needs a group of
    its own.
    """
    archive = _archive(place)
    streams = stream or archive.streams(adeq)
    _check(streams)
    options: dict[str, Any] = {"group": group, "hold": hold, "tasks": tasks, "changes": changes, "limit": limit}
    options["since"] = None if since is None else time() - since
    lag = archive.lag(adeq, streams=streams, group=group)
    seen: dict[str, int] = {}

    def tell(stream: str, read: int) -> None:
        seen[stream] = read
        bar.update(sum(seen.values()))

    with Bar("Archiving", sum(lag.values()), "events") as bar:
        done = archive.write(adeq, streams=streams, progress=tell, **options)
    return _written(place, done, output)


@app.command()
@without_client
def read(
    place: Place,
    stream: Streams = None,
    since: Annotated[
        float | None, typer.Option(parser=moment, metavar="TIME", help="Only events from this ISO 8601 time on.")
    ] = None,
    until: Annotated[
        float | None, typer.Option(parser=moment, metavar="TIME", help="Only events before this ISO 8601 time.")
    ] = None,
) -> Lines:
    """Print what is archived, stream by stream, in order. Each record comes once. With -o jsonl, one line for each."""
    archive = _archive(place)
    _check(stream or [])
    _there(archive)
    found = archive.read(streams=stream or [], since=since, until=until)
    return Lines(
        found,
        ["time", "stream", "what", "ids", "details"],
        _row,
        lambda one: json.loads(one.as_line()),
        spare=["details", "stream"],
    )


@app.command()
def verify(
    place: Place,
    server: Annotated[
        bool, typer.Option("--server", help="Also compare the events that the server still has, field by field.")
    ] = False,
    stream: Streams = None,
    since: Since = None,
    group: GroupName = "archive",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Read an archive back, and check it against its digests. Exits with 1 if something is wrong.

    Two archives of the same events have the same digest. With --server, each event that the server still has and that
    the group has acknowledged is compared, and there is a digest of these events in each of the two places.
    """
    archive = _archive(place)
    _check(stream or [])
    _there(archive)
    options: dict[str, Any] = {
        "streams": stream or [],
        "group": group,
        "since": None if since is None else time() - since,
    }
    with Bar("Verifying", None, "files") as bar:
        if server:
            with connected(url, codec=None) as adeq:
                found = archive.verify(adeq, progress=lambda done, _: bar.update(done), **options)
        else:
            found = archive.verify(progress=lambda done, _: bar.update(done), **options)
    about = asdict(found)
    compared = found.compared and found.compared._asdict()
    if output != Format.table:
        print_json({"place": place, **about, "compared": compared}, output)
    else:
        problems, rest = about.pop("problems"), {f"compared: {name}": value for name, value in (compared or {}).items()}
        del about["compared"]
        rows = {**about, **rest}
        print_fields((name, f"{value:,}" if isinstance(value, int) else value) for name, value in rows.items())
        for text in problems:
            typer.echo(f"problem: {text}", err=True)
    if found.bad:
        raise typer.Exit(FAILED)


def _archive(place: str) -> Archive:
    from pyadeq.ext.operate.archive import Archive

    return Archive(place)


def _check(streams: Sequence[str]) -> None:
    for stream in streams:
        if ":" not in stream:
            raise ConfigError(f"--stream: {stream!r} is not accepted; allowed: NOUN:NAME, such as queue:default")


def _there(archive: Archive) -> None:
    if not archive.parts():
        raise AdeqError(f"nothing is archived at {archive.url}; see adeq archive write")


def _written(place: str, done: Sequence[Written], output: Format) -> Answer:
    for one in done:
        if one.lost:
            number = "an unknown number of" if one.lost < 0 else f"{one.lost:,}"
            typer.echo(
                f"{one.stream}: {number} events were deleted by the bound of memory before they could be archived; "
                "archive more often, or raise events_max there",
                err=True,
            )
    plain = [one._asdict() for one in done]
    if output == Format.jsonl:
        return Lines(plain, ())
    heads = ["stream", "events", "tasks", "changes", "parts", "bytes", "gone", "lost", "left out"]
    rows = [[one.stream, *(f"{n:,}" for n in one[1:])] for one in done if any(one[1:])]
    table = Table(heads, rows, right=heads[1:], spare=["left out", "gone", "parts"])
    events = sum(one.events for one in done)
    said = f"{events:,} events archived, of {many(len(rows), 'stream')}; {len(done) - len(rows):,} had none"
    return Document({"place": place, "streams": plain}, [table, said] if rows else said)


def _row(one: Archived) -> list[str]:
    at = iso(int(one.id.partition("-")[0]) / 1000)
    if one.event:
        details = " ".join(f"{name}={value}" if name else value for name, value in one.event.payload.items())
        return [at, one.stream, one.event.event, safe(" ".join(one.event.ids)), safe(details)]
    if one.task:
        return [at, one.stream, "task", safe(one.task["id"]), one.task["state"]]
    if one.change:
        return [at, one.stream, "change", safe(one.change["id"]), one.change["state"]]
    assert one.gap
    lost = "an unknown number of" if one.gap.lost is None else f"{one.gap.lost:,}"
    return [at, one.stream, "gap", "", f"{lost} events between {one.gap.after} and {one.gap.before} were lost"]

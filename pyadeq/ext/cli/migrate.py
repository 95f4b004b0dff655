"""`adeq migrate`: the waiting tasks of another queue move into pyadeq, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from pyadeq import Tasks
from pyadeq.errors import ConfigError, TransportError
from pyadeq.ext.cli import migrate_queue
from pyadeq.ext.cli.arguments import many
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    FAILED,
    PLACE,
    Format,
    Output,
    Url,
    check_url,
    connected,
    print_json,
    safe,
    shown_url,
)
from pyadeq.ext.cli.named import load_named
from pyadeq.ext.cli.progress import Bar
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.cli.tree import NOUNS, noun

if TYPE_CHECKING:
    from pyadeq.ext.migrate import Migration, Mirrored, Moved, Place, Reasons, Source

app = noun(NOUNS["migrate"])
app.command("queue")(migrate_queue.queue)
SHOWN_IDS = 3
NOTHING = "nothing was moved yet; see adeq migrate plan"


class SourceName(StrEnum):
    """Where tasks come from."""

    celery = "celery"
    rq = "rq"
    bullmq = "bullmq"
    stream = "stream"
    lists = "lists"


class OldLayoutName(StrEnum):
    """Sources whose producers can write both layouts."""

    stream = "stream"
    lists = "lists"


class ShadowName(StrEnum):
    """What can be compared."""

    stream = "stream"
    lists = "lists"
    locks = "locks"


class UnsureChoice(StrEnum):
    """What happens to messages that may have been moved before."""

    enqueue = "enqueue"
    done = "done"


class UnsureBackChoice(StrEnum):
    """The same at a rollback."""

    back = "back"
    done = "done"


From = Annotated[
    SourceName, typer.Argument(metavar="SOURCE", help="Where the tasks are: celery, rq, bullmq, stream or lists.")
]
OldLayout = Annotated[OldLayoutName, typer.Argument(metavar="SOURCE", help="The old layout: stream or lists.")]
Old = Annotated[
    str,
    typer.Option("--from", envvar="ADEQ_FROM", metavar="URL", help="The old server: where the old workers connect."),
]
Queues = Annotated[
    list[str] | None,
    typer.Option(
        "--queue", "-q", metavar="OLD[=NEW]", help="Only this queue, and its name in pyadeq if another. Repeatable."
    ),
]
TasksPath = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        metavar="MODULE:NAME",
        help="The Tasks or the Queue with the new functions: arguments become an object by name, and are checked.",
    ),
]
KeyPrefix = Annotated[
    str,
    typer.Option(
        "--key-prefix", metavar="TEXT", help="Of the old keys: global_keyprefix of Celery, or prefix of BullMQ."
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust-pickle", help="Load pickles. They may run any code: only if nobody else can write to the old server."
    ),
]
UnsureOption = Annotated[
    UnsureChoice | None,
    typer.Option(
        "--unsure",
        help="Messages that may have been moved more than a day ago, by a command that was killed: enqueue them "
        "again, or count them as done.",
    ),
]
Follow = Annotated[bool, typer.Option("--follow", help="Repeat it each second, until you interrupt it.")]
Zone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Of times that name none: timezone of Celery.")
]


@app.command()
def plan(
    source: From,
    old: Old,
    queue: Queues = None,
    tasks: TasksPath = None,
    key_prefix: KeyPrefix = "",
    timezone: Zone = None,
    trust_pickle: Trust = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show what would move, and what cannot move and why. Nothing is written."""
    with _migration(
        old, _source(source, tasks, key_prefix, timezone, trust_pickle), queue, url, "Reading"
    ) as migration:
        found = migration.plan()
    rows = [
        {**_row(one.place, one.to), "moves": one.moves, "delayed": one.delayed, "left": one.left}
        for one in found.places
    ]
    about = {"source": migration.name, **found.others}
    if output != Format.table:
        print_json({**about, "queues": rows, "left": found.left.as_json(), "digest": found.digest}, output)
        return
    _print_table(rows, "no task is waiting")
    _print_left(found.left, "would be left")
    _print_others(found.others)


@app.command()
def move(
    source: From,
    old: Old,
    queue: Queues = None,
    tasks: TasksPath = None,
    key_prefix: KeyPrefix = "",
    timezone: Zone = None,
    trust_pickle: Trust = False,
    unsure: UnsureOption = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Move all waiting tasks. The command may be killed and repeated at any time; no task is created twice.

    Let producers enqueue into pyadeq first. Old workers may run meanwhile. What cannot be moved is put back, and the
    old workers run it. The old server keeps every moved message until `adeq migrate cleanup`.
    """
    with _migration(old, _source(source, tasks, key_prefix, timezone, trust_pickle), queue, url, "Moving") as migration:
        done = migration.move(unsure=unsure.value if unsure else None)
    _print_moved(done, migration.name, output)
    _check_unsure(done.unsure, "enqueue")


@app.command()
def mirror(
    source: OldLayout,
    old: Old,
    queue: Queues = None,
    follow: Follow = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Copy all waiting tasks into paused queues, where no worker takes them. Old workers go on.

    From now on producers with a writer of pyadeq write both. The command may be killed and repeated at any time: it
    copies what has come since, and deletes the copies of tasks that no longer wait.
    """
    with _migration(old, _source(SourceName(source), None, ""), queue, url, "Copying") as migration:
        for first in _rounds(follow):
            found = migration.mirror()
            if first or found.copied or found.ended:
                _print_mirrored(found, migration.name, output)


@app.command()
def shadow(
    source: Annotated[ShadowName, typer.Argument(metavar="SOURCE", help="The old layout: stream, lists or locks.")],
    old: Old,
    queue: Queues = None,
    domain: Annotated[str, typer.Option("--domain", metavar="NAME", help="The lock domain, for locks.")] = "default",
    key_prefix: Annotated[
        str, typer.Option("--key-prefix", metavar="TEXT", help="Of the old keys of locks.")
    ] = "lock:",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Compare all waiting tasks with their copies, or all locks, and report each difference.

    The status is 1 if a task has no equal copy, or a lock is held in the old layout alone.
    """
    name = ShadowName.stream if source == ShadowName.locks else source
    with _migration(old, _source(SourceName(name), None, ""), queue, url, "Comparing") as migration:
        if source == ShadowName.locks:
            differs = _compare_locks(migration, domain, key_prefix, output)
        else:
            found = migration.shadow()
            _print_mirrored(found, migration.name, output)
            differs = bool(found.differences.counts)
    if differs:
        raise typer.Exit(FAILED)


@app.command()
def cutover(
    source: OldLayout,
    old: Old,
    queue: Queues = None,
    unsure: UnsureOption = None,
    follow: Follow = False,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish-failures", help="Publish moved tasks that are dead where the old workers did (stream)."
        ),
    ] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let producers write to pyadeq alone, move all waiting tasks, and delete the copies.

    With --follow it goes on to move what other programs write in the old layout. The command may be killed and
    repeated at any time; no task is created twice.
    """
    from pyadeq.ext.migrate.stream import publish_failures

    name = SourceName(source)
    if publish and name != SourceName.stream:
        raise ConfigError("--publish-failures: it is an option for stream")
    with _migration(old, _source(name, None, ""), queue, url, "Moving") as migration:
        for first in _rounds(follow):
            done = migration.cutover(unsure=unsure.value if unsure else None)
            if first or done.moved:
                _print_moved(done, migration.name, output)
            for to in migration.queues() if publish else ():
                publish_failures(migration.adeq, migration.source.client, to)
            _check_unsure(done.unsure, "enqueue")


@app.command()
def status(
    source: From,
    old: Old,
    key_prefix: KeyPrefix = "",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show how far a migration is: what waits on the old server, and the messages that it keeps."""
    from pyadeq.ext.migrate import IN_PROGRESS, State

    with _migration(old, _source(source, None, key_prefix), None, url, "Reading") as migration:
        found = migration.status()
    if found is None:
        if output != Format.table:
            print_json({"source": migration.name, "queues": []}, output)
        else:
            print(NOTHING)
        return
    rows = [
        {
            **_row(place, to),
            "waiting": waiting,
            "moved": counts[State.moved] + counts[State.again],
            "left": counts[State.kept],
            "in progress": sum(counts[state] for state in IN_PROGRESS),
            "unsure": counts[State.unsure],
            "put back": counts[State.back],
            "stayed": counts[State.done],
        }
        for place, to, waiting, counts in found.places
    ]
    if output != Format.table:
        about = {"source": migration.name, "to": found.to, "phase": found.phase or "move"}
        print_json({**about, **found.others, "queues": rows}, output)
        return
    if found.phase not in ("", "back"):
        print(f"phase: {found.phase}")
    _print_table(rows, NOTHING)
    _print_others(found.others)
    if found.phase == "rollback":
        print("\nA rollback has begun. Finish it: adeq migrate rollback")
    elif sum(row["in progress"] for row in rows):
        print("\nA command runs, or was killed. Then repeat it: nothing is created twice.")


@app.command()
def rollback(
    source: From,
    old: Old,
    key_prefix: KeyPrefix = "",
    unsure: Annotated[
        UnsureBackChoice | None,
        typer.Option(
            "--unsure",
            help="Messages that may have been moved more than a day ago, by a command that was killed: put back those "
            "whose tasks pyadeq does not have, or count these as done.",
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Put all moved tasks that have not begun back into their lists, in the old order.

    The queues of pyadeq are paused meanwhile. Tasks that have begun stay there, and are reported. The command may be
    killed and repeated at any time.
    """
    with _migration(old, _source(source, None, key_prefix), None, url, "Putting back") as migration:
        done = migration.rollback(unsure=unsure.value if unsure else None)
    if output != Format.table:
        print_json({**asdict(done), "stayed": done.stayed.as_json(), "source": migration.name}, output)
    else:
        print(f"{many(done.back, 'message')} put back")
        _print_left(done.stayed, "stayed in pyadeq")
    _check_unsure(done.unsure, "back")


@app.command()
def cleanup(
    source: From,
    old: Old,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Do not ask: the name of the source, as status shows it."),
    ] = None,
    key_prefix: KeyPrefix = "",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Delete the messages that the old server keeps. After that there is no rollback."""
    with _migration(old, _source(source, None, key_prefix), None, url, "Deleting") as migration:
        if name is None and migration.status() is not None:
            if not sys.stdin.isatty():
                raise ConfigError(f"this deletes all moved messages for good; to say so, add --name {migration.name!r}")
            name = typer.prompt(f"This deletes all moved messages for good. Type the name {migration.name!r}", err=True)
        if name is not None and name != migration.name:
            raise ConfigError(f"--name: {name!r} is not accepted; the name is {migration.name!r}; nothing was deleted")
        count = migration.cleanup()
    if output != Format.table:
        print_json({"source": migration.name, "deleted": count}, output)
    else:
        print(f"{many(count, 'message')} deleted")


@contextmanager
def _migration(
    old: str, source: Callable[[Redis], Source], queues: Iterable[str] | None, url: str, label: str
) -> Iterator[Migration]:
    from pyadeq.ext.migrate import Migration

    try:
        check_url(old)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--url", "--from")) from None
    to = f"{shown_url(url)} (prefix {PLACE.prefix})"
    retry = Retry(ExponentialBackoff(cap=0.5), 3)  # each call may be sent again
    with connected(url) as adeq, Redis.from_url(old, retry=retry) as client, Bar(label, None, "messages") as bar:
        try:
            if client.info("cluster").get("cluster_enabled"):
                raise ConfigError(
                    "--from: a Redis Cluster is not accepted; allowed: a single server, or its replica set"
                )
        except RedisError as error:
            raise TransportError(
                f"--from: {shown_url(old)} does not answer: {error}", retryable=True, may_have_applied=False
            ) from None
        try:
            yield Migration(adeq, source(client), to=to, queues=_mapping(queues or ()), progress=bar.update)
        except RedisError as error:
            raise TransportError(
                f"--from: {shown_url(old)}: {error}; repeat the command: it continues where this one ended",
                retryable=True,
                may_have_applied=True,
            ) from error


def _source(
    name: SourceName, tasks: str | None, prefix: str, zone: str | None = None, trust_pickle: bool = False
) -> Callable[[Redis], Source]:
    from pyadeq.ext.migrate import BullQueues, CeleryQueues, ListQueues, RqQueues, StreamQueue

    functions = None if tasks is None else load_named("--tasks", tasks, "mailing:queue")
    functions = getattr(functions, "tasks", functions)
    if functions is not None and not isinstance(functions, Tasks):
        raise ConfigError(f"--tasks: {tasks!r} is not accepted; allowed: a Tasks, or a Queue with tasks")
    if name == SourceName.bullmq:
        if zone or trust_pickle:
            raise ConfigError("--timezone and --trust-pickle: BullMQ has neither zones nor pickles; leave them out")
        given = {"prefix": prefix} if prefix else {}
        return lambda client: BullQueues(client, tasks=functions, **given)
    if name != SourceName.celery and (prefix or zone):
        raise ConfigError(f"--key-prefix and --timezone: they are options for celery, not for {name.value}")
    if name in (SourceName.stream, SourceName.lists):
        if tasks or trust_pickle:
            raise ConfigError(f"--tasks and --trust-pickle: they are options for celery and rq, not for {name.value}")
        return StreamQueue if name == SourceName.stream else ListQueues
    if name == SourceName.rq:
        return lambda client: RqQueues(client, tasks=functions, trust_pickle=trust_pickle)
    try:
        found = None if zone is None else ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigError(f"--timezone: {zone!r} is not accepted; allowed: a name such as Europe/Berlin") from None
    options: dict[str, Any] = {"tasks": functions, "prefix": prefix, "zone": found, "trust_pickle": trust_pickle}
    return lambda client: CeleryQueues(client, **options)


def _mapping(queues: Iterable[str]) -> dict[str, str]:
    pairs = [one.rpartition("=") for one in queues]  # the old name may have a "="
    return {old or new: new or old for old, _, new in pairs}


def _row(place: Place, to: str) -> dict[str, Any]:
    return {"queue": place.queue, "priority": place.priority if place.priority is not None else "each", "to": to}


def _print_table(rows: list[dict[str, Any]], nothing: str) -> None:
    if not rows:
        print(nothing)
        return
    heads = list(rows[0])
    cells = [[safe(f"{value:,}" if isinstance(value, int) else value) for value in row.values()] for row in rows]
    print_rows(heads, cells, right=[head for head in heads if head not in ("queue", "to")])


def _print_left(left: Reasons, what: str) -> None:
    for one in left.as_json():
        more = ", …" if one["count"] > SHOWN_IDS else ""
        ids = f" ({', '.join(one['ids'][:SHOWN_IDS])}{more})" if one["ids"] else ""
        print(safe(f"{one['count']:,} {what}: {one['why']}{ids}"))


def _print_moved(done: Moved, name: str, output: Format) -> None:
    if output != Format.table:
        reasons = {"left": done.left.as_json(), "delivered": done.delivered.as_json()}
        print_json({**asdict(done), **reasons, "source": name}, output)
        return
    speed = f", {done.moved / done.seconds:,.0f}/s" if done.moved >= 1000 else ""
    print(f"{many(done.moved, 'task')} moved in {done.seconds:.1f} s{speed}")
    if done.again:
        print(f"{many(done.again, 'message')} of tasks that had moved before: the old system had delivered them again")
    _print_left(done.delivered, "to look at")
    _print_left(done.left, "left")


def _print_mirrored(found: Mirrored, name: str, output: Format) -> None:
    if output != Format.table:
        print_json({**asdict(found), "differences": found.differences.as_json(), "source": name}, output)
        return
    print(f"{many(found.equal + found.copied, 'task')} with a copy, {found.copied:,} of them copied now")
    if found.ended:
        print(f"{found.ended:,} copies of tasks that no longer wait on the old server")
    _print_left(found.differences, "different")


def _compare_locks(migration: Migration, domain: str, prefix: str, output: Format) -> bool:
    """Print which locks are held where. Returns whether any is held in the old layout alone."""
    from pyadeq.ext.migrate import LockBridge

    found = LockBridge(migration.adeq, migration.source.client, domain=domain, prefix=prefix).compare()
    if output != Format.table:
        print_json({"both": found.both, "old": found.old.as_json(), "new": found.new.as_json()}, output)
    else:
        print(f"{many(found.both, 'lock')} held in both")
        _print_left(found.old, "held")
        _print_left(found.new, "held")
    return bool(found.old.counts)


def _rounds(follow: bool) -> Iterator[bool]:
    """Yield True, and then again and again False each second until the process is interrupted."""
    yield True
    while follow:
        sleep(1)
        yield False


def _check_unsure(count: int, choice: str) -> None:
    if count:
        typer.echo(
            f"{many(count, 'message')} may have been moved by a command that was killed too long ago to be sure; "
            f"look for their tasks, then repeat with --unsure {choice} or --unsure done",
            err=True,
        )
        raise typer.Exit(FAILED)


def _print_others(others: dict[str, int]) -> None:
    for what, count in others.items():
        if count:
            print(f"{many(count, 'task')} {what}: not moved")

"""The options of `adeq migrate` that name a source, and the migration that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from pyadeq import Adeq, Tasks
from pyadeq.errors import ConfigError, TransportError
from pyadeq.ext.cli.shared.common import PLACE, check_url, connected, shown_url
from pyadeq.ext.cli.shared.named import load_named
from pyadeq.ext.cli.shared.progress import Bar

if TYPE_CHECKING:
    from pyadeq.ext.move.migrate import Migration, Source

SourceName = StrEnum("SourceName", ["celery", "rq", "bullmq", "stream", "lists"])
"""The systems from which tasks can be moved."""
OldLayoutName = StrEnum("OldLayoutName", ["stream", "lists"])
"""Sources whose producers can write both layouts."""


class UnsureChoice(StrEnum):
    """What happens to messages that may have been moved before."""

    enqueue = "enqueue"
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
TasksPaths = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        metavar="MODULE:NAME",
        help="The Tasks or the Queue with the new functions: arguments become an object by name, and are checked. "
        "Repeatable.",
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
        help="Messages that may have been moved before, while pyadeq does not know their tasks: enqueue them again, "
        "or count them as done.",
    ),
]


@contextmanager
def opened(
    old: str, source: Callable[[Redis], Source], queues: Iterable[str] | None, url: str, label: str
) -> Iterator[Migration]:
    """Yield a migration with both connections, and a bar that shows its progress."""
    from pyadeq.ext.move.migrate import Migration

    _check_old(old)
    mapping = _mapping(queues or ())
    to = f"{shown_url(url)} (prefix {PLACE.prefix})"
    retry = Retry(ExponentialBackoff(cap=0.5), 3)  # each call may be sent again
    options: dict[str, Any] = {"retry": retry, "socket_timeout": None}
    with connected(url) as adeq, Adeq.from_url(old, **options) as source_of, Bar(label, None, "messages") as bar:
        client = source_of.client
        assert isinstance(client, Redis)
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
            yield Migration(
                adeq,
                source(client),
                to=to,
                queues=mapping,
                progress=bar.update,
                waits=lambda most: bar.tell(f"another command runs, or was killed; waiting for at most {most:.0f} s"),
            )
        except RedisError as error:
            raise TransportError(
                f"--from: {shown_url(old)}: {error}; repeat the command: it continues where this one ended",
                retryable=True,
                may_have_applied=True,
            ) from error


def reader_of(
    name: SourceName, tasks: Sequence[str] | None, prefix: str, trust_pickle: bool = False
) -> Callable[[Redis], Source]:
    """Return what makes a source of the old connection. Raises ConfigError for options of another source."""
    from pyadeq.ext.move.migrate import BullQueues, CeleryQueues, ListQueues, RqQueues, StreamQueue

    functions = _functions(tasks) if tasks else None
    if name == SourceName.bullmq:
        if trust_pickle:
            raise ConfigError("--trust-pickle: BullMQ has no pickles; leave it out")
        given = {"prefix": prefix} if prefix else {}
        return lambda client: BullQueues(client, tasks=functions, **given)
    if name != SourceName.celery and prefix:
        raise ConfigError(f"--key-prefix: it is an option for celery and bullmq, not for {name.value}")
    if name in (SourceName.stream, SourceName.lists):
        if tasks or trust_pickle:
            raise ConfigError(f"--tasks and --trust-pickle: they are options for celery and rq, not for {name.value}")
        return StreamQueue if name == SourceName.stream else ListQueues
    if name == SourceName.rq:
        return lambda client: RqQueues(client, tasks=functions, trust_pickle=trust_pickle)
    return lambda client: CeleryQueues(client, tasks=functions, prefix=prefix, trust_pickle=trust_pickle)


def _functions(paths: Sequence[str]) -> Tasks:
    """Return the functions of all registries. Two with the same name are refused."""
    found = Tasks()
    for path in paths:
        one = load_named("--tasks", path, "mailing:queue")
        one = getattr(one, "tasks", one)
        if not isinstance(one, Tasks):
            raise ConfigError(f"--tasks: {path!r} is not accepted; allowed: a Tasks, or a Queue with tasks")
        found.include(one)
    return found


def _check_old(url: str) -> None:
    """Raise ConfigError if this is not the URL of a server, or if it changes how messages are read."""
    try:
        check_url(url)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--url", "--from")) from None
    with Adeq.from_url(url) as old:
        given = old.client.connection_pool.connection_kwargs  # type: ignore[union-attr]
    for name in ("decode_responses", "encoding", "encoding_errors"):  # any value: for redis-py the text False is true
        if name in given:
            raise ConfigError(f"--from: the option {name} is not accepted, because messages are bytes; leave it out")


def _mapping(queues: Iterable[str]) -> dict[str, str]:
    """Return each old queue with its queue in pyadeq. Raises ConfigError if one has two."""
    found: dict[str, tuple[str, str]] = {}
    for one in queues:
        old, _, new = one.rpartition("=")  # the old name may have a "="
        old, new = old or new, new or old
        known, before = found.setdefault(old, (new, one))
        if known != new:
            raise ConfigError(
                f"--queue: {before!r} and {one!r} are not accepted together: all tasks of {old!r} move into one queue; "
                "leave one of them out"
            )
    return {old: new for old, (new, _) in found.items()}

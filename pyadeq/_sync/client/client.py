# Generated from pyadeq/_async/client/client.py by pyadeq/_unasync.py; do not edit.
"""The client: it sends calls, and creates queues and lock domains."""

from __future__ import annotations

import os
from collections.abc import Iterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pyadeq._sync.client.nouns import Nouns
from pyadeq._sync.kernel.blocks import with_block
from pyadeq._sync.kernel.pipeline import Pipeline
from pyadeq._sync.kernel.runner import LONGEST_BLOCK
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.client_options import LONGEST_RETRY, NAMES, Options, check_retry_for, takes
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import Refusal, is_passing, loss_error, refusal_error
from pyadeq._core.kernel.sending import decoded
from pyadeq._core.kernel.tracing import Tracing, given_trace, tracing_of
from pyadeq._importing import IMPORTING
from pyadeq._twins import sleep
from pyadeq.codec import Codec
from pyadeq.errors import BadArgument, ClientClosed, ConfigError
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, utf8
from pyadeq.models.config import Annotation

if TYPE_CHECKING:  # redis-py is imported when a client is made; the modules of a noun when it is first used
    from redis import Redis, RedisCluster

    from pyadeq._sync.kernel.batching import Batching
    from pyadeq._sync.kernel.nodes import Use
    from pyadeq._sync.lock.acquire import AcquireOptions
    from pyadeq._sync.lock.across import WantedThere
    from pyadeq._sync.lock.grant import Grant
    from pyadeq._sync.queue.partitions import PartitionedQueue
    from pyadeq.models.lock import FoundDeadlock

T = TypeVar("T")
USUAL_RETRY = 5.0
# Seconds by which a server may be late in ending a wait.
LATE = 5.0
LONGEST_ANNOTATION = 200


@dataclass(frozen=True)
class _Opening(Options):
    """What a client is made of."""

    client: Redis | RedisCluster


class Adeq(Nouns):
    """A client of one Redis or Valkey server, or of a cluster.

    client: a `Redis` or `RedisCluster` of redis-py, also from `Sentinel.master_for`, or of a class of your own. It says
    where to connect and how. pyadeq opens its own connections, as many as its pool allows (`max_connections`), and
    further ones for waits, hints and renewals. `close` closes them. The client stays yours to use and to close. The
    client's `socket_timeout` should be below `retry_for`: otherwise a missing reply leaves no time for a second try.
    prefix, slot: how keys begin: `<prefix>:{queue:<name>}`, or with a slot `<prefix>:{<slot>}:queue:<name>`, and the
    same for locks. Everything with one slot can be reached by a single script.
    source: who makes the calls, at most 200 bytes; it is stored in events.
    clock: a function that returns milliseconds since the epoch; only for queues and lock domains that were created with
    `clock=test`.
    trace: a function that returns the W3C traceparent of the current work, or None; it is stored in events and tasks.
    `pyadeq.ext.connect.otel.Traces` also makes spans.
    retry_for: for how many seconds (0 to 45) a call without an answer is sent again, which is safe. Then it raises
    TransportError. None: 5; with Sentinel or a cluster 45, because a failover takes longer than 5 s.
    durability: when a call that writes is done. `memory`: when it ran. `aof`: when it is also on the primary's disk.
    This needs an append-only file and Redis 7.2 or Valkey, and `appendfsync always` on Valkey and on Redis before 8
    (`everysec` is refused). ConfigError otherwise. `replica`: when `replicas` replicas have it.
    None: as `memory`; but changes, and config namespaces that begin with `_`, such as that of tokens, as `replica` if
    `replicas` replicas follow the server.
    durability_timeout: seconds until DurabilityError, if there is no confirmation.
    codec: signs or encrypts payloads, results and errors of tasks; see `pyadeq.ext.connect.crypto`.
    batch: `enqueue` calls that threads or asyncio tasks make at the same time are sent together. Each has its own
    receipt or error.
    """

    @takes(_Opening)
    def __init__(self, options: _Opening) -> None:
        with IMPORTING:
            from pyadeq._sync.kernel.connect import has_failover, nodes_of
            from pyadeq._sync.kernel.hints import Hints
            from pyadeq._sync.kernel.registering import Registering
            from pyadeq._sync.kernel.scripts import Scripts

        super().__init__()
        self.client = options.client
        self._options = options
        self.prefix, self.slot, self.source = options.prefix, options.slot, options.source
        usual_retry = LONGEST_RETRY if has_failover(self.client) else USUAL_RETRY
        self._retry_for = usual_retry if options.retry_for is None else options.retry_for
        self._tracing = tracing_of(options.trace)
        wanted = options.confirmed
        confirmed = wanted.timeout_ms / 1000 + LATE if wanted else 0.0
        usual = 0.0 if wanted.by_noun else confirmed
        waits: dict[Use, float] = {"calls": usual, "confirmed": confirmed, "renewals": usual}
        self._nodes = nodes_of(self.client, {**waits, "blocks": LONGEST_BLOCK + LATE})
        self._registering = Registering(self.prefix, self.slot, lambda: self.address, self._nodes, self._register)
        self._scripts = Scripts(self._nodes, self._retry_for, wanted, self.now_ms, self._registering)
        self.hints = Hints(self._nodes)
        self.closed = self._has_ended = False
        self._owns_client = False
        self._partitioned: dict[str, PartitionedQueue] = {}

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        cluster: bool = False,
        prefix: str = "ade",
        slot: str | None = None,
        source: str = "",
        clock: Callable[[], int] | None = None,
        trace: Callable[[], str | None] | None = None,
        retry_for: float | None = None,
        durability: str | None = None,
        replicas: int = 1,
        durability_timeout: Seconds = 1.0,
        codec: Codec | None = None,
        batch: bool = False,
        **options: Any,
    ) -> Self:
        """Connect to a `redis://`, `rediss://`, `unix://` or `sentinel://` URL. Other options go to redis-py.

        url: `sentinel://host:port,host:port/name` asks the sentinels for the primary of this name; `sentinels://` uses
            TLS. Options for the sentinels begin with `sentinel_`: `sentinel_password`.
        cluster: the URL is that of a node of a cluster.
        """
        given = locals()
        with IMPORTING:
            from pyadeq._sync.kernel.connect import client_of

        client = client_of(url, cluster, options, ("cluster", *NAMES))
        adeq = cls(client, **{name: given[name] for name in NAMES})
        adeq._owns_client = True
        return adeq

    @classmethod
    @with_block("with Adeq.embedded() as adeq: …; or start an EmbeddedServer, and Adeq.from_url(server.url)")
    def embedded(cls, data_dir: str | os.PathLike[str] | None = None, **options: Any) -> Iterator[Self]:
        """Start a private server, and stop it when the with block ends.

        data_dir: the folder for the data; None: a temporary folder that is deleted. The other options are those of
        `from_url`.
        """
        with IMPORTING:
            from pyadeq.embedded import EmbeddedServer

        with EmbeddedServer(None if data_dir is None else Path(data_dir)) as server:
            with cls.from_url(server.url, **options) as adeq:
                yield adeq

    def __repr__(self) -> str:
        return f"<Adeq prefix={self.prefix!r} slot={self.slot!r}>"

    @property
    def address(self) -> str:
        """The address of the server, as a URL without user and password: `redis://localhost:6379/0`."""
        with IMPORTING:
            from pyadeq._sync.kernel.pools import address

        return address(self.client)

    @property
    def codec(self) -> Codec | None:
        """The codec for payloads, results and errors, as it was given."""
        return self._options.codec

    def now_ms(self) -> int:
        """Return the `now_ms` of a call: the clock's time, or 0, which means the server's time."""
        clock = self._options.clock
        return clock() if clock else 0

    def trace(self) -> str | None:
        """Return the `trace` of a call: the W3C traceparent of the current work."""
        given = given_trace() if self._tracing is None else None
        trace = self._options.trace
        return given or (trace() if trace else None)

    @property
    def tracing(self) -> Tracing | None:
        """Return the `trace` of the client, if it makes spans."""
        return self._tracing

    def partitioned(self, name: str) -> PartitionedQueue:
        """Return the queue with this name and all its partitions, always the same object; see `repartition`.

        Each partition has a hash slot of its own, so a client with a named slot raises ConfigError.
        """
        if self.slot is not None:
            raise ConfigError("slot: a client that keeps all in one slot has no partitions; make one without")
        if known := self._partitioned.get(name):
            return known
        with IMPORTING:
            from pyadeq._sync.queue.partitions import PartitionedQueue

        return self._partitioned.setdefault(name, PartitionedQueue(self, name, self.prefix, self.queue(name)))

    @with_block("with adeq.acquire_sorted(…) as grants: …")
    def acquire_sorted(
        self, wanted: Sequence[WantedThere], **options: Unpack[AcquireOptions]
    ) -> Iterator[dict[str, Grant]]:
        """Hold locks of several domains for the length of a with block. Yields the grant of each domain.

        They are acquired domain by domain, in the order of the names, all locks of a domain at once. They are released
        in reverse order. Programs that take locks of several domains only in this way cannot form a deadlock across
        domains.

        wanted: (domain, resource), (domain, resource, mode) or (domain, LockRequest).
        wait: seconds for all of them. Errors are those of `Locks.acquire`.
        """
        with IMPORTING:
            from pyadeq._sync.lock.across import acquire_sorted

        with acquire_sorted(self.locks, wanted, **options) as grants:
            yield grants

    def find_deadlocks(self, domains: Iterable[str]) -> list[FoundDeadlock]:
        """Find deadlocks across several domains, and end one wait of each. Returns what was found and ended.

        An owner is the same in all domains. Each domain finds its own deadlocks when they form. Deadlocks across
        domains are found only by this call, so make it from time to time. Several programs may call it at the same
        time, because all choose the same wait. Only real deadlocks are ended.
        """
        with IMPORTING:
            from pyadeq._sync.lock.across import find_deadlocks

        return find_deadlocks(self.locks, domains)

    def run(self, queue: str, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> Any:
        """Enqueue a task and wait for its result; see `Queue.run`."""
        return self.queue(queue).run(payload, wait=wait, **options)

    def annotate(self, text: str, *, actor: str | None = None) -> None:
        """Record a moment that charts show, such as the deployment of a version. The last 100 are kept.

        An annotation belongs to the installation, not to a queue. It is a version of the name `deployment` in the
        config namespace `_marks`.

        text: 1 to 200 characters.
        """
        if not 1 <= len(text) <= LONGEST_ANNOTATION:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"text: {len(text)} characters; allowed: 1 to {LONGEST_ANNOTATION}")
        self.config("_marks").set("deployment", utf8(text, "text"), actor=actor)

    def annotations(self, since: Moment = 0) -> list[Annotation]:
        """Return the annotations since a time, oldest first."""
        first = to_epoch_ms("since", since) / 1000
        found: list[Annotation] = []
        for one in self.config("_marks").history("deployment"):
            if one.at < first:
                break
            if one.value is not None:
                found.append(Annotation(one.at, one.value.decode(errors="replace"), one.actor))
        return found[::-1]

    def batching(self) -> Batching | None:
        """Return what sends the calls of one queue together, with `batch`. Queues do not wait for each other."""
        if not self._options.batch:
            return None
        with IMPORTING:
            from pyadeq._sync.kernel.batching import Batching

        return Batching(self._scripts.send)

    def send(self, call: Call[T], retry_for: float | None = None) -> T:
        """Send one call. Raises its ScriptError, TransportError without an answer in `retry_for`, or DurabilityError.

        retry_for: seconds, at most 45, because after that time the server may have forgotten the call, and would run it
        again. None: the client's.
        """
        if retry_for is not None:
            check_retry_for(retry_for)
        (outcome,) = self._scripts.send([call], retry_for)
        return decoded(call, outcome)

    def retry_until(self, until: float) -> float:
        """Return the `retry_for` of a call in a wait that ends then: the client's, or the time left."""
        return max(min(self._retry_for, until - monotonic()), 0.0)

    def send_apart(self, call: Call[T]) -> T:
        """Send a call on separate connections, so that an urgent call never waits for a connection."""
        (outcome,) = self._scripts.send([call], use="renewals")
        return decoded(call, outcome)

    def _register(self, noun: str, names: Sequence[str]) -> None:
        """Add names to the registry of a noun."""
        with IMPORTING:
            from pyadeq._sync.registry import parts

        self.send_apart(self.noun("registry", noun).calls.build("add", item=parts(names)))

    def node_of(self, key: str) -> object:
        """Return an identifier of the server that has a key, from the known slot map. Sends no command."""
        return self._nodes.routes.node_of(key)

    def pipeline(self) -> Pipeline:
        """Collect many calls and send them in few round trips.

        with adeq.pipeline() as pipe:
            result = pipe.add(call)
        """
        return Pipeline(self._scripts)

    def load_scripts(self, ids: Iterable[str] | None = None) -> list[str]:
        """Load scripts at a deploy: all, or those with these ids. Returns their ids. Calls load missing scripts by
        themselves.
        """
        scripts = [library()[script_id] for script_id in (library() if ids is None else ids)]
        self._scripts.load(scripts)
        return [script.id for script in scripts]

    def blocking_client(self, longest_block: float = LONGEST_BLOCK) -> Redis:
        """Return a redis-py client for blocking commands, with its own connections to the one server. The caller closes
        it.

        longest_block: seconds that a command may block. The socket's timeout is longer, by 5 s and the client's own
        timeout.
        """
        with IMPORTING:
            from pyadeq._sync.kernel.connect import client_like

        made = client_like(self.client, longest_block + LATE)
        if made is None:
            raise ConfigError("client: a cluster has no single server to block on; use block()")
        if self.closed:
            raise ClientClosed
        return made

    def block(self, keys: Sequence[str], seconds: float) -> str | None:
        """Wait until one of the lists has an element, and take it. Returns the list; None after this time, at most 10
        seconds.

        Elements are only hints. If a connection is lost, one may be lost with it, and the answer is "".
        """
        heard, _ = self._block(keys, seconds)
        return heard

    def block_then(self, keys: Sequence[str], seconds: float, call: Call[T]) -> tuple[str | None, T | None]:
        """Wait as `block` does. The server runs a call as soon as the wait is over, in the same round trip.

        Without an answer, the call may have run or not, so send it again. A client with a `durability` other than
        memory does not send it here.
        """
        more = [] if self._scripts.confirms else [call.packed()]
        heard, replies = self._block(keys, seconds, *more)
        if not replies or isinstance(replies[0], Refusal):
            return heard, None
        return heard, decoded(call, replies[0])

    def _block(self, keys: Sequence[str], seconds: float, *more: bytes) -> tuple[str | None, list[Any]]:
        """Return what was heard, and the replies to the other commands."""
        seconds = min(max(seconds, 0.01), LONGEST_BLOCK)
        replies = self._wait(keys[0], seconds, ["BLPOP", *keys, f"{seconds:.3f}"], *more)
        if replies is None:
            return "", []
        return replies[0] and str(replies[0][0].decode()), replies[1:]

    def block_on(self, stream: str, last: str, seconds: float) -> None:
        """Wait until a stream has an entry with a larger id than `last`, or this time is over, at most 10 seconds."""
        ms = round(min(max(seconds, 0.01), LONGEST_BLOCK) * 1000)
        self._wait(stream, seconds, ["XREAD", "COUNT", 1, "BLOCK", ms, "STREAMS", stream, last])

    def _wait(self, key: str, seconds: float, command: Sequence[str | int], *more: bytes) -> list[Any] | None:
        """Send a command that blocks, and others behind it. Returns the replies; None after an error that may pass."""
        self._nodes.prepare()
        node = self._nodes.routes.node_of(key)
        replies, loss = self._nodes.exchange(node, [pack(*command), *more], use="blocks")
        if replies and not isinstance(replies[0], Refusal):
            return replies
        if loss is None and not is_passing(replies[0]) and self._nodes.routes.follow(replies[0], node) is None:
            raise refusal_error(str(command[0]), replies[0], False)
        if loss is not None and isinstance(loss.error, ClientClosed):
            raise loss_error(str(command[0]), loss, False)
        # The error may pass. Sleep, so that a caller in a loop does not call again at once.
        sleep(min(seconds, 1.0))
        self._nodes.refresh()
        return None

    def close(self) -> None:
        """End the renewal of locks, and close what was opened here; after `from_url` also the client.

        Every later call raises ClientClosed. So do calls that wait for a lock, a task or a result. Locks that are still
        held end with their leases. Closing again does nothing. On another event loop than the client's it raises
        ConfigError, and the client stays open.
        """
        if self._has_ended:
            return
        self._nodes.settle_in()
        self.closed = True
        try:
            for made in list(self._made.values()):
                if hasattr(made, "close"):
                    made.close()
            self._registering.close()
            self.hints.close()
            self._nodes.close()
        finally:
            if self._owns_client:
                with IMPORTING:
                    from pyadeq._sync.kernel.pools import close_client
                close_client(self.client)
        self._has_ended = True

    def __enter__(self) -> Self:
        if self.closed:
            raise ClientClosed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

# Generated from pyadeq/_async/kernel/client.py by pyadeq/_unasync.py; do not edit.
"""The client: where calls are run, and where queues and locks come from."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pyadeq._sync.kernel.blocks import with_block
from pyadeq._sync.kernel.nouns import Nouns
from pyadeq._sync.kernel.pipeline import Pipeline
from pyadeq._sync.kernel.runner import LONGEST_BLOCK
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.durability import Durability
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.refusals import Refusal, is_passing, loss_error, refusal_error
from pyadeq._core.kernel.sending import decoded, pack
from pyadeq._twins import sleep
from pyadeq.codec import Codec
from pyadeq.errors import ClientClosed, ConfigError
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds

if TYPE_CHECKING:  # redis-py is imported when a client is made, a noun when it is first used
    from redis import Redis, RedisCluster

    from pyadeq._sync.lock.acquire import AcquireOptions
    from pyadeq._sync.lock.across import WantedThere
    from pyadeq._sync.lock.grant import Grant
    from pyadeq._sync.queue.partitions import PartitionedQueue
    from pyadeq.models.lock import FoundDeadlock

T = TypeVar("T")
LONGEST_RETRY = 45.0
# Seconds by which a server may be late in ending a wait.
LATE = 5.0


class Adeq(Nouns):
    """Runs scripts on a Redis or Valkey server, or on a cluster of them.

    client: a `Redis` or `RedisCluster` of redis-py, also one from `Sentinel.master_for`, or of a class of your own. It
    says where to connect and how; the connections are pyadeq's own, closed by `close`. They are as many as its pool
    allows (`max_connections`), and others for waits, hints and renewals; the client stays yours to use and to close.
    Its `socket_timeout` should be below `retry_for`, or a reply that never comes leaves no time for a second try.
    prefix, slot: where keys go: `<prefix>:{queue:<name>}`, or `<prefix>:{<slot>}:queue:<name>`, which puts
    all that has this slot where a single script can reach it; for locks alike.
    source: who makes the calls, at most 200 bytes; events carry it.
    clock: milliseconds since the epoch; only for queues and lock domains that were created with `clock=test`.
    trace: answers the W3C traceparent of what the program does now, or None; events carry it, and so do tasks.
    retry_for: seconds, 0 to 45, in which a call without an answer is sent again (which is safe) before TransportError.
    durability: when a call that writes is done: `memory`, when it ran; `aof`, when it is on the primary's disk too
    (ConfigError where that cannot be known: Redis before 7.2, no append-only file); `replica`, when as many `replicas`
    have it. DurabilityError without that confirmation within `durability_timeout` seconds.
    codec: what signs or encrypts payloads, results and errors of tasks; see `pyadeq.ext.crypto`.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        *,
        prefix: str = "ade",
        slot: str | None = None,
        source: str = "",
        clock: Callable[[], int] | None = None,
        trace: Callable[[], str | None] | None = None,
        retry_for: float = 5.0,
        durability: str = "memory",
        replicas: int = 1,
        durability_timeout: Seconds = 1.0,
        codec: Codec | None = None,
    ) -> None:
        from pyadeq._sync.kernel.connect import nodes_of
        from pyadeq._sync.kernel.hints import Hints
        from pyadeq._sync.kernel.scripts import Scripts

        _check_retry_for(retry_for)
        super().__init__()
        self.client = client
        self.prefix = check_name("prefix", prefix)
        self.slot = slot if slot is None else check_name("slot", slot)
        self.source = source
        self._retry_for = retry_for
        self._codec = codec
        self._clock = clock
        self._trace = trace
        wanted = Durability.checked(durability, replicas, durability_timeout)
        longest_wait = wanted.timeout_ms / 1000 + LATE if wanted else 0.0
        self._nodes = nodes_of(client, longest_wait, LONGEST_BLOCK + LATE)
        self._scripts = Scripts(self._nodes, retry_for, wanted, self.now_ms)
        self.hints = Hints(self._nodes)
        self.closed = self._has_ended = False
        self._options: dict[str, Any] = {  # by which another client is made like this one
            "prefix": prefix,
            "slot": slot,
            "source": source,
            "clock": clock,
            "trace": trace,
            "retry_for": retry_for,
            "durability": durability,
            "replicas": replicas,
            "durability_timeout": durability_timeout,
            "codec": codec,
        }
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
        retry_for: float = 5.0,
        durability: str = "memory",
        replicas: int = 1,
        durability_timeout: Seconds = 1.0,
        codec: Codec | None = None,
        **options: Any,
    ) -> Self:
        """Connect to a `redis://`, `rediss://` or `unix://` URL; other options go to redis-py.

        cluster: the URL is that of a node of a cluster.
        """
        from pyadeq._sync.kernel.connect import client_of

        client = client_of(url, cluster, options, list(inspect.signature(cls.from_url).parameters)[1:-1])
        adeq = cls(
            client,
            prefix=prefix,
            slot=slot,
            source=source,
            clock=clock,
            trace=trace,
            retry_for=retry_for,
            durability=durability,
            replicas=replicas,
            durability_timeout=durability_timeout,
            codec=codec,
        )
        adeq._owns_client = True
        return adeq

    @classmethod
    @with_block("with Adeq.embedded() as adeq: …; or start an EmbeddedServer, and Adeq.from_url(server.url)")
    def embedded(cls, data_dir: str | os.PathLike[str] | None = None, **options: Any) -> Iterator[Self]:
        """Start a private server, and stop it when the with block ends.

        data_dir: where the data is kept; without it, in a temporary folder that is deleted. The options are
        those of `from_url`.
        """
        from pyadeq.embedded import EmbeddedServer

        with EmbeddedServer(None if data_dir is None else Path(data_dir)) as server:
            with cls.from_url(server.url, **options) as adeq:
                yield adeq

    def __repr__(self) -> str:
        return f"<Adeq prefix={self.prefix!r} slot={self.slot!r}>"

    @property
    def address(self) -> str:
        """Where the server is, as a URL without user and password: `redis://localhost:6379/0`."""
        from pyadeq._sync.kernel.pools import address

        return address(self.client)

    @property
    def codec(self) -> Codec | None:
        """What seals payloads, results and errors, as it was given."""
        return self._codec

    def now_ms(self) -> int:
        """What a call sends as `now_ms`: the clock's time, or 0, the server's time."""
        return self._clock() if self._clock else 0

    def trace(self) -> str | None:
        """What a call sends as `trace`: the W3C traceparent of what the program does now."""
        return self._trace() if self._trace else None

    def partitioned(self, name: str) -> PartitionedQueue:
        """The queue of that name in as many partitions as it has, always the same object; see `repartition`.

        Each partition is in a hash slot of its own, so a client with a named slot has none. ConfigError.
        """
        if self.slot is not None:
            raise ConfigError("slot: a client that keeps all in one slot has no partitions; make one without")
        if known := self._partitioned.get(name):
            return known
        from pyadeq._sync.queue.partitions import PartitionedQueue

        return self._partitioned.setdefault(name, PartitionedQueue(self, name, self.prefix, self.queue(name)))

    @with_block("with adeq.acquire_sorted(…) as grants: …")
    def acquire_sorted(
        self, wanted: Sequence[WantedThere], **options: Unpack[AcquireOptions]
    ) -> Iterator[dict[str, Grant]]:
        """Hold locks of several domains for the length of a with block: the grant of each domain.

        wanted: (domain, resource), (domain, resource, mode) or (domain, LockRequest). They are acquired domain by
        domain in the order of the names, all of a domain at once, and given back in reverse. Those who take locks of
        several domains only in this way cannot form a deadlock across them. wait: seconds for all of it; errors as
        `Locks.acquire` has them.
        """
        from pyadeq._sync.lock.across import acquire_sorted

        with acquire_sorted(self.locks, wanted, **options) as grants:
            yield grants

    def find_deadlocks(self, domains: Iterable[str]) -> list[FoundDeadlock]:
        """Look for deadlocks that go through several domains, and end one wait of each; what was found and ended.

        An owner is the same in all domains. Each domain finds those within itself when they form; these need somebody
        to look from time to time. Several may: all would end the same wait. None is ended that is not a deadlock.
        """
        from pyadeq._sync.lock.across import find_deadlocks

        return find_deadlocks(self.locks, domains)

    def run(self, queue: str, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> Any:
        """Enqueue a task and wait for its result; see `Queue.run`."""
        return self.queue(queue).run(payload, wait=wait, **options)

    def send(self, call: Call[T], retry_for: float | None = None) -> T:
        """Send one call. Raises its ScriptError, TransportError without an answer in `retry_for`, or DurabilityError.

        retry_for: seconds, at most 45, after which a script may take a call for a new one; None: the client's.
        """
        if retry_for is not None:
            _check_retry_for(retry_for)
        (outcome,) = self._scripts.send([call], retry_for)
        return decoded(call, outcome)

    def send_apart(self, call: Call[T]) -> T:
        """As `send`, on connections of its own, so that a call that must not be late never waits for one."""
        (outcome,) = self._scripts.send([call], use="renewals")
        return decoded(call, outcome)

    def node_of(self, key: str) -> object:
        """What tells the server apart that has a key, as far as it is known; nothing is asked."""
        return self._nodes.routes.node_of(key)

    def pipeline(self) -> Pipeline:
        """Many calls in few round trips: `with adeq.pipeline() as pipe: result = pipe.add(call)`."""
        return Pipeline(self._scripts)

    def load_scripts(self, ids: Iterable[str] | None = None) -> list[str]:
        """Load scripts, all unless ids are given; their ids. For deploys: calls load what they miss."""
        scripts = [library()[script_id] for script_id in (library() if ids is None else ids)]
        self._scripts.load(scripts)
        return [script.id for script in scripts]

    def blocking_client(self, longest_block: float = LONGEST_BLOCK) -> Redis:
        """A redis-py client for blocking commands on the one server, with connections of its own; the caller closes it.

        longest_block: seconds that a command may block. The socket's timeout is longer by 5 s and the client's own.
        """
        from pyadeq._sync.kernel.connect import client_like

        made = client_like(self.client, longest_block + LATE)
        if made is None:
            raise ConfigError("client: a cluster has no single server to block on; use block()")
        if self.closed:
            raise ClientClosed
        return made

    def block(self, keys: Sequence[str], seconds: float) -> str | None:
        """Wait until one of the lists has an element and take it; which list. None after so many seconds, at most 10.

        Elements are hints and nothing else: one may be lost with its connection, and then the answer is "".
        """
        heard, _ = self._block(keys, seconds)
        return heard

    def block_then(self, keys: Sequence[str], seconds: float, call: Call[T]) -> tuple[str | None, T | None]:
        """As `block`, and then a call, which the server runs as soon as the wait is over, in the same round trip.

        Without an answer of the call it may have run or not: it is to be sent again. A client whose `durability` asks
        for more than memory does not send it here.
        """
        more = [] if self._scripts.confirms else [pack(*call.command())]
        heard, replies = self._block(keys, seconds, *more)
        if not replies or isinstance(replies[0], Refusal):
            return heard, None
        return heard, call.decode(replies[0])

    def _block(self, keys: Sequence[str], seconds: float, *more: bytes) -> tuple[str | None, list[Any]]:
        """What was heard, and the replies to what goes with it."""
        seconds = min(max(seconds, 0.01), LONGEST_BLOCK)
        self._nodes.prepare()
        node = self._nodes.routes.node_of(keys[0])
        command = pack("BLPOP", *keys, f"{seconds:.3f}")
        replies, loss = self._nodes.exchange(node, [command, *more], use="blocks")
        if replies and not isinstance(replies[0], Refusal):
            return replies[0] and str(replies[0][0].decode()), replies[1:]
        if loss is None and not is_passing(replies[0]) and self._nodes.routes.follow(replies[0], node) is None:
            raise refusal_error("BLPOP", replies[0], False)
        if loss is not None and isinstance(loss.error, ClientClosed):
            raise loss_error("BLPOP", loss, False)
        # The next call will tell whether the server is there; until then, do not spin.
        sleep(min(seconds, 1.0))
        self._nodes.refresh()
        return "", []

    def close(self) -> None:
        """End the renewal of locks, and close what was opened here; after `from_url` the client too.

        Every later call raises ClientClosed, and so do those that wait for a lock, a task or a result. Locks that are
        still held end with their leases. To close again does nothing. ConfigError on another event loop than the
        client is used on: then it stays open.
        """
        if self._has_ended:
            return
        self._nodes.settle_in()
        self.closed = True
        try:
            for made in list(self._made.values()):
                if hasattr(made, "close"):
                    made.close()
            self.hints.close()
            self._nodes.close()
        finally:
            if self._owns_client:
                self.client.close()
        self._has_ended = True

    def __enter__(self) -> Self:
        if self.closed:
            raise ClientClosed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _check_retry_for(seconds: float) -> None:
    if not 0 <= seconds <= LONGEST_RETRY:
        raise ConfigError(
            f"retry_for: {seconds!r} is not accepted; allowed: 0 to {LONGEST_RETRY:g} seconds, for a script may take a "
            "call that is sent again later for a new one"
        )

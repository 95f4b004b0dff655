"""The client: where calls are run, and where queues come from."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from redis.asyncio import Redis

from pyadeq._async.pipeline import Pipeline
from pyadeq._async.queue import Queue
from pyadeq._async.runner import LONGEST_BLOCK
from pyadeq._async.scripts import Scripts
from pyadeq._async.wire import Wire, no_retry, own_client
from pyadeq._core.call import Call
from pyadeq._core.manifest import library
from pyadeq._core.refusals import Refusal, is_passing, refusal_error
from pyadeq._core.sending import pack
from pyadeq._twins import aio_sleep
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.keys import check_name, queue_base

T = TypeVar("T")
LONGEST_RETRY = 45.0


class Adeq:
    """Runs scripts on one Redis or Valkey server.

    client: its connections are used, and it stays yours to close. Its `socket_timeout` should be below
    `retry_for`, or a reply that never comes leaves no time for a second try. It may decode responses: pyadeq
    reads bytes anyway.
    prefix, slot: where keys go: `<prefix>:{queue:<name>}`, or `<prefix>:{<slot>}:queue:<name>`, which puts
    all that has this slot where a single script can reach it.
    source: who makes the calls, at most 200 bytes; events carry it.
    clock: milliseconds since the epoch; only for queues that were created with `clock=test`.
    retry_for: seconds, 0 to 45, in which a call without an answer is sent again (which is safe) before TransportError.
    """

    def __init__(
        self,
        client: Redis,
        *,
        prefix: str = "ade",
        slot: str | None = None,
        source: str = "",
        clock: Callable[[], int] | None = None,
        retry_for: float = 5.0,
    ) -> None:
        _check_retry_for(retry_for)
        self.client = client
        self.prefix = check_name("prefix", prefix)
        self.slot = slot if slot is None else check_name("slot", slot)
        self.source = source
        self._clock = clock
        self._scripts = Scripts(Wire(client), retry_for)
        self._owns_client = False
        self._queues: dict[str, Queue] = {}
        self._blocking = self.blocking_client()

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        prefix: str = "ade",
        slot: str | None = None,
        source: str = "",
        clock: Callable[[], int] | None = None,
        retry_for: float = 5.0,
        **options: Any,
    ) -> Self:
        """Connect to a `redis://`, `rediss://` or `unix://` URL; other options go to redis-py."""
        settings = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "health_check_interval": 30}
        try:
            client = Redis.from_url(url, **{**settings, "retry": no_retry(), **options})
        except ValueError:  # the URL stays untold: it may hold a password
            raise ConfigError("url: what was given is not accepted; allowed: redis://, rediss://, unix://") from None
        adeq = cls(client, prefix=prefix, slot=slot, source=source, clock=clock, retry_for=retry_for)
        adeq._owns_client = True
        return adeq

    @classmethod
    @asynccontextmanager
    async def embedded(cls, data_dir: str | os.PathLike[str] | None = None, **options: Any) -> AsyncIterator[Self]:
        """Start a private server, and stop it when the with block ends.

        data_dir: where the data is kept; without it, in a temporary folder that is deleted. The options are
        those of `from_url`.
        """
        from pyadeq.embedded import EmbeddedServer

        with EmbeddedServer(None if data_dir is None else Path(data_dir)) as server:
            async with cls.from_url(server.url, **options) as adeq:
                yield adeq

    def __repr__(self) -> str:
        return f"<Adeq prefix={self.prefix!r} slot={self.slot!r}>"

    def now_ms(self) -> int:
        """What a call sends as `now_ms`: the clock's time, or 0, the server's time."""
        return self._clock() if self._clock else 0

    def queue(self, name: str) -> Queue:
        """The queue of that name, always the same object; on the server it is made by its first task."""
        if name not in self._queues:
            self._queues[name] = Queue(self, name, queue_base(name, self.prefix, self.slot))
        return self._queues[name]

    async def run(self, call: Call[T], retry_for: float | None = None) -> T:
        """Run one call. Raises its ScriptError, or TransportError without an answer within `retry_for`.

        retry_for: seconds, at most 45, after which a script may take a call for a new one; None: the client's.
        """
        if retry_for is not None:
            _check_retry_for(retry_for)
        (outcome,) = await self._scripts.send([call], retry_for)
        if isinstance(outcome, AdeqError):
            raise outcome
        return call.decode(outcome)

    def pipeline(self) -> Pipeline:
        """Many calls in few round trips: `async with adeq.pipeline() as pipe: result = pipe.add(call)`."""
        return Pipeline(self._scripts)

    async def load_scripts(self, ids: Iterable[str] | None = None) -> list[str]:
        """Load scripts, all unless ids are given; their ids. For deploys: calls load what they miss."""
        scripts = [library()[script_id] for script_id in (library() if ids is None else ids)]
        await self._scripts.load(scripts)
        return [script.id for script in scripts]

    def blocking_client(self, longest_block: float = LONGEST_BLOCK) -> Redis:
        """A redis-py client for blocking commands, with connections of its own; the caller closes it.

        longest_block: seconds that a command may block. The socket's timeout is 5 s more, for a slow server.
        """
        return own_client(self.client, longest_block + 5.0)

    async def block(self, keys: Sequence[str], seconds: float) -> bool:
        """Wait until one of the lists has an element and take it; False after so many seconds, at most 10.

        Elements are hints and nothing else: one that is lost with its connection costs no more than the wait.
        """
        seconds = min(max(seconds, 0.01), LONGEST_BLOCK)
        replies, loss = await Wire(self._blocking).exchange([pack("BLPOP", *keys, f"{seconds:.3f}")])
        if loss is not None:
            # The next call will tell whether the server is there; until then, do not spin.
            await aio_sleep(min(seconds, 1.0))
            return False
        if not isinstance(replies[0], Refusal):
            return replies[0] is not None
        # A primary that is demoted ends its blocks.
        if is_passing(replies[0]) or replies[0].code == "UNBLOCKED":
            await aio_sleep(min(seconds, 1.0))
            return False
        raise refusal_error("BLPOP", replies[0], False)

    async def aclose(self) -> None:
        """Close the connections that were opened here: all of them after `from_url`."""
        try:
            await self._blocking.aclose()
        finally:
            if self._owns_client:
                await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _check_retry_for(seconds: float) -> None:
    if not 0 <= seconds <= LONGEST_RETRY:
        raise ConfigError(
            f"retry_for: {seconds!r} is not accepted; allowed: 0 to {LONGEST_RETRY:g} seconds, for a script may take a "
            "call that is sent again later for a new one"
        )

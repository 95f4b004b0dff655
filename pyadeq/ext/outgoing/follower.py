"""Turns events into messages: a group reads each stream that an endpoint wants. Any number of processes may follow.

A batch of events is acknowledged after its messages are enqueued. If a process dies between the two, the events come
again, and their messages have the ids that exist already.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Generic, Protocol, Self, TypeVar

from pyadeq import ConfigValue, EventBatch, Task
from pyadeq.asyncio import Adeq, Events
from pyadeq.errors import AdeqError, ClientClosed, TransportError, UnknownGroup
from pyadeq.ext.outgoing.stamps import aio_stamp_key, stamped
from pyadeq.ext.outgoing.stored import Stored
from pyadeq.ext.outgoing.streams import events_of

PAGE: Final = 100
"""Events of one batch."""
HOLD: Final = 60.0
"""Seconds after which the events of a process that has died come again."""
WAIT: Final = 10.0
PAUSE: Final = 1.0
"""Seconds until something that has failed is tried again."""
FIND: Final = 30.0
"""Seconds between two looks for new queues and so on, which scan all keys."""
LONGEST_PAUSE: Final = 60.0
OF_ENDPOINT: Final = ":"
"""Names with this character are not endpoints: they store facts about endpoints and the service."""
STUCK: Final = "stuck:forwarder"
"""The name with the last failure that was not an error of the connection, see `Stuck`. Events that failed come again
after `hold` seconds, so while a stream is stuck, its time is not older than that.
"""
MOST_ERROR: Final = 500


class Wanting(Protocol):
    """What a follower needs to know of an endpoint."""

    @classmethod
    def read(cls, stored: ConfigValue | None) -> Self | None:
        """Return an endpoint as it is stored; None if it is of a newer version."""

    @property
    def enabled(self) -> bool:
        """Whether messages are sent to it."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Patterns of the streams that it wants, `<noun>:<name>`."""

    @property
    def concurrency(self) -> int:
        """Messages at a time."""

    @property
    def starts(self) -> int | None:
        """Messages in a second; None: not limited."""

    def wants_stream(self, stream: str) -> bool:
        """Whether it wants events of `<noun>:<name>` or `<noun>:<name>/<partition>`."""


class Stuck(Stored, frozen=True):
    """Why events are not forwarded. stream: empty if endpoints cannot be read. at: seconds since the epoch."""

    stream: str
    error: str
    at: float


E = TypeVar("E", bound=Wanting)


class Follower(ABC, Generic[E]):
    """Enqueues messages about the events that endpoints want.

    namespace: the config namespace with the endpoints. queue: where messages are enqueued. group: the group that reads
    the streams. endpoint: the class of the endpoints. find: seconds between two looks for new streams. Their events are
    read from their beginning.
    """

    def __init__(
        self,
        adeq: Adeq,
        *,
        namespace: str,
        queue: str,
        group: str,
        endpoint: type[E],
        find: float = FIND,
        hold: float = HOLD,
    ) -> None:
        self._adeq = adeq
        self._namespace = namespace
        self._config = adeq.config(namespace)
        self._queue = adeq.queue(queue)
        self._group = group
        self._endpoint = endpoint
        self._find = find
        self._hold = hold
        self._log = logging.getLogger(f"pyadeq.{group}")
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._limited: dict[str, tuple[int, int | None]] | None = None
        self.enqueued = 0
        """Messages that this process has enqueued."""
        self.lost = 0
        """Events that were deleted before this process could forward them. An unknown number counts as one."""

    @abstractmethod
    async def messages_of(self, stream: str, batch: EventBatch, endpoints: Mapping[str, E]) -> Sequence[Task]:
        """Return the messages about some events. The same events give the same ids."""

    async def run(self) -> None:
        """Forward until it is cancelled. While the server is away, it waits."""
        async with asyncio.TaskGroup() as group:
            watch = self._config.watch(on_change=self._notice)
            await watch.start(wait=0)
            failures = 0
            try:
                while True:
                    self._changed.clear()
                    pause = self._find
                    try:
                        await self._look(group)
                    except ClientClosed:
                        raise
                    except Exception as error:
                        failures += 1
                        await self._fails("streams and endpoints cannot be read", error)
                        pause = min(pause, _pause(error, failures))
                    else:
                        failures = 0
                    with suppress(TimeoutError):  # `wait_for` of Python 3.11 may lose a cancellation
                        async with asyncio.timeout(pause):
                            await self._changed.wait()
            finally:
                await watch.aclose()

    def _notice(self, names: frozenset[str]) -> None:
        if not all(OF_ENDPOINT in name for name in names):
            self._changed.set()

    async def endpoints(self) -> dict[str, E]:
        """Return the endpoints as they are now, by their ids."""
        found = {}
        for id, one in (await self._config.list()).items():
            if OF_ENDPOINT in id:
                continue
            if endpoint := self._endpoint.read(one):
                found[id] = endpoint
            else:
                self._log.error("endpoint %s is of a newer version, and gets nothing from this process", id)
        return found

    async def _look(self, group: asyncio.TaskGroup) -> None:
        """Begin to follow the streams that are wanted, and leave the others."""
        endpoints = {id: one for id, one in (await self.endpoints()).items() if one.enabled}
        await self._set_limits(endpoints)
        nouns = {pattern.partition(":")[0] for one in endpoints.values() for pattern in one.streams}
        wanted = set()
        for noun in sorted(nouns):
            async for name in self._adeq.names(noun, partitions=True):
                stream = f"{noun}:{name}"
                if any(one.wants_stream(stream) for one in endpoints.values()):
                    wanted.add(stream)
        for stream in wanted:
            # One that is done was left, and its group is still to be dropped: see below.
            if stream not in self._followed or self._followed[stream].done():
                following = self._follow(stream)
                self._followed[stream] = group.create_task(following, name=f"{self._group} of {stream}")
        for stream in self._followed.keys() - wanted:
            if any(one.wants_stream(stream) for one in endpoints.values()) and await self._exists(stream):
                continue  # only the list of names lacks it
            self._followed[stream].cancel()
            await asyncio.wait([self._followed[stream]])
            await events_of(self._adeq, stream).remove(self._group)
            del self._followed[stream]  # only now: if the drop fails, the next look tries it again

    async def _exists(self, stream: str) -> bool:
        """Whether the noun of a stream exists."""
        return bool(await self._adeq.client.exists(f"{events_of(self._adeq, stream).base}:config"))

    async def _set_limits(self, endpoints: Mapping[str, E]) -> None:
        """Let each endpoint have its share of the queue, and no more than it wants."""
        wanted = {f"user:{id}": (one.concurrency, one.starts) for id, one in endpoints.items()}
        if wanted == self._limited:
            return
        await self._queue.configure(fair=True)
        limits = self._queue.limits
        for key, (concurrency, starts) in wanted.items():
            await limits.set(key, concurrency=concurrency, starts=starts, burst=None if starts is None else 1)
        for limit in await limits.list():
            if limit.key.startswith("user:") and limit.key not in wanted:
                await limits.remove(limit.key)
        self._limited = wanted

    async def _follow(self, stream: str) -> None:
        """Forward the events of a stream. Whatever fails is tried again: one bad event must not silence a stream."""
        events, failures, task = events_of(self._adeq, stream), 0, asyncio.current_task()
        # Up to Python 3.11, `asyncio.wait_for`, by which redis-py sends, loses a cancellation that comes with a reply.
        while task is None or not task.cancelling():
            try:
                await self._step(stream, events)
                failures = 0
            except ClientClosed:
                return
            except Exception as error:
                failures += 1
                await self._fails(f"events of {stream} cannot be forwarded", error, stream)
                await asyncio.sleep(_pause(error, failures))

    async def _step(self, stream: str, events: Events) -> None:
        try:
            batch = await events.read(self._group, limit=PAGE, hold=self._hold, wait=WAIT)
        except UnknownGroup:  # begin with the oldest event: each endpoint gets those since it was added
            await events.add(self._group)
            return
        if not batch.events and not batch.gap:
            return
        try:
            await self._forward(stream, events, batch)
        except AdeqError:
            raise
        except Exception:
            if len(batch.events) == 1:
                raise
            await self._forward_each(stream, events, batch)

    async def _forward_each(self, stream: str, events: Events, batch: EventBatch) -> None:
        """Forward the events one by one. Raises the last error, after all events that can be forwarded are."""
        failed: Exception | None = None
        for event in batch.events:
            try:
                await self._forward(stream, events, batch._replace(events=(event,)))
                batch = batch._replace(gap=None)
            except AdeqError:
                raise
            except Exception as error:
                failed = error
        if failed:
            raise failed

    async def _fails(self, what: str, error: Exception, stream: str = "") -> None:
        """Log it, and store it for the doctor. Errors of the server are expected: they have no traceback."""
        self._log.warning("%s: %s", what, error, exc_info=None if isinstance(error, AdeqError) else error)
        if isinstance(error, TransportError):
            return
        stuck = Stuck(stream=stream, error=f"{type(error).__name__}: {error}"[:MOST_ERROR], at=time.time())
        with suppress(AdeqError):
            await self._config.set(STUCK, stuck.encoded(), actor=self._group, reason="failed")

    async def _forward(self, stream: str, events: Events, batch: EventBatch) -> None:
        # The endpoints are read after the events: so none is missing that was added before one of them.
        endpoints = {id: one for id, one in (await self.endpoints()).items() if one.enabled}
        messages = await self.messages_of(stream, batch, endpoints)
        if batch.gap:
            self._log.warning("events of %s were lost before they could be forwarded: %s", stream, batch.gap.lost)
        if messages:
            await self._enqueue(messages)
        await events.ack(self._group, batch)
        if batch.gap:
            self.lost += batch.gap.lost or 1

    async def _enqueue(self, messages: Sequence[Task]) -> None:
        key = await aio_stamp_key(self._adeq, self._namespace)
        receipts = await self._queue.enqueue_many(stamped(key, messages))
        self.enqueued += sum(one.status == "created" for one in receipts)


def _pause(error: Exception, failures: int) -> float:
    """Seconds until the next attempt. The server may be back at any time, so its absence needs no longer pauses."""
    return PAUSE if isinstance(error, TransportError) else min(PAUSE * 2.0 ** min(failures - 1, 6), LONGEST_PAUSE)

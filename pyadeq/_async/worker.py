"""A worker: claims tasks, runs a handler for each, and settles what has ended together with the next claim."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from pyadeq._async.queue import Queue
from pyadeq._async.queue_produce import MAX_BATCH_BYTES
from pyadeq._async.queue_work import until_due
from pyadeq._async.runner import LONGEST_BLOCK
from pyadeq._core.failures import TaskFailed, failure_of, timed_out
from pyadeq._core.queue_items import MAX_ITEMS, Failure, checked_lanes
from pyadeq.errors import AdeqError, ConfigError, DurabilityError, TransportError
from pyadeq.keys import check_name
from pyadeq.models import Lease, Seconds, Settled, encode, to_ms

T = TypeVar("T")
Handler = Callable[[Lease], Awaitable[Any]]

# Acks, fails and lanes of one call are 1,000 at most.
MOST_SETTLED = 450
MOST_RESULT_BYTES = 1024 * 1024
# Seconds: how long one call is sent again; what a cancelled handler has to clean up; what an idle worker has to stop.
RESEND_FOR = 45.0
CLEAN_UP = 5.0
IDLE_STOP = 2.0
SHORTEST_LEASE = 1.0
# A worker that is full shows itself with its renewals; after 30 s of silence it counts as gone.
LONGEST_SILENCE = 10.0
log = logging.getLogger("pyadeq.worker")


class Worker:
    """Runs `handler(lease)` for the tasks of a queue, up to `concurrency` at a time on this event loop.

    A handler's return value is the task's result; an exception fails the attempt, and so does a run beyond the task's
    timeout (reason `timeout`): the handler is cancelled. Acks, fails and the next claim go to
    the server as one call. Leases are renewed every third of `lease` (0: the queue's setting) by this loop: a handler
    that blocks the loop for longer than its lease loses it.
    grace: seconds that running handlers have after `stop`; then they are cancelled and their tasks released.
    """

    def __init__(
        self,
        queue: Queue,
        handler: Handler,
        *,
        name: str | None = None,
        concurrency: int = 10,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
        grace: Seconds = 30.0,
    ) -> None:
        if not isinstance(queue, Queue):
            raise ConfigError(
                f"queue: a {type(queue).__name__} is not accepted; allowed: a Queue of pyadeq.asyncio.Adeq"
            )
        if not (inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)):
            raise ConfigError(f"handler: {handler!r} is not accepted; allowed: an async function of one lease")
        if not isinstance(concurrency, int) or concurrency < 1:
            raise ConfigError(f"concurrency: {concurrency!r} is not accepted; allowed: 1 and more tasks at a time")
        self._lease = to_ms("lease", lease) / 1000
        self._grace = to_ms("grace", grace) / 1000
        if self._lease and self._lease < SHORTEST_LEASE:
            raise ConfigError(f"lease: {lease!r} is not accepted; allowed: 0 (the queue's setting), or 1 s and more")
        if self._grace < 0:
            raise ConfigError(f"grace: {grace!r} is not accepted; allowed: 0 s and more")
        self.queue = queue
        self.name = check_name("name", name or queue.default_worker)
        self.concurrency = concurrency
        self.lanes = tuple(checked_lanes(lanes))
        self.done = 0
        self._handler = handler
        self._lease_time = SHORTEST_LEASE  # until a claim has said what it is
        # What is leased, by token: renewed until it is settled or released.
        self._running: dict[str, tuple[Lease, asyncio.Task[None]]] = {}
        # Handlers that were cancelled because their lease is lost, and that clean up.
        self._leaving: set[asyncio.Task[None]] = set()
        self._acks: list[tuple[Lease, bytes]] = []
        self._fails: list[Failure] = []
        self._started = False
        self._confirmed = True  # what was settled last is where the client's durability wants it
        self._ended = asyncio.Event()
        self._stopping = asyncio.Event()
        self._out_of_time = asyncio.Event()

    def stop(self) -> None:
        """Claim no more, let handlers end within the grace time, release the rest. A second call ends the grace.

        To be called on the worker's event loop, from a signal handler for instance.
        """
        if self._stopping.is_set():
            self._out_of_time.set()
            return
        self._stopping.set()
        holding = self._running or self._acks or self._fails
        grace = self._grace if holding else min(self._grace, IDLE_STOP)
        asyncio.get_running_loop().call_later(grace, self._out_of_time.set)

    async def run(self) -> None:
        """Work until `stop`. WorkerReplaced if another process registers this worker's name.

        While the server is away it waits, with what it has to settle. When the grace time ends without the server, what
        was held is left to the end of its lease.
        """
        if self._started:
            raise ConfigError("a Worker runs once; make another")
        self._started = True
        renewal = asyncio.create_task(self._renew())
        try:
            await self._lasting(lambda: self.queue.register(self.name, capacity=self.concurrency))
            await self._work(renewal)
            await self._drain()
            await self._give_back()
            await self._lasting(lambda: self.queue.deregister(self.name))
        except BaseException as error:
            # Replaced, cancelled, broken or without the server. The leases are still ours, by their tokens.
            at_the_end = self._stopping.is_set() and isinstance(error, TransportError) and error.retryable
            self._stopping.set()
            with contextlib.suppress(AdeqError):
                await self._give_back()
            if not at_the_end:
                raise
            log.warning("stopped without the server, %d results were not delivered: %s", self._unsettled, error)
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    def __repr__(self) -> str:
        return f"<Worker {self.name!r} of {self.queue!r}, {len(self._running)} of {self.concurrency} running>"

    @property
    def _free(self) -> int:
        return self.concurrency - len(self._running) - len(self._leaving)

    @property
    def _unsettled(self) -> int:
        return len(self._acks) + len(self._fails)

    async def _work(self, renewal: asyncio.Task[None]) -> None:
        """Settle and claim; block only while the lanes are empty, and claim nothing while blocked.

        A wake-up token goes to one blocked worker. So one that is full must not be blocked, or it would take the token
        from one that is free; and one that is blocked need not claim, for the token will come.
        """
        stopping = asyncio.create_task(self._stopping.wait())
        blocked: asyncio.Task[bool] | None = None
        try:
            while not self._stopping.is_set():
                self._ended.clear()
                claim = 0 if blocked or not self._confirmed else max(self._free, 0)
                next_due = await self._settle(claim)
                if not blocked and self._free > 0 and self._confirmed:
                    blocked = asyncio.create_task(self._block())
                ended = asyncio.create_task(self._ended.wait())
                waits: set[asyncio.Task[Any]] = {ended, stopping, renewal} | ({blocked} if blocked else set())
                # A block that ends by itself leads to a claim, which sees to what is due.
                timeout = next_due if next_due < LONGEST_BLOCK else None
                try:
                    await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    ended.cancel()
                if renewal.done():
                    renewal.result()
                if blocked and blocked.done():
                    blocked.result()
                    blocked = None
        finally:
            for task in (stopping, blocked):
                if task:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)

    async def _block(self) -> bool:
        try:
            # Not longer than a lease: one that was given after the last claim may expire meanwhile.
            return await self.queue.block(self.lanes, self._lease_time)
        except TransportError as error:
            if not error.retryable:
                raise
            await asyncio.sleep(random.uniform(0.1, 0.5))
            return False

    async def _settle(self, claim: int) -> float:
        """One call for what has ended and up to `claim` new tasks; seconds until something is due."""
        acks, fails = self._some_acks(), self._fails[:MOST_SETTLED]

        async def settle() -> Settled:
            self._confirmed = True
            try:
                return await self.queue.settle(
                    self.name,
                    acks=acks,
                    fails=fails,
                    claim=min(claim, MAX_ITEMS),
                    lanes=self.lanes,
                    lease=self._lease,
                    retry_for=RESEND_FOR,
                )
            except DurabilityError as error:
                # It was applied, and the confirmation of a later call covers it. Until then, take no new work.
                log.warning("no confirmation from the server, claiming nothing until there is one: %s", error)
                self._confirmed = False
                answer: Settled = error.answer
                return answer

        settled = await self._lasting(settle)
        del self._acks[: len(acks)], self._fails[: len(fails)]
        for (lease, _), status in zip(acks, settled.acks, strict=True):
            self._report(lease, status)
        for failure, answer in zip(fails, settled.fails, strict=True):
            self._report(failure.lease, answer.status)
        self._lease_time = settled.claimed.lease
        for lease in settled.claimed.leases:
            self._running[lease.token] = (lease, asyncio.create_task(self._handle(lease)))
        if not self._confirmed:
            return random.uniform(0.1, 0.5)
        return 0.0 if self._unsettled else until_due(settled.claimed)

    def _some_acks(self) -> list[tuple[Lease, bytes]]:
        """As many of the results as one call takes: 450 and 8 MiB, but one at least."""
        count = size = 0
        for _, result in self._acks[:MOST_SETTLED]:
            size += len(result)
            if count and size > MAX_BATCH_BYTES:
                break
            count += 1
        return self._acks[:count]

    def _report(self, lease: Any, status: str) -> None:
        if status != "lease_lost":
            self.done += 1
            if status == "result_dropped":
                log.warning("task %s: the server's memory is full, its result was not kept", lease.id)
        else:
            log.warning("task %s: the lease was lost before the task was settled; nothing was changed", lease.id)

    async def _handle(self, lease: Lease) -> None:
        limit = asyncio.timeout(lease.timeout)
        try:
            async with limit:
                result = await self._handler(lease)
            data = b"" if result is None else encode(result)
            if len(data) > MOST_RESULT_BYTES:
                raise TaskFailed(
                    f"the result has {len(data)} bytes; at most {MOST_RESULT_BYTES} are kept",
                    reason="result_too_large",
                    retryable=False,
                )
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and (self._out_of_time.is_set() or self._lost(lease)):
                return  # by us: the lease is given back, or is not ours any more
            if not self._lost(lease):
                failure = timed_out(lease) if limit.expired() else failure_of(lease, error)
                self._fails.append(failure)
                about = {"id": lease.id, "reason": failure.reason, "attempt": lease.attempt}
                log.warning("task %s failed: %s", lease.id, failure.reason, extra={"fields": about})
        else:
            if not self._lost(lease):
                self._acks.append((lease, data))
        self._running.pop(lease.token, None)
        self._ended.set()

    def _lost(self, lease: Lease) -> bool:
        return lease.token not in self._running

    async def _renew(self) -> None:
        failed = False
        while True:
            # After a failure every second counts.
            await asyncio.sleep(
                min(self._lease_time / 10, 1.0) if failed else min(self._lease_time / 3, LONGEST_SILENCE)
            )
            leases = [lease for lease, _ in self._running.values()]
            failed = False
            try:
                answers = await self.queue.heartbeat_many(leases, worker=self.name, extend=self._lease)
            except TransportError as error:
                log.warning("leases could not be renewed, trying again: %s", error)
                failed = True
                continue
            except DurabilityError as error:
                answers = error.answer
            for lease, answer in zip(leases, answers, strict=True):
                if answer.status != "renewed":
                    self._interrupt(lease, answer.status)

    def _interrupt(self, lease: Lease, status: str) -> None:
        """End a handler whose lease is lost, whose time is up, or whose task somebody wants cancelled."""
        running = self._running.pop(lease.token, None)
        if running is None:
            return
        handler = running[1]
        handler.cancel()
        self._leaving.add(handler)
        handler.add_done_callback(self._left)
        if status == "cancelling":
            self._fails.append(Failure(lease, reason="cancelled", retryable=False))
        elif status == "timed_out":
            self._fails.append(timed_out(lease))
        else:
            log.warning("task %s: the lease was lost while the handler ran; the handler is cancelled", lease.id)
        self._ended.set()

    def _left(self, handler: asyncio.Task[None]) -> None:
        self._leaving.discard(handler)
        self._ended.set()

    async def _drain(self) -> None:
        """Settle what ends within the grace time. The first call also renews the wake-up token that a block took."""
        out_of_time = asyncio.create_task(self._out_of_time.wait())
        try:
            while True:
                self._ended.clear()
                await self._settle(0)
                if not (self._running or self._unsettled) or self._out_of_time.is_set():
                    return
                if not self._unsettled:
                    ended = asyncio.create_task(self._ended.wait())
                    try:
                        await asyncio.wait({ended, out_of_time}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        ended.cancel()
        finally:
            out_of_time.cancel()

    async def _give_back(self) -> None:
        """Cancel the handlers, settle those that ended all the same and release the tasks of the others."""
        self._out_of_time.set()
        handlers = [handler for _, handler in self._running.values()]
        for handler in handlers:
            handler.cancel()
        handlers += self._leaving
        if handlers:
            _, slow = await asyncio.wait(handlers, timeout=CLEAN_UP)
            if slow:
                log.warning("%d handlers still run %g s after they were cancelled", len(slow), CLEAN_UP)
        while acks := self._some_acks():
            statuses = await self._lasting(partial(self.queue.ack_many, acks))
            del self._acks[: len(acks)]
            for (lease, _), status in zip(acks, statuses, strict=True):
                self._report(lease, status)
        fails = self._fails[:]
        answers = await self._lasting(partial(self.queue.fail_many, fails))
        del self._fails[: len(fails)]
        for failure, answer in zip(fails, answers, strict=True):
            self._report(failure.lease, answer.status)
        leases = [lease for lease, _ in self._running.values()]
        await self._lasting(partial(self.queue.release_many, leases))
        self._running.clear()

    async def _lasting(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Try for as long as the server is away, but once if the time is up."""
        pause = 0.1
        while True:
            try:
                return await self._in_time(act())
            except DurabilityError as error:
                log.warning("no confirmation from the server: %s", error)
                if self._out_of_time.is_set():
                    answer: T = error.answer  # it was applied
                    return answer
            except TransportError as error:
                if not error.retryable or self._out_of_time.is_set():
                    raise
                log.warning("no answer from the server, trying again: %s", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._out_of_time.wait(), pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, 5.0)

    async def _in_time(self, act: Coroutine[Any, Any, T]) -> T:
        """Await it; once the time is up, for at most two seconds more."""
        acting = asyncio.create_task(act)
        out_of_time = asyncio.create_task(self._out_of_time.wait())
        try:
            await asyncio.wait({acting, out_of_time}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({acting}, timeout=IDLE_STOP)
            if not acting.done():
                raise TransportError("no answer in time", retryable=True, may_have_applied=True)
            return acting.result()
        finally:
            acting.cancel()
            out_of_time.cancel()
            await asyncio.gather(acting, out_of_time, return_exceptions=True)

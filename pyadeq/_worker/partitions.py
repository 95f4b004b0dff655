"""Adapts a partitioned queue to the worker: each call is sent to the partitions that it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Self, TypeVar

from pyadeq._async.client.client import Adeq
from pyadeq._async.kernel.runner import Runner
from pyadeq._async.queue import Queue
from pyadeq._async.queue.partitions import PartitionedQueue
from pyadeq._async.queue.partitions.areas import PartitionedLeases, PartitionedSchedules
from pyadeq._async.queue.partitions.base import PATIENCE
from pyadeq._async.queue.partitions.waits import Waits
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import Failure, Held
from pyadeq._core.queue.partitions import WHOLE, PartitionMap
from pyadeq._core.queue.steps import brought_steps
from pyadeq._worker.queue import WorkerQueue
from pyadeq.errors import AdeqError, DurabilityError, TransportError
from pyadeq.models.base import Seconds
from pyadeq.models.queue import AckStatus, Failed, Lease, Renewal, Settled, TaskView
from pyadeq.models.steps import TaskStep
from pyadeq.models.worker import Heartbeat, WorkerMode

T = TypeVar("T")


class Partitions(PartitionedLeases):
    """What a Worker asks of a queue, for all partitions of one."""

    def __init__(self, queue: PartitionedQueue) -> None:
        self.name = queue.name
        self.calls: QueueCalls = queue.part(WHOLE).calls
        super().__init__(queue)
        self._queue: PartitionedQueue = queue
        self._about: dict[str, Any] = {}
        self._known: set[str] = set()  # the partitions where the worker is registered
        self._waits = Waits(self._listen, self._give_back)

    @property
    def base(self) -> None:
        """Always None, because each partition has its own base."""

    @property
    def adeq(self) -> Runner:
        """The client that created the queue."""
        return self._queue._runner

    @property
    def schedules(self) -> PartitionedSchedules:
        """The schedules of all partitions."""
        return self._queue.schedules

    @property
    def workers(self) -> Self:
        """The object that registers workers: this one."""
        return self

    @property
    def leases(self) -> Self:
        """The object that claims and settles tasks: this one."""
        return self

    async def register(self, worker: str, **about: Any) -> str:
        """Register the worker in every partition. In partitions that are added later, its first call registers it."""
        self._about, self._known = about, set()
        lost: TransportError | None = None
        for tag in (await self._map()).all:
            if not self._queue._is_away(tag):
                began = monotonic()
                try:
                    await self._make_known(tag, worker)
                except TransportError as error:
                    if not error.retryable:
                        raise
                    self._queue._note_away(tag, began)
                    lost = error
        if lost is not None and not self._known:
            raise lost
        return worker

    async def _make_known(self, tag: str, worker: str) -> None:
        if tag not in self._known:
            await self._queue.part(tag).workers.register(worker, **self._about)
            self._known.add(tag)

    async def deregister(self, worker: str, reason: str = "stopped", leases: Sequence[Held] = ()) -> str:
        """Forget the worker in every partition and take back these leases of it."""
        await self.close()
        await self.release_many(leases)
        lost: TransportError | None = None
        for tag in (await self._map()).all:
            try:
                await self._queue.part(tag).workers.deregister(worker, reason)
            except TransportError as error:
                lost = error
        if lost is not None:
            raise lost
        self._known.clear()
        return "deregistered"

    async def close(self) -> None:
        """Wait for nothing more."""
        listening = list(self._waits.listening.values())
        for one in listening:
            one.cancel()
        await asyncio.gather(*listening, return_exceptions=True)

    # Claims and ends

    async def settle(self, worker: str, **how: Any) -> Settled:
        """Settle tasks as `QueueLeases.settle` does. Each call begins with the next partition, so that none starves.

        Tasks of a partition that is away are `unanswered`. TransportError if none answered.
        """
        before = partial(self._make_known, worker=worker)
        if (whole := await self._undivided()) is not None:
            await before(WHOLE)
            return await self._noted(whole.leases.settle(worker, **how))
        return await self._queue._settle_in(await self._queue._in_turn(), worker, listens=True, before=before, **how)

    async def _settle_when_woken(
        self,
        worker: str,
        seconds: float,
        *,
        claim: int,
        lanes: Sequence[str],
        given_up: Callable[[Settled], Awaitable[object]],
        **how: Any,
    ) -> tuple[str | None, Settled]:
        """Wait as `_block_as` does, and claim when the wait is over.

        given_up: called with the answer, if this was cancelled but the claim had already run.
        """
        if (whole := await self._undivided()) is not None:
            await self._make_known(WHOLE, worker)
            return await self._noted(
                whole.leases._settle_when_woken(worker, seconds, claim=claim, lanes=lanes, given_up=given_up, **how)
            )
        heard = await self._wait(worker, lanes, seconds)
        self._queue._expect_tasks([place.split(" ")[0] for place in heard])
        claiming = asyncio.create_task(self.settle(worker, claim=claim, lanes=lanes, **how))
        try:
            return _first(heard), await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with suppress(AdeqError):
                await given_up(await claiming)
            raise

    async def _block_as(self, worker: str, lanes: Sequence[str], seconds: float) -> str | None:
        """Wait until a lane of some partition may have a task, or there is a request to the worker."""
        if (whole := await self._undivided()) is not None:
            return await whole.leases._block_as(worker, lanes, seconds)
        return _first(await self._wait(worker, lanes, seconds))

    async def _wait(self, worker: str, lanes: Sequence[str], seconds: float) -> dict[str, str]:
        return await self._waits.wait([" ".join((tag, worker, *lanes)) for tag in (await self._map()).all], seconds)

    async def _listen(self, place: str, seconds: float) -> str | None:
        tag, worker, *lanes = place.split(" ")
        return await self._queue.part(tag).leases._block_as(worker, lanes, seconds)

    async def _give_back(self, place: str, word: str) -> None:
        """Keep a control token for the worker's next wait. Put a lane's token back for other workers."""
        tag, worker, *lanes = place.split(" ")
        if word == "":
            self._waits.tell(place, word)
            self._waits.tell(f"{tag} {worker}", word)
        elif tag in self._known:
            await self._queue.part(tag).leases.settle(worker, lanes=lanes)

    # What runs

    async def beat(
        self, leases: Sequence[Held], *, worker: str, extend: Seconds = 0, busy: int | None = None
    ) -> Heartbeat:
        """Send a heartbeat to every partition. The answer lacks the leases in unreachable partitions.

        TransportError if no partition answers.
        """
        if (whole := await self._undivided()) is not None:
            answer = await whole.workers.beat(leases, worker=worker, extend=extend, busy=busy)
            if all(one.status != "lease_lost" for one in answer.renewals) or not await self._learnt():
                return answer
        known = await self._map()
        by_tag: dict[str, list[int]] = {tag: [] for tag in known.all}
        for index, lease in enumerate(leases):
            by_tag.setdefault(self._queue._places(known, lease)[0], []).append(index)
        beat = partial(self._beat_at, worker=worker, extend=extend, busy=busy)
        # In parallel: a partition that hangs must not delay the leases of the others.
        replies = await asyncio.gather(*(beat(tag, [leases[i] for i in some]) for tag, some in by_tag.items()))
        errors = [error for _, error in replies if error is not None]
        heard = [reply for reply, _ in replies if reply is not None]
        if not heard:
            raise errors[-1]
        renewals = [Renewal(status="renewed") for _ in leases]
        for some, (reply, _) in zip(by_tag.values(), replies, strict=True):
            if reply is not None:
                _fill(renewals, some, reply.renewals)
        await self._renew_elsewhere(known, leases, renewals, extend)
        mode: WorkerMode = next((one.mode for one in heard if one.mode != "run"), "run")
        merged = Heartbeat(mode=mode, capacity=max(one.capacity for one in heard), renewals=renewals)
        if unconfirmed := [error for error in errors if isinstance(error, DurabilityError)]:
            unconfirmed[-1].answer = merged
            raise unconfirmed[-1]
        return merged

    async def _beat_at(
        self, tag: str, leases: Sequence[Held], **how: Any
    ) -> tuple[Heartbeat | None, DurabilityError | TransportError | None]:
        """Send the heartbeat to one partition. Returns its answer, if there is one, and its error, if it has one."""
        try:
            return await self._queue.part(tag).workers.beat(leases, **how), None
        except DurabilityError as error:
            return error.answer, error
        except TransportError as error:
            if not error.retryable:
                raise
            return None, error

    async def _renew_elsewhere(
        self, known: PartitionMap, leases: Sequence[Held], renewals: list[Renewal], extend: Seconds
    ) -> None:
        """Renew leases that were not at their likely places, wherever else they may be."""
        lost = [i for i, one in enumerate(renewals) if one.status == "lease_lost"]
        if not lost or not await self._learnt():  # else they may be in partitions that are newer than our map
            lost = [i for i in lost if len(self._queue._places(known, leases[i])) > 1]
        try:
            found = await self.heartbeat_many([leases[i] for i in lost], extend=extend)
        except TransportError:  # the leases may be in an unreachable partition
            found = [Renewal(status="renewed") for _ in lost]
        _fill(renewals, lost, found)

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """See `Queue.ack_many`."""
        return await self._queue.ack_many(acks)

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """See `Queue.fail_many`."""
        return await self._queue.fail_many(fails)

    async def get_many(self, ids: Sequence[str]) -> list[TaskView | None]:
        """See `Queue.get_many`."""
        return list(await asyncio.gather(*map(self._queue.get, ids)))

    async def _gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]:
        *others, last = (await self._map()).places_of_id(id)
        for tag in others:
            if (await self._queue.part(tag).inspect.outcome(id)).status != "not_found":
                return await self._queue.part(tag)._gathered_page(id, cursor)
        return await self._queue.part(last)._gathered_page(id, cursor)

    async def _steps_of(self, lease: Lease) -> list[TaskStep]:
        """Return the steps of a running task; see `QueueLeases`. It may have come from another partition."""
        if brought_steps(lease.record) is None:
            return await self._queue.inspect.steps(lease.id)
        return await self._queue.part(self._queue._places(await self._map(), lease)[0]).leases._steps_of(lease)

    # Partitions

    async def _noted(self, claiming: Awaitable[T]) -> T:
        """Remember that the leases of this claim are in the queue's own base, even after a repartition."""
        try:
            answer = await claiming
        except DurabilityError as error:
            self._note(error.answer)
            raise
        self._note(answer)
        return answer

    def _note(self, answer: Any) -> None:
        settled: Settled = answer[1] if isinstance(answer, tuple) and not isinstance(answer, Settled) else answer
        self._queue._remember((lease.token for lease in settled.claimed.leases), WHOLE)

    async def _learnt(self) -> bool:
        """Read the map again. Returns whether it has changed."""
        before = await self._map()
        with suppress(TransportError):
            return (await self._queue._read(PATIENCE)).epoch != before.epoch
        return False

    async def _undivided(self) -> Queue | None:
        """Return the queue itself while it has no partitions: then there is no extra cost."""
        return self._queue.part(WHOLE) if (await self._map()).all == (WHOLE,) else None

    async def _map(self) -> PartitionMap:
        return await self._queue._fresh()


def _fill(renewals: list[Renewal], places: Sequence[int], found: Sequence[Renewal]) -> None:
    for index, renewal in zip(places, found, strict=True):
        renewals[index] = renewal


def _first(heard: dict[str, str]) -> str | None:
    """Return the most important message: a control token, or else a lane's token."""
    return min(heard.values(), default=None)


def worker_queue(queue: Queue | PartitionedQueue) -> WorkerQueue:
    """Return a queue as a worker needs it. Here, type checkers verify that both classes are a WorkerQueue."""
    return Partitions(queue) if isinstance(queue, PartitionedQueue) else queue


def queue_by(adeq: Adeq, name: str, base: str | None) -> WorkerQueue:
    """A queue as a worker of this client needs it. base: None for all partitions of one."""
    return Partitions(adeq.partitioned(name)) if base is None else Queue(adeq, name, base)

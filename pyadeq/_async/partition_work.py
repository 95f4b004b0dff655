"""Working on a partitioned queue: claims from all partitions, and what becomes of their leases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

from pyadeq._async.partition_base import PartitionedBase
from pyadeq._async.partition_waits import Waits
from pyadeq._async.queue import Queue
from pyadeq._async.queue_work import until_due
from pyadeq._async.runner import LONGEST_BLOCK
from pyadeq._core.partitions import WHOLE
from pyadeq._core.queue_items import Failure, Held, checked_lanes
from pyadeq.errors import LeaseLost, TransportError
from pyadeq.models import AckStatus, Failed, Lease, ReleaseStatus, Renewal, Seconds, Snoozed, to_ms
from pyadeq.worker_models import ProgressStatus

T = TypeVar("T")

REST = 2.0
"""Seconds for which a partition that did not answer is left alone by claims, as long as another one does."""


class TakingPart(PartitionedBase):
    """The part of a partitioned queue that workers use."""

    _first = 0
    _all_waits: Waits | None = None

    @property
    def default_worker(self) -> str:
        """The name under which this process claims where none is given."""
        return self.part(WHOLE).default_worker

    async def claim(
        self,
        worker: str | None = None,
        limit: int = 10,
        wait: Seconds = 0,
        *,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
    ) -> list[Lease]:
        """Lease up to limit tasks of all partitions; with wait, block up to so many seconds for the first.

        Each call begins with the next partition, so that none starves; inside one, order is that of `Queue.claim`.
        """
        worker = worker or self.default_worker
        until = monotonic() + to_ms("wait", wait) / 1000
        asked = {"lanes": checked_lanes(lanes), "lane_first": lane_first, "lease": lease}
        tags = await self._in_turn()
        while True:
            leases, due = await self._claim_from(tags, worker, limit, asked)
            left = until - monotonic()
            if leases or left <= 0:
                return leases
            places = [f"{tag} {' '.join(lanes)}" for tag in (await self._fresh()).all]
            heard = await self._waits.wait(places, max(min(left, due, LONGEST_BLOCK), 0.01))
            tags = [place.partition(" ")[0] for place in heard] or await self._in_turn()

    async def _in_turn(self) -> list[str]:
        tags = (await self._fresh()).all
        self._first = first = (self._first + 1) % len(tags)
        return [*tags[first:], *tags[:first]]

    async def _claim_from(
        self, tags: Sequence[str], worker: str | None, limit: int, asked: dict[str, Any]
    ) -> tuple[list[Lease], float]:
        """What the partitions have, and in how many seconds there may be more. One that is away stops no other.

        TransportError if all are.
        """
        leases: list[Lease] = []
        due = LONGEST_BLOCK
        error: TransportError | None = None
        began = monotonic()
        asked_for = [tag for tag in tags if self._away_until.get(tag, 0.0) <= began] or tags
        for tag in asked_for:
            try:
                claimed = await self.part(tag).claim_once(worker, limit - len(leases), **asked, retry_for=0.0)
            except TransportError as lost:
                if not lost.retryable:
                    raise
                self._away_until[tag] = monotonic() + REST
                error, due = lost, min(due, REST)
                continue
            self._away_until.pop(tag, None)
            leases += claimed.leases
            due = min(due, until_due(claimed))
            if len(leases) >= limit:
                break
        if error and len(self._away_until) >= len(asked_for):
            raise error
        return leases, due

    @property
    def _waits(self) -> Waits:
        """Those of this queue; made by the first claim that waits."""
        if self._all_waits is None:
            self._all_waits = Waits(self._block, self._give_back)
        return self._all_waits

    async def _block(self, place: str, seconds: float) -> bool:
        tag, *lanes = place.split(" ")
        return await self.part(tag).block(lanes, seconds)

    async def _give_back(self, place: str) -> None:
        """Let the partition say once more what it has, for those who wait elsewhere."""
        tag, *lanes = place.split(" ")
        await self.part(tag).settle(lanes=lanes)

    async def ack(self, lease: Held, result: Any = None) -> None:
        """Complete a task and keep its result. LeaseLost if the lease is no longer this one."""
        await self._settle(lease, lambda queue: queue.ack(lease, result))

    async def fail(
        self, lease: Held, error: str | bytes | BaseException = b"", *, reason: str = "error", retryable: bool = True
    ) -> Failed:
        """End an attempt that went wrong, as `Queue.fail` does. LeaseLost if the lease is another's."""
        return await self._settle(lease, lambda queue: queue.fail(lease, error, reason=reason, retryable=retryable))

    async def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Prolong a lease, as `Queue.heartbeat` does. LeaseLost if it is past its deadline."""
        return await self._settle(lease, lambda queue: queue.heartbeat(lease, extend))

    async def progress(self, lease: Held, fraction: float | None = None, text: str | None = None) -> ProgressStatus:
        """Say how far a task has come, as `Queue.progress` does. LeaseLost if the lease is past its deadline."""
        return await self._settle(lease, lambda queue: queue.progress(lease, fraction, text))

    async def release(self, lease: Held) -> ReleaseStatus:
        """Give a task back to its old place in line. LeaseLost if the lease is another's."""
        return await self._settle(lease, lambda queue: queue.release(lease))

    async def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Put a task aside for so many seconds. LeaseLost if the lease is another's."""
        return await self._settle(lease, lambda queue: queue.snooze(lease, delay))

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result; a status for each."""
        return await self._in_each(acks, lambda ack: ack[0], lambda queue, some: queue.ack_many(some), is_held)

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many attempts; an answer for each."""
        return await self._in_each(fails, lambda fail: fail.lease, lambda queue, some: queue.fail_many(some), is_held)

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0) -> list[Renewal]:
        """Prolong many leases; an answer for each."""
        return await self._in_each(
            leases,
            lambda lease: lease,
            lambda queue, some: queue.heartbeat_many(some, extend=extend),
            is_held,
        )

    async def _settle(self, lease: Held, act: Callable[[Queue], Awaitable[T]]) -> T:
        """Do it where the task is: at its home of now, or at an earlier one."""
        home = (await self._fresh()).home_of_id(_id(lease))
        for tag in reversed(home[1:]):
            try:
                return await act(self.part(tag))
            except LeaseLost:
                continue
        return await act(self.part(home[0]))

    async def _in_each(
        self,
        items: Sequence[Any],
        lease_of: Callable[[Any], Held],
        act: Callable[[Queue, Sequence[Any]], Awaitable[list[T]]],
        is_done: Callable[[Any], bool],
    ) -> list[T]:
        """One call to each partition; what is not there is asked of its earlier homes."""
        known = await self._fresh()
        homes = [list(known.home_of_id(_id(lease_of(item)))) for item in items]
        answers: dict[int, T] = {}
        left = list(range(len(items)))
        while left:
            by_tag: dict[str, list[int]] = {}
            for index in left:
                by_tag.setdefault(homes[index].pop(), []).append(index)
            for tag, some in by_tag.items():
                for index, answer in zip(some, await act(self.part(tag), [items[i] for i in some]), strict=True):
                    answers[index] = answer
            left = [index for index in left if homes[index] and not is_done(answers[index])]
        return [answers[index] for index in range(len(items))]


def token_of(lease: Held) -> str:
    """What sets one lease of a task apart from another."""
    return lease.token if isinstance(lease, Lease) else lease[1]


def is_held(answer: Any) -> bool:
    """Whether the lease was there, by what was answered: a status, or what has one."""
    status: str = getattr(answer, "status", answer)
    return status != "lease_lost"


def _id(lease: Held) -> str:
    return lease.id if isinstance(lease, Lease) else lease[0]

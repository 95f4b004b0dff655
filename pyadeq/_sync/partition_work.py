# Generated from pyadeq/_async/partition_work.py by pyadeq/_unasync.py; do not edit.
"""Working on a partitioned queue: claims from all partitions, and what becomes of their leases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

from pyadeq._sync.partition_base import LEAST_REST, PartitionedBase
from pyadeq._sync.partition_waits import Waits
from pyadeq._sync.queue import Queue
from pyadeq._sync.queue_work import until_due
from pyadeq._sync.runner import LONGEST_BLOCK
from pyadeq._core.partitions import WHOLE
from pyadeq._core.queue_items import Failure, Held, checked_lanes
from pyadeq.errors import AdeqError, DurabilityError, LeaseLost, TransportError
from pyadeq.models import AckStatus, Failed, Lease, ReleaseStatus, Renewal, Seconds, Snoozed, to_ms
from pyadeq.worker_models import ProgressStatus

T = TypeVar("T")


class TakingPart(PartitionedBase):
    """The part of a partitioned queue that workers use."""

    _first = 0
    _all_waits: Waits | None = None

    @property
    def default_worker(self) -> str:
        """The name under which this process claims where none is given."""
        return self.part(WHOLE).default_worker

    def claim(
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
        tags = self._in_turn()
        while True:
            leases, due = self._claim_from(tags, worker, limit, asked)
            left = until - monotonic()
            if leases or left <= 0:
                return leases
            places = [f"{tag} {' '.join(lanes)}" for tag in (self._fresh()).all]
            heard = self._waits.wait(places, max(min(left, due, LONGEST_BLOCK), 0.01))
            tags = [place.partition(" ")[0] for place in heard] or self._in_turn()

    def _in_turn(self) -> list[str]:
        tags = (self._fresh()).all
        self._first = first = (self._first + 1) % len(tags)
        return [*tags[first:], *tags[:first]]

    def _claim_from(
        self, tags: Sequence[str], worker: str, limit: int, asked: dict[str, Any]
    ) -> tuple[list[Lease], float]:
        """What the partitions have, and in how many seconds there may be more. A node that is away stops no other.

        TransportError if nobody answers. What was claimed before an error is the answer, or in that of DurabilityError.
        """
        leases: list[Lease] = []
        due = LONGEST_BLOCK
        lost: TransportError | None = None
        doubt: DurabilityError | None = None
        answered = False
        patience = self._patience(tags, None)
        for tag in [tag for tag in tags if not self._is_away(tag)] or tags:
            if self._is_away(tag) and (answered or lost):
                continue  # another partition of its node has found out meanwhile
            began = monotonic()
            try:
                settled = self.part(tag).settle(worker, claim=limit - len(leases), **asked, retry_for=patience)
            except DurabilityError as error:
                doubt, settled = error, error.answer
            except TransportError as error:
                self._note_away(tag, began, error)
                lost, due = error, min(due, LEAST_REST)
                continue
            except AdeqError:
                if leases:
                    break  # the next call will tell
                raise
            answered = True
            self._away_until.pop(self._node(tag), None)
            leases += settled.claimed.leases
            due = min(due, until_due(settled.claimed))
            if len(leases) >= limit:
                break
        if doubt is not None:
            doubt.answer = leases
            raise doubt
        if lost is not None and not answered:
            raise lost
        return leases, due

    @property
    def _waits(self) -> Waits:
        """Those of this queue; made by the first claim that waits."""
        if self._all_waits is None:
            self._all_waits = Waits(self._block, self._give_back)
        return self._all_waits

    def _block(self, place: str, seconds: float) -> bool:
        tag, *lanes = place.split(" ")
        return self.part(tag).block(lanes, seconds)

    def _give_back(self, place: str) -> None:
        """Let the partition say once more what it has, for those who wait elsewhere."""
        tag, *lanes = place.split(" ")
        self.part(tag).settle(lanes=lanes)

    def ack(self, lease: Held, result: Any = None) -> None:
        """Complete a task and keep its result. LeaseLost if the lease is no longer this one."""
        self._settle(lease, lambda queue: queue.ack(lease, result))

    def fail(
        self, lease: Held, error: str | bytes | BaseException = b"", *, reason: str = "error", retryable: bool = True
    ) -> Failed:
        """End an attempt that went wrong, as `Queue.fail` does. LeaseLost if the lease is another's."""
        return self._settle(lease, lambda queue: queue.fail(lease, error, reason=reason, retryable=retryable))

    def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Prolong a lease, as `Queue.heartbeat` does. LeaseLost if it is past its deadline."""
        return self._settle(lease, lambda queue: queue.heartbeat(lease, extend))

    def progress(self, lease: Held, fraction: float | None = None, text: str | None = None) -> ProgressStatus:
        """Say how far a task has come, as `Queue.progress` does. LeaseLost if the lease is past its deadline."""
        return self._settle(lease, lambda queue: queue.progress(lease, fraction, text))

    def release(self, lease: Held) -> ReleaseStatus:
        """Give a task back to its old place in line. LeaseLost if the lease is another's."""
        return self._settle(lease, lambda queue: queue.release(lease))

    def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Put a task aside for so many seconds. LeaseLost if the lease is another's."""
        return self._settle(lease, lambda queue: queue.snooze(lease, delay))

    def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result; a status for each."""
        return self._in_each(acks, lambda ack: ack[0], lambda queue, some: queue.ack_many(some), is_held)

    def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many attempts; an answer for each."""
        return self._in_each(fails, lambda fail: fail.lease, lambda queue, some: queue.fail_many(some), is_held)

    def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0) -> list[Renewal]:
        """Prolong many leases; an answer for each."""
        return self._in_each(
            leases,
            lambda lease: lease,
            lambda queue, some: queue.heartbeat_many(some, extend=extend),
            is_held,
        )

    def _settle(self, lease: Held, act: Callable[[Queue], T]) -> T:
        """Do it where the task is, which its id may not say."""
        places = (self._fresh()).places_of_id(_id(lease))
        for tag in places[:-1]:
            try:
                return act(self.part(tag))
            except LeaseLost:
                continue
        return act(self.part(places[-1]))

    def _in_each(
        self,
        items: Sequence[Any],
        lease_of: Callable[[Any], Held],
        act: Callable[[Queue, Sequence[Any]], list[T]],
        is_done: Callable[[Any], bool],
        first: Callable[[Held], str | None] = lambda held: None,
    ) -> list[T]:
        """One call to each partition; of what is not there, the next where it may be. first: where, if that is known.

        One that does not answer is told at the end, when all others have been asked.
        """
        known = self._fresh()
        places = []
        for item in items:
            held = lease_of(item)
            likely = [tag for tag in [first(held)] if tag is not None]
            places.append(list(reversed(dict.fromkeys([*likely, *known.places_of_id(_id(held))]))))
        answers: dict[int, T] = {}
        lost: TransportError | None = None
        left = list(range(len(items)))
        while left:
            by_tag: dict[str, list[int]] = {}
            for index in left:
                by_tag.setdefault(places[index].pop(), []).append(index)
            gone = set()
            for tag, some in by_tag.items():
                try:
                    found = act(self.part(tag), [items[i] for i in some])
                except TransportError as error:
                    lost = error
                    gone.update(some)
                    continue
                answers.update(zip(some, found, strict=True))
            left = [i for i in left if i not in gone and places[i] and not is_done(answers[i])]
        if lost is not None:
            raise lost
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

# Generated from pyadeq/_async/queue/partitions/work.py by pyadeq/_unasync.py; do not edit.
"""Working on a partitioned queue: claims from all partitions, and what ends or renews their leases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

from pyadeq._sync.queue import Queue
from pyadeq._sync.queue.leases import until_due
from pyadeq._sync.queue.partitions.settle import Settling
from pyadeq._sync.queue.partitions.waits import Waits
from pyadeq._core.queue.items import Held, checked_lanes
from pyadeq._core.queue.partitions import WHOLE
from pyadeq.errors import DurabilityError, LeaseLost
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import AckStatus, Failed, Lease, ReleaseStatus, Renewal, Snoozed
from pyadeq.models.worker import ProgressStatus

T = TypeVar("T")


class TakingPart(Settling):
    """The part of a partitioned queue for workers."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._waits = Waits(self._listen, self._give_back)

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
        """Lease up to limit tasks of all partitions. With wait, block up to this many seconds for the first.

        Each call starts with the next partition, so that none starves. Inside a partition, the order is that of
        `Queue.claim`.
        """
        worker = worker or self.part(WHOLE)._identities.own_name()
        until = monotonic() + to_ms("wait", wait) / 1000
        asked: dict[str, Any] = {"lanes": checked_lanes(lanes), "lane_first": lane_first, "lease": lease}

        def patience() -> float | None:
            return self._runner.retry_until(until) if wait else None

        tags = self._in_turn(patience())
        while True:
            try:
                claimed = (self._settle_in(tags, worker, claim=limit, retry_for=patience(), **asked)).claimed
            except DurabilityError as error:
                error.answer = error.answer.claimed.leases
                raise
            left = until - monotonic()
            if claimed.leases or left <= 0:
                return claimed.leases
            places = [" ".join((tag, *lanes)) for tag in (self._fresh()).all]
            heard = self._waits.wait(places, max(min(left, until_due(claimed)), 0.01))
            tags = [place.split(" ")[0] for place in heard] or self._in_turn()

    def _listen(self, place: str, seconds: float) -> str | None:
        tag, *lanes = place.split(" ")
        return self.part(tag).leases._block_as(None, lanes, seconds) or None  # a lost connection is no word

    def _give_back(self, place: str, word: str) -> None:
        """Make the partition repeat its hint, for other waiters."""
        tag, *lanes = place.split(" ")
        self.part(tag).leases.settle(lanes=lanes)

    def ack(self, lease: Held, result: Any = None) -> AckStatus:
        """Complete a task and keep its result, as `Queue.ack` does. Raises LeaseLost if the lease is over."""
        return self._settle(lease, lambda queue: queue.ack(lease, result))

    def fail(
        self,
        lease: Held,
        error: str | bytes | BaseException = b"",
        *,
        reason: str = "error",
        retryable: bool = True,
        delay: Seconds | None = None,
        timeout: Seconds | None = None,
        alert: bool = False,
    ) -> Failed:
        """End a failed attempt, as `Queue.fail` does. Raises LeaseLost if the lease is over."""
        own: dict[str, Any] = {"delay": delay, "timeout": timeout, "alert": alert}
        return self._settle(
            lease, lambda queue: queue.fail(lease, error, reason=reason, retryable=retryable, **own)
        )

    def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Renew a lease, as `Queue.heartbeat` does. Raises LeaseLost if it is past its deadline."""
        return self._settle(lease, lambda queue: queue.heartbeat(lease, extend))

    def progress(
        self,
        lease: Held,
        fraction: float | None = None,
        text: str | None = None,
        *,
        log: str | None = None,
        output: str | None = None,
    ) -> ProgressStatus:
        """Report how far a task has come, as `Queue.progress` does. Raises LeaseLost if the lease is over."""
        return self._settle(lease, lambda queue: queue.progress(lease, fraction, text, log=log, output=output))

    def release(self, lease: Held) -> ReleaseStatus:
        """Return a task to its old place. Raises LeaseLost if the lease is over."""
        return self._settle(lease, lambda queue: queue.release(lease))

    def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Put a task aside for this many seconds. Raises LeaseLost if the lease is over."""
        return self._settle(lease, lambda queue: queue.snooze(lease, delay))

    def _settle(self, lease: Held, act: Callable[[Queue], T]) -> T:
        """Call a method of the partition that has the lease."""
        lost = LeaseLost()
        for tag in self._where_it_may_be(lease):
            try:
                return act(self.part(tag))
            except LeaseLost as error:
                lost = error
        raise lost

# Generated from pyadeq/_async/lock/admin.py by pyadeq/_unasync.py; do not edit.
"""Administration of a lock domain: requests by their rids, force, capacities, and what is overdue."""

from __future__ import annotations

from collections.abc import Sequence

from pyadeq._sync.lock.base import LocksBase
from pyadeq._core.lock.calls import MAX_RENEWED
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds
from pyadeq.models.lock import (
    CancelRequestStatus,
    CapacityStatus,
    CycleEdge,
    Detected,
    Forced,
    LockRenewal,
    RequestState,
)


class LockAdmin:
    """`locks.admin`: for operators, and for whoever speaks for requests that others made."""

    def __init__(self, locks: LocksBase) -> None:
        self._runner = locks._runner
        self._calls = locks.calls
        self._in_batches = locks._in_batches

    def poll(self, rids: Sequence[str]) -> list[RequestState]:
        """How requests stand. For those that wait it is a sign of life; what was handed to them it takes."""
        return self._in_batches(self._calls.poll, rids)

    def renew(self, rids: Sequence[str]) -> list[LockRenewal]:
        """Prolong leases by their ttl from now on; grants of this process are renewed without it."""
        return self._in_batches(self._calls.renew, rids, MAX_RENEWED)

    def cancel(self, rids: Sequence[str]) -> list[CancelRequestStatus]:
        """End requests, whatever their state; one that has not arrived yet will hold nothing when it does."""
        return self._in_batches(self._calls.cancel, rids)

    def force_release(self, resource: str, reason: str, owner: str | None = None) -> Forced:
        """Take a lock away from all who hold it, or from one owner. They hear it when they renew, or release.

        What they do until then, only the fence can keep out: the answer has a new one.
        """
        rids: list[str] = []
        while True:
            forced, more = self._runner.send(self._calls.force_release(new_ulid(), resource, reason, owner))
            rids += forced.rids
            if not more:
                return Forced(rids=tuple(rids), fence=forced.fence)

    def reap(self, limit: int = 100) -> int:
        """End leases and waits past their time; how many. Other calls do it on the way."""
        return (self._runner.send(self._calls.reap(limit))).ended

    def detect(self, limit: int = 4, visits: int = 2_000) -> Detected:
        """Look for deadlocks that were not found at once for lack of budget, and end a request in each."""
        return self._runner.send(self._calls.detect(limit, visits))

    def abort(self, rid: str, cycle: Sequence[CycleEdge]) -> bool:
        """End a request that waits, which hears of a deadlock; False if it does not wait (any more)."""
        return (self._runner.send(self._calls.abort([rid], cycle))) == ["aborted"]

    def set_capacity(self, resource: str, max: int, *, silent: Seconds = 0) -> None:
        """Let a resource give up to so many permits.

        silent: seconds without a `heartbeat` after which it gives none; 0: it needs no heartbeat.
        """
        self._runner.send(self._calls.set_capacity(resource, max, silent))

    def heartbeat(self, resource: str) -> CapacityStatus:
        """A sign of life of a resource with a capacity."""
        return (self.heartbeat_many([resource]))[0]

    def heartbeat_many(self, resources: Sequence[str]) -> list[CapacityStatus]:
        """A sign of life of many resources; a status for each."""
        return self._in_batches(self._calls.heartbeat, resources)

    def drain(self, resource: str) -> str:
        """Give no more permits of a resource; those that are out stay. Answers `draining` or `no_capacity`."""
        return self._runner.send(self._calls.drain(resource))

    def remove(self, resource: str) -> str:
        """Forget a resource's capacity. Answers `removed`, `in_use` while permits are out, or `no_capacity`."""
        return self._runner.send(self._calls.remove(resource))

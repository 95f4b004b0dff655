# Generated from pyadeq/_async/lock/admin.py by pyadeq/_unasync.py; do not edit.
"""Administration of a lock domain: requests by rid, forced releases, overdue leases, and migrating the stored data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyadeq._sync.kernel.migration import migrate
from pyadeq._sync.lock.base import LocksBase
from pyadeq._core.lock.calls import MAX_RENEWED
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration
from pyadeq.models.lock import (
    CancelRequestStatus,
    CycleEdge,
    Detected,
    Forced,
    LockRenewal,
    ReleaseLockStatus,
    RequestState,
)


class LockAdmin:
    """`locks.admin`: for operators, and for programs that act for the requests of others."""

    def __init__(self, locks: LocksBase) -> None:
        self._runner = locks._runner
        self._calls = locks.calls
        self._in_batches = locks._in_batches

    def poll(self, rids: Sequence[str]) -> list[RequestState]:
        """Return the state of requests. This keeps their waiters alive, and claims locks that were granted to them."""
        return self._in_batches(self._calls.poll, rids)

    def renew(self, rids: Sequence[str]) -> list[LockRenewal]:
        """Renew leases for their ttl from now. Grants of this process are renewed without this."""
        return self._in_batches(self._calls.renew, rids, MAX_RENEWED)

    def release(self, rids: Sequence[str]) -> list[ReleaseLockStatus]:
        """Release what requests hold. Returns `lost` if a request no longer held anything, and `cancelled` if it
        waited.
        """
        return self._in_batches(self._calls.release, rids)

    def cancel(self, rids: Sequence[str]) -> list[CancelRequestStatus]:
        """End requests, whatever their state. A request that has not arrived yet will hold nothing when it arrives."""
        return self._in_batches(self._calls.cancel, rids)

    def force_release(self, resource: str, reason: str, owner: str | None = None) -> Forced:
        """Take a lock away from all its holders, or from one owner. They notice it when they renew or release.

        Until then they may continue to work. Only the new fence in the answer protects other systems from their writes.
        """
        rids: list[str] = []
        while True:
            forced, more = self._runner.send(self._calls.force_release(new_ulid(), resource, reason, owner))
            rids += forced.rids
            if not more:
                return Forced(rids=tuple(rids), fence=forced.fence)

    def reap(self, limit: int = 100) -> int:
        """End overdue leases and waits. Returns how many. Other calls also do this."""
        return (self._runner.send(self._calls.reap(limit))).ended

    def detect(self, limit: int = 4, visits: int = 2_000) -> Detected:
        """Continue deadlock searches that exceeded their budget, and end one request in each deadlock."""
        return self._runner.send(self._calls.detect(limit, visits))

    def abort(self, rid: str, cycle: Sequence[CycleEdge]) -> bool:
        """End a waiting request, which gets DeadlockError. Returns False if it does not wait (any more)."""
        return (self._runner.send(self._calls.abort([rid], cycle))) == ["aborted"]

    def offline(self, *, owner: str | None = None, agent: str | None = None) -> list[str]:
        """Release all locks of an owner, or of all owners of an agent, and end their waits. Returns the rids.

        Use it for a flow or process that ends, or is known to have ended. Requests that arrive later are not ended.
        """
        rids: list[str] = []
        while True:
            ended, more = self._runner.send(self._calls.offline(new_ulid(), owner=owner, agent=agent))
            rids += ended
            if not more:
                return rids

    def migrate(self, *, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data to the layout of this release. Older releases are refused from then on.

        Upgrade every client of the domain first: there is no way back. It is safe while clients work, and can be
        repeated.

        progress: called after each call with the number of entries rewritten so far.
        """
        before = (self._runner.send(self._calls.stats())).settings.layout
        return migrate(self._runner, "lock", self._calls, before, progress)

"""Administration of a lock domain: requests by rid, forced releases, capacities, and overdue leases."""

from __future__ import annotations

from collections.abc import Sequence

from pyadeq._async.lock.base import LocksBase
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
    """`locks.admin`: for operators, and for programs that act for the requests of others."""

    def __init__(self, locks: LocksBase) -> None:
        self._runner = locks._runner
        self._calls = locks.calls
        self._in_batches = locks._in_batches

    async def poll(self, rids: Sequence[str]) -> list[RequestState]:
        """Return the state of requests. This keeps their waiters alive, and claims locks that were granted to them."""
        return await self._in_batches(self._calls.poll, rids)

    async def renew(self, rids: Sequence[str]) -> list[LockRenewal]:
        """Renew leases for their ttl from now. Grants of this process are renewed without this."""
        return await self._in_batches(self._calls.renew, rids, MAX_RENEWED)

    async def cancel(self, rids: Sequence[str]) -> list[CancelRequestStatus]:
        """End requests, whatever their state. A request that has not arrived yet will hold nothing when it arrives."""
        return await self._in_batches(self._calls.cancel, rids)

    async def force_release(self, resource: str, reason: str, owner: str | None = None) -> Forced:
        """Take a lock away from all its holders, or from one owner. They notice it when they renew or release.

        Until then they may continue to work. Only the new fence in the answer protects other systems from their writes.
        """
        rids: list[str] = []
        while True:
            forced, more = await self._runner.send(self._calls.force_release(new_ulid(), resource, reason, owner))
            rids += forced.rids
            if not more:
                return Forced(rids=tuple(rids), fence=forced.fence)

    async def reap(self, limit: int = 100) -> int:
        """End overdue leases and waits. Returns how many. Other calls also do this."""
        return (await self._runner.send(self._calls.reap(limit))).ended

    async def detect(self, limit: int = 4, visits: int = 2_000) -> Detected:
        """Continue deadlock searches that exceeded their budget, and end one request in each deadlock."""
        return await self._runner.send(self._calls.detect(limit, visits))

    async def abort(self, rid: str, cycle: Sequence[CycleEdge]) -> bool:
        """End a waiting request, which gets DeadlockError. Returns False if it does not wait (any more)."""
        return (await self._runner.send(self._calls.abort([rid], cycle))) == ["aborted"]

    async def set_capacity(self, resource: str, max: int, *, silent: Seconds = 0) -> None:
        """Let a resource give up to `max` permits.

        silent: seconds without a `heartbeat` after which it gives none; 0: it needs no heartbeat.
        """
        await self._runner.send(self._calls.set_capacity(resource, max, silent))

    async def heartbeat(self, resource: str) -> CapacityStatus:
        """Show that a resource with a capacity is alive."""
        return (await self.heartbeat_many([resource]))[0]

    async def heartbeat_many(self, resources: Sequence[str]) -> list[CapacityStatus]:
        """Show that many resources are alive. Returns a status for each."""
        return await self._in_batches(self._calls.heartbeat, resources)

    async def drain(self, resource: str) -> str:
        """Give no more permits of a resource; permits in use stay. Returns `draining` or `no_capacity`."""
        return await self._runner.send(self._calls.drain(resource))

    async def remove(self, resource: str) -> str:
        """Remove a resource's capacity. Returns `removed`, `in_use` while permits are in use, or `no_capacity`."""
        return await self._runner.send(self._calls.remove(resource))

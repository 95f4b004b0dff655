"""Looking after a lock domain: requests by their rids, force, capacities, what is overdue, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

from pyadeq._async.kernel.migration import migrate
from pyadeq._async.lock.look import LookingAtLocks
from pyadeq._core.kernel.options import checked_options
from pyadeq._core.lock.calls import MAX_RENEWED
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration, Seconds
from pyadeq.models.lock import (
    CancelRequestStatus,
    CapacityStatus,
    CycleEdge,
    Detected,
    Forced,
    LockPolicy,
    LockRenewal,
    LockSettings,
    ReleaseLockStatus,
    RequestState,
)


class LockSettingsChange(TypedDict, total=False):
    """What can be set for a domain; see LockSettings."""

    lease: Seconds
    max_ttl: Seconds
    heartbeat: Seconds
    poll: Seconds
    claim: Seconds
    waiter: Seconds
    priority_step: Seconds
    policy: LockPolicy
    rate_per_minute: int
    rate_burst: int
    detection: bool
    detect_visits: int
    mirror: bool
    events_max: int


class TendingLocks(LookingAtLocks):
    """The part of a lock domain that operators use, and whoever speaks for requests that others made."""

    # Requests by their rids

    async def poll(self, rids: Sequence[str]) -> list[RequestState]:
        """How requests stand. For those that wait it is a sign of life; what was handed to them it takes."""
        return await self._in_batches(self.calls.poll, rids)

    async def renew(self, rids: Sequence[str]) -> list[LockRenewal]:
        """Prolong leases by their ttl from now on; grants of this process are renewed without it."""
        return await self._in_batches(self.calls.renew, rids, MAX_RENEWED)

    async def release(self, rids: Sequence[str]) -> list[ReleaseLockStatus]:
        """Give back what requests hold, `lost` where they held it no more; one that waits is `cancelled`."""
        return await self._in_batches(self.calls.release, rids)

    async def cancel(self, rids: Sequence[str]) -> list[CancelRequestStatus]:
        """End requests, whatever their state; one that has not arrived yet will hold nothing when it does."""
        return await self._in_batches(self.calls.cancel, rids)

    async def force_release(self, resource: str, reason: str, owner: str | None = None) -> Forced:
        """Take a lock away from all who hold it, or from one owner. They hear it when they renew, or release.

        What they do until then, only the fence can keep out: the answer has a new one.
        """
        rids: list[str] = []
        while True:
            forced, more = await self._runner.send(self.calls.force_release(new_ulid(), resource, reason, owner))
            rids += forced.rids
            if not more:
                return Forced(rids=tuple(rids), fence=forced.fence)

    async def offline(self, *, owner: str | None = None, agent: str | None = None) -> list[str]:
        """Give back all that an owner holds, or all owners of an agent, and end all waits. Answers the rids.

        For a flow or a process that goes, or is known to be gone. Requests that arrive later are not ended.
        """
        rids: list[str] = []
        while True:
            ended, more = await self._runner.send(self.calls.offline(new_ulid(), owner=owner, agent=agent))
            rids += ended
            if not more:
                return rids

    # What is overdue

    async def reap(self, limit: int = 100) -> int:
        """End leases and waits past their time; how many. Other calls do it on the way."""
        return (await self._runner.send(self.calls.reap(limit))).ended

    async def detect(self, limit: int = 4, visits: int = 2_000) -> Detected:
        """Look for deadlocks that were not found at once for lack of budget, and end a request in each."""
        return await self._runner.send(self.calls.detect(limit, visits))

    async def abort(self, rid: str, cycle: Sequence[CycleEdge]) -> bool:
        """End a request that waits, which hears of a deadlock; False if it does not wait (any more)."""
        return (await self._runner.send(self.calls.abort([rid], cycle))) == ["aborted"]

    # Capacities

    async def set_capacity(self, resource: str, max: int, *, silent: Seconds = 0) -> None:
        """Let a resource give up to so many permits.

        silent: seconds without a `heartbeat` after which it gives none; 0: it needs no heartbeat.
        """
        await self._runner.send(self.calls.set_capacity(resource, max, silent))

    async def heartbeat(self, resource: str) -> CapacityStatus:
        """A sign of life of a resource with a capacity."""
        return (await self.heartbeat_many([resource]))[0]

    async def heartbeat_many(self, resources: Sequence[str]) -> list[CapacityStatus]:
        """A sign of life of many resources; a status for each."""
        return await self._in_batches(self.calls.heartbeat, resources)

    async def drain(self, resource: str) -> str:
        """Give no more permits of a resource; those that are out stay. Answers `draining` or `no_capacity`."""
        return await self._runner.send(self.calls.drain(resource))

    async def remove(self, resource: str) -> str:
        """Forget a resource's capacity. Answers `removed`, `in_use` while permits are out, or `no_capacity`."""
        return await self._runner.send(self.calls.remove(resource))

    async def migrate(self, *, progress: Callable[[int], object] | None = None) -> Migration:
        """Bring what is stored to the layout of this release; older ones are refused from then on.

        Upgrade every client of the domain first: there is no way back. Safe while they are at work, and to say again.
        progress: told after each call how many entries are rewritten by then.
        """
        before = (await self.stats()).settings.layout
        return await migrate(self._runner, "lock", self.calls, before, progress)

    async def configure(self, *, clock: str | None = None, **settings: Unpack[LockSettingsChange]) -> LockSettings:
        """Change settings of the domain and answer all of them; what is not given stays as it is."""
        checked_options(settings, LockSettingsChange.__annotations__, besides=("clock",))
        return await self._runner.send(self.calls.configure(clock=clock, **settings))

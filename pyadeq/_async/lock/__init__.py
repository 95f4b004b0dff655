"""A lock domain: its calls, and the grants of this process, which it renews."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Unpack

from pyadeq._async.kernel.migration import migrate
from pyadeq._async.kernel.runner import Runner
from pyadeq._async.lock.acquire import Acquiring
from pyadeq._async.lock.admin import LockAdmin
from pyadeq._async.lock.inspect import LockInspect
from pyadeq._core.kernel.areas import AreaOf, forward, named
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration
from pyadeq.models.lock import Hint, ReleaseLockStatus
from pyadeq.models.lock_settings import LockSettings, LockSettingsChange

WATCH = 60.0


@named
class Locks(Acquiring):
    """The locks of a domain. `calls` builds the same calls for pipelines: `pipe.add(locks.calls.stats())`.

    Its areas are `inspect` and `admin`. Their methods are also methods of the domain.
    """

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._inspect = LockInspect(self)
        self._admin = LockAdmin(self)

    inspect = AreaOf(LockInspect)
    admin = AreaOf(LockAdmin)

    show = forward("inspect", LockInspect.show)
    list = forward("inspect", LockInspect.list)
    iterate = forward("inspect", LockInspect.iterate)
    edges = forward("inspect", LockInspect.edges)
    graph = forward("inspect", LockInspect.graph)
    stats = forward("inspect", LockInspect.stats)

    poll = forward("admin", LockAdmin.poll)
    renew = forward("admin", LockAdmin.renew)
    cancel = forward("admin", LockAdmin.cancel)
    force_release = forward("admin", LockAdmin.force_release)
    reap = forward("admin", LockAdmin.reap)
    detect = forward("admin", LockAdmin.detect)
    abort = forward("admin", LockAdmin.abort)
    set_capacity = forward("admin", LockAdmin.set_capacity)
    heartbeat = forward("admin", LockAdmin.heartbeat)
    heartbeat_many = forward("admin", LockAdmin.heartbeat_many)
    drain = forward("admin", LockAdmin.drain)
    remove = forward("admin", LockAdmin.remove)

    async def release(self, rids: Sequence[str]) -> builtins.list[ReleaseLockStatus]:
        """Release what requests hold. Returns `lost` if a request no longer held anything, and `cancelled` if it
        waited.
        """
        return await self._in_batches(self.calls.release, rids)

    async def offline(self, *, owner: str | None = None, agent: str | None = None) -> builtins.list[str]:
        """Release all locks of an owner, or of all owners of an agent, and end their waits. Returns the rids.

        Use it for a flow or process that ends, or is known to have ended. Requests that arrive later are not ended.
        """
        rids: builtins.list[str] = []
        while True:
            ended, more = await self._runner.send(self.calls.offline(new_ulid(), owner=owner, agent=agent))
            rids += ended
            if not more:
                return rids

    async def migrate(self, *, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data to the layout of this release. Older releases are refused from then on.

        Upgrade every client of the domain first: there is no way back. It is safe while clients work, and can be
        repeated.

        progress: called after each call with the number of entries rewritten so far.
        """
        before = (await self.stats()).settings.layout
        return await migrate(self._runner, "lock", self.calls, before, progress)

    async def configure(self, *, clock: str | None = None, **settings: Unpack[LockSettingsChange]) -> LockSettings:
        """Change settings of the domain and return all of them. Settings that are not given stay unchanged."""
        return await self._runner.send(self.calls.configure(clock=clock, **settings))

    async def watch(self, resource: str) -> AsyncIterator[Hint]:
        """Iterate over the hints of a lock as they happen, until the client is closed; then AdeqError.

        Some hints may be missed. The event stream has all events.
        """
        async with self._listening(resource) as ear:
            while True:
                words = await ear.wait(WATCH)
                self._check_open()
                for word in words:
                    event, colon, agent = word.partition(":")
                    if colon:
                        yield Hint(event, agent)

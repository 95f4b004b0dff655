# Generated from pyadeq/_async/queue/admin.py by pyadeq/_unasync.py; do not edit.
"""Administration of a queue: pausing, deleting, what is overdue, and the layout of what is stored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from pyadeq._sync.kernel.migration import migrate
from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue.base import Area
from pyadeq._sync.queue.inspect import QueueInspect
from pyadeq._sync.queue.settings import QueueSettings
from pyadeq._sync.queue.workers import QueueWorkers
from pyadeq._core.kernel.migration import newest_layout, refuse_older
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import MAX_ITEMS
from pyadeq.errors import BadArgument
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration
from pyadeq.models.queue import Repair


class QueueAdmin(Area):
    """`queue.admin`: pausing, deleting, what is overdue, and the layout of what is stored."""

    def __init__(
        self, runner: Runner, calls: QueueCalls, inspect: QueueInspect, settings: QueueSettings, workers: QueueWorkers
    ) -> None:
        super().__init__(runner, calls)
        self._inspect = inspect
        self._settings = settings
        self._workers = workers

    def migrate(self, *, force: bool = False, progress: Callable[[int], object] | None = None) -> Migration:
        """Bring what is stored to the layout of this release; older ones are refused from then on.

        Upgrade all clients first, producers too: there is no way back. ConflictError for a worker of an older release
        that is alive, unless with force. Safe while workers run, and to say again, after an error for instance.
        progress: told after each call how many entries are rewritten by then.
        """
        before = (self._settings.get()).layout
        if before < newest_layout() and not force:
            refuse_older(self._workers.list())
        return migrate(self._runner, "queue", self._calls, before, progress)

    def pause(self) -> None:
        """Lease no more tasks until `resume`. New ones are taken in, and running ones go on."""
        self._runner.send(self._calls.pause(new_ulid()))

    def drain(self) -> None:
        """Take in no new tasks until `resume`: enqueue raises QueueDraining. What is there comes to its end."""
        self._runner.send(self._calls.drain(new_ulid()))

    def resume(self) -> None:
        """End `pause` or `drain`."""
        self._runner.send(self._calls.resume(new_ulid()))

    def purge(
        self, *, all: bool = False, lane: str | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Delete the tasks that wait, and their idempotency keys; with all, finished and dead ones too. How many.

        lane: only those in line there. Running tasks stay. Not more are deleted than there were at the beginning, so it
        ends under load, too. progress: told after each call how many are deleted by then.
        """
        left = self._to_purge(all, lane)
        purged, more = 0, True
        while more and purged < left:
            limit = min(MAX_ITEMS, left - purged)
            call = self._calls.purge(new_ulid(), all=all, lane=lane, limit=limit)
            count, more = self._runner.send(call)
            purged += count
            more = more and count > 0
            if progress:
                progress(purged)
        return purged

    def _to_purge(self, all: bool, lane: str | None) -> int:
        """How many there are to be deleted."""
        if lane is not None:
            if all:
                raise BadArgument("ADEQ_ARG", "pyadeq", "all: with a lane, only what is in line there is deleted")
            return (self._inspect.length([lane]))[0]
        stats = self._inspect.stats()
        if stats.more_lanes > 9_000:  # not every lane was counted
            return sys.maxsize
        return stats.pending + (stats.finished + stats.dead if all else 0)

    def trim(self) -> int:
        """Delete what the settings no longer keep of finished and dead tasks; how many. Claims do it on the way."""
        trimmed, more = 0, True
        while more:
            count, more = self._runner.send(self._calls.trim())
            trimmed += count
        return trimmed

    def repair(
        self,
        ids: Sequence[str] = (),
        *,
        lanes: Sequence[str] = (),
        limit: str | None = None,
        start: int = 0,
        dry_run: bool = False,
    ) -> Repair:
        """Put tasks that are in no set, or in several, where their records say. `adeq doctor --repair` finds them.

        ids: 1,000 at most, lanes included. Give them in the order of their creation: lost places are rebuilt from it.
        lanes: lanes whose entry in the list of lanes is to be corrected. limit: the key of a limit. 1,000 of its
        holders are checked, and as many tasks of its line, from the rank `start` on. dry_run: write nothing.
        """
        return self._runner.send(self._calls.repair(ids, lanes=lanes, limit=limit, start=start, dry_run=dry_run))

    def promote(self, limit: int = 100) -> int:
        """Move tasks whose time has come into line; how many, 0 if no more is due. Claims do it on the way."""
        return self._runner.send(self._calls.promote(limit))

    def expire(self, limit: int = 100) -> int:
        """Look after the deadlines of tasks that wait: expiry and fallback lanes; how many, 0 if no more is due.

        Claims do it on the way. A call handles fewer tasks than limit if they have many keys or limits.
        """
        return self._runner.send(self._calls.expire(limit))

    def reap(self, limit: int = 100) -> int:
        """Take back leases past their deadline; how many, 0 if no more is due. Claims do it on the way.

        A call takes back fewer leases than limit if their tasks have many keys or limits.
        """
        return self._runner.send(self._calls.reap(limit))

# Generated from pyadeq/_async/queue/admin.py by pyadeq/_unasync.py; do not edit.
"""Administration of a queue: pausing, deleting, overdue tasks, and migrating the stored data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from pyadeq._sync.kernel.migration import migrate
from pyadeq._sync.queue.base import Area
from pyadeq._sync.queue.read import Reading
from pyadeq._sync.queue.whole import Whole
from pyadeq._sync.queue.workers import QueueWorkers
from pyadeq._core.kernel.migration import newest_layout
from pyadeq._core.queue.items import MAX_ITEMS
from pyadeq._core.queue.migration import refuse_older
from pyadeq.errors import BadArgument
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration
from pyadeq.models.queue import Repair, RevealStatus


class QueueAdmin(Area, Whole):
    """`queue.admin`: pauses and purges the queue, handles overdue tasks, and migrates the stored data."""

    def __init__(self, queue: Reading, workers: QueueWorkers) -> None:
        super().__init__(queue._runner, queue.calls)
        self._queue = queue
        self._workers = workers

    def migrate(self, *, force: bool = False, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data to the layout of this release. Older releases are refused from then on.

        Upgrade all clients first, producers too: there is no way back. Raises ConflictError if a worker of an older
        release is alive, unless with force. It is safe while workers run, and can be repeated, for instance after an
        error.

        progress: called after each call with the number of entries rewritten so far.
        """
        before = (self._queue.settings()).layout
        if before < newest_layout("queue") and not force:
            refuse_older(self._workers.list())
        return migrate(self._runner, "queue", self._calls, before, progress)

    def reveal(self, id: str, *, actor: str) -> RevealStatus:
        """Write an event that says who is about to see what the data tier of a task hides. Read the task after it.

        For programs that show tasks to people; see `pyadeq.tiers`.
        """
        return (self._runner.send(self._calls.reveal([id], actor, new_ulid())))[0]

    def purge(
        self, *, all: bool = False, lane: str | None = None, progress: Callable[[int], object] | None = None
    ) -> int:
        """Delete the waiting tasks and their idempotency keys; with all, also finished and dead tasks. Returns how
        many.

        Running tasks stay. It deletes at most as many tasks as there were at the beginning, so it also ends under load.

        lane: only the ready tasks of this lane.
        progress: called after each call with the number of tasks deleted so far.
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
        """Return how many tasks are to be deleted."""
        if lane is not None:
            if all:
                raise BadArgument("ADEQ_ARG", "pyadeq", "all: with a lane, only what is in line there is deleted")
            return (self._runner.send(self._calls.length([lane])))[0]
        stats = self._queue.stats()
        if stats.more_lanes > 9_000:  # not every lane was counted
            return sys.maxsize
        return stats.pending + (stats.finished + stats.dead if all else 0)

    def trim(self) -> int:
        """Delete finished and dead tasks that the settings no longer keep. Returns how many. Claims also do this."""
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
        """Repair tasks that are in no set, or in several, from their records. `adeq doctor --repair` finds them.

        ids: at most 1,000, lanes included. Give them in the order of their creation: lost places are rebuilt from it.
        lanes: lanes whose entry in the list of lanes is to be corrected.
        limit: the key of a limit. 1,000 of its holders are checked, and as many tasks of its queue, from the rank
        `start` on.
        dry_run: write nothing.
        """
        return self._runner.send(self._calls.repair(ids, lanes=lanes, limit=limit, start=start, dry_run=dry_run))

    def promote(self, limit: int = 100) -> int:
        """Make delayed tasks ready whose time has come. Returns how many, 0 if no more are due. Claims also do this."""
        return self._runner.send(self._calls.promote(limit))

    def expire(self, limit: int = 100) -> int:
        """Handle the deadlines of waiting tasks: expiry and fallback lanes. Returns how many, 0 if no more are due.

        Claims also do this. A call handles fewer tasks than limit if they have many keys or limits.
        """
        return self._runner.send(self._calls.expire(limit))

    def reap(self, limit: int = 100) -> int:
        """Take back leases past their deadline. Returns how many, 0 if no more are due. Claims also do this.

        A call takes back fewer leases than limit if their tasks have many keys or limits.
        """
        return self._runner.send(self._calls.reap(limit))

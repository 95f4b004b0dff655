# Generated from pyadeq/_async/queue/tend.py by pyadeq/_unasync.py; do not edit.
"""Looking after a queue: what is to become of tasks, what is due, and the settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

from pyadeq._sync.kernel.migration import migrate
from pyadeq._sync.queue.look import Looking, TaskFilter
from pyadeq._core.kernel.migration import newest_layout, refuse_older
from pyadeq._core.kernel.options import checked_options
from pyadeq._core.queue.items import MAX_ITEMS, checked_list
from pyadeq.errors import BadArgument
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration, Seconds
from pyadeq.models.queue import AbandonStatus, Backoff, Bulk, CancelStatus, Repair, Retried, Settings
from pyadeq.models.worker import WorkerMode


class SettingsChange(TypedDict, total=False):
    """What can be set for a queue; see Settings."""

    lease: Seconds
    max_attempts: int
    max_crashes: int
    backoff: Backoff
    events_max: int
    events_keep: Seconds
    events_error_max: int
    presence: Seconds
    finished_keep: Seconds
    finished_max: int
    dead_keep: Seconds
    dead_max: int
    result_ttl: Seconds
    reply_ttl: Seconds
    idempotency: Seconds
    timeout: Seconds
    timeout_grace: Seconds
    fair: bool


class Tending(Looking):
    """The part of a queue that its owners use."""

    # Ending tasks, and giving dead ones a new start

    def cancel(self, id: str, tree: bool = False) -> CancelStatus:
        """`cancelled` at once if it waits or is dead; `cancelling` if it runs: its worker hears it at once.

        tree: its children too, and theirs, whatever becomes of itself: 100 of them at once, the others by the next
        claims of the queue's workers. Children that are dead stay so.
        """
        return (self.cancel_many([id], tree))[0]

    def cancel_many(self, ids: Sequence[str], tree: bool = False) -> list[CancelStatus]:
        """Cancel many tasks; a status for each, as `cancel` answers it."""
        ids = checked_list("ids", ids)
        return self._in_batches(lambda some: self.calls.cancel(some, new_ulid(), tree=tree), ids)

    def retry(self, id: str) -> Retried:
        """Put a dead task in line again as if it had not run; `conflict` if its unique key is taken."""
        return (self.retry_many([id]))[0]

    def retry_many(self, ids: Sequence[str]) -> list[Retried]:
        """Put many dead tasks in line again; an answer for each."""
        return self._in_batches(lambda some: self.calls.retry(some, new_ulid()), checked_list("ids", ids))

    def retry_dead(self, *, dry_run: bool = False, **filter: Unpack[TaskFilter]) -> Bulk:
        """Put all dead tasks in line again that fit the filter and died before now; dry_run only counts them."""
        return self._for_all_dead(
            None if dry_run else self.retry_many, lambda answer: answer.status == "retried", filter
        )

    def abandon(self, id: str) -> AbandonStatus:
        """Delete a dead task."""
        return (self.abandon_many([id]))[0]

    def abandon_many(self, ids: Sequence[str]) -> list[AbandonStatus]:
        """Delete many dead tasks; a status for each."""
        return self._in_batches(lambda some: self.calls.abandon(some, new_ulid()), checked_list("ids", ids))

    def abandon_dead(self, *, dry_run: bool = False, **filter: Unpack[TaskFilter]) -> Bulk:
        """Delete all dead tasks that fit the filter and died before now; dry_run only counts them."""
        return self._for_all_dead(
            None if dry_run else self.abandon_many, lambda status: status == "abandoned", filter
        )

    def _for_all_dead(
        self, act: Callable[[Sequence[str]], Any] | None, done: Callable[[Any], bool], filter: TaskFilter
    ) -> Bulk:
        """Page by page; what dies on the way is left alone, or a task that fails at once would never let this end."""
        cursor, began, matched, count = "", 0.0, 0, 0
        while True:
            page = self.list("dead", cursor=cursor, limit=MAX_ITEMS, **filter)
            began = began or page.now
            ids = [task.id for task in page.tasks if task.ended is not None and task.ended <= began]
            matched += len(ids)
            if act is not None and ids:
                count += sum(map(done, act(ids)))
            cursor = page.cursor
            if not cursor:
                return Bulk(matched=matched, done=count)

    # Workers

    def steer(
        self,
        workers: Sequence[str] = (),
        *,
        mode: WorkerMode | None = None,
        capacity: int | None = None,
        group: str | None = None,
        everybody: bool = False,
    ) -> list[str]:
        """Say what is wanted of live workers: those named, those of a group, or everybody. The names of those who hear.

        mode: `run`; `quiet`, claim no more; `stop`, let what runs end and go; `restart`. capacity: tasks at a time.
        """
        names = checked_list("workers", workers)
        if bool(names) + (group is not None) + everybody != 1:
            raise BadArgument("ADEQ_ARG", "pyadeq", "workers: name some, or a group, or everybody=True; one of these")
        if not names:
            names = [worker.name for worker in self.workers(group=group)]
        statuses = self._in_batches(lambda some: self.calls.steer(some, mode, capacity, new_ulid()), names)
        return [name for name, status in zip(names, statuses, strict=True) if status == "asked"]

    # The queue as a whole

    def migrate(self, *, force: bool = False, progress: Callable[[int], object] | None = None) -> Migration:
        """Bring what is stored to the layout of this release; older ones are refused from then on.

        Upgrade all clients first, producers too: there is no way back. ConflictError for a worker of an older release
        that is alive, unless with force. Safe while workers run, and to say again, after an error for instance.
        progress: told after each call how many entries are rewritten by then.
        """
        before = (self.settings()).layout
        if before < newest_layout() and not force:
            refuse_older(self.workers())
        return migrate(self._runner, "queue", self.calls, before, progress)

    def pause(self) -> None:
        """Lease no more tasks until `resume`. New ones are taken in, and running ones go on."""
        self._runner.send(self.calls.pause(new_ulid()))

    def drain(self) -> None:
        """Take in no new tasks until `resume`: enqueue raises QueueDraining. What is there comes to its end."""
        self._runner.send(self.calls.drain(new_ulid()))

    def resume(self) -> None:
        """End `pause` or `drain`."""
        self._runner.send(self.calls.resume(new_ulid()))

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
            call = self.calls.purge(new_ulid(), all=all, lane=lane, limit=limit)
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
            return (self.length([lane]))[0]
        stats = self.stats()
        if stats.more_lanes > 9_000:  # not every lane was counted
            return sys.maxsize
        return stats.pending + (stats.finished + stats.dead if all else 0)

    def trim(self) -> int:
        """Delete what the settings no longer keep of finished and dead tasks; how many. Claims do it on the way."""
        trimmed, more = 0, True
        while more:
            count, more = self._runner.send(self.calls.trim())
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
        return self._runner.send(self.calls.repair(ids, lanes=lanes, limit=limit, start=start, dry_run=dry_run))

    def promote(self, limit: int = 100) -> int:
        """Move tasks whose time has come into line; how many, 0 if no more is due. Claims do it on the way."""
        return self._runner.send(self.calls.promote(limit))

    def expire(self, limit: int = 100) -> int:
        """Look after the deadlines of tasks that wait: expiry and fallback lanes; how many, 0 if no more is due.

        Claims do it on the way. A call handles fewer tasks than limit if they have many keys or limits.
        """
        return self._runner.send(self.calls.expire(limit))

    def reap(self, limit: int = 100) -> int:
        """Take back leases past their deadline; how many, 0 if no more is due. Claims do it on the way.

        A call takes back fewer leases than limit if their tasks have many keys or limits.
        """
        return self._runner.send(self.calls.reap(limit))

    def configure(self, *, clock: str | None = None, **settings: Unpack[SettingsChange]) -> Settings:
        """Change settings of the queue and answer all of them; what is not given stays as it is."""
        checked_options(settings, SettingsChange.__annotations__, besides=("clock",))
        return self._runner.send(self.calls.configure(new_ulid(), clock=clock, **settings))

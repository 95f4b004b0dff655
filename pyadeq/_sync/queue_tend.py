# Generated from pyadeq/_async/queue_tend.py by pyadeq/_unasync.py; do not edit.
"""Looking after a queue: what is to become of tasks, what is due, and the settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

from pyadeq._sync.queue_look import Looking, TaskFilter
from pyadeq._core.queue_items import MAX_ITEMS, checked_list
from pyadeq.ids import new_ulid
from pyadeq.models import (
    AbandonStatus,
    Backoff,
    Bulk,
    CancelStatus,
    Retried,
    Seconds,
    Settings,
)


class SettingsChange(TypedDict, total=False):
    """What can be set for a queue; see Settings."""

    lease: Seconds
    max_attempts: int
    max_crashes: int
    backoff: Backoff
    events_max: int
    finished_keep: Seconds
    finished_max: int
    dead_keep: Seconds
    dead_max: int
    result_ttl: Seconds
    idempotency: Seconds
    timeout_grace: Seconds


class Tending(Looking):
    """The part of a queue that its owners use."""

    # Ending tasks, and giving dead ones a new start

    def cancel(self, id: str) -> CancelStatus:
        """`cancelled` at once if it waits; `cancelling` if it runs: its worker hears it with the next heartbeat."""
        return (self.cancel_many([id]))[0]

    def cancel_many(self, ids: Sequence[str]) -> list[CancelStatus]:
        """Cancel many tasks; a status for each, as `cancel` answers it."""
        return self._in_batches(lambda some: self.calls.cancel(some, new_ulid()), checked_list("ids", ids))

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

    # The queue as a whole

    def pause(self) -> None:
        """Lease no more tasks until `resume`. New ones are taken in, and running ones go on."""
        self._runner.run(self.calls.pause(new_ulid()))

    def drain(self) -> None:
        """Take in no new tasks until `resume`: enqueue raises QueueDraining. What is there comes to its end."""
        self._runner.run(self.calls.drain(new_ulid()))

    def resume(self) -> None:
        """End `pause` or `drain`."""
        self._runner.run(self.calls.resume(new_ulid()))

    def purge(self, *, all: bool = False, progress: Callable[[int], object] | None = None) -> int:
        """Delete the tasks that wait, and their idempotency keys; with all, finished and dead ones too. How many.

        Running tasks stay. Not more are deleted than there were at the beginning, so it ends under load, too.
        progress: told after each call how many are deleted by then.
        """
        stats = self.stats()
        left = stats.pending + (stats.finished + stats.dead if all else 0)
        if stats.more_lanes > 9_000:  # not every lane was counted
            left = sys.maxsize
        purged, more = 0, True
        while more and purged < left:
            limit = min(MAX_ITEMS, left - purged)
            count, more = self._runner.run(self.calls.purge(new_ulid(), all=all, limit=limit))
            purged += count
            more = more and count > 0
            if progress:
                progress(purged)
        return purged

    def trim(self) -> int:
        """Delete what the settings no longer keep of finished and dead tasks; how many. Claims do it on the way."""
        trimmed, more = 0, True
        while more:
            count, more = self._runner.run(self.calls.trim())
            trimmed += count
        return trimmed

    def promote(self, limit: int = 100) -> int:
        """Move tasks whose time has come into line; how many. Claims do it on the way."""
        return self._runner.run(self.calls.promote(limit))

    def expire(self, limit: int = 100) -> int:
        """Look after the deadlines of tasks that wait: expiry and fallback lanes; how many. Claims do it on the way."""
        return self._runner.run(self.calls.expire(limit))

    def reap(self, limit: int = 100) -> int:
        """Take back leases past their deadline; how many. Claims do it on the way."""
        return self._runner.run(self.calls.reap(limit))

    def configure(self, *, clock: str | None = None, **settings: Unpack[SettingsChange]) -> Settings:
        """Change settings of the queue and answer all of them; what is not given stays as it is."""
        return self._runner.run(self.calls.configure(new_ulid(), clock=clock, **settings))

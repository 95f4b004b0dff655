# Generated from pyadeq/_async/queue/inspect.py by pyadeq/_unasync.py; do not edit.
"""Reading a queue: its tasks, one by one or by a filter, and its counts."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Unpack

from pyadeq._sync.queue.base import Area
from pyadeq._core.kernel.options import checked_list, checked_options, unfit
from pyadeq._core.queue.history import Snapshot, points
from pyadeq._core.queue.items import MAX_ITEMS, checked_lanes
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, to_ms
from pyadeq.models.queue import HistoryPoint, Page, QueueOverview, QueueStats, State, TaskFilter, TaskView
from pyadeq.models.worker import LogLine, Outcome, TaskRun

PAGE = 50
"""Tasks that `iterate` reads in one call, which takes a few milliseconds of the server."""

HOUR, MONTH = 3600, 30 * 86_400


class QueueInspect(Area):
    """`queue.inspect`: reads tasks and counts. Nothing here changes anything."""

    def get(self, id: str) -> TaskView | None:
        """Return a task as it is now, with payload and result; None if it does not exist."""
        return (self.get_many([id]))[0]

    def get_many(self, ids: Sequence[str]) -> list[TaskView | None]:
        """Return tasks as they are now; None for each that does not exist."""
        ids = checked_list("ids", ids)
        found: list[TaskView | None] = []
        while len(found) < len(ids):
            found += self._runner.send(self._calls.get(ids[len(found) : len(found) + MAX_ITEMS]))
        return found

    def outcome(self, id: str) -> Outcome:
        """Return how a task ended, if it has. With reply=True at the enqueue, this works even if the record is gone."""
        return (self._runner.send(self._calls.outcome([id])))[0]

    def log(self, id: str) -> builtins.list[LogLine]:
        """Return the last lines, at most 100, that the runs of a task have logged, oldest first."""
        return self._runner.send(self._calls.log(id))

    def runs(self, id: str) -> builtins.list[TaskRun]:
        """Return the runs of a task, oldest first, with their ends and errors; [] if there is no such task.

        All runs that failed, stalled, or were released or snoozed are there, at most the last 20. The last entry is the
        run that completed the task, or that still runs, if there is one. `delivery` numbers the runs from 1: if the
        first entry has a larger number, older runs are no longer known.
        """
        return self._runner.send(self._calls.runs(id))

    def length(self, lanes: Sequence[str] = ("any",)) -> builtins.list[int]:
        """Return how many tasks are ready in each of these lanes."""
        return self._in_batches(self._calls.length, checked_lanes(lanes))

    def stats(self) -> QueueStats:
        """Return how many tasks are in each state, how many workers are alive, and the totals since the queue began."""
        return self._runner.send(self._calls.stats())

    def overview(self) -> QueueOverview:
        """Return what `stats` returns, and since when the oldest ready task of each lane waits."""
        return self._runner.send(self._calls.overview())

    def history(self, since: Moment | None = None, step: Seconds = 60) -> builtins.list[HistoryPoint]:
        """Return what happened in each step of the past, oldest first.

        Each minute, a claim or `admin.snapshot` takes a snapshot of the counters. The first one of an hour is kept for
        30 days. A step is the sum of what happened between the snapshots in it.

        since: None: all that is kept.
        step: 60 seconds to 30 days. Minutes are kept for a day, so a step below an hour reaches no further back.
        """
        seconds = to_ms("step", step) / 1000
        if not 60 <= seconds <= MONTH:
            raise unfit("step", step, f"60 to {MONTH:,} seconds")
        since_ms = 0 if since is None else max(0, to_epoch_ms("since", since))
        series = "minutes" if seconds < HOUR else "hours"
        found: builtins.list[Snapshot] = []
        while not found or len(found) % MAX_ITEMS == 0:
            more = self._runner.send(self._calls.history(series, since_ms=since_ms, limit=MAX_ITEMS))
            if not more:
                break
            found += more
            since_ms = round(more[-1][0] * 1000) + 1
        return points(found, seconds)

    def list(
        self, state: State | None = None, *, cursor: str = "", limit: int = 100, **filter: Unpack[TaskFilter]
    ) -> Page:
        """Return one page of the tasks in a state, of a user, with a tag, of a parent.

        At least one condition must be given, and all given conditions must match. Tasks of a user come in the order of
        creation, tasks of a state in the order of that state. If only `ready` is given, the tasks are those of one
        lane, by default `any`. A page may be empty although there are more tasks: check the cursor.
        """
        checked_options(filter, TaskFilter.__annotations__, besides=("state", "cursor", "limit"))
        return self._runner.send(self._calls.list(state, cursor=cursor, limit=limit, **filter))

    def iterate(self, state: State | None = None, **filter: Unpack[TaskFilter]) -> Iterator[TaskView]:
        """Iterate over all tasks that `list` finds, page by page. A task that does not move meanwhile is returned
        exactly once.
        """
        cursor = ""
        # a renewed lease moves on in the list: skip known ids
        moving: set[str] | None = set() if state in ("running", "stalled") else None
        while True:
            page = self.list(state, cursor=cursor, limit=PAGE, **filter)
            for task in page.tasks:
                if moving is None:
                    yield task
                elif task.id not in moving:
                    moving.add(task.id)
                    yield task
            cursor = page.cursor
            if not cursor:
                return

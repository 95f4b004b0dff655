"""Looking closer at a queue: how tasks ran and ended, and what happened over time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pyadeq._async.queue.base import Area
from pyadeq._async.queue.results import Awaiting
from pyadeq._core.kernel.options import unfit
from pyadeq._core.queue.chains import with_result
from pyadeq._core.queue.history import Snapshot, points
from pyadeq._core.queue.items import MAX_ITEMS, checked_lanes
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, to_ms
from pyadeq.models.queue import HistoryPoint, QueueOverview, TaskView
from pyadeq.models.steps import TaskStep
from pyadeq.models.worker import LogLine, Outcome, TaskRun

HOUR, MONTH = 3600, 30 * 86_400


class QueueInspect(Area):
    """`queue.inspect`: how tasks ran and ended, and counts over time. Nothing here changes anything."""

    def __init__(self, queue: Awaiting) -> None:
        super().__init__(queue._runner, queue.calls)
        self._queue = queue

    async def outcome(self, id: str) -> Outcome:
        """Return how a task ended, if it has. With reply=True at the enqueue, this works even if the record is gone."""
        return (await self._runner.send(self._calls.outcome([id])))[0]

    async def ended(self, id: str, timeout: Seconds = 60.0) -> Outcome:
        """Wait for a task's end and return how it ended, however it did. Raises WaitTimeout."""
        return await self._queue._wait_for_end(id, timeout)

    async def log(self, id: str) -> list[LogLine]:
        """Return the last lines, at most 100, that the runs of a task have logged, oldest first."""
        return await self._runner.send(self._calls.log(id))

    async def runs(self, id: str) -> list[TaskRun]:
        """Return the runs of a task, oldest first, with their ends and errors; [] if there is no such task.

        All runs that failed, stalled, or were released or snoozed are there, at most the last 20. The last entry is the
        run that completed the task, or that still runs, if there is one. `delivery` numbers the runs from 1: if the
        first entry has a larger number, older runs are no longer known.
        """
        return await self._runner.send(self._calls.runs(id))

    async def steps(self, id: str) -> list[TaskStep]:
        """Return the stored steps of a durable task, in the order in which they were stored; [] if it has none."""
        return await self._runner.send(self._calls.steps(id))

    async def gathered(self, id: str) -> AsyncIterator[TaskView]:
        """Iterate over the children of a task with payload, state and result, in the order of their enqueue.

        They are read a hundred at a time. Children that were deleted, as ended tasks are after a while, are missing.
        """
        cursor = ""
        while True:
            tasks, cursor = await self._queue._gathered_page(id, cursor)
            for task in tasks:
                yield with_result(task)
            if not cursor:
                return

    async def length(self, lanes: Sequence[str] = ("any",)) -> list[int]:
        """Return how many tasks are ready in each of these lanes."""
        return await self._in_batches(self._calls.length, checked_lanes(lanes))

    async def overview(self) -> QueueOverview:
        """Return what `Queue.stats` returns, and since when the oldest ready task of each lane waits."""
        return await self._runner.send(self._calls.overview())

    async def history(self, since: Moment | None = None, step: Seconds = 60) -> list[HistoryPoint]:
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
        found: list[Snapshot] = []
        while not found or len(found) % MAX_ITEMS == 0:
            more = await self._runner.send(self._calls.history(series, since_ms=since_ms, limit=MAX_ITEMS))
            if not more:
                break
            found += more
            since_ms = round(more[-1][0] * 1000) + 1
        return points(found, seconds)

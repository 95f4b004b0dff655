"""Looking into a queue: its tasks, one by one or by a filter, and its numbers."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Sequence
from typing import TypedDict, Unpack

from pyadeq._async.queue.base import Area
from pyadeq._core.kernel.options import checked_options
from pyadeq._core.queue.items import MAX_ITEMS, checked_lanes, checked_list
from pyadeq.models.queue import Page, QueueStats, State, TaskView
from pyadeq.models.worker import LogLine, Outcome


class TaskFilter(TypedDict, total=False):
    """Which tasks are meant: those that fit all that is named. tag: one of the task's tags."""

    user: str | None
    tag: str | None
    parent: str | None
    kind: str | None
    reason: str | None
    source: str | None
    lane: str | None


class QueueInspect(Area):
    """`queue.inspect`: tasks and numbers. Nothing here changes anything."""

    async def get(self, id: str) -> TaskView | None:
        """A task as it is now, with payload and result; None if there is none."""
        return (await self.get_many([id]))[0]

    async def get_many(self, ids: Sequence[str]) -> list[TaskView | None]:
        """Tasks as they are now, None for each that there is not."""
        ids = checked_list("ids", ids)
        found: list[TaskView | None] = []
        while len(found) < len(ids):
            found += await self._runner.send(self._calls.get(ids[len(found) : len(found) + MAX_ITEMS]))
        return found

    async def outcome(self, id: str) -> Outcome:
        """How a task ended, if it has; also of one whose record is gone, where it was enqueued with reply=True."""
        return (await self._runner.send(self._calls.outcome([id])))[0]

    async def log(self, id: str) -> builtins.list[LogLine]:
        """The last lines, at most 100, that the runs of a task have logged, the oldest first."""
        return await self._runner.send(self._calls.log(id))

    async def length(self, lanes: Sequence[str] = ("any",)) -> builtins.list[int]:
        """How many tasks are in line in each of these lanes, ready to be taken."""
        return await self._in_batches(self._calls.length, checked_lanes(lanes))

    async def stats(self) -> QueueStats:
        """How many tasks are in each state, how many workers are alive, and the totals since the queue began."""
        return await self._runner.send(self._calls.stats())

    async def list(
        self, state: State | None = None, *, cursor: str = "", limit: int = 100, **filter: Unpack[TaskFilter]
    ) -> Page:
        """One page of the tasks in a state, of a user, with a tag, of a parent.

        All of these that are given must fit, and one must be given. A user's tasks come in the order of creation, those
        of a state in its own; ready tasks, where only the state is given, are those of one lane, `any` unless named. A
        page may be empty though there are more: the cursor tells.
        """
        checked_options(filter, TaskFilter.__annotations__, besides=("state", "cursor", "limit"))
        return await self._runner.send(self._calls.list(state, cursor=cursor, limit=limit, **filter))

    async def iterate(self, state: State | None = None, **filter: Unpack[TaskFilter]) -> AsyncIterator[TaskView]:
        """All tasks that `list` finds, page by page: each once that stays where it is meanwhile."""
        cursor = ""
        moving: set[str] | None = set() if state in ("running", "stalled") else None  # renewed, they come again
        while True:
            page = await self.list(state, cursor=cursor, limit=MAX_ITEMS, **filter)
            for task in page.tasks:
                if moving is None:
                    yield task
                elif task.id not in moving:
                    moving.add(task.id)
                    yield task
            cursor = page.cursor
            if not cursor:
                return

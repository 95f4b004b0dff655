"""Looking into a queue: its tasks, one by one or by a filter, and its numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TypedDict, Unpack

from pyadeq._async.queue_base import QueueBase
from pyadeq._core.queue_items import MAX_ITEMS, checked_list
from pyadeq.models import Page, QueueStats, State, TaskView


class TaskFilter(TypedDict, total=False):
    """Which tasks are meant: those that fit all that is named. tag: one of the task's tags."""

    user: str | None
    tag: str | None
    parent: str | None
    kind: str | None
    reason: str | None
    lane: str | None


class Looking(QueueBase):
    """The part of a queue that those use who look. Nothing here changes anything."""

    async def get(self, id: str) -> TaskView | None:
        """A task as it is now, with payload and result; None if there is none."""
        return (await self.get_many([id]))[0]

    async def get_many(self, ids: Sequence[str]) -> list[TaskView | None]:
        """Tasks as they are now, None for each that there is not."""
        ids = checked_list("ids", ids)
        found: list[TaskView | None] = []
        while len(found) < len(ids):
            found += await self._runner.run(self.calls.get(ids[len(found) : len(found) + MAX_ITEMS]))
        return found

    async def stats(self) -> QueueStats:
        """How many tasks are in each state, how many workers are alive, and the totals since the queue began."""
        return await self._runner.run(self.calls.stats())

    async def list(
        self, state: State | None = None, *, cursor: str = "", limit: int = 100, **filter: Unpack[TaskFilter]
    ) -> Page:
        """One page of the tasks in a state, of a user, with a tag, of a parent.

        All of these that are given must fit, and one must be given. A user's tasks come in the order of creation, those
        of a state in its own; ready tasks, where only the state is given, are those of one lane, `any` unless named. A
        page may be empty though there are more: the cursor tells.
        """
        return await self._runner.run(self.calls.list(state, cursor=cursor, limit=limit, **filter))

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

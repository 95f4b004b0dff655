"""Dead tasks, which have failed for good: retrying and deleting them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from pyadeq._async.queue.base import Area
from pyadeq._async.queue.read import Reading
from pyadeq._core.kernel.nouncalls import models, statuses
from pyadeq._core.queue.dead import merged
from pyadeq._core.queue.items import MAX_ITEMS
from pyadeq.errors import BadArgument
from pyadeq.models.queue import AbandonStatus, Bulk, DeadGroup, DeadSummary, Retried, TaskFilter


class QueueDead(Area):
    """`queue.dead`: retries or deletes dead tasks."""

    def __init__(self, queue: Reading) -> None:
        super().__init__(queue._runner, queue.calls)
        self._queue = queue

    async def retry(self, id: str) -> Retried:
        """Make a dead task ready again, as if it had not run. Returns `conflict` if its unique key is taken."""
        return (await self.retry_many([id]))[0]

    async def retry_many(self, ids: Sequence[str]) -> list[Retried]:
        """Make many dead tasks ready again. Returns an answer for each."""
        return await self._each("retry", models(Retried), ids)

    async def retry_all(self, *, dry_run: bool = False, **filter: Unpack[TaskFilter]) -> Bulk:
        """Make all dead tasks ready again that match the filter and died before now. dry_run only counts them."""
        return await self._for_all(
            None if dry_run else self.retry_many, lambda answer: answer.status == "retried", filter
        )

    async def abandon(self, id: str) -> AbandonStatus:
        """Delete a dead task."""
        return (await self.abandon_many([id]))[0]

    async def abandon_many(self, ids: Sequence[str]) -> list[AbandonStatus]:
        """Delete many dead tasks. Returns a status for each."""
        return await self._each("abandon", statuses, ids)

    async def abandon_all(self, *, dry_run: bool = False, **filter: Unpack[TaskFilter]) -> Bulk:
        """Delete all dead tasks that match the filter and died before now. dry_run only counts them."""
        return await self._for_all(None if dry_run else self.abandon_many, lambda status: status == "abandoned", filter)

    async def summary(self, most: int = 10_000) -> DeadSummary:
        """Count dead tasks by kind and reason. `retry_all` and `abandon_all` take the same pairs as filters.

        most: look at this many tasks at most, the newest. Each call to the server looks at 1,000.
        """
        if most < 1:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"most: {most} is below 1")
        parts: list[list[DeadGroup]] = []
        cursor, counted = "", 0
        while counted < most:
            limit = min(MAX_ITEMS, most - counted)
            groups, number, cursor = await self._runner.send(self._calls.count_dead(cursor=cursor, limit=limit))
            parts.append(groups)
            counted += number
            if not cursor:
                break
        return DeadSummary(groups=merged(parts), counted=counted, complete=not cursor)

    async def _for_all(
        self, act: Callable[[Sequence[str]], Any] | None, done: Callable[[Any], bool], filter: TaskFilter
    ) -> Bulk:
        """Go through dead tasks page by page. Skip tasks that die later: otherwise a task that fails again at once
        would be retried forever.
        """
        cursor, began, matched, count = "", 0.0, 0, 0
        while True:
            page = await self._queue.list("dead", cursor=cursor, limit=MAX_ITEMS, **filter)
            began = began or page.now
            ids = [task.id for task in page.tasks if task.ended is not None and task.ended <= began]
            matched += len(ids)
            if act is not None and ids:
                count += sum(map(done, await act(ids)))
            cursor = page.cursor
            if not cursor:
                return Bulk(matched=matched, done=count)

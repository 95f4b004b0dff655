"""Waiting for the ends of tasks, and following them, in a partitioned queue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pyadeq._async.queue import Queue
from pyadeq._async.queue.partitions.base import PartitionedBase
from pyadeq._core.queue.partitions import WHOLE
from pyadeq.models.base import Seconds
from pyadeq.models.worker import Outcome, TaskUpdate


class FollowingPart(PartitionedBase):
    """The part of a partitioned queue for following tasks."""

    async def ended(self, id: str, timeout: Seconds = 60.0) -> Outcome:
        """Wait for a task's end and return how it ended; see `Queue.ended`."""
        return await (await self.part_of(id) or self.part(WHOLE)).ended(id, timeout)

    async def result(self, id: str, timeout: Seconds = 60.0) -> Any:
        """Wait for a task's end and return its result; see `Queue.result`."""
        return await (await self.part_of(id) or self.part(WHOLE)).result(id, timeout)

    async def updates(
        self, id: str, *, timeout: Seconds | None = None, interval: Seconds = 1.0
    ) -> AsyncIterator[TaskUpdate]:
        """Iterate over what happens to a task until it has ended; see `Queue.updates`."""
        part = await self.part_of(id) or self.part(WHOLE)
        updates: Any = part.updates(id, timeout=timeout, interval=interval)
        try:
            async for update in updates:
                yield update
        finally:
            await updates.aclose()

    async def part_of(self, id: str) -> Queue | None:
        """Return the partition of a task; None if the task does not exist."""
        return await self._where_it_is(id, lambda queue: _has(queue, id), lambda queue: queue is not None)


async def _has(queue: Queue, id: str) -> Queue | None:
    return queue if (await queue.outcome(id)).status != "not_found" else None

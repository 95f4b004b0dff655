"""Waiting for the ends of tasks, and following them, in a partitioned queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from math import inf
from time import monotonic
from typing import Any

from pyadeq._async.queue import Queue
from pyadeq._async.queue.partitions.read import PartitionedReading
from pyadeq._async.queue.results import result_of
from pyadeq._core.queue.partitions import WHOLE
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.worker import Outcome, TaskUpdate


class FollowingPart(PartitionedReading):
    """The part of a partitioned queue for following tasks."""

    async def _wait_for_end(self, id: str, timeout: Seconds = 60.0) -> Outcome:
        until = monotonic() + to_ms("timeout", timeout) / 1000
        part = await self._part_until(id, until)
        return await part._wait_for_end(id, max(until - monotonic(), 0.0))

    async def result(self, id: str, timeout: Seconds = 60.0) -> Any:
        """Wait for a task's end and return its result; see `Queue.result`."""
        return result_of(id, await self._wait_for_end(id, timeout))

    async def updates(
        self, id: str, *, timeout: Seconds | None = None, interval: Seconds = 1.0
    ) -> AsyncIterator[TaskUpdate]:
        """Iterate over what happens to a task until it has ended; see `Queue.updates`."""
        until = inf if timeout is None else monotonic() + to_ms("timeout", timeout) / 1000
        part = await self._part_until(id, until)
        left = None if timeout is None else max(until - monotonic(), 0.0)
        updates: Any = part.updates(id, timeout=left, interval=interval)
        try:
            async for update in updates:
                yield update
        finally:
            await updates.aclose()

    async def part_of(self, id: str) -> Queue | None:
        """Return the partition of a task; None if the task does not exist."""
        return await self._find(id, lambda: None)

    async def _part_until(self, id: str, until: float) -> Queue:
        """Return the partition in which to wait for a task until then."""
        return await self._find(id, lambda: self._runner.retry_until(until)) or self.part(WHOLE)

    async def _find(self, id: str, patience: Callable[[], float | None]) -> Queue | None:
        async def has(queue: Queue) -> Queue | None:
            found = await self._runner.send(queue.calls.outcome([id]), patience())
            return queue if found[0].status != "not_found" else None

        await self._fresh(patience())
        return await self._where_it_is(id, has, lambda queue: queue is not None)

"""What all parts of a partitioned queue share: its map, and the partitions as queues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from pyadeq._async.queue import Queue
from pyadeq._async.runner import Runner
from pyadeq._core.partitions import WHOLE, PartitionMap
from pyadeq.errors import TransportError
from pyadeq.keys import hash_slot, partition_base
from pyadeq.models import Partition

T = TypeVar("T")

FRESH = 1.0
"""Seconds for which the map is taken as it was read: so much later at most, workers find tasks in new partitions."""


class PartitionedBase:
    """A queue by its name, in as many partitions as its own base says."""

    def __init__(self, runner: Runner, name: str, prefix: str, whole: Queue) -> None:
        self.name = name
        self._runner = runner
        self._prefix = prefix
        self._parts = {WHOLE: whole}
        self._map = PartitionMap()
        self._read_at: float | None = None
        self._away_until: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    async def partitions(self) -> list[Partition]:
        """Where the queue's tasks may be, read anew: first the partitions to which new ones belong."""
        known = await self._read()
        return [self._partition(tag, tag in known.tags) for tag in known.all]

    def part(self, tag: str) -> Queue:
        """A partition as a queue of its own, for what is said of one partition only: its limits, schedules, workers."""
        return self._parts.get(tag) or self._parts.setdefault(
            tag, Queue(self._runner, f"{self.name}/{tag}", partition_base(self.name, tag, self._prefix))
        )

    def _partition(self, tag: str, current: bool) -> Partition:
        base = self.part(tag).base
        return Partition(tag=tag, base=base, slot=hash_slot(base), current=current)

    async def _read(self, retry_for: float | None = None) -> PartitionMap:
        """The map as it is now."""
        self._map = await self._runner.send(self.part(WHOLE).calls.partition_map(), retry_for)
        self._read_at = monotonic()
        return self._map

    async def _fresh(self) -> PartitionMap:
        """The map as it was a few seconds ago at most."""
        if self._read_at is None:
            return await self._read()
        if monotonic() - self._read_at > FRESH:
            self._read_at = monotonic()  # one asks, and the others go on
            with suppress(TransportError):  # whoever knows an old map is told so where it matters
                return await self._read(0.0)
        return self._map

    async def _parts_now(self) -> list[Queue]:
        """Every partition that may hold tasks."""
        return [self.part(tag) for tag in (await self._fresh()).all]

    async def _where_it_is(self, id: str, ask: Callable[[Queue], Awaitable[T]], is_there: Callable[[T], bool]) -> T:
        """Ask the partition that has a task, or where it was before there were others; the first that has it."""
        for fresh in (False, True):  # somebody may have got a task from a partition that is not known here yet
            known = await self._read() if fresh else await self._fresh()
            for tag in reversed(known.home_of_id(id)):
                answer = await ask(self.part(tag))
                if is_there(answer):
                    return answer
        return answer

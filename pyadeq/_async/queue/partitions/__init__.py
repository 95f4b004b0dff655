"""A queue in several hash slots, used as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ParamSpec, TypeVar

from pyadeq._async.kernel.runner import Runner
from pyadeq._async.queue import Queue
from pyadeq._async.queue.by_id import ById
from pyadeq._async.queue.partitions.areas import (
    PartitionedAdmin,
    PartitionedDead,
    PartitionedInspect,
    PartitionedLeases,
    PartitionedLimits,
    PartitionedSchedules,
    PartitionedShares,
    PartitionedWorkers,
)
from pyadeq._async.queue.partitions.events import PartitionedEvents
from pyadeq._async.queue.partitions.put import Putting
from pyadeq._async.queue.partitions.settings import settle_in
from pyadeq._async.queue.partitions.work import TakingPart
from pyadeq._async.queue.tasks import QueueTask
from pyadeq._core.kernel.areas import AreaOf
from pyadeq._core.queue.partitions import WHOLE, PartitionMap, make_tags
from pyadeq._tasks.functions import TaskFunction
from pyadeq.errors import ConflictError
from pyadeq.ids import new_ulid
from pyadeq.models.partition import Partition
from pyadeq.models.queue import State, TaskView

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")


class PartitionedQueue(Putting, TakingPart, ById):
    """A durable queue of tasks in several hash slots of a cluster. `adeq.partitioned(name)` creates it.

    Order, limits and fair shares apply within each partition. Tasks with the same key are in the same partition. A
    queue without partitions has one: itself.
    """

    def __init__(self, runner: Runner, name: str, prefix: str, whole: Queue) -> None:
        super().__init__(runner, name, prefix, whole)
        self._inspect = PartitionedInspect(self)
        self._leases = PartitionedLeases(self)
        self._dead = PartitionedDead(self)
        self._workers = PartitionedWorkers(self)
        self._admin = PartitionedAdmin(self)
        self._limits = PartitionedLimits(self)
        self._shares = PartitionedShares(self)
        self._schedules = PartitionedSchedules(self)
        self._events = PartitionedEvents(self)

    inspect = AreaOf(PartitionedInspect)
    leases = AreaOf(PartitionedLeases)
    dead = AreaOf(PartitionedDead)
    workers = AreaOf(PartitionedWorkers)
    admin = AreaOf(PartitionedAdmin)
    limits = AreaOf(PartitionedLimits)
    shares = AreaOf(PartitionedShares)
    schedules = AreaOf(PartitionedSchedules)
    events = AreaOf(PartitionedEvents)

    # Partitions

    async def repartition(self, count: int) -> list[Partition]:
        """Set the number of partitions, at most 512, while the queue is in use. Returns all partitions that may have
        tasks.

        New partitions get the settings, limits and weights of the first one, and the groups that read the queue's
        events. No task is moved. Waiting tasks stay where they are. If a task of a key has not ended in an old
        partition, new tasks of that key still go there. All other tasks go to their new partitions. Repeat the call
        after an error. Until `finish_repartition`, a repeated call copies the settings to the new partitions again, and
        overwrites your changes there.
        """
        known = await self._read()
        tags = make_tags(self.name, count)
        if tags == known.tags:
            for tag in known.newest:
                await self._set_up(self.part(known.before[-1][0]), self.part(tag))
            return await self.partitions()
        model, new = self.part(known.tags[0]), [self.part(tag) for tag in tags if tag not in known.all]
        for queue in new:
            await self._set_up(model, queue)
        await self._publish(known, tags, settle=False)
        for queue in new:  # settings that another client changed meanwhile, without knowing the new partitions
            await self._set_up(model, queue)
        return await self.partitions()

    async def finish_repartition(self) -> int:
        """Stop asking earlier partitions, if no task is left in the wrong one. Returns how many are left; 0 means done.

        Until then, each enqueue of a task with a key costs one more call. Wait at least the queue's `idempotency` time
        after `repartition`. After this call, keys of ended tasks and your own ids are no longer looked up in earlier
        partitions. Ended tasks stay where they are, as long as they are kept.
        """
        known = await self._read()
        if not known.before:
            return 0
        await self._refuse_earlier(known)
        left = 0
        for tag in known.all:
            left += await self._left_in(tag, known)
        if left == 0:
            await self._publish(known, known.tags, settle=True)
        return left

    async def _set_up(self, model: Queue, new: Queue) -> None:
        await settle_in(model, new)
        await self.events.copy_groups(new)

    async def _left_in(self, tag: str, known: PartitionMap) -> int:
        """Return how many unfinished tasks of a partition would not be put there now."""
        queue, left = self.part(tag), set[str]()
        stats = await queue.stats()
        if tag not in known.tags:
            return stats.pending + stats.running
        for state in LOOKS:
            for lane in (await queue.stats()).lanes if state == "ready" else [None]:
                async for task in queue.iterate(state, lane=lane):
                    id = None if task.schedule else task.id  # a schedule's id is only looked up in its own partition
                    if not known.belongs(tag, id, _ties_of(task)):
                        left.add(task.id)
        return len(left) + stats.more_lanes

    async def _publish(self, known: PartitionMap, tags: Sequence[str], *, settle: bool) -> None:
        call = self.part(WHOLE).calls.partition(known.epoch + 1, tags, new_ulid(), settle=settle)
        status, epoch = await self._runner.send(call)
        now = await self._read()
        if status == "conflict" and now.tags != tuple(tags):
            raise ConflictError(
                "ADEQ_CONFLICT",
                call.script.id,
                f"another client gave {self.name!r} other partitions (epoch {epoch})",
            )
        await self._refuse_earlier(now)

    async def _refuse_earlier(self, known: PartitionMap) -> None:
        """Tell each partition the epoch: clients that do not know it are refused, and read the map."""
        for tag in known.all:
            await self._runner.send(self.part(tag).calls.partition(known.epoch, (), new_ulid()))

    # Tasks

    def bind(self, task: TaskFunction[Q, P, C, T]) -> QueueTask[Q, P, C, T]:
        """Return a function of a `Tasks` that enqueues into this queue; see `Queue.bind`."""
        return QueueTask[Q, P, C, T].bound(self, task)


LOOKS: tuple[State, ...] = ("running", "stalled", "blocked", "delayed", "ready", "running", "stalled", "delayed")
"""The states of unfinished tasks, in the order in which tasks pass through them, so that a count misses none."""


def _ties_of(task: TaskView) -> dict[str, Any]:
    return {name: getattr(task, name) for name in ("ordering_key", "idempotency_key", "unique", "scope", "limits")}

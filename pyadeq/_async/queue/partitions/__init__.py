"""A queue in several hash slots, as one: what goes in, what is taken out, how much there is, and more partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Unpack

from pyadeq._async.queue import Queue
from pyadeq._async.queue.inspect import TaskFilter
from pyadeq._async.queue.partitions.care import TakingCare
from pyadeq._async.queue.partitions.put import Putting
from pyadeq._async.queue.partitions.settings import settle_in
from pyadeq._async.queue.partitions.work import TakingPart
from pyadeq._async.queue.settings import SettingsChange
from pyadeq._core.kernel.migration import newest_layout, refuse_older
from pyadeq._core.queue.items import checked_list
from pyadeq._core.queue.partitions import WHOLE, PartitionMap, make_tags, total
from pyadeq.errors import ConflictError
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration, Seconds
from pyadeq.models.partition import Partition
from pyadeq.models.queue import AbandonStatus, CancelStatus, QueueStats, Retried, Settings, State, TaskView
from pyadeq.models.worker import LogLine, Outcome


class PartitionedQueue(Putting, TakingPart, TakingCare):
    """A durable queue of tasks in several hash slots of a cluster: `adeq.partitioned(name)` makes one.

    Order, limits and fair shares are those of each partition; what has the same key is in the same one. A queue that
    was never given partitions has one, itself.
    """

    # Partitions

    async def repartition(self, count: int) -> list[Partition]:
        """Let the queue have so many partitions from now on, 512 at most, while it is at work; where its tasks are.

        New ones get the settings, limits and weights of the first that there is. Nothing is moved: what is in line
        stays where it is, and tasks of a key of which one has not ended there still go there. All others go where they
        belong by now. Say it again after an error; until `finish_repartition` that gives the new ones once more what is
        set for an earlier one.
        """
        known = await self._read()
        tags = make_tags(self.name, count)
        if tags == known.tags:
            for tag in known.newest:
                await settle_in(self.part(known.before[-1][0]), self.part(tag))
            return await self.partitions()
        model, new = self.part(known.tags[0]), [self.part(tag) for tag in tags if tag not in known.all]
        for queue in new:
            await settle_in(model, queue)
        await self._publish(known, tags, settle=False)
        for queue in new:  # what was set meanwhile, by somebody who did not know of it
            await settle_in(model, queue)
        return await self.partitions()

    async def finish_repartition(self) -> int:
        """Ask earlier partitions no more, if no task is left that belongs elsewhere by now; else how many are.

        Until then, putting in a task with a key takes a call more. Do it later than the queue's `idempotency` after
        `repartition`: keys of ended tasks, and ids that you gave, are not looked up in earlier partitions any longer.
        What has ended there stays there, for as long as such tasks are kept.
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

    async def _left_in(self, tag: str, known: PartitionMap) -> int:
        """How many tasks in a partition have not ended and would not be put there now."""
        queue, left = self.part(tag), set[str]()
        stats = await queue.stats()
        if tag not in known.tags:
            return stats.pending + stats.running
        for state in LOOKS:
            for lane in (await queue.stats()).lanes if state == "ready" else [None]:
                async for task in queue.iterate(state, lane=lane):
                    id = None if task.schedule else task.id  # which a schedule made, and nobody looks for elsewhere
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
                f"somebody else gave {self.name!r} other partitions (epoch {epoch})",
            )
        await self._refuse_earlier(now)

    async def _refuse_earlier(self, known: PartitionMap) -> None:
        """Tell each partition of the epoch: who does not know it yet is refused, and reads the map."""
        for tag in known.all:
            await self._runner.send(self.part(tag).calls.partition(known.epoch, (), new_ulid()))

    # Tasks

    async def get(self, id: str) -> TaskView | None:
        """A task as it is now, with payload and result; None if there is none."""
        return await self._where_it_is(id, lambda queue: queue.get(id), lambda task: task is not None)

    async def log(self, id: str) -> list[LogLine]:
        """The last lines, at most 100, that the runs of a task have logged, the oldest first."""
        return await self._where_it_is(id, lambda queue: queue.log(id), bool)

    async def outcome(self, id: str) -> Outcome:
        """How a task ended, if it has; see `Queue.outcome`."""
        return await self._where_it_is(id, lambda queue: queue.outcome(id), lambda one: one.status != "not_found")

    async def ended(self, id: str, timeout: Seconds = 60.0) -> Outcome:
        """How a task ended, as soon as it has; see `Queue.ended`."""
        return await (await self.part_of(id) or self.part(WHOLE)).ended(id, timeout)

    async def result(self, id: str, timeout: Seconds = 60.0) -> Any:
        """The result of a task, as soon as it has ended; see `Queue.result`."""
        return await (await self.part_of(id) or self.part(WHOLE)).result(id, timeout)

    async def cancel(self, id: str, tree: bool = False) -> CancelStatus:
        """`cancelled` at once if it waits; `cancelling` if it runs; see `Queue.cancel`."""
        return await self._where_it_is(id, lambda queue: queue.cancel(id, tree), lambda status: status != "not_found")

    async def cancel_many(self, ids: Sequence[str], tree: bool = False) -> list[CancelStatus]:
        """Cancel many tasks, one after the other; a status for each."""
        return [await self.cancel(id, tree) for id in checked_list("ids", ids)]

    async def retry_many(self, ids: Sequence[str]) -> list[Retried]:
        """Put many dead tasks in line again, one after the other; an answer for each."""
        return [await self.retry(id) for id in checked_list("ids", ids)]

    async def retry(self, id: str) -> Retried:
        """Put a dead task in line again, in its partition; see `Queue.retry`."""
        return await self._where_it_is(id, lambda queue: queue.retry(id), lambda answer: answer.status != "not_found")

    async def abandon(self, id: str) -> AbandonStatus:
        """Delete a dead task."""
        return await self._where_it_is(id, lambda queue: queue.abandon(id), lambda status: status != "not_found")

    async def abandon_many(self, ids: Sequence[str]) -> list[AbandonStatus]:
        """Delete many dead tasks, one after the other; a status for each."""
        return [await self.abandon(id) for id in checked_list("ids", ids)]

    async def part_of(self, id: str) -> Queue | None:
        """The partition that a task is in; None if there is no such task."""
        return await self._where_it_is(id, lambda queue: _has(queue, id), lambda queue: queue is not None)

    async def iterate(self, state: State | None = None, **filter: Unpack[TaskFilter]) -> AsyncIterator[TaskView]:
        """The tasks of all partitions that `Queue.list` finds, partition by partition."""
        for queue in await self._parts_now():
            async for task in queue.iterate(state, **filter):
                yield task

    # All of it

    async def stats(self) -> QueueStats:
        """The sums of all partitions: how many tasks are in each state, and the totals since the queue began.

        workers: of the partition that has most of them, for a worker is known in each.
        """
        return total([await queue.stats() for queue in await self._parts_now()])

    async def length(self, lanes: Sequence[str] = ("any",)) -> list[int]:
        """How many tasks are in line in each of these lanes, ready to be taken."""
        lanes = checked_list("lanes", lanes)
        lengths = [await queue.length(lanes) for queue in await self._parts_now()]
        return [sum(of_lane) for of_lane in zip(*lengths, strict=True)]

    async def settings(self) -> Settings:
        """All settings of the first partition."""
        return await (await self._parts_now())[0].settings()

    async def pause(self) -> None:
        """Lease no more tasks until `resume`, partition by partition."""
        await self._in_each_part(lambda queue: queue.pause())

    async def drain(self) -> None:
        """Take in no new tasks until `resume`."""
        await self._in_each_part(lambda queue: queue.drain())

    async def resume(self) -> None:
        """End `pause` or `drain`."""
        await self._in_each_part(lambda queue: queue.resume())

    async def configure(self, *, clock: str | None = None, **settings: Unpack[SettingsChange]) -> Settings:
        """Change settings of every partition and answer those of the first; what is not given stays as it is."""
        if clock is not None:  # before anything is asked by that clock
            await self.part(WHOLE).configure(clock=clock)
        await self._in_each_part(lambda queue: queue.configure(clock=clock, **settings))
        return await self.settings()

    async def migrate(self, *, force: bool = False, progress: Callable[[int], object] | None = None) -> Migration:
        """Bring what is stored in every partition to the layout of this release; see `Queue.migrate`."""
        known = await self._read()
        if not force:
            for tag in known.all:  # of all, before the first is changed for good
                if (await self.part(tag).settings()).layout < newest_layout():
                    refuse_older(await self.part(tag).workers())
        before, layouts, rewritten = set[int](), set[int](), 0

        def tell(count: int) -> None:
            if progress:
                progress(rewritten + count)

        for tag in known.all:
            answer = await self.part(tag).migrate(force=True, progress=tell)
            if answer.layout:
                before.add(answer.before)
                layouts.add(answer.layout)
            rewritten += answer.rewritten
        return Migration(before=min(before, default=0), layout=min(layouts, default=0), rewritten=rewritten)


LOOKS: tuple[State, ...] = ("running", "stalled", "blocked", "delayed", "ready", "running", "stalled", "delayed")
"""Where tasks are that have not ended, in the order in which they go on, so that none slips by."""


async def _has(queue: Queue, id: str) -> Queue | None:
    return queue if (await queue.outcome(id)).status != "not_found" else None


def _ties_of(task: TaskView) -> dict[str, Any]:
    return {name: getattr(task, name) for name in ("ordering_key", "idempotency_key", "unique", "scope", "limits")}

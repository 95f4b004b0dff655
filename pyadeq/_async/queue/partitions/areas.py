"""The areas of a queue in partitions. Most methods are rows of the routing table; see `routes`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pyadeq._async.queue import Queue
from pyadeq._async.queue.admin import QueueAdmin
from pyadeq._async.queue.dead import QueueDead
from pyadeq._async.queue.inspect import QueueInspect
from pyadeq._async.queue.limits import Limits
from pyadeq._async.queue.partitions.base import is_known
from pyadeq._async.queue.partitions.follow import FollowingPart
from pyadeq._async.queue.partitions.routes import PartitionedArea, chain, each, first, total, where_it_is
from pyadeq._async.queue.partitions.settle import Settling
from pyadeq._async.queue.schedules import PATIENCE, Schedules
from pyadeq._async.queue.shares import Shares
from pyadeq._async.queue.whole import Whole
from pyadeq._async.queue.workers import QueueWorkers
from pyadeq._core.kernel.call import Answer
from pyadeq._core.kernel.migration import newest_layout
from pyadeq._core.kernel.nouncalls import models, statuses
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.queue.dead import together as dead_together
from pyadeq._core.queue.history import together as histories_together
from pyadeq._core.queue.items import Held
from pyadeq._core.queue.migration import refuse_older
from pyadeq._core.queue.partitions import PartitionMap, together
from pyadeq._core.queue.partitions import total_overview as added_overview
from pyadeq._core.queue.steps import StepValue, Wait
from pyadeq.errors import AdeqError, PartitionsChanged, QueueDraining, TransportError
from pyadeq.ids import new_ulid
from pyadeq.models.base import Migration, Moment, Seconds
from pyadeq.models.limit import Limit, LimitUse, SetLimitStatus
from pyadeq.models.queue import AbandonStatus, Bulk, ReleaseStatus, Renewal, Retried, Snoozed
from pyadeq.models.schedule import Fired, Firing, Schedule, SchedulePut, SteerScheduleStatus, Timing
from pyadeq.models.steps import StepKept, Suspended
from pyadeq.models.worker import Outcome, ProgressStatus, WorkerInfo, WorkerMode

T = TypeVar("T")


def _changed(statuses: Sequence[SetLimitStatus]) -> SetLimitStatus:
    return next((status for status in statuses if status != "unchanged"), "unchanged")


def _added(parts: Sequence[Bulk]) -> Bulk:
    return Bulk(matched=sum(one.matched for one in parts), done=sum(one.done for one in parts))


def _by_lane(lengths: Sequence[Sequence[int]]) -> list[int]:
    return [sum(of_lane) for of_lane in zip(*lengths, strict=True)]


def _all_workers(found: Sequence[Sequence[WorkerInfo]]) -> list[WorkerInfo]:
    return together([worker for of_part in found for worker in of_part])


def _seen_last(found: Sequence[WorkerInfo | None]) -> WorkerInfo | None:
    return next(iter(together([worker for worker in found if worker is not None])), None)


class PartitionedLimits(PartitionedArea):
    """The limits of every partition: each counts its own tasks. All tasks of one limit key are in one partition."""

    set = each("limits", Limits.set, _changed)
    remove = each("limits", Limits.remove, _changed)
    get = total("limits", Limits.get, LimitUse.in_all)

    async def list(self) -> list[Limit]:
        """Return the limits that are set, by key."""
        found: dict[str, Limit] = {}
        for queue in await self._queue._parts_now():
            found = {limit.key: limit for limit in await queue.limits.list()} | found
        return [found[key] for key in sorted(found)]


class PartitionedShares(PartitionedArea):
    """The weights of a queue's users, the same in every partition."""

    set = each("shares", Shares.set)
    get = first("shares", Shares.get)
    list = first("shares", Shares.list)


class PartitionedSchedules(PartitionedArea):
    """The schedules of a partitioned queue. A schedule and its tasks are in one partition."""

    iterate = chain("schedules", Schedules.iterate)

    async def set(self, name: str, timing: Timing, payload: Any = None, **how: Any) -> SchedulePut:
        """Create a schedule, or change the one with that name in its partition; see `Schedules.set`."""
        while True:
            known, part = await self._find(name)
            part = part or await self._in_an_earlier_home(known, name) or self._queue.part(known.home(name)[-1])
            try:
                return await Schedules(part._runner, part.calls, known.epoch).set(name, timing, payload, **how)
            except PartitionsChanged as error:
                # a partition has a newer epoch than the queue's own base
                if (await self._queue._read()).epoch <= known.epoch:
                    raise error

    async def get(self, name: str) -> Schedule | None:
        """Return a schedule as it is now; None if there is none with that name."""
        part = await self._part_of(name)
        return await part.schedules.get(name) if part else None

    def upcoming(self, schedule: Schedule, count: int = 5) -> list[float]:
        """Return the next `count` times of a schedule, as it was read; none if it is paused or has no time left."""
        return self._queue.part(self._queue._map.tags[0]).schedules.upcoming(schedule, count)

    async def pause(self, name: str) -> SteerScheduleStatus:
        """Stop firing until `resume`; see `Schedules.pause`."""
        part = await self._part_of(name)
        return await part.schedules.pause(name) if part else "not_found"

    async def resume(self, name: str) -> SteerScheduleStatus:
        """End a pause: the next time is the first from now on."""
        part = await self._part_of(name)
        return await part.schedules.resume(name) if part else "not_found"

    async def remove(self, name: str, *, expect: int | None = None) -> SteerScheduleStatus:
        """Delete a schedule. Tasks that it has enqueued stay. See `Schedules.remove`."""
        part = await self._part_of(name)
        return await part.schedules.remove(name, expect=expect) if part else "not_found"

    async def trigger(self, name: str) -> Firing:
        """Enqueue its task now, in addition to its times; see `Schedules.trigger`."""
        return await (await self._part_of(name) or await self._first()).schedules.trigger(name)

    async def backfill(
        self, name: str, start: Moment, end: Moment, *, progress: Callable[[int, int], object] | None = None
    ) -> list[Firing]:
        """Enqueue its task for each of its times from start to end; see `Schedules.backfill`."""
        part = await self._part_of(name)
        return await part.schedules.backfill(name, start, end, progress=progress) if part else []

    async def fire_due(self) -> Fired:
        """Fire the due times of all partitions; see `Schedules.fire_due`. Partitions that do not answer fire later."""
        fired: list[Fired] = []
        failed: AdeqError | None = None
        for queue in await self._queue._parts_now():
            try:
                fired.append(await queue.schedules.fire_due())
            except (TransportError, QueueDraining) as error:
                failed = error
        firings = [firing for one in fired for firing in one.firings]
        if failed is not None and (not fired or (isinstance(failed, QueueDraining) and not firings)):
            raise failed
        waits = [one.next - one.now for one in fired if one.next is not None]
        if failed is not None:
            waits.append(PATIENCE)
        now = fired[0].now
        return Fired(firings=firings, now=now, next=now + min(waits) if waits else None)

    async def _part_of(self, name: str) -> Queue | None:
        _, part = await self._find(name)
        return part

    async def _find(self, name: str) -> tuple[PartitionMap, Queue | None]:
        known = await self._queue._read()
        for tag in dict.fromkeys([*reversed(known.home(name)), *known.all]):
            if await self._queue.part(tag).schedules.get(name):
                return known, self._queue.part(tag)
        return known, None

    async def _in_an_earlier_home(self, known: PartitionMap, name: str) -> Queue | None:
        """Return the earlier partition in which a client with an older map has put it. Such clients are refused from
        now on.
        """
        for tag in known.home(name)[:-1]:
            part = self._queue.part(tag)
            await part._runner.send(part.calls.partition(known.epoch, (), new_ulid()))
            if await part.schedules.get(name):
                return part
        return None

    async def _first(self) -> Queue:
        return (await self._queue._parts_now())[0]


class PartitionedInspect(PartitionedArea):
    """`queue.inspect` of all partitions. Nothing here changes anything."""

    _queue: FollowingPart

    log = where_it_is("inspect", QueueInspect.log, bool)
    runs = where_it_is("inspect", QueueInspect.runs, bool)
    steps = where_it_is("inspect", QueueInspect.steps, bool)
    outcome = where_it_is("inspect", QueueInspect.outcome, is_known)
    length = total("inspect", QueueInspect.length, _by_lane)
    overview = total("inspect", QueueInspect.overview, added_overview)
    history = total("inspect", QueueInspect.history, histories_together)

    async def ended(self, id: str, timeout: Seconds = 60.0) -> Outcome:
        """Wait for a task's end and return how it ended; see `QueueInspect.ended`."""
        return await self._queue._wait_for_end(id, timeout)


class PartitionedLeases(PartitionedArea):
    """`queue.leases` of all partitions: calls for many leases."""

    _queue: Settling

    async def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """Return many tasks. Returns a status for each."""
        return await self._queue._in_each(leases, lambda one: one, lambda part, some: part.leases.release_many(some))

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0) -> list[Renewal]:
        """Renew many leases. Returns an answer for each."""
        return await self._queue._in_each(
            leases, lambda one: one, lambda part, some: part.leases.heartbeat_many(some, extend=extend)
        )

    async def snooze_many(self, leases: Sequence[tuple[Held, Seconds]]) -> list[Snoozed]:
        """Put many tasks aside, each a lease with its seconds. Returns an answer for each."""
        return await self._queue._in_each(leases, lambda one: one[0], lambda part, some: part.leases.snooze_many(some))

    async def keep_steps(self, steps: Sequence[StepValue]) -> list[StepKept]:
        """Store the results of steps of running tasks. Returns an answer for each."""
        return await self._queue._in_each(steps, lambda one: one.lease, lambda part, some: part.leases.keep_steps(some))

    async def suspend_many(self, waits: Sequence[tuple[Held, Wait]]) -> list[Suspended]:
        """End runs whose tasks wait, each a lease with one wait. Returns an answer for each."""
        return await self._queue._in_each(waits, lambda one: one[0], lambda part, some: part.leases.suspend_many(some))

    async def progress_many(self, notes: Sequence[tuple[Held, Mapping[str, Any]]]) -> list[ProgressStatus]:
        """Report how far tasks have come. Returns a status for each."""
        return await self._queue._in_each(notes, lambda one: one[0], lambda part, some: part.leases.progress_many(some))


class PartitionedDead(PartitionedArea):
    """`queue.dead` of all partitions."""

    retry = where_it_is("dead", QueueDead.retry, is_known)
    retry_all = total("dead", QueueDead.retry_all, _added)
    summary = total("dead", QueueDead.summary, dead_together)
    abandon = where_it_is("dead", QueueDead.abandon, is_known)
    abandon_all = total("dead", QueueDead.abandon_all, _added)

    async def retry_many(self, ids: Sequence[str]) -> list[Retried]:
        """Make many dead tasks ready again, one after the other. Returns an answer for each."""
        return await self._queue._each("retry", models(Retried), ids)

    async def abandon_many(self, ids: Sequence[str]) -> list[AbandonStatus]:
        """Delete many dead tasks, one after the other. Returns a status for each."""
        return await self._queue._each("abandon", statuses, ids)


class PartitionedWorkers(PartitionedArea):
    """`queue.workers` of all partitions."""

    get = total("workers", QueueWorkers.get, _seen_last)
    list = total(
        "workers",
        QueueWorkers.list,
        _all_workers,
        "The live workers by name, as the partition knows each that has seen it last.",
    )

    async def control(
        self,
        workers: Sequence[str] = (),
        *,
        mode: WorkerMode | None = None,
        capacity: int | None = None,
        group: str | None = None,
        everybody: bool = False,
    ) -> builtins.list[str]:
        """Send a request to live workers, in every partition; see `QueueWorkers.control`. Returns the names of those
        that get it.
        """
        workers = checked_list("workers", workers)
        heard: dict[str, None] = {}
        for queue in await self._queue._parts_now():
            names = await queue.workers.control(workers, mode=mode, capacity=capacity, group=group, everybody=everybody)
            heard |= dict.fromkeys(names)
        return [name for name in workers if name in heard] if workers else sorted(heard)


class PartitionedAdmin(PartitionedArea, Whole):
    """`queue.admin` of all partitions."""

    reveal = where_it_is("admin", QueueAdmin.reveal, is_known)
    purge = total(
        "admin",
        QueueAdmin.purge,
        sum,
        """Delete the waiting tasks of all partitions and their idempotency keys; see `QueueAdmin.purge`. Returns how
        many.

        progress: called with the number of tasks deleted so far in each partition, one partition after the other.
        """,
    )

    async def _everywhere(self, verb: str, decode: Callable[[Answer], T], /, **arguments: Any) -> list[T]:
        answers = await self._queue._in_each_part(lambda part: part.admin._everywhere(verb, decode, **arguments))
        return [answer for of_part in answers for answer in of_part]

    async def _each(
        self, verb: str, decode: Callable[[Answer], builtins.list[T]], ids: Sequence[str], /, **arguments: Any
    ) -> builtins.list[T]:
        return await self._queue._each(verb, decode, ids, **arguments)

    async def migrate(self, *, force: bool = False, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data of every partition to the layout of this release; see `QueueAdmin.migrate`."""
        known = await self._queue._read()
        if not force:
            for tag in known.all:  # check all partitions before the first one is changed: there is no way back
                if (await self._queue.part(tag).settings()).layout < newest_layout("queue"):
                    refuse_older(await self._queue.part(tag).workers.list())
        before, layouts, rewritten = set[int](), set[int](), 0

        def tell(count: int) -> None:
            if progress:
                progress(rewritten + count)

        for tag in known.all:
            answer = await self._queue.part(tag).admin.migrate(force=True, progress=tell)
            if answer.layout:
                before.add(answer.before)
                layouts.add(answer.layout)
            rewritten += answer.rewritten
        return Migration(before=min(before, default=0), layout=min(layouts, default=0), rewritten=rewritten)

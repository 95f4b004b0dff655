# Generated from pyadeq/_async/queue/partitions/care.py by pyadeq/_unasync.py; do not edit.
"""Looking after a queue in partitions: what is said of all of it, and kept in each part; schedules; workers."""

from __future__ import annotations

from collections.abc import Iterator, Callable, Sequence
from typing import Any, TypeVar, Unpack

from pyadeq._sync.queue import Queue
from pyadeq._sync.queue.inspect import TaskFilter
from pyadeq._sync.queue.partitions.base import PartitionedBase
from pyadeq._sync.queue.schedules import PATIENCE, Schedules
from pyadeq._core.queue.items import checked_list
from pyadeq._core.queue.partitions import PartitionMap, together
from pyadeq.errors import AdeqError, PartitionsChanged, QueueDraining, TransportError
from pyadeq.ids import new_ulid
from pyadeq.models.base import Moment
from pyadeq.models.limit import Limit, LimitUse, SetLimitStatus
from pyadeq.models.queue import Bulk
from pyadeq.models.schedule import Fired, Firing, Schedule, SchedulePut, SteerScheduleStatus, Timing
from pyadeq.models.worker import WorkerInfo, WorkerMode

T = TypeVar("T")


class PartitionedLimits:
    """The limits of every partition: each counts the tasks that it has. Those of one limit key are all in one."""

    def __init__(self, queue: PartitionedBase) -> None:
        self._queue = queue

    def set(self, key: str, **limit: Any) -> SetLimitStatus:
        """Limit the tasks of a key in each partition; see `Limits.set`. `unchanged` if it is so in all of them."""
        return _changed(self._queue._in_each_part(lambda queue: queue.limits.set(key, **limit)))

    def remove(self, key: str) -> SetLimitStatus:
        """Take a limit away. `unchanged` if it is in none of them."""
        return _changed(self._queue._in_each_part(lambda queue: queue.limits.remove(key)))

    def list(self) -> list[Limit]:
        """The limits that are set, by key."""
        found: dict[str, Limit] = {}
        for queue in self._queue._parts_now():
            found = {limit.key: limit for limit in queue.limits.list()} | found
        return [found[key] for key in sorted(found)]

    def look(self, key: str) -> LimitUse:
        """How many tasks of a key run and wait in all partitions together, and which limit holds for it in each."""
        return LimitUse.in_all([queue.limits.look(key) for queue in self._queue._parts_now()])


class PartitionedShares:
    """The weights of a queue's users, the same in every partition."""

    def __init__(self, queue: PartitionedBase) -> None:
        self._queue = queue

    def set(self, user: str, weight: float) -> None:
        """Give a user a weight; see `Shares.set`."""
        self._queue._in_each_part(lambda queue: queue.shares.set(user, weight))

    def get(self, user: str) -> float:
        """The weight of a user."""
        return (self._queue._parts_now())[0].shares.get(user)

    def all(self) -> dict[str, float]:
        """The users whose weight is not 1, by name."""
        return (self._queue._parts_now())[0].shares.all()


class PartitionedSchedules:
    """The schedules of a queue in partitions: each is in one of them, and its tasks are, too."""

    def __init__(self, queue: PartitionedBase) -> None:
        self._queue = queue

    def put(self, name: str, timing: Timing, payload: Any = None, **how: Any) -> SchedulePut:
        """Make a schedule, or change the one of that name, wherever it is; see `Schedules.put`."""
        while True:
            known, part = self._find(name)
            part = part or self._in_an_earlier_home(known, name) or self._queue.part(known.home(name)[-1])
            try:
                return Schedules(part._runner, part.calls, known.epoch).put(name, timing, payload, **how)
            except PartitionsChanged as error:
                if (self._queue._read()).epoch <= known.epoch:  # a partition knows more than the queue's own base
                    raise error

    def get(self, name: str) -> Schedule | None:
        """A schedule as it is now; None if there is none of that name."""
        part = self._part_of(name)
        return part.schedules.get(name) if part else None

    def iterate(self) -> Iterator[Schedule]:
        """All schedules, without their payloads: those of one partition by when they are due, then the next one's."""
        for queue in self._queue._parts_now():
            for schedule in queue.schedules.iterate():
                yield schedule

    def upcoming(self, schedule: Schedule, count: int = 5) -> list[float]:
        """The next so many times of a schedule, as it was read; none where it is paused, or has no time left."""
        return self._queue.part(self._queue._map.tags[0]).schedules.upcoming(schedule, count)

    def pause(self, name: str) -> SteerScheduleStatus:
        """Let no more times fire until `resume`; see `Schedules.pause`."""
        part = self._part_of(name)
        return part.schedules.pause(name) if part else "not_found"

    def resume(self, name: str) -> SteerScheduleStatus:
        """End a pause: the next time is the first from now on."""
        part = self._part_of(name)
        return part.schedules.resume(name) if part else "not_found"

    def remove(self, name: str) -> SteerScheduleStatus:
        """Delete a schedule. The tasks that it has enqueued stay."""
        part = self._part_of(name)
        return part.schedules.remove(name) if part else "not_found"

    def trigger(self, name: str) -> Firing:
        """Enqueue its task now, besides its times; see `Schedules.trigger`."""
        return (self._part_of(name) or self._first()).schedules.trigger(name)

    def backfill(
        self, name: str, start: Moment, end: Moment, *, progress: Callable[[int, int], object] | None = None
    ) -> list[Firing]:
        """Enqueue its task for each of its times from start to end; see `Schedules.backfill`."""
        part = self._part_of(name)
        return part.schedules.backfill(name, start, end, progress=progress) if part else []

    def fire_due(self) -> Fired:
        """Fire what is due in any partition; see `Schedules.fire_due`. What cannot be reached waits."""
        fired: list[Fired] = []
        failed: AdeqError | None = None
        for queue in self._queue._parts_now():
            try:
                fired.append(queue.schedules.fire_due())
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

    def _part_of(self, name: str) -> Queue | None:
        _, part = self._find(name)
        return part

    def _find(self, name: str) -> tuple[PartitionMap, Queue | None]:
        known = self._queue._read()
        for tag in dict.fromkeys([*reversed(known.home(name)), *known.all]):
            if self._queue.part(tag).schedules.get(name):
                return known, self._queue.part(tag)
        return known, None

    def _in_an_earlier_home(self, known: PartitionMap, name: str) -> Queue | None:
        """Where somebody may have put it by the map of before; from now on nobody can."""
        for tag in known.home(name)[:-1]:
            part = self._queue.part(tag)
            part._runner.send(part.calls.partition(known.epoch, (), new_ulid()))
            if part.schedules.get(name):
                return part
        return None

    def _first(self) -> Queue:
        return (self._queue._parts_now())[0]


class TakingCare(PartitionedBase):
    """The part of a partitioned queue that its owners use."""

    @property
    def limits(self) -> PartitionedLimits:
        """The limits of its partitions."""
        return PartitionedLimits(self)

    @property
    def shares(self) -> PartitionedShares:
        """The weights of its users."""
        return PartitionedShares(self)

    @property
    def schedules(self) -> PartitionedSchedules:
        """Its schedules."""
        return PartitionedSchedules(self)

    def retry_dead(self, *, dry_run: bool = False, **filter: Unpack[TaskFilter]) -> Bulk:
        """Put all dead tasks in line again that fit the filter and died before now; see `Queue.retry_dead`."""
        return _sum([queue.retry_dead(dry_run=dry_run, **filter) for queue in self._parts_now()])

    def abandon_dead(self, *, dry_run: bool = False, **filter: Unpack[TaskFilter]) -> Bulk:
        """Delete all dead tasks that fit the filter and died before now; see `Queue.abandon_dead`."""
        return _sum([queue.abandon_dead(dry_run=dry_run, **filter) for queue in self._parts_now()])

    def workers(self, *, group: str | None = None, capability: str | None = None) -> list[WorkerInfo]:
        """The live workers by name, as the partition knows each that has seen it last."""
        found = [queue.workers(group=group, capability=capability) for queue in self._parts_now()]
        return together([worker for of_part in found for worker in of_part])

    def worker(self, name: str) -> WorkerInfo | None:
        """A live worker by its name; None if there is none."""
        found = [queue.worker(name) for queue in self._parts_now()]
        return next(iter(together([worker for worker in found if worker is not None])), None)

    def steer(
        self,
        workers: Sequence[str] = (),
        *,
        mode: WorkerMode | None = None,
        capacity: int | None = None,
        group: str | None = None,
        everybody: bool = False,
    ) -> list[str]:
        """Say in every partition what is wanted of live workers; see `Queue.steer`. The names of those who hear."""
        workers = checked_list("workers", workers)
        heard: dict[str, None] = {}
        for queue in self._parts_now():
            names = queue.steer(workers, mode=mode, capacity=capacity, group=group, everybody=everybody)
            heard |= dict.fromkeys(names)
        return [name for name in workers if name in heard] if workers else sorted(heard)


def _changed(statuses: Sequence[SetLimitStatus]) -> SetLimitStatus:
    return next((status for status in statuses if status != "unchanged"), "unchanged")


def _sum(parts: Sequence[Bulk]) -> Bulk:
    return Bulk(matched=sum(one.matched for one in parts), done=sum(one.done for one in parts))

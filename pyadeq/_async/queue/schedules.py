"""Schedules of a queue: tasks that are enqueued at certain times."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from pyadeq._core.queue.schedules import UNFIT, due_now, firing_id, known_timing, times_between
from pyadeq._core.queue.timing import times
from pyadeq.errors import AdeqError, BadArgument, DurabilityError, QueueDraining, TransportError
from pyadeq.ids import new_ulid
from pyadeq.keys import hint
from pyadeq.models.base import Moment, Seconds, encode, to_epoch_ms
from pyadeq.models.queue import Task
from pyadeq.models.schedule import Fired, Firing, Overlap, Schedule, SchedulePut, SteerScheduleStatus, Timing
from pyadeq.models.task_options import ScheduleOptions

if TYPE_CHECKING:
    from pyadeq._async.kernel.runner import Runner
    from pyadeq._core.queue.calls import QueueCalls

PAGE = 100
# How many missed times of one schedule are fired before the other schedules.
MOST_AT_ONCE = 100
MOST_BACKFILLED = 100_000
# Seconds after which what could not be fired is tried again.
PATIENCE = 10.0


class Schedules:
    """The schedules of one queue. Workers fire them. Any number of workers is safe, without a leader."""

    def __init__(self, runner: Runner, calls: QueueCalls, epoch: int = 0) -> None:
        self._runner = runner
        self._calls = calls
        self._epoch = epoch  # of the map of partitions; only in a partitioned queue

    async def set(
        self,
        name: str,
        timing: Timing,
        payload: Any = None,
        *,
        overlap: Overlap = "skip",
        catch_up: Seconds = 3600.0,
        jitter: Seconds = 0.0,
        expect: int | None = None,
        **task: Unpack[ScheduleOptions],
    ) -> SchedulePut:
        """Create a schedule, or change the one with that name. The answer is `created`, `changed`, or `unchanged` if it
        is the same.

        A new timing begins now. A pause stays in force.

        timing: a `Cron`, `Every` or `At`.
        payload, task: as for `enqueue`, without the options that fit one task only; or a `Task` as the payload.
        overlap: if an earlier task has not ended when the next time is due, `skip` leaves that time out. `buffer_one`
        lets one task wait, `buffer_all` up to 63. `cancel_other` cancels the earlier task first. `allow` lets them run
        side by side.
        catch_up: a missed time is made up for if it is not older than this number of seconds. Otherwise it counts as
        missed.
        jitter: each task starts up to this number of seconds later, at random.
        expect: the `rev` that you have seen. If the schedule has another one, the answer is `stale`, and `not_found` if
        it does not exist. Nothing has changed then.
        """
        new = _task_of(payload, task)
        found, _, now = await self._runner.send(self._calls.schedules(name=name))
        # Encrypting again gives other bytes, so an unchanged schedule would look changed.
        same = bool(found) and found[0].data == encode(new.payload) and self._calls.sealing.is_current(found[0].sealed)
        call = self._calls.put_schedule(
            name,
            timing,
            new,
            new_ulid(),
            now,
            overlap=overlap,
            catch_up=catch_up,
            jitter=jitter,
            stored=found[0].sealed if same else None,
            epoch=self._epoch,
            expect=expect,
        )
        return await self._runner.send(call)

    async def get(self, name: str) -> Schedule | None:
        """Return a schedule as it is now; None if there is none with that name."""
        found, _, _ = await self._runner.send(self._calls.schedules(name=name))
        return found[0] if found else None

    async def iterate(self) -> AsyncIterator[Schedule]:
        """Iterate over all schedules, by due time, without their payloads. They are read a hundred at a time."""
        cursor = ""
        while True:
            found, cursor, _ = await self._runner.send(self._calls.schedules(cursor=cursor, limit=PAGE))
            for schedule in found:
                yield schedule
            if not cursor:
                return

    def upcoming(self, schedule: Schedule, count: int = 5) -> list[float]:
        """Return the next `count` times of a schedule, as it was read; none if it is paused or has no time left."""
        if schedule.next is None:
            return []
        later = times(known_timing(schedule), round(schedule.next * 1000))
        return [schedule.next, *(at_ms / 1000 for at_ms in islice(later, count - 1))]

    async def pause(self, name: str) -> SteerScheduleStatus:
        """Stop firing until `resume`. Missed times are not made up for. Returns `done`, `unchanged` or `not_found`."""
        return await self._runner.send(self._calls.pause_schedule(name, new_ulid()))

    async def resume(self, name: str) -> SteerScheduleStatus:
        """End a pause: the next time is the first from now on. Returns `done`, `unchanged` or `not_found`."""
        while True:
            found, _, now = await self._runner.send(self._calls.schedules(name=name))
            if not found:
                return "not_found"
            status = await self._runner.send(self._calls.resume_schedule(found[0], new_ulid(), now))
            if status != "stale":
                return status

    async def remove(self, name: str, *, expect: int | None = None) -> SteerScheduleStatus:
        """Delete a schedule. Tasks that it has enqueued stay. Returns `done` or `not_found`.

        expect: the `rev` that you have seen. If it has another one, the answer is `stale`, and nothing has changed.
        """
        return await self._runner.send(self._calls.remove_schedule(name, new_ulid(), expect))

    async def trigger(self, name: str) -> Firing:
        """Enqueue its task now, in addition to its times, even if it is paused. Its overlap policy applies."""
        return await self._trigger(name, None)

    async def backfill(
        self, name: str, start: Moment, end: Moment, *, progress: Callable[[int, int], object] | None = None
    ) -> list[Firing]:
        """Enqueue its task for each of its times from start to end. Times that have fired before give `exists`.

        Its overlap policy applies: with `skip`, all but the first are skipped, unless its task ends at once.

        progress: called with how many times are done, of how many.
        """
        schedule = await self.get(name)
        if schedule is None:
            return []
        start_ms, end_ms = to_epoch_ms("start", start), to_epoch_ms("end", end)
        moments = times_between(known_timing(schedule), start_ms, end_ms, MOST_BACKFILLED + 1)
        if len(moments) > MOST_BACKFILLED:
            allowed = f"{MOST_BACKFILLED:,} times of the schedule in one call"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"end: {end!r} is not accepted; allowed: at most {allowed}")
        firings = []
        for at_ms in moments:
            firings.append(await self._trigger(name, at_ms / 1000))
            if progress:
                progress(len(firings), len(moments))
        return firings

    async def fire_due(self) -> Fired:
        """Fire all due times. Workers do this by themselves."""
        firings: list[Firing] = []
        cursor = ""
        while True:
            due, cursor, now = await self._runner.send(self._calls.schedules(due=True, cursor=cursor, limit=PAGE))
            for schedule in due:
                firings += await self._fire(schedule, now)
            if not cursor:
                break
        failed = {firing.schedule for firing in firings if firing.status == "failed"}
        next, now = await self._next_but(failed)
        if failed:
            next = now + PATIENCE if next is None else min(next, now + PATIENCE)
        return Fired(firings=firings, now=now, next=next)

    async def _next_but(self, failed: AbstractSet[str]) -> tuple[float | None, float]:
        """Return the next due time of all schedules except these, and the server's time."""
        cursor, limit = "", min(len(failed) + 1, PAGE)
        while True:
            found, cursor, now = await self._runner.send(self._calls.schedules(cursor=cursor, limit=limit))
            for schedule in found:
                if schedule.name not in failed:
                    return schedule.next, now
            if not cursor:
                return None, now

    async def _fire(self, schedule: Schedule, now: float) -> list[Firing]:
        """Fire all times that have come, in order, until another program is found to do the same."""
        firings: list[Firing] = []
        while schedule.next is not None and schedule.next <= now and len(firings) < MOST_AT_ONCE:
            firing, next = await self._fire_next(schedule, now)
            firings.append(firing)
            if firing.status in ("stale", "early", "not_found", "failed"):
                break
            schedule = schedule.model_copy(update={"next": next})
        return firings

    async def _fire_next(self, schedule: Schedule, now: float) -> tuple[Firing, float | None]:
        """Fire its next time, and return the following one."""
        at = schedule.next or 0.0
        delay_ms = random.randint(0, round(schedule.jitter * 1000))
        id = firing_id(schedule.name, at)
        try:
            due = due_now(schedule, now)
            status = await self._runner.send(self._calls.fire(schedule, due, id, delay_ms, new_ulid()))
        except (TransportError, QueueDraining):
            raise
        except DurabilityError as error:
            status = error.answer  # fired, but the durability was not confirmed
        except AdeqError as error:  # a schedule that this release cannot fire must not stop the others
            return Firing(schedule=schedule.name, at=at, status="failed", error=str(error)), None
        firing = Firing(schedule=schedule.name, at=at, status=status, id=id if status == "fired" else None)
        return firing, due.next_ms / 1000 if due.next_ms else None

    async def _trigger(self, name: str, at: float | None) -> Firing:
        while True:
            found, _, now = await self._runner.send(self._calls.schedules(name=name))
            moment = now if at is None else at
            if not found:
                return Firing(schedule=name, at=moment, status="not_found")
            id = f"{name}@{new_ulid()}" if at is None else firing_id(name, at)
            status = await self._runner.send(self._calls.trigger(found[0], id, new_ulid(), at))
            if status != "stale":
                return Firing(schedule=name, at=moment, status=status, id=None if status == "skipped" else id)


def _task_of(payload: Any, options: Mapping[str, Any]) -> Task:
    for name in options:
        if name not in Task.model_fields or isinstance(payload, Task):
            names = [one for one in Task.model_fields if one not in ("payload", *UNFIT)]
            allowed = "nothing beside a Task" if isinstance(payload, Task) else ", ".join(names)
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{name}: not accepted{hint(name, names)} Allowed: {allowed}")
    return payload if isinstance(payload, Task) else Task.model_construct(payload=payload, **options)

"""A queue's calls that have to do with schedules, and what follows from a schedule and the time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple, cast, get_args

from pyadeq._core.kernel.call import Answer, Call
from pyadeq._core.kernel.nouncalls import model, status
from pyadeq._core.kernel.options import unfit
from pyadeq._core.queue.items import envelope
from pyadeq._core.queue.sealing import SealedCalls
from pyadeq._core.queue.timing import check_timing, next_time, read_timing, times, timing_text
from pyadeq.errors import ConfigError
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds, encode, read_json, to_ms
from pyadeq.models.queue import OPTIONS, Task
from pyadeq.models.schedule import FireStatus, Overlap, Schedule, SchedulePut, SteerScheduleStatus, Timing

# Options that are possible for one task only, not for the tasks of a schedule.
UNFIT = tuple(name for name, declared in OPTIONS.items() if declared.option.once)
# How many times that came too late are counted in one call.
MOST_COUNTED = 2_000
LEAST_CATCH_UP_MS = 1000
EXPECTED = "the rev of a schedule, 1 and more"


class Due(NamedTuple):
    """What to say to `fire`, in ms: the time that has come and the one that follows, 0 for none.

    late: whether `nominal_ms` is too late. missed: the number of following times that are also too late.
    """

    nominal_ms: int
    next_ms: int
    late: bool
    missed: int


class ScheduleCalls(SealedCalls):
    """The calls of a queue's schedules."""

    def put_schedule(
        self,
        name: str,
        timing: Timing,
        task: Task,
        rid: str,
        now: float,
        *,
        overlap: Overlap = "skip",
        catch_up: Seconds = 3600.0,
        jitter: Seconds = 0.0,
        stored: bytes | None = None,
        epoch: int = 0,
        expect: int | None = None,
    ) -> Call[SchedulePut]:
        """now: the server's time; firing begins with the first time after it. stored: the encrypted payload.

        expect: change a schedule only if it has this rev.
        """
        if expect is not None and expect < 1:
            raise unfit("expect", expect, EXPECTED)
        text = timing_text(timing)
        if overlap not in get_args(Overlap):
            raise unfit("overlap", overlap, ", ".join(get_args(Overlap)))
        if to_ms("catch_up", catch_up) < LEAST_CATCH_UP_MS:
            raise unfit("catch_up", catch_up, "1 second and more, for who fires is always a little late")
        pairs = schedule_envelope(task)
        # otherwise an invalid option would fail only when the schedule fires
        self.ask("trigger", status, name=check_name("name", name), rid=rid, rev=1, item=[(name, b"", pairs)])
        arguments: dict[str, Any] = {
            "name": name,
            "rid": rid,
            "timing": text,
            "envelope": json.dumps(pairs, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(),
            "payload": stored or self.sealing.payload(encode(task.payload, "payload")),
            "overlap": overlap,
            "catch_up": catch_up,
            "jitter": jitter,
            "next_ms": next_time(timing, round(now * 1000)),
        }
        decode = partial(model, SchedulePut)
        if expect is not None:
            return self.ask("change_schedule", decode, **arguments, expect=expect)
        return self.ask("put_schedule", decode, **arguments, epoch=epoch)

    def fire(self, schedule: Schedule, due: Due, id: str, delay_ms: int, rid: str) -> Call[FireStatus]:
        """delay_ms: how much later the task starts, within the schedule's jitter."""
        items = [] if due.late else [_item(schedule, id, delay_ms)]
        return self.ask("fire", status, name=schedule.name, rid=rid, rev=schedule.rev, **due._asdict(), item=items)

    def trigger(self, schedule: Schedule, id: str, rid: str, at: float | None = None) -> Call[FireStatus]:
        """at: the time that it is for; None: now."""
        items = [_item(schedule, id, 0)]
        return self.ask("trigger", status, name=schedule.name, rid=rid, rev=schedule.rev, at=at, item=items)

    def pause_schedule(self, name: str, rid: str) -> Call[SteerScheduleStatus]:
        return self.ask("steer_schedule", status, name=name, rid=rid, verb="pause")

    def remove_schedule(self, name: str, rid: str, expect: int | None = None) -> Call[SteerScheduleStatus]:
        if expect is not None and expect < 1:
            raise unfit("expect", expect, EXPECTED)
        return self.ask("steer_schedule", status, name=name, rid=rid, verb="remove", rev=expect)

    def resume_schedule(self, schedule: Schedule, rid: str, now: float) -> Call[SteerScheduleStatus]:
        """now: the server's time, from which the next time is reckoned."""
        next_ms = next_time(known_timing(schedule), round(now * 1000))
        own = {"name": schedule.name, "rev": schedule.rev}
        return self.ask("steer_schedule", status, **own, rid=rid, verb="resume", next_ms=next_ms)

    def schedules(
        self, *, name: str | None = None, due: bool = False, cursor: str = "", limit: int = 100
    ) -> Call[tuple[list[Schedule], str, float]]:
        """Some schedules, the cursor that gets the next ones, empty on the last page, and the server's time.

        Those of a name, or that are due, come with the payload.
        """
        decode = self.sealing.opening(_schedules, self.sealing.schedules)
        return self.ask("schedules", decode, name=name, due=due, cursor=cursor, limit=limit)


def due_now(schedule: Schedule, now: float) -> Due:
    """What to say to `fire` for a schedule whose time has come."""
    timing = known_timing(schedule)
    now_ms, nominal_ms = round(now * 1000), round((schedule.next or 0) * 1000)
    oldest_ms = now_ms - round(schedule.catch_up * 1000)
    if nominal_ms >= oldest_ms:
        return Due(nominal_ms, next_time(timing, nominal_ms), False, 0)
    missed, next_ms = 0, 0
    for next_ms in times(timing, nominal_ms):
        if next_ms >= oldest_ms or missed == MOST_COUNTED:
            return Due(nominal_ms, next_ms, True, missed)
        missed += 1
    return Due(nominal_ms, 0, True, missed)


def known_timing(schedule: Schedule) -> Timing:
    """Return the timing. ConfigError for an unknown form, BadArgument if this machine cannot compute it."""
    if schedule.timing is None:
        raise ConfigError(f"this release cannot read the schedule {schedule.name!r}: upgrade it, or put it again")
    check_timing(schedule.timing)  # another machine may know time zones that this one does not
    return schedule.timing


def firing_id(name: str, at: float) -> str:
    """The id of the task of a schedule's time: one that has fired does not fire again."""
    return f"{name}@{round(at * 1000)}"


def times_between(timing: Timing, start_ms: int, end_ms: int, most: int) -> list[int]:
    """The times from start_ms to end_ms, both included; at most the first `most` of them."""
    return list(islice(takewhile(lambda at_ms: at_ms <= end_ms, times(timing, start_ms - 1)), most))


def schedule_envelope(task: Task) -> dict[str, Any]:
    """The name/value pairs of the task that a schedule enqueues, as JSON has them."""
    for name in UNFIT:
        if getattr(task, name) not in (None, (), False, OPTIONS[name].default):
            raise unfit(name, getattr(task, name), "nothing, for a schedule enqueues its task time and again")
    pairs = {name: value for name, value in envelope(task).items() if value is not None}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in pairs.items()}


def _item(schedule: Schedule, id: str, delay_ms: int) -> tuple[str, bytes, Mapping[str, Any]]:
    pairs = dict(schedule.envelope)
    if delay_ms:
        pairs["delay_ms"] = pairs.get("delay_ms", 0) + delay_ms
    return id, schedule.sealed or schedule.data or b"", pairs


def _schedules(answer: Answer) -> tuple[list[Schedule], str, float]:
    found = [_schedule(one["name"], one["record"], one["payload"]) for one in answer["items"]]
    return found, answer["cursor"], answer["now_ms"] / 1000


def _schedule(name: str, own: Mapping[str, bytes], payload: bytes) -> Schedule:
    pairs = read_json(own.get("envelope", b"{}"))
    return Schedule(
        name=name,
        timing=read_timing(own["timing"]) if isinstance(pairs, dict) else None,
        overlap=cast(Overlap, own.get("overlap", b"skip").decode()),
        catch_up=int(own.get("catch_up_ms", 3_600_000)) / 1000,
        jitter=int(own.get("jitter_ms", 0)) / 1000,
        next=_moment(own.get("next_ms")),
        paused=own.get("paused") == b"1",
        rev=int(own["rev"]),
        created=int(own["created_ms"]) / 1000,
        changed=int(own["changed_ms"]) / 1000,
        fired=int(own.get("fired", 0)),
        skipped=int(own.get("skipped", 0)),
        missed=int(own.get("missed", 0)),
        last=_moment(own.get("last_ms")),
        last_id=own["last_id"].decode() if "last_id" in own else None,
        open=tuple(own.get("open", b"").decode().split()),
        envelope=pairs if isinstance(pairs, dict) else {},
        data=payload or None,
    )


def _moment(text: bytes | None) -> float | None:
    return int(text) / 1000 if text and text != b"0" else None

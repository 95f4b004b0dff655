"""Schedules: at what times they enqueue which task, and what becomes of those times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha1
from typing import NamedTuple

from tests.property.model import Model
from tests.property.records import ENDED, Answer, Spec

END = 4_102_444_800_000  # 2100: no schedule has times beyond
MOST_MISSED = 2000  # that are counted in one call
MOST = {"skip": 0, "buffer_one": 1, "buffer_all": 63, "cancel_other": 63, "allow": 1_000_000}  # that have not ended


class Times(NamedTuple):
    """Every period, counted from the epoch; or, where it is 0, the one moment `start`."""

    period: int
    offset: int = 0
    start: int = 0
    until: int = END

    def after(self, ms: int) -> int:
        """The first time after it, or 0."""
        at = self.start
        if self.period:
            at = max(ms + 1, self.start)
            at += (self.offset - at) % self.period
        return at if ms < at <= self.until else 0

    def between(self, ms: int, end: int) -> list[int]:
        """All times after the one and before the other."""
        found, at = list[int](), self.after(ms)
        while at and at < end:
            found.append(at)
            at = self.after(at)
        return found


@dataclass(frozen=True)
class Wish:
    """What is put."""

    times: Times
    spec: Spec
    overlap: str = "skip"
    catch_up: int = 3_600_000
    jitter: int = 0


class Due(NamedTuple):
    """What who fires says: the time that has come, the one to follow, whether it is late, and how many more are."""

    nominal: int
    next: int
    late: bool
    missed: int


@dataclass
class Plan:
    """A schedule."""

    name: str
    wish: Wish
    rev: int
    created: int
    changed: int
    next: int = 0
    paused: bool = False
    counts: dict[str, int] = field(default_factory=dict)  # fired, skipped and missed
    last: tuple[str, int] | None = None  # the task that was enqueued last, and its time
    open: list[str] = field(default_factory=list)
    call: tuple[str, str] | None = None  # the last one that fired, and its answer
    seed: str = ""  # of ids that nobody can know before

    def due(self, now: int) -> Due:
        """What to say of its next time, for one who has read it as it is here, and takes it to be now."""
        times, oldest = self.wish.times, now - self.wish.catch_up
        if self.next >= oldest:
            return Due(self.next, times.after(self.next), False, 0)
        late = times.between(self.next, oldest)
        if len(late) > MOST_MISSED:
            return Due(self.next, late[MOST_MISSED], True, MOST_MISSED)
        return Due(self.next, times.after(oldest - 1), True, len(late))


def digest(text: str) -> str:
    return sha1(text.encode()).hexdigest()


class ScheduleModel(Model):
    def __init__(self, now: int) -> None:
        super().__init__(now)
        self.plans: dict[str, Plan] = {}
        self.runs: dict[str, list[str]] = {}  # of removed schedules: their tasks that had not ended
        self.revisions = 0
        self.made_for: dict[str, tuple[str, str]] = {}  # by id: the schedule, and the item that made it

    def next_firing(self) -> int:
        """What workers are told."""
        times = [plan.next for plan in self.plans.values() if plan.next]
        return 0 if self.mode == "draining" else min(times, default=0)

    def resume(self, rid: str) -> str:
        answer = super().resume(rid)
        if self.revisions:
            self._tell("any", self.now)  # while it was drained nobody heard of their times
        return answer

    def put_schedule(self, name: str, rid: str, wish: Wish, expect: int | None, now: int) -> Answer:
        verb = "put_schedule" if expect is None else "change_schedule"
        if word := self._done(verb, rid):
            status, rev = word.split("=")
            return status, int(rev)
        plan, status = self.plans.get(name), "changed"
        if expect is not None and (not plan or plan.rev != expect):
            refused = ("stale", plan.rev) if plan else ("not_found", 0)
            self._note_done(verb, rid, "{}={}".format(*refused))
            return refused
        if not plan:
            plan, status = Plan(name, wish, 0, self.now, 0, open=self.runs.pop(name, [])), "created"
        elif plan.wish == wish:
            status = "unchanged"
        if status != "unchanged":
            again = status == "created" or plan.wish.times != wish.times
            self.plans[name], self.revisions = plan, self.revisions + 1
            plan.wish, plan.rev, plan.changed = wish, self.revisions, self.now
            if again and not plan.paused:
                self._plan(plan, wish.times.after(now))
            self._tell_of(plan, status)
        self._note_done(verb, rid, f"{status}={plan.rev}")
        return status, plan.rev

    def steer_schedule(self, verb: str, seen: Plan, rid: str, now: int) -> str:
        if word := self._done("steer_schedule", rid):
            return word
        plan, status = self.plans.get(seen.name), "done"
        if not plan:
            self._note_done("steer_schedule", rid, "not_found")
            return "not_found"
        if verb == "resume" and plan.rev != seen.rev:
            return "stale"
        if verb == "remove":
            del self.plans[plan.name]
            if going := [id for id in plan.open if id in self.tasks and self.tasks[id].state not in ENDED]:
                self.runs[plan.name] = going
            self._tell_of(plan, "removed")
        elif plan.paused == (verb == "pause"):
            status = "unchanged"
        else:
            plan.paused = verb == "pause"
            self.revisions += plan.paused
            plan.rev = self.revisions if plan.paused else plan.rev
            self._plan(plan, 0 if plan.paused else seen.wish.times.after(now))
            self._tell_of(plan, f"{verb}d")
        self._note_done("steer_schedule", rid, status)
        return status

    def fire(self, seen: Plan, rid: str, now: int, delay: int) -> str:
        plan, due = self.plans.get(seen.name), seen.due(now)
        if not plan:
            return "not_found"
        if plan.call and plan.call[0] == rid:
            return plan.call[1]
        if plan.rev != seen.rev or plan.next != due.nominal or plan.paused:
            return "stale"
        if due.nominal > self.now:
            return "early"
        wanted = f"{plan.name}@{due.nominal}"
        id = self._own_id(plan, wanted, rid, due.nominal)
        spec = replace(seen.wish.spec, id=id, delay=seen.wish.spec.delay + delay)
        if self.mode == "draining" and not due.late and self._are_new([Spec(spec.id)], [f"{rid}/1"]):
            return "ADEQ_DRAINING"
        status = "missed"
        if due.late:
            self._count(plan, "missed", 1 + due.missed)
        else:
            self._alert(plan, rid, wanted, id)
            status = self._fire_once(plan, spec, rid, due.nominal)
        self._plan(plan, due.next)
        plan.call = rid, status
        return status

    def trigger(self, seen: Plan, rid: str, id: str, at: int) -> str:
        if word := self._done("trigger", rid):
            return word
        plan = self.plans.get(seen.name)
        if not plan:
            return "not_found"
        if plan.rev != seen.rev:
            return "stale"
        own = self._own_id(plan, id, rid, at or self.now)
        if self.mode == "draining" and self._are_new([Spec(own)], [f"{rid}/1"]):
            return "ADEQ_DRAINING"
        self._alert(plan, rid, id, own)
        status = self._fire_once(plan, replace(seen.wish.spec, id=own), rid, at or self.now)
        self._note_done("trigger", rid, status)
        return status

    def _fire_once(self, plan: Plan, spec: Spec, rid: str, at: int) -> str:
        if known := self._known(spec.id, f"{rid}/1"):
            return "fired" if known == "created" else "exists"
        overlap, status = plan.wish.overlap, "skipped"
        going = [id for id in plan.open if self._is_open(plan, id)]
        if overlap == "cancel_other":
            going = [id for id in going if self._cancel(self.tasks[id]) == "cancelling"]
        if len(going) <= MOST[overlap]:
            if going and overlap != "allow":
                spec = replace(spec, after=tuple(going), after_when="ended")
            created = self.enqueue(rid, [spec]) == [("created", spec.id)]
            status = "fired" if created else "skipped"
        if status == "fired":
            self.made_for[spec.id] = plan.name, f"{rid}/1"
            going = [*going[-63:], spec.id]
            plan.last = spec.id, at
        plan.open = going
        self._count(plan, status, 1)
        return status

    def _is_open(self, plan: Plan, id: str) -> bool:
        """Whether a task of the schedule has not ended. Somebody else may have got the id of one that is gone."""
        there = self.tasks.get(id)
        return there is not None and there.state not in ENDED and self.made_for.get(id) == (plan.name, there.stamp)

    def _own_id(self, plan: Plan, id: str, rid: str, at: int) -> str:
        """The id for a time: another one if somebody else has put a task there."""
        there = self.tasks.get(id)
        if not there or id != f"{plan.name}@{at}" or self.made_for.get(id) == (plan.name, there.stamp):
            return id
        seed = plan.seed or digest(rid)
        return f"{id}/{digest(f'{seed} {at}')[:20]}"

    def _alert(self, plan: Plan, rid: str, wanted: str, id: str) -> None:
        if wanted != id and id not in self.tasks:
            plan.seed = plan.seed or digest(rid)
            self.events.append(("task.alert", wanted, self.now))

    def _plan(self, plan: Plan, next: int) -> None:
        plan.next = next
        if next:
            self._tell("any", next)

    def _count(self, plan: Plan, what: str, number: int) -> None:
        plan.counts[what] = plan.counts.get(what, 0) + number
        self._tell_of(plan, what)

    def _tell_of(self, plan: Plan, what: str) -> None:
        self.events.append((f"schedule.{what}", plan.name, self.now))

"""Random histories of schedules: of those who fire them with what they have read, and of the tasks that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import compress, count
from random import Random
from typing import Any, ClassVar, NamedTuple

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from pyadeq._core.kernel.call import build_call
from pyadeq._core.queue.schedules import due_now, schedule_envelope
from pyadeq.keys import queue_base
from pyadeq.models.schedule import At, Every, Schedule
from tests.property.convert import ms, seconds, to_task
from tests.property.driver import Driver
from tests.property.link import START, Scripts, load_scripts
from tests.property.model_schedules import END, Due, Plan, ScheduleModel, Times, Wish
from tests.property.records import ENDED, Answer, Spec
from tests.quick import examples

EXAMPLES = examples(30, 120)
STEPS = 150  # half of which are taken
WINDOW = 45_000  # how long after its first sending a call may be sent again
NEVER = 2**53 - 1
numbers = count(1)
NAMES = ("s1", "s2")
CATCH_UPS = (3_600_000, 3_600_000, 7000, 1000)
OVERLAPS = ("skip", "buffer_one", "buffer_all", "cancel_other", "allow")
TIMES: list[dict[str, int]] = [  # start and until are told from now
    {"period": 1000}, {"period": 5000}, {"period": 5000, "offset": 1700}, {"period": 5000, "offset": -20},
    {"period": 60_000, "offset": 61_000}, {"period": 1000, "start": 4500}, {"period": 5000, "until": 12_000},
    {"period": 1000, "start": 1500, "until": 3500}, {"period": 0, "start": 1500}, {"period": 0, "start": 0},
]  # fmt: skip
TRAITS: list[dict[str, Any]] = [
    {}, {}, {}, {"payload": b"p"}, {"payload": b"p" * 1100}, {"priority": 0}, {"lane": "group/g"}, {"kind": "k"},
    {"unique": "u"}, {"scope": "s"}, {"user": "u", "tags": ("x", "y")}, {"delay": 2000}, {"max_attempts": 1},
]  # fmt: skip


@dataclass
class Account:
    """Which of a timing's times have come to something: all of them up to one."""

    times: Times
    upto: int

    def pay(self, due: Due) -> None:
        assert due.nominal == self.times.after(self.upto)
        passed = self.times.between(self.upto, due.next or END + 1)
        assert len(passed) == 1 + due.missed
        self.upto = passed[-1]


class ScheduleDriver(Driver):
    """A queue with schedules. Whoever fires knows a copy of a plan, as old as it may be."""

    model: ScheduleModel

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.model = ScheduleModel(START)
        self.accounts: dict[str, Account] = {}
        self.fired: set[str] = set()  # by their times
        self.line: dict[str, dict[str, str]] = {}  # the tasks of each schedule in order, with their policies
        self.looked_at: set[str] = set()  # tasks

    def do(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        before = {name: (plan, plan.wish.times, replace(plan, counts=dict(plan.counts))) for name, plan in self.plans()}
        answer = super().do(verb, *args, **kwargs)
        for name, plan in self.plans():
            same, times, old = before.get(name, (None, None, plan))
            if plan is not same:
                self.line[name] = {}
            if plan is not same or plan.wish.times != times or plan.paused != old.paused:
                self._begin(plan, since=self.model.now if plan.paused else args[-1])
            elif verb == "fire" and name == args[0].name and plan.next != old.next:
                self.accounts[name].pay(args[0].due(args[2]))
            if plan is same and plan.counts.get("fired", 0) > old.counts.get("fired", 0) and plan.last:
                self._note_fired(plan, plan.last[0], by_time=verb == "fire")
        return answer

    def plans(self) -> list[tuple[str, Plan]]:
        return list(self.model.plans.items())

    def _begin(self, plan: Plan, since: int) -> None:
        """A schedule is new, has other times, or was paused or resumed: no time comes twice."""
        if plan.name in self.accounts:
            assert since >= min(self.accounts[plan.name].upto, self.model.now)
        self.accounts[plan.name] = Account(plan.wish.times, since)

    def _note_fired(self, plan: Plan, id: str, *, by_time: bool) -> None:
        assert not (by_time and id in self.fired), f"{id} is enqueued twice"
        if by_time:
            self.fired.add(id)
        self.line[plan.name].pop(id, None)  # it may be another of that id
        self.line[plan.name][id] = plan.wish.overlap

    # Verbs

    def _put_schedule(self, name: str, rid: str, wish: Wish, expect: int | None, now: int) -> Answer:
        how: dict[str, Any] = {"overlap": wish.overlap, "catch_up": wish.catch_up / 1000, "jitter": wish.jitter / 1000}
        how["expect"] = expect
        put = self.run(self.calls.put_schedule(name, to_timing(wish.times), to_task(wish.spec), rid, now / 1000, **how))
        return put.status, put.rev

    def _steer_schedule(self, verb: str, seen: Plan, rid: str, now: int) -> Any:
        match verb:
            case "pause":
                return self.run(self.calls.pause_schedule(seen.name, rid))
            case "remove":
                return self.run(self.calls.remove_schedule(seen.name, rid))
        return self.run(self.calls.resume_schedule(to_schedule(seen), rid, now / 1000))

    def _fire(self, seen: Plan, rid: str, now: int, delay: int) -> Any:
        schedule = to_schedule(seen)
        due = due_now(schedule, now / 1000)
        assert tuple(due) == tuple(seen.due(now))
        return self.run(self.calls.fire(schedule, due, f"{seen.name}@{due.nominal_ms}", delay, rid))

    def _trigger(self, seen: Plan, rid: str, id: str, at: int) -> Any:
        return self.run(self.calls.trigger(to_schedule(seen), id, rid, at / 1000 if at else None))

    def _claimed(self, claimed: Any, *rest: Any) -> Answer:
        if claimed.status == "ok":
            assert ms(claimed.next_firing or 0) == self.model.next_firing()
        return super()._claimed(claimed, *rest)

    # Readers

    def see(self, name: str) -> Plan | None:
        """What somebody knows who reads a schedule now."""
        found, cursor, now = self.run(self.calls.schedules(name=name))
        plan = self.model.plans.get(name)
        assert (found, cursor, ms(now)) == ([to_schedule(plan)] if plan else [], "", self.model.now)
        return replace(plan) if plan else None

    def see_due(self) -> list[Plan]:
        due = [plan for plan in self._in_order() if 0 < plan.next <= self.model.now]
        found, cursor = list[Schedule](), ""
        for _ in range(len(due) + 1):
            page, cursor, _ = self.run(self.calls.schedules(due=True, cursor=cursor, limit=1))
            found += page
            if not cursor:
                break
        assert (found, cursor) == ([to_schedule(plan) for plan in due], "")
        return [replace(plan) for plan in due]

    def _in_order(self) -> list[Plan]:
        return sorted(self.model.plans.values(), key=lambda plan: (plan.next or NEVER, plan.name))

    def check(self) -> None:
        super().check()
        self._check_schedules()
        for name, plan in self.plans():
            assert plan.paused or self.accounts[name].times.after(self.accounts[name].upto) == plan.next
        running = {task.id for task in self.model.of("running")}
        for line in self.line.values():
            beside = [id for id in line if id in running][1:]
            assert {line[id] for id in beside} <= {"allow"}, f"{beside} run beside an earlier one"

    def _check_schedules(self) -> None:
        model = self.model
        with self.client.pipeline(transaction=False) as pipe:
            pipe.keys(f"{self.base}:schedule:*")
            pipe.zrange(f"{self.base}:schedules", 0, -1, withscores=True)
            pipe.hmget(f"{self.base}:config", "schedules", "revisions")
            hashes, due, config = pipe.execute()
        assert {key.decode() for key in hashes} == {f"{self.base}:schedule:{name}" for name in model.plans}
        assert [(name.decode(), int(at)) for name, at in due] == [(p.name, p.next or NEVER) for p in self._in_order()]
        assert config == ([b"1", str(model.revisions).encode()] if model.revisions else [None, None])
        found, cursor, _ = self.run(self.calls.schedules())
        assert (found, cursor) == ([to_schedule(plan, payload=False) for plan in self._in_order()], "")
        for _, plan in self.plans():
            if plan.last and plan.last[0] not in self.looked_at:
                self._check_task(plan.name, *plan.last)

    def _check_task(self, name: str, id: str, at: int) -> None:
        """A schedule's task says whose it is, and for which time."""
        told: Any = self.client.hmget(f"{self.base}:task:{id}", "schedule", "nominal_ms")
        assert told == [name.encode(), str(at).encode()]
        self.looked_at.add(id)


def to_timing(times: Times) -> Any:
    if not times.period:
        return At(times.start / 1000)
    until = None if times.until == END else times.until
    return Every(times.period / 1000, times.offset / 1000, seconds(times.start or None), seconds(until))


def to_schedule(plan: Plan, *, payload: bool = True) -> Schedule:
    """As readers are told of it."""
    wish, counts = plan.wish, plan.counts
    pairs = schedule_envelope(to_task(wish.spec))
    envelope = {name: list(value) if isinstance(value, tuple) else value for name, value in pairs.items()}
    return Schedule(
        name=plan.name, timing=to_timing(wish.times), overlap=wish.overlap,  # type: ignore[arg-type]
        catch_up=wish.catch_up / 1000, jitter=wish.jitter / 1000, next=seconds(plan.next or None), paused=plan.paused,
        rev=plan.rev, created=plan.created / 1000, changed=plan.changed / 1000, fired=counts.get("fired", 0),
        skipped=counts.get("skipped", 0), missed=counts.get("missed", 0),
        last=plan.last[1] / 1000 if plan.last else None, last_id=plan.last[0] if plan.last else None,
        open=tuple(plan.open), envelope=envelope, data=(payload and wish.spec.payload) or None,
    )  # fmt: skip


class Seen(NamedTuple):
    plan: Plan
    now: int


class Sent(NamedTuple):
    at: int
    verb: str
    args: tuple[Any, ...]
    answer: Any


def shown(argument: Any) -> str:
    match argument:
        case Plan():
            return f"({argument.name}, rev {argument.rev}, next {argument.next - START})"
        case Wish():
            traits = {name: v for name, v in vars(argument.spec).items() if v != vars(Spec(""))[name]}
            return repr(vars(argument) | {"spec": traits})
    return repr(argument)


class History:
    """What people, three who fire, a worker and time do. A step does not depend on how the one before was drawn."""

    bases = count()
    steps: ClassVar[dict[Callable[[History], None], int]]  # and how often they come

    def __init__(self, client: redis.Redis, scripts: Scripts, seed: int) -> None:
        self.queue = ScheduleDriver(client, f"ade:{{queue:schedules-{next(self.bases)}}}", scripts)
        self.seed, self.random = seed, Random(seed)
        self.model = self.queue.model
        self.numbers = count(1)
        self.seats: list[Seen | None] = [None, None, None]  # what each of those who fire has read last
        self.sent: list[Sent] = []
        self.at_once = False  # whether nothing has happened since the last of them
        self.incarnation = ""
        self.log: list[str] = []

    def run(self, taken: Iterable[bool]) -> None:
        try:
            self.register()
            self.put()
            for at in compress(count(), taken):
                self.random = Random(f"{self.seed}/{at}")
                [step] = self.random.choices([*self.steps], [*self.steps.values()])
                step(self)
                self.queue.check()
        except (AssertionError, redis.ResponseError) as error:
            error.add_note("\n".join(self.log))
            raise
        finally:
            self.queue.close()

    def do(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        self.at_once = False
        self.log.append(f"{self.model.now - START}: {verb} {' '.join(map(shown, args))} {kwargs or ''}")
        return self.queue.do(verb, *args, **kwargs)

    def send(self, verb: str, *args: Any) -> Any:
        answer = self.do(verb, *args)
        self.sent.append(Sent(self.model.now, verb, args, answer))
        self.at_once = True
        return answer

    def rid(self) -> str:
        return f"rid-{next(self.numbers)}"

    def name(self) -> str:
        return self.random.choice([*NAMES, *self.model.plans, *self.model.plans])

    # Whose schedules they are

    def put(self) -> None:
        now, choice, name = self.model.now, self.random.choice, self.name()
        times = choice(TIMES)
        when = Times(**times | {moment: now + times[moment] for moment in ("start", "until") if moment in times})
        wish = Wish(when, Spec("", **choice(TRAITS)), choice(OVERLAPS), choice(CATCH_UPS), choice([0, 3000]))
        change = choice(["nothing", "overlap", "times", "spec", "catch_up", "jitter", "all"])
        if (old := self.model.plans.get(name)) and change != "all":
            wish = old.wish if change == "nothing" else replace(old.wish, **{change: getattr(wish, change)})
        expect = choice([None, None, old.rev, max(old.rev - 1, 1)]) if old else choice([None, None, None, 1])
        self.send("put_schedule", name, self.rid(), wish, expect, now)

    def steer(self) -> None:
        """Who lets it go on may have read it long ago."""
        name, seen = self.name(), self.seat()
        known = self.queue.see(name)
        verb = self.random.choice(["remove", "resume", "pause", *["resume" if known and known.paused else "pause"] * 4])
        if known and seen and seen.plan.name == name:
            known = self.random.choice([known, seen.plan])
        nothing = Plan(name, Wish(Times(1000), Spec("")), 10**9, 0, 0)
        self.send("steer_schedule", verb, known or nothing, self.rid(), self.model.now)

    def seat(self) -> Seen | None:
        return self.random.choice(self.seats)

    def trigger(self) -> None:
        """Now, or for some times that went by, perhaps with an older plan."""
        known, seen = self.queue.see(self.name()), self.seat()
        plan = seen.plan if seen and self.random.random() < 0.3 else known
        if not plan:
            return
        if self.random.random() < 0.4:
            self.send("trigger", plan, self.rid(), f"{plan.name}@{self.rid()}", 0)
            return
        span = 5 * (plan.wish.times.period or 1000)
        times = plan.wish.times.between(self.model.now - span, self.model.now + 1)
        for at in times[-self.random.randint(1, 3) :]:
            self.send("trigger", plan, self.rid(), f"{plan.name}@{at}", at)

    def take(self) -> None:
        """Somebody who may only enqueue has guessed the id of the next task."""
        if times := [f"{plan.name}@{plan.next}" for plan in self.model.plans.values() if plan.next]:
            self.do("enqueue", self.rid(), [Spec(self.random.choice(times))])

    # Those who fire

    def read(self) -> None:
        plan = self.queue.see(self.name())
        self.seats[self.random.randrange(3)] = Seen(plan, self.model.now) if plan else None

    def fire(self) -> None:
        """With what one of them knows, which may be old; who goes on reckons with the time at which it has read."""
        seats = [at for at, seen in enumerate(self.seats) if seen and seen.plan.next]
        for _ in range(self.random.randint(1, 3) if seats else 0):
            at = self.random.choice(seats)
            seen = self.seats[at]
            if seen and seen.plan.next:
                self.send("fire", seen.plan, self.rid(), seen.now, self.random.choice([0, 0, 1500]))
                self.seats[at] = Seen(replace(seen.plan, next=seen.plan.due(seen.now).next), seen.now)

    def fire_due(self) -> None:
        """As a worker does it."""
        now = self.model.now
        for seen in self.queue.see_due():
            plan = seen
            for _ in range(self.random.randint(1, 4)):
                if 0 < plan.next <= now:
                    self.send("fire", plan, self.rid(), now, 0)
                    plan = replace(plan, next=plan.due(now).next)

    def send_again_at_once(self) -> None:
        """The answer, and the state that is left, are those of one call."""
        if self.at_once and self.model.now == self.sent[-1].at:
            sent, before = self.sent[-1], self.state()
            assert self.do(sent.verb, *sent.args) == sent.answer
            assert self.state() == before

    def state(self) -> dict[str, Any]:
        return {name: key.value for name, key in self.queue.read().items()}

    def send_again_late(self) -> None:
        """What came in between stays."""
        sent = self.random.choice(self.sent[-8:])  # there is one, the first put
        if self.model.now - sent.at <= WINDOW:
            again = self.do(sent.verb, *sent.args)
            if sent.verb == "put_schedule" or sent.answer in ("done", "unchanged"):
                assert again == sent.answer
            elif sent.verb == "fire" and sent.answer in ("fired", "exists", "skipped", "missed"):
                assert again in (sent.answer, "stale", "not_found")

    # Their tasks

    def register(self) -> None:
        self.incarnation = self.rid()
        self.do("register", "w", self.incarnation)

    def claim(self) -> None:
        slot = ("w", self.incarnation, 0, next(self.numbers))
        if self.do("claim", *slot, limit=self.random.choice([1, 2, 9]), lanes=["any", "group/g"])[0] != "ok":
            self.register()

    def settle(self) -> None:
        running = [(task.id, task.lease.token) for task in self.model.of("running") if task.lease]
        way = self.random.choice(["ack", "ack", "dead", "fail", "release", "snooze"])
        for one in running[: self.random.randint(1, 3)]:
            match way:
                case "ack":
                    self.do("ack", [(*one, b"")])
                case "dead" | "fail":
                    self.do("fail", [(*one, way == "fail", "error", "", 500_000, {})])
                case "release":
                    self.do("release", [one])
                case "snooze":
                    self.do("snooze", [(*one, 1000)])

    def cancel(self) -> None:
        if tasks := [task for task in self.model.tasks.values() if task.state not in ENDED]:
            self.do("cancel", [self.random.choice(tasks).id], self.rid())

    def wake(self) -> None:
        """A blocked worker takes the lane's token."""
        self.at_once = False
        token = self.queue.client.lpop(f"{self.queue.base}:wake:any")
        assert token == (b"1" if "any" in self.model.wake else None)
        self.model.wake.discard("any")

    def sweep(self) -> None:
        self.do(self.random.choice(["reap", "promote"]), 100)

    def now_and_then(self) -> None:
        match self.random.choice(["configure", "purge", "purge all", "pause", "drain"]):
            case "configure":
                keep = self.random.choice([604_800_000, 1000])
                most, crashes = self.random.choice([100_000, 2]), self.random.choice([1, 5])
                self.do("configure", finished_keep=keep, dead_keep=keep, finished_max=most, max_crashes=crashes)
                self.do("trim", 100)
            case "purge":
                self.do("purge", self.rid(), all=False)
            case "purge all":
                self.do("purge", self.rid(), all=True)
            case verb:
                self.do(verb, self.rid())

    def resume(self) -> None:
        if self.model.mode != "running":
            self.do("resume", self.rid())

    # Time

    def pass_time(self) -> None:
        self.model.now += self.random.choice([1, 1000, 1000, 5000, 5000, 5000, 16_000, 16_000, 3_600_000])

    def pass_time_until_due(self) -> None:
        if times := [plan.next for plan in self.model.plans.values() if plan.next]:
            self.model.now = max(self.model.now, self.random.choice(times) + self.random.choice([-1, 0, 0, 0, 1]))


History.steps = {
    History.put: 6, History.steer: 4, History.trigger: 4, History.take: 3, History.read: 6, History.fire: 8,
    History.fire_due: 8,
    History.send_again_at_once: 4, History.send_again_late: 3, History.claim: 6, History.settle: 6, History.cancel: 2,
    History.wake: 4, History.sweep: 2, History.now_and_then: 1, History.resume: 2,
    History.pass_time: 6, History.pass_time_until_due: 6,
}  # fmt: skip


@pytest.fixture
def queue(client: redis.Redis, base_name: str) -> Iterator[ScheduleDriver]:
    queue = ScheduleDriver(client, queue_base(base_name), load_scripts(client))
    queue.do("register", "w", "i1")
    yield queue
    queue.close()


def put(queue: ScheduleDriver, period: int = 1000, overlap: str = "skip", **how: Any) -> Plan:
    wish = Wish(Times(period), Spec("", **how.pop("spec", {})), overlap, **how)
    queue.do("put_schedule", "s", f"put-{next(numbers)}", wish, None, queue.model.now)
    queue.check()
    return replace(queue.model.plans["s"])


def fire(queue: ScheduleDriver) -> str:
    """Its next time, when that has come."""
    plan = replace(queue.model.plans["s"])
    queue.model.now = max(queue.model.now, plan.next)
    answer: str = queue.do("fire", plan, f"fire-{next(numbers)}", queue.model.now, 0)
    queue.check()
    return answer


def trigger(queue: ScheduleDriver, rid: str, at: int = 0) -> str:
    plan = replace(queue.model.plans["s"])
    answer: str = queue.do("trigger", plan, rid, f"s@{at or rid}", at)
    queue.check()
    return answer


@pytest.mark.parametrize("by_time", [False, True])
def test_who_is_cancelled_for_the_next_is_told_and_kept_like_others(queue: ScheduleDriver, by_time: bool) -> None:
    queue.do("configure", finished_max=1)
    put(queue, overlap="buffer_one")
    assert [trigger(queue, "r1"), trigger(queue, "r2")] == ["fired"] * 2
    put(queue, overlap="cancel_other")
    assert (fire(queue) if by_time else trigger(queue, "r3")) == "fired"
    assert sorted(task.state for task in queue.model.tasks.values()) == ["cancelled", "ready"]


def test_a_trigger_that_comes_again_later_is_known_by_its_task(queue: ScheduleDriver) -> None:
    put(queue, overlap="allow")
    assert trigger(queue, "r1") == "fired"
    queue.model.now += 61_000
    queue.do("trim", 100)
    assert [trigger(queue, "r1"), len(queue.model.tasks)] == ["fired", 1]


def test_a_call_that_comes_again_stops_what_it_stopped_only_once(queue: ScheduleDriver) -> None:
    running = put(queue)
    assert queue.do("steer_schedule", "pause", running, "r1", queue.model.now) == "done"
    paused = replace(queue.model.plans["s"])
    assert queue.do("steer_schedule", "resume", running, "r2", queue.model.now) == "stale"
    assert queue.do("steer_schedule", "resume", paused, "r3", queue.model.now) == "done"
    for verb, rid in (("pause", "r1"), ("resume", "r3")):
        assert queue.do("steer_schedule", verb, paused, rid, queue.model.now) == "done"
        queue.check()
    assert fire(queue) == "fired"


def test_a_late_time_needs_no_task(queue: ScheduleDriver) -> None:
    """And makes none of one that comes with it, drained or not."""
    plan = put(queue)
    queue.do("drain", "r")
    queue.model.now = now = plan.next
    scalars = {"name": "s", "rid": "r", "rev": plan.rev, "nominal_ms": now, "next_ms": now + 1, "late": True}
    call = build_call(
        "queue.fire.v1", queue.base, scalars | {"now_ms": now}, {"item": [(f"s@{now}", b"", {"kind": "k"})]},
        decode=lambda reply: reply[0],
    )  # fmt: skip
    assert queue.run(call) == b"missed"
    assert not queue.client.keys(f"{queue.base}:task:*")


def test_schedules(client: redis.Redis) -> None:
    scripts = load_scripts(client)

    @settings(max_examples=EXAMPLES, deadline=None, print_blob=True)
    @given(st.integers(0, 1_000_000), st.lists(st.booleans(), min_size=STEPS, max_size=STEPS))
    def run(seed: int, taken: list[bool]) -> None:
        History(client, scripts, seed).run(taken)

    run()

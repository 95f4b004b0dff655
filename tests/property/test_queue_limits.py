"""Limits: at no time more than may run or start, whoever claims; and whoever waits has its turn."""

from __future__ import annotations

from copy import deepcopy
from itertools import count
from random import Random
from typing import Any

import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from pyadeq import models
from pyadeq._core.kernel.call import Call
from pyadeq._core.queue.items import Failure
from tests.property.link import Link, Scripts, load_scripts
from tests.property.model_limits import BAND, NONE, Forecast, Job, Limits, Picture, Rule, check_openings
from tests.quick import examples

EXAMPLES = examples(20, 100)
STEPS = 40
LOOK = 5000  # ms; after so many a line is looked at again, if its limit has room
LEASE = 15_000
KEYS = ("all", "user:*", "user:a", "user:b", "tag:*", "tag:x", "key:k", "key:*")
LANES = ("any", "group/g", "group/h")
RULES = (
    Rule(1), Rule(2), Rule(3), Rule(5), Rule(None, 2, 1000, 1), Rule(None, 10, 1000, 3), Rule(2, 5, 1000, 2),
    Rule(1, 1, 700, 1), Rule(3, 4, 2000, 5), Rule(None, 3, 60_000, 3),
)  # fmt: skip
POLICIES = ("queue", "queue", "queue", "queue", "reject", "cancel_newest", "cancel_oldest")
OPERATIONS = {
    "enqueue": 8, "claim": 10, "claim_at_once": 4, "settle": 3, "ack": 6, "fail": 2, "release": 2, "snooze": 2,
    "cancel": 2, "tree": 0.5, "purge": 0.2, "purge_lane": 0.2, "purge_all": 0.1, "rule": 2, "time": 6, "heartbeat": 1,
    "retry": 1, "run_now": 1, "leave": 0.3, "fair": 0.2,
}  # fmt: skip
bases = count()


class Worker:
    def __init__(self, name: str, incarnation: str) -> None:
        self.name, self.incarnation, self.numbers = name, incarnation, count(1)


class History:
    """Things that happen to a queue with limits, one after the other; after each of them all is as it has to be."""

    def __init__(self, link: Link, random: Random) -> None:
        self.link, self.random, self.calls = link, random, link.calls
        self.limits, self.jobs = Limits(), dict[str, Job]()
        self.leases = dict[str, models.Lease]()  # given, and not ended
        self.deadlines = dict[str, int]()
        self.gone, self.numbers = set[str](), count(1)
        self.expires = dict[str, int]()  # of those that nobody has leased, in ms
        self.workers = dict[str, Worker]()
        self.limits.now = link.model.now
        backoff = models.Backoff(base=1, multiplier=1, cap=1, jitter=0)
        link.run(
            self.calls.configure(
                clock="test", max_attempts=1000, max_crashes=1000, backoff=backoff, fair=random.random() < 0.2
            )
        )
        self.picture = Picture(link.read("+"))

    def go(self, steps: int = STEPS) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.rule()
        for name in self.random.choices(list(OPERATIONS), list(OPERATIONS.values()), k=steps):
            getattr(self, name)()
        self.finish()

    # What happens

    def rule(self) -> None:
        key = self.random.choice(KEYS)
        rule = self.random.choice([None, *RULES])
        if rule and (policy := self.random.choice(POLICIES)) and (rule.most or policy != "cancel_oldest"):
            rule = rule._replace(policy=policy)
        if rule or key in self.limits.rules:
            pairs = rule_pairs(rule)
            call = self.calls.set_limits([(key, pairs)], self.rid())
            (answer,) = self.do(call)
            assert answer == self.limits.set(key, rule)
            self.check()

    def enqueue(self) -> None:
        new = [self.job() for _ in range(self.random.choice([1, 1, 2, 5]))]
        self.jobs |= {job.id: job for job in new}
        self.expires |= {job.id: job.expires for job in new if job.expires}
        before = self.picture
        receipts = self.do(self.calls.enqueue([(job.id, task(job)) for job in new], self.rid()))
        assert {receipt.status for receipt in receipts} == {"created"}
        lines = {key for key in KEYS_OF_ALL if f"waiting:{key}" in before.found}
        for job in new:
            rules = [(key, rule) for key in job.keys if (rule := self.limits.rule(key))]
            line = next((key for key, rule in rules if key in lines and rule.policy == "queue"), None)
            if job.after and job.id in self.picture.awaiting:
                continue
            at = {f"ready:{job.lane}"} if not line else {"blocked"}
            at = {"delayed"} if job.delay else at
            if not job.after:
                assert at == {*self.picture.places()[job.id]}, job
                assert self.picture.limited.get(job.id) == (None if job.delay else line), job

    def job(self) -> Job:
        pick = self.random.choice
        after = pick([(), (), (), (), tuple(self.random.sample(self.there(), k=min(2, len(self.there()))))])
        return Job(
            f"t{next(self.numbers)}", pick([None, "a", "b", "c"]), pick([(), ("x",), ("y", "x")]),
            pick([(), (), ("k",), ("m", "k")]), after, pick([0] * 6 + [500, 3000]) if not after else 0,
            pick(["any", "any", *LANES]), pick([5, 5, 5, 1, 9]), pick([None, None, None, *self.there()[-2:]]),
            pick([None] * 4 + [self.limits.now + 400, self.limits.now + 4000]),
        )  # fmt: skip

    def claim(self) -> None:
        """Where nothing else is due, what it does is known."""
        self.sweep()
        lanes, limit, first = self._wants()
        awaited = self.limits, self.picture
        forecast = Forecast(deepcopy(awaited[0]), self.jobs, awaited[1]).claim(lanes, limit, first)
        given = [lease.id for lease in self._claim(lanes, limit, first).leases]
        assert given == forecast.leased
        places = self.picture.places()
        for id, fate in forecast.fates.items():
            if fate in ("dead", "cancelled"):
                assert places[id] == ["dead" if fate == "dead" else "finished"], f"{id}: {fate}"
            elif fate == "cancelling":
                assert self.picture.cancelling(id), id
            else:
                assert self.picture.limited.get(id) == fate, f"{id}: {fate}"

    def claim_at_once(self) -> None:
        self._claim(*self._wants())

    def settle(self) -> None:
        ends = self.some_leases(3)
        acks = [(lease, None) for lease in ends[::2]]
        fails = [Failure(lease, "x") for lease in ends[1::2]]
        self._claim(*self._wants(), settles=(acks, fails))

    def ack(self) -> None:
        if leases := self.some_leases(2):
            statuses = self.do(self.calls.ack([(lease, None) for lease in leases]), ends(leases))
            assert set(statuses) == {"completed"}

    def fail(self) -> None:
        if leases := self.some_leases(2):
            fails = [Failure(lease, "x", retryable=self.random.random() < 0.7) for lease in leases]
            self.do(self.calls.fail(fails, [500_000] * len(fails)), ends(leases))

    def release(self) -> None:
        if leases := self.some_leases(2, live=True):
            self.do(self.calls.release(leases), ends(leases))

    def snooze(self) -> None:
        if leases := self.some_leases(2, live=True):
            self.do(self.calls.snooze([(lease, 1) for lease in leases]), ends(leases))

    def leave(self) -> None:
        """A worker goes, and gives back what it names."""
        leases = self.some_leases(3, live=True)
        worker = self.worker(self.random.choice(["w1", "w2"]))
        del self.workers[worker.name]
        self.do(self.calls.deregister(worker.name, worker.incarnation, leases=leases), ends(leases), again=False)

    def heartbeat(self) -> None:
        for lease in self.some_leases(1, live=True):
            self.deadlines[lease.id] = self.limits.now + LEASE
            self.do(self.calls.heartbeat([lease]))

    def cancel(self) -> None:
        if there := self.there():
            self.do(self.calls.cancel(self.random.sample(there, k=1), self.rid()))

    def tree(self) -> None:
        """A task and all that came from it: none of them waits for anything."""
        if there := self.there():
            self.time(1)
            root = self.random.choice(there)
            self.do(self.calls.cancel([root], self.rid(), tree=True))
            while "ends" in self.picture.found:
                self._claim(["group/nobody"], 1)
            tree, of_all = [root], self.there()
            for id in tree:
                tree += [other for other in of_all if self.jobs[other].parent == id]
            assert not [id for id in self._waiting() if id in tree], f"of the tree of {root} some wait: {tree}"

    def purge(self) -> None:
        self.gone |= self._waiting()
        self.do(self.calls.purge(self.rid()))

    def purge_lane(self) -> None:
        lane = self.random.choice(LANES)
        self.gone |= self.picture.ready.get(lane, {}).keys()
        self.do(self.calls.purge(self.rid(), lane=lane))

    def purge_all(self) -> None:
        self.gone |= self._waiting() | self.picture.zset("finished").keys() | self.picture.zset("dead").keys()
        self.do(self.calls.purge(self.rid(), all=True))

    def _waiting(self) -> set[str]:
        waits = ("ready", "delayed", "blocked")
        return {id for id, at in self.picture.places().items() if at[0].startswith(waits)}

    def retry(self) -> None:
        if dead := [*self.picture.zset("dead")]:
            (id,) = self.random.sample(dead, k=1)
            self.expires.pop(id, None)
            self.do(self.calls.retry([id], self.rid()))

    def run_now(self) -> None:
        if delayed := [*self.picture.zset("delayed")]:
            self.do(self.calls.run_now([self.random.choice(delayed)], self.rid()))

    def fair(self) -> None:
        self.do(self.calls.configure(self.rid(), fair=self.random.random() < 0.5), again=False)

    def time(self, ms: int | None = None) -> None:
        self.link.model.now += self.random.choice([1, 10, 100, 300, 1000, 3000, 5000, 16_000]) if ms is None else ms
        self.limits.now = self.link.model.now

    # How it is done

    def rid(self) -> str:
        return f"rid-{next(self.numbers)}"

    def there(self) -> list[str]:
        return [id for id in self.jobs if id not in self.gone]

    def some_leases(self, most: int, live: bool = False) -> list[models.Lease]:
        leases = [one for id, one in self.leases.items() if not live or self.deadlines[id] > self.limits.now]
        return self.random.sample(leases, k=min(len(leases), self.random.randint(1, most)))

    def overdue(self) -> list[str]:
        return [id for id, deadline in self.deadlines.items() if deadline <= self.limits.now]

    def worker(self, name: str) -> Worker:
        if name not in self.workers:
            self.workers[name] = Worker(name, f"i{next(self.numbers)}")
            self.link.run(self.calls.register(name, self.workers[name].incarnation))
            self.picture = Picture(self.link.read("+"))
        return self.workers[name]

    def sweep(self) -> None:
        """Have done what is due; the lines last, alone."""
        if late := self.overdue():
            self.do(self.calls.reap(), late, again=False)
        if min(self.picture.zset("deadlines").values(), default=BAND) <= self.limits.now:
            self.do(self.calls.expire(), again=False)
            late_ones = {id for id in self._waiting() if self.expires.get(id, BAND) <= self.limits.now}
            assert not late_ones, f"{late_ones} have expired"
        if min(self.picture.zset("delayed").values(), default=0) <= self.limits.now:
            self.do(self.calls.promote(), again=False)
        due = self.picture.looked_at(self.limits.now)
        if due or "ends" in self.picture.found:
            before = self.picture
            self._claim(["group/nobody"], 1)
            check_openings(self.limits, before, self.picture, due)
        assert not self.picture.looked_at(self.limits.now), "a line is not looked at"

    def _wants(self) -> tuple[list[str], int, bool]:
        lanes = self.random.sample(LANES, k=self.random.randint(1, 3))
        return lanes, self.random.choice([1, 2, 5, 20]), self.random.random() < 0.2

    def _claim(self, lanes: list[str], limit: int, first: bool = False, settles: Any = ()) -> models.Claimed:
        worker = self.worker(self.random.choice(["w1", "w2"]))
        who = worker.name, worker.incarnation, 0, next(worker.numbers)
        before = self.picture
        call: Call[Any] = self.calls.claim(*who, limit=limit, lanes=lanes, lane_first=first)
        if settles:
            acks, fails = settles
            call = self.calls.settle(
                *who, acks=acks, fails=fails, jitters=[500_000] * len(fails), limit=limit, lanes=lanes, lane_first=first
            )
        answer = self.link.run(call)
        claimed: models.Claimed = answer.claimed if settles else answer
        if claimed.status == "unregistered":  # it was silent for too long
            del self.workers[worker.name]
            return self._claim(lanes, limit, first, settles)
        assert claimed.status == "ok"
        self._end([*[lease.id for lease, _ in settles[0]], *[fail.lease.id for fail in settles[1]]] if settles else [])
        self._end(self.overdue())
        for lease in claimed.leases:
            assert lease.id not in self.leases
            self.limits.start(self.jobs[lease.id], lease.fence)
            assert self.expires.pop(lease.id, BAND) > self.limits.now, f"{lease.id} has expired"
            self.leases[lease.id], self.deadlines[lease.id] = lease, self.limits.now + LEASE
        self.picture = Picture(self.link.read("+"))
        self.check()
        self._check_claim(before, lanes, limit, claimed)
        if self.random.random() < 0.1:
            again = self.link.run(call)
            assert (again.claimed if settles else again).leases == claimed.leases
            self.picture = Picture(self.link.read("+"))
            self.check()
        return claimed

    def _check_claim(self, before: Picture, lanes: list[str], limit: int, claimed: models.Claimed) -> None:
        if len(claimed.leases) < limit:
            left = {id for lane in lanes for id in self.picture.ready.get(lane, ())}
            assert not left - before.blocked.keys(), "it leaves what it might take"
        for id, key in self.picture.limited.items():
            if before.limited.get(id) != key:
                assert self.limits.room(key) == 0, f"{id} waits for {key}, which has room"

    def do(self, call: Call[Any], ended: list[str] | None = None, again: bool | None = None) -> Any:
        """A call that claims nothing. Sent again, it answers the same and changes nothing."""
        before = self.picture
        answer = self.link.run(call)
        freed = {key for key, held in self.limits.held.items() if held.keys() & {*(ended or ())}}
        self._end(ended or [])
        self.picture = Picture(self.link.read("+"))
        check_openings(self.limits, before, self.picture, freed)
        if not call.script.id.startswith(("queue.set_limits", "queue.enqueue")):
            self.check()
        if self.random.random() < 0.15 if again is None else again:
            assert self.link.run(call) == answer
            assert stored(Picture(self.link.read("+"))) == stored(self.picture)
        return answer

    def _end(self, ids: list[str]) -> None:
        self.limits.end(ids)
        for id in ids:
            del self.leases[id], self.deadlines[id]

    def finish(self) -> None:
        """Whoever waits has its turn, as soon as the lines are looked at; or goes on to the line of another limit."""
        waits = idle = 0
        while waits < 1000:
            self.sweep()
            self.ack_all()
            lines = self.picture.lines
            given = self._claim(list(LANES), 20).leases
            left = self.picture.all_ready() | self.picture.blocked.keys() | self.picture.zset("delayed").keys()
            if not left and not self.leases:
                break
            moved = given or self.picture.lines != lines
            idle = 0 if moved or not any(self.limits.room(key) for key in self.picture.lines) else idle + 1
            assert idle <= 3, f"nobody starts: {self.picture.limited}"
            waits += 1
            self.ack_all()
            self.time(2500)
        else:
            raise AssertionError("tasks are still on their way")

    def ack_all(self) -> None:
        if self.leases:
            self.do(self.calls.ack([(lease, None) for lease in self.leases.values()]), [*self.leases])

    # How it has to be

    def check(self) -> None:
        limits, picture = self.limits, self.picture
        places = picture.places()
        assert places.keys() == set(self.there())
        twice = [f"{id}: {names}" for id, names in places.items() if len(names) != 1]
        assert not twice, twice
        assert picture.leases == self.deadlines
        found = picture.found
        holding = {name.removeprefix("holding:"): picture.zset(name) for name in found if name.startswith("holding:")}
        assert holding == limits.held
        for id, lease in picture.running.items():
            flags = lease.partition("|")[0].split(" ")[3:]
            held = {key for flag in flags if flag.startswith("limits=") for key in flag[7:].split(",")}
            assert held == {key for key, ids in limits.held.items() if id in ids}, lease
        rates = {key: float(at) for key, at in found.get("rates", NONE).value.items() if float(at) > limits.now}
        assert rates == {key: float(at) for key, at in limits.arrivals.items() if at > limits.now}
        rules = {key: rule.decode() for key, rule in found.get("limits", NONE).value.items()}
        assert rules == {key: rule.text for key, rule in limits.rules.items()}
        assert {name[8:]: picture.zset(name) for name in found if name.startswith("waiting:")} == picture.lines
        assert picture.due_lines.keys() == picture.lines.keys()
        for key, at in picture.due_lines.items():
            assert at <= limits.now + LOOK or at >= BAND, f"the line of {key} is looked at in {at - limits.now} ms"
            full = (rule := limits.rule(key)) and rule.most and len(limits.held.get(key, ())) >= rule.most
            assert at < BAND or full or key in picture.looked_at(limits.now), f"nobody opens the line of {key}"
        waiting = self._waiting()
        assert picture.zset("deadlines") == {id: at for id, at in self.expires.items() if id in waiting}
        limited = {id for id in places if "limited_by" in picture.record(id)}
        assert limited == picture.limited.keys(), "who is in no line says that it is"
        assert {lane.decode() for lane in found.get("lanes", NONE).value} == picture.ready.keys()
        assert not [lane for lane in picture.ready if f"wake:{lane}" not in found]
        for name, own in found.items():
            if name.startswith("shares:") and name.removeprefix("shares:") not in picture.ready:
                assert own.ttl >= 0, f"{name} is of an empty lane, and never goes"
        lanes = {id: lane for lane, line in picture.ready.items() for id in line}
        assert lanes == {id: self.jobs[id].lane for id in lanes}


KEYS_OF_ALL = ("all", "user:a", "user:b", "user:c", "tag:x", "tag:y", "key:k", "key:m")


def stored(picture: Picture) -> dict[str, Any]:
    """What a call must not change that is sent again."""
    names = (
        "ready:",
        "holding:",
        "waiting:",
        "task:",
        "rates",
        "limit",
        "blocked",
        "leases",
        "running",
        "delayed",
        "dead",
    )
    return {name: key.value for name, key in picture.found.items() if name.startswith(names)}


def ends(leases: list[models.Lease]) -> list[str]:
    return [lease.id for lease in leases]


def rule_pairs(rule: Rule | None) -> dict[str, Any]:
    if not rule:
        return {}
    rate = {"starts": rule.starts, "period_ms": rule.period, "burst": rule.burst} if rule.starts else {}
    return {"concurrency": rule.most, **rate, "policy": rule.policy}


def task(job: Job) -> models.Task:
    return models.Task(
        user=job.user, tags=job.tags, limits=job.words, after=job.after,
        after_when="ended" if job.after else "completed", after_any=len(job.after) > 1,
        delay=job.delay / 1000, lane=job.lane, priority=job.priority, parent=job.parent,
        expires_at=job.expires and job.expires / 1000,
    )  # fmt: skip


def play(client: redis.Redis, scripts: Scripts, seed: int) -> None:
    link = Link(client, f"ade:{{queue:limits-{next(bases)}}}", scripts)
    try:
        History(link, Random(seed)).go()
    finally:
        link.close()


def test_no_limit_is_passed_and_nobody_waits_for_ever(client: redis.Redis) -> None:
    scripts = load_scripts(client)

    @settings(max_examples=EXAMPLES, deadline=None, print_blob=True)
    @given(st.integers(0, 1_000_000))
    def run(seed: int) -> None:
        play(client, scripts, seed)

    run()

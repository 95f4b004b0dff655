"""Fair shares: users take turns, each by its weight, whatever they have in line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, count, cycle
from random import Random
from typing import Any

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from pyadeq import models
from pyadeq._core.queue.items import Failure
from tests.property.driver import Driver
from tests.property.link import Link, Scripts, load_scripts
from tests.property.model_limits import Picture
from tests.property.model_shares import Item, Shares, lasts
from tests.quick import examples

EXAMPLES = examples(16, 60)
STEPS = 60
LEASE = 15_000
LANES = ("any", "group/g")
USERS = ("", "a", "b", "c", "d/1")
WEIGHTS = (1, 30, 50, 70, 100, 150, 200, 1000, 9999)
OPERATIONS = {
    "enqueue": 8, "claim": 10, "ack": 5, "release": 3, "snooze": 2, "die": 2, "retry": 2, "cancel": 1, "weigh": 1,
    "time": 3, "lapse": 1, "switch": 0.5,
}  # fmt: skip
bases, numbers = count(), count(1)


def item_task(item: Item, **more: Any) -> tuple[str, models.Task]:
    return item.id, models.Task(user=item.user or None, lane=item.lane, priority=item.priority, **more)


class History:
    """Things that happen to a queue with fair shares; whoever claims gets whom the reference says."""

    def __init__(self, link: Link, random: Random) -> None:
        self.link, self.random, self.calls = link, random, link.calls
        self.shares, self.numbers = Shares(), count(1)
        self.leases = dict[str, models.Lease]()
        self.deadlines, self.delayed, self.crashes = dict[str, int](), dict[str, int](), Counter[str]()
        self.stood = dict[str, tuple[int, tuple[int, ...]]]()  # when it is due after a crash, and where it stood
        self.dead, self.after = set[str](), dict[str, list[str]]()
        backoff = models.Backoff(base=1, multiplier=1, cap=1, jitter=0)
        self.link.run(self.calls.configure(clock="test", fair=True, max_crashes=1000, backoff=backoff))
        self.link.run(self.calls.register("w", "i"))

    def go(self) -> None:
        for name in self.random.choices(list(OPERATIONS), list(OPERATIONS.values()), k=STEPS):
            getattr(self, name)()
        while self.after or self.delayed or self.leases or self.shares.line:
            self.time(16_000)
            self.claim()
            for id in [*self.leases]:
                self._ack(id)

    def enqueue(self) -> None:
        pick, new = self.random.choice, list[tuple[str, models.Task]]()
        number = pick([1, 1, 3, 10, 30])
        user = pick([None, *USERS])  # None: each another
        for _ in range(number):
            item = Item(self._id(), pick(USERS) if user is None else user, pick(LANES), pick([5, 5, 2]))
            kind = pick(["ready"] * 8 + ["delayed", "after"])
            self.shares.come(item)
            if kind == "delayed":
                self.delayed[item.id] = self.link.model.now + 700
                new.append(item_task(item, delay=0.7))
            elif kind == "after" and self.leases:
                other = pick([*self.leases])
                self.after.setdefault(other, []).append(item.id)
                new.append(item_task(item, after=[other], after_when="ended"))
            else:
                self.shares.line_up(item.id)
                new.append(item_task(item))
        self._send(self.calls.enqueue(new, self._rid()))

    def claim(self) -> None:
        self._sweep()
        lanes = self.random.choice([["any"], ["group/g"], ["any", "group/g"], ["group/g", "any"]])
        limit = self.random.choice([1, 1, 2, 5, 20])
        claimed = self.link.run(self.calls.claim("w", "i", 0, next(numbers), limit=limit, lanes=lanes))
        assert claimed.status == "ok"
        assert [lease.id for lease in claimed.leases] == self.shares.claim(lanes, limit)
        for lease in claimed.leases:
            self.leases[lease.id], self.deadlines[lease.id] = lease, self.link.model.now + LEASE

    def ack(self) -> None:
        for id in self._some():
            self._ack(id)

    def _ack(self, id: str) -> None:
        lease = self._end(id)
        assert self._send(self.calls.ack([(lease, None)])) == ["completed"]
        self._free(id)

    def release(self) -> None:
        for id in self._some():
            assert self._send(self.calls.release([self._end(id)])) == ["released"]
            self.shares.put_back(id)

    def snooze(self) -> None:
        for id in self._some():
            self._send(self.calls.snooze([(self._end(id), 1)]))
            self.delayed[id] = self.link.model.now + 1000

    def die(self) -> None:
        for id in self._some():
            self._send(self.calls.fail([Failure(self._end(id), "x", retryable=False)], [0]))
            self.dead.add(id)
            self._free(id)

    def retry(self) -> None:
        if self.dead:
            ids = self.random.sample(sorted(self.dead), k=self.random.randint(1, min(3, len(self.dead))))
            self._send(self.calls.retry(ids, self._rid()))
            self.dead -= {*ids}
            self.crashes -= Counter({id: self.crashes[id] for id in ids})  # they are counted anew
            self.shares.line_up(*ids)

    def cancel(self) -> None:
        if self.shares.line:
            id = self.random.choice(sorted(self.shares.line))
            assert self._send(self.calls.cancel([id], self._rid())) == ["cancelled"]
            self.shares.drop(id)
            self._free(id)

    def weigh(self) -> None:
        user, percent = self.random.choice(USERS[1:]), self.random.choice(WEIGHTS)
        self._send(self.calls.set_weights([(user, 0 if percent == 100 else percent)], self._rid()))
        self.shares.weigh(user, percent)

    def time(self, ms: int | None = None) -> None:
        self.link.model.now += ms or self.random.choice([1, 300, 1000, 3000])
        self._stay()

    def lapse(self) -> None:
        """Leases come to their end, and are taken back: the first time to the same place, then aside for a while."""
        self.link.model.now += LEASE
        self._stay()
        self._sweep()

    def switch(self) -> None:
        if not self.after:
            fair = not self.shares.fair
            self._send(self.calls.configure(self._rid(), fair=fair))
            self.shares.switch(fair)

    def _id(self) -> str:
        """Not in the order in which they come."""
        return f"{self.random.choice('abcxyz')}{next(self.numbers)}"

    def _rid(self) -> str:
        return f"rid-{next(self.numbers)}"

    def _some(self) -> list[str]:
        return self.random.sample([*self.leases], k=min(len(self.leases), self.random.randint(1, 4)))

    def _send(self, call: Any) -> Any:
        """Now and then again, which changes nothing."""
        answer = self.link.run(call)
        if self.random.random() < 0.1:
            assert self.link.run(call) == answer
        return answer

    def _end(self, id: str) -> models.Lease:
        del self.deadlines[id]
        return self.leases.pop(id)

    def _free(self, id: str) -> None:
        self.shares.set_free(*self.after.pop(id, []))

    def _stay(self) -> None:
        """A worker that is silent for 30 s is forgotten."""
        self.link.run(self.calls.heartbeat([], "w"))

    def _stood(self, id: str, at: int) -> tuple[int, ...]:
        """Where it stood when it was leased, if it is due after a crash: such come last, in their order."""
        due, place = self.stood.get(id, (0, ()))
        return place if due == at else ()

    def _sweep(self) -> None:
        now = self.link.model.now
        late = sorted((at, id) for id, at in self.deadlines.items() if at <= now)
        self.link.run(self.calls.reap(1000))
        for _, id in late:
            self._end(id)
            self.crashes[id] += 1
            if self.crashes[id] == 1:
                self.shares.put_back(id)
            else:
                self.delayed[id] = now + 1000
                self.stood[id] = now + 1000, (self.shares.items[id].priority, *self.shares.places[id])
        due = sorted((at, self._stood(id, at), id) for id, at in self.delayed.items() if at <= now)
        self.link.run(self.calls.promote(1000))
        for *_, id in due:
            del self.delayed[id]
            self.shares.line_up(id)


def play(client: redis.Redis, scripts: Scripts, seed: int) -> None:
    link = Link(client, f"ade:{{queue:shares-{next(bases)}}}", scripts)
    try:
        History(link, Random(seed)).go()
    finally:
        link.close()


def test_users_take_turns_as_the_reference_says(client: redis.Redis) -> None:
    scripts = load_scripts(client)

    @settings(max_examples=EXAMPLES, deadline=None, print_blob=True)
    @given(st.integers(0, 1_000_000))
    def run(seed: int) -> None:
        play(client, scripts, seed)

    run()


# Corners


def configure(queue: Driver, *, fair: bool) -> None:
    queue.run(queue.calls.configure(f"rid-{next(numbers)}", fair=fair))


def enqueue(queue: Driver, user: str, number: int, **more: Any) -> list[str]:
    ids = [f"{user}-{next(numbers):06}" for _ in range(number)]
    tasks = [(id, models.Task(user=user or None, **more)) for id in ids]
    for start in range(0, number, 1000):
        queue.run(queue.calls.enqueue(tasks[start : start + 1000], f"rid-{next(numbers)}"))
    return ids


def claim(queue: Driver, limit: int = 1000, lanes: Sequence[str] = ("any",)) -> dict[str, models.Lease]:
    claimed = queue.run(queue.calls.claim("w", "i1", 0, next(numbers), limit=limit, lanes=lanes))
    return {lease.id: lease for lease in claimed.leases}


def users(ids: Any) -> str:
    return "".join(id.partition("-")[0] or "-" for id in ids)


def weigh(queue: Driver, user: str, percent: int) -> None:
    queue.run(queue.calls.set_weights([(user, percent)], f"rid-{next(numbers)}"))


def shares(queue: Driver, lane: str = "any") -> set[str]:
    return set(Picture(queue.read()).zset(f"shares:{lane}"))


def test_twenty_thousand_do_not_delay_ten(queue: Driver) -> None:
    configure(queue, fair=True)
    many, few = enqueue(queue, "a", 20_000), enqueue(queue, "b", 10)
    first = [*claim(queue, 21)]
    assert [id for id in first if id in few] == few
    assert [id for id in first if id not in few] == many[:11]
    late = enqueue(queue, "c", 10)
    assert [id for id in claim(queue, 21) if id in late] == late


@pytest.mark.parametrize("weights", [(100, 200, 50), (30, 100, 700), (1, 100, 10_000), (99, 100, 101)], ids=str)
def test_a_weight_is_how_many_start_for_one_of_another(queue: Driver, weights: Sequence[int]) -> None:
    """While all have some in line, each is ahead of another by no more than a task of each."""
    configure(queue, fair=True)
    for user, percent in zip("abc", weights, strict=True):
        weigh(queue, user, 0 if percent == 100 else percent)
        enqueue(queue, user, 300)
    taken, steps = Counter[str](), cycle([1, 2, 7, 30])
    while max(taken.values(), default=0) < 250:
        taken += Counter(users(claim(queue, next(steps))))
        for (user, own), (other, its) in combinations(zip("abc", map(lasts, weights), strict=True), 2):
            assert abs(taken[user] * own - taken[other] * its) <= own + its, taken


def test_a_weight_holds_for_those_that_come(queue: Driver) -> None:
    configure(queue, fair=True)
    enqueue(queue, "a", 3)
    weigh(queue, "a", 300)
    enqueue(queue, "a", 6)
    weigh(queue, "a", 0)
    enqueue(queue, "a", 2)
    enqueue(queue, "b", 8)
    assert users(claim(queue)) == "ababababaabaaababab"


def test_a_weight_is_set_by_one_call_once(queue: Driver) -> None:
    call = queue.calls.set_weights([("a", 300)], "rid")
    queue.run(call)
    weigh(queue, "a", 0)
    queue.run(call)
    assert queue.run(queue.calls.weights()) == ({}, "")
    weigh(queue, "b", 50)
    assert queue.run(queue.calls.weights(["a", "b"])) == ({"a": 1.0, "b": 0.5}, "")


def test_tasks_of_nobody_are_those_of_one(queue: Driver) -> None:
    configure(queue, fair=True)
    for user in ("", "a", "", "a"):
        enqueue(queue, user, 2)
    assert users(claim(queue)) == "-a-a-a-a"


def test_each_lane_and_priority_is_fair_on_its_own(queue: Driver) -> None:
    configure(queue, fair=True)
    enqueue(queue, "a", 4)
    assert users(claim(queue, 3)) == "aaa"
    enqueue(queue, "a", 3, lane="group/g")
    enqueue(queue, "b", 3, lane="group/g")
    enqueue(queue, "a", 2, priority=2)
    enqueue(queue, "c", 2, priority=2)
    enqueue(queue, "b", 2)
    assert users(claim(queue, lanes=["group/g"])) == "ababab"
    assert users(claim(queue)) == "acacbab"


def test_released_tasks_return_to_their_places(queue: Driver) -> None:
    configure(queue, fair=True)
    enqueue(queue, "a", 4)
    enqueue(queue, "b", 4)
    leases = claim(queue, 5)
    enqueue(queue, "c", 2)
    queue.run(queue.calls.release([*leases.values()]))
    assert users(claim(queue)) == "abababcabc"


def test_a_claim_of_a_released_task_lets_no_newcomer_in_earlier(queue: Driver) -> None:
    configure(queue, fair=True)
    enqueue(queue, "a", 8)
    queue.run(queue.calls.release([*claim(queue, 4).values()]))
    assert users(claim(queue, 1)) == "a"
    enqueue(queue, "b", 3)
    assert users(claim(queue)) == "aaabababaa"


def test_who_waited_takes_a_new_place(queue: Driver) -> None:
    configure(queue, fair=True)
    (first,) = enqueue(queue, "z", 1)
    enqueue(queue, "c", 2, delay=1)
    enqueue(queue, "d", 2, after=[first])
    enqueue(queue, "a", 8)
    (dead,) = enqueue(queue, "e", 1)
    leases = claim(queue, 3)
    assert users(leases) == "aez"
    queue.run(queue.calls.ack([(leases[first], None)]))
    queue.run(queue.calls.fail([Failure(leases[dead], "x", retryable=False)], [0]))
    assert users(claim(queue, 3)) == "dad"
    queue.model.now += 1000
    queue.run(queue.calls.retry([dead], f"rid-{next(numbers)}"))
    assert users(claim(queue, 6)) == "ceacaa"


def test_who_is_forgotten_starts_like_a_newcomer(queue: Driver) -> None:
    configure(queue, fair=True)
    for user in "abc":
        enqueue(queue, user, 3)
    enqueue(queue, "d", 9)
    claim(queue, 16)
    assert shares(queue) == {"5 claimed", "5a", "5b", "5c", "5d"}
    assert users(claim(queue)) == "dd"
    queue.model.now += 1000
    assert not claim(queue)
    assert shares(queue) == {"5 claimed", "5d"}
    enqueue(queue, "a", 2)
    enqueue(queue, "d", 2)
    enqueue(queue, "e", 2)
    assert users(claim(queue)) == "aeaded"


def test_the_shares_of_an_empty_lane_are_kept_for_a_day(queue: Driver) -> None:
    configure(queue, fair=True)
    enqueue(queue, "a", 2)
    claim(queue, 1)
    assert queue.read()["shares:any"].ttl == -1
    leases = claim(queue)
    assert 86_000_000 < queue.read()["shares:any"].ttl <= 86_400_000
    queue.run(queue.calls.release([*leases.values()]))
    assert queue.read()["shares:any"].ttl == -1
    claim(queue)
    enqueue(queue, "b", 1)
    assert queue.read()["shares:any"].ttl == -1
    queue.run(queue.calls.set_limits([("all", {"concurrency": 1})], "r"))
    claim(queue)
    assert queue.read()["shares:any"].ttl > 86_400_000  # for others may wait for the limit


def test_fair_shares_begin_behind_those_in_line_and_end_so(queue: Driver) -> None:
    before = enqueue(queue, "a", 1200)
    configure(queue, fair=True)
    enqueue(queue, "b", 1500)
    enqueue(queue, "c", 10)
    configure(queue, fair=True)
    enqueue(queue, "d", 10)
    configure(queue, fair=False)
    after = enqueue(queue, "e", 5) + enqueue(queue, "a", 5)
    configure(queue, fair=True)
    enqueue(queue, "b", 2)
    enqueue(queue, "a", 2)
    found = [id for _ in range(3) for id in claim(queue)]
    assert found[:1200] == before
    assert users(found[1200:1230]) == "bcd" * 10
    assert users(found[1230:2720]) == "b" * 1490
    assert found[2720:2730] == after
    assert users(found[2730:]) == "abab"


def test_a_queue_without_fair_shares_has_none(queue: Driver) -> None:
    enqueue(queue, "a", 2)
    enqueue(queue, "b", 1)
    assert users(claim(queue)) == "aab"
    assert not [name for name in queue.read() if name.startswith("shares:")]


def test_who_waits_for_a_limit_keeps_the_place(queue: Driver) -> None:
    configure(queue, fair=True)
    queue.run(queue.calls.set_limits([("user:a", {"concurrency": 1})], f"rid-{next(numbers)}"))
    mine = enqueue(queue, "a", 3)
    enqueue(queue, "b", 6)
    leases = claim(queue, 4)
    assert users(leases) == "abbb"
    mine += enqueue(queue, "a", 1)
    queue.run(queue.calls.ack([(leases[mine[0]], None)]))
    assert [*claim(queue, 1)] == mine[1:2]
    assert users(claim(queue)) == "bbb"

# Generated from tests/integration/aio/test_limits.py by pyadeq/_unasync.py; do not edit.
"""Limits: how many tasks of a user, a tag or a key run at a time or start in a time, and what becomes of others."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import redis

from pyadeq import Lease, Limit, LimitUse, Task, TaskView
from pyadeq._twins import Event, join, sleep, spawn
from pyadeq import Adeq, Every, Queue, StaleError
from pyadeq.errors import BadArgument, QueueDraining
from tests.chaos.task_stream import read_tasks
from tests.integration.conftest import LINE, Clock
from tests.limit_stream import check_rate, most_at_a_time, stamps_of
from tests.waiting import DEADLINE

LONG = "u" * 200
KEYS = ["all", "user:ann", "user:*", "tag:t", "tag:*", "key:k", "key:*"]


@pytest.fixture
def queue(timed: Queue) -> Queue:
    timed.configure(lease=60)
    return timed


def take(queue: Queue, limit: int = 100, worker: str = "w1", **options: Any) -> list[Lease]:
    return queue.claim(worker, limit, **options)


def taken(queue: Queue, limit: int = 100, **options: Any) -> list[str]:
    """The ids of what may start now."""
    return [lease.id for lease in take(queue, limit, **options)]


def complete(queue: Queue, leases: list[Lease]) -> None:
    queue.ack_many([(lease, None) for lease in leases])


def fill(queue: Queue, *ids: str, **options: Any) -> None:
    queue.enqueue_many([Task(id=id, **options) for id in ids])


def states(queue: Queue, *ids: str) -> list[str]:
    return [task.state if task else "none" for task in queue.get_many(ids)]


def view(queue: Queue, id: str) -> TaskView:
    task = queue.get(id)
    assert task
    return task


# Setting limits


def plain(limit: Limit | None) -> Limit:
    """A limit without its digest."""
    assert limit
    assert len(limit.digest) == 16
    return limit.model_copy(update={"digest": ""})


def test_a_limit_is_set_changed_and_taken_away(queue: Queue) -> None:
    assert queue.limits.set("user:*", concurrency=2) == "set"
    assert queue.limits.set("user:*", concurrency=2) == "unchanged"
    assert queue.limits.set("user:*", concurrency=3) == "set"
    (limit,) = queue.limits.list()
    assert plain(limit) == Limit(key="user:*", concurrency=3)
    with pytest.raises(StaleError):
        queue.limits.remove("user:*", expect="none")
    assert queue.limits.remove("user:*") == "removed"
    assert queue.limits.remove("user:*") == "unchanged"
    assert queue.limits.list() == []


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"concurrency": 1_000_000}, Limit(key="k", concurrency=1_000_000)),
        ({"starts": 5}, Limit(key="k", rate=5, burst=5)),
        ({"starts": 6, "period": 60, "burst": 1}, Limit(key="k", rate=0.1, burst=1)),
        ({"starts": 1, "period": timedelta(days=31)}, Limit(key="k", rate=1 / 2_678_400, burst=1)),
        ({"starts": 100_000, "burst": 1_000_000}, Limit(key="k", rate=100_000, burst=1_000_000)),
        (
            {"concurrency": 2, "starts": 8, "period": 2, "policy": "cancel_oldest"},
            Limit(key="k", concurrency=2, rate=4, burst=8, policy="cancel_oldest"),
        ),
        ({"concurrency": 1, "policy": "reject"}, Limit(key="k", concurrency=1, policy="reject")),
        ({"starts": 1, "policy": "cancel_newest"}, Limit(key="k", rate=1, burst=1, policy="cancel_newest")),
    ],
)
def test_a_limit_comes_back_as_it_was_given(queue: Queue, given: Any, limit: Limit) -> None:
    for key in KEYS:
        assert queue.limits.set(key, **given) == "set"
    found = queue.limits.list()
    assert [one.key for one in found] == sorted(KEYS)
    for one in found:
        assert one.rate == pytest.approx(limit.rate)
        assert plain(one) == limit.model_copy(update={"key": one.key, "rate": one.rate})
        use = queue.limits.get(one.key)
        assert use == queue.limits.get(one.key)
        assert (use.limit, use.running, use.waiting) == (one, 0, 0)
        assert use.next_start == (LINE / 1000 if one.rate else None)


def test_hundreds_of_limits_are_listed_by_key(queue: Queue) -> None:
    for n in reversed(range(250)):
        queue.limits.set(f"user:u{n:03}", concurrency=n + 1)
    limits = queue.limits.list()
    assert [(limit.key, limit.concurrency) for limit in limits] == [(f"user:u{n:03}", n + 1) for n in range(250)]


def test_a_key_without_a_limit_may_be_looked_at(queue: Queue) -> None:
    assert queue.limits.get("user:ann") == LimitUse(key="user:ann", running=0, waiting=0)
    queue.limits.set("user:*", concurrency=4)
    assert plain((queue.limits.get("user:ann")).limit) == Limit(key="user:*", concurrency=4)
    assert (queue.limits.get("tag:ann")).limit is None


@pytest.mark.parametrize("key", ["", "ann", "team:ann", "user:", "user:a b", "user:a,b", "all:x", f"user:{LONG}u", "*"])
def test_a_key_that_is_none_is_refused(queue: Queue, key: str) -> None:
    for call in (partial(queue.limits.set, concurrency=1), queue.limits.remove, queue.limits.get):
        with pytest.raises(BadArgument, match=r"key: .* is not accepted; allowed: all, or user:"):
            call(key)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "concurrency or starts: one of them at least"),
        ({"policy": "reject"}, "concurrency or starts: one of them at least"),
        ({"concurrency": 0}, "concurrency: 0 is not accepted; allowed: an integer from 1 to 1000000"),
        ({"concurrency": 1_000_001}, "concurrency: 1000001 is not accepted"),
        ({"concurrency": "2"}, "concurrency: '2' is not accepted"),
        ({"concurrency": 1.5}, "concurrency: 1.5 is not accepted"),
        ({"starts": 0}, "starts: 0 is not accepted"),
        ({"starts": 1_000_001}, "starts: 1000001 is not accepted"),
        ({"starts": 100_001}, "starts: 100001 is not accepted; allowed: 100 for each ms of the period"),
        ({"starts": 1, "period": 0}, "period(_ms)?: 0"),
        ({"starts": 1, "period": -1}, "period(_ms)?: -1"),
        ({"starts": 1, "period": timedelta(days=32)}, "period: 2764800 is not accepted"),
        ({"starts": 1, "period": "1"}, "period must be seconds or a timedelta, got '1'"),
        ({"starts": 1, "burst": 0}, "burst: 0 is not accepted"),
        ({"concurrency": 1, "burst": 2}, "burst"),
        ({"concurrency": 1, "policy": "wait"}, "policy: 'wait' is not accepted; allowed: queue or reject or"),
        ({"starts": 1, "policy": "cancel_oldest"}, "policy"),
    ],
)
def test_a_limit_is_refused_by_the_name_of_what_is_wrong(queue: Queue, given: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        queue.limits.set("all", **given)
    assert queue.limits.list() == []


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ("k", "limits must be a list, got str"),
        (["a b"], "limits: 'a b' is not accepted"),
        ([f"{LONG}u"], "limits: 'uuu.* is not accepted"),
        ([str(n) for n in range(9)], "limits: .* is not accepted; allowed: a list of 1 to 8"),
    ],
)
def test_a_task_with_wrong_keys_is_refused(queue: Queue, limits: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        queue.enqueue("x", limits=limits)
    assert (queue.stats()).ready == 0


# How many run at a time


@pytest.mark.parametrize("key", KEYS)
def test_one_runs_at_a_time_and_the_next_one_when_it_ends(queue: Queue, key: str) -> None:
    queue.limits.set(key, concurrency=1)
    fill(queue, "a", "b", "c", user="ann", tags=["t", "x"], limits=["k", "y"])
    by = {"user:*": "user:ann", "tag:*": "tag:t", "key:*": "key:k"}.get(key, key)
    (first,) = take(queue)
    assert (queue.stats()).blocked == 2
    task = view(queue, "b")
    assert (task.state, task.limited_by, task.limits) == ("blocked", by, ("k", "y"))
    assert (view(queue, "a")).limited_by is None
    use = queue.limits.get(by)
    assert (use.running, use.waiting, plain(use.limit)) == (1, 2, Limit(key=key, concurrency=1))
    queue.ack(first)
    assert states(queue, "a", "b", "c") == ["completed", "ready", "blocked"]
    assert (view(queue, "b")).limited_by is None
    (second,) = take(queue)
    assert second.id == "b"
    assert taken(queue) == []
    queue.ack(second)
    assert taken(queue) == ["c"]


def test_a_user_and_a_tag_and_a_key_of_one_name_are_three(queue: Queue) -> None:
    queue.limits.set("user:x", concurrency=1)
    fill(queue, "tag-0", "tag-1", tags=["x"])
    fill(queue, "key-0", "key-1", limits=["x"])
    fill(queue, "user-0", "user-1", user="x")
    assert taken(queue) == ["tag-0", "tag-1", "key-0", "key-1", "user-0"]


def test_a_key_may_be_as_long_as_an_id(queue: Queue) -> None:
    for kind in ("user", "tag", "key"):
        assert queue.limits.set(f"{kind}:{LONG}", concurrency=1) == "set"
    tags = [LONG, *(f"{n:02}{LONG[2:]}" for n in range(15))]
    keys = [LONG, *(f"{n:02}{LONG[2:]}" for n in range(7))]
    fill(queue, "a", "b", user=LONG, tags=tags, limits=keys)
    (lease,) = take(queue)
    assert [limit.key for limit in queue.limits.list()] == [f"{kind}:{LONG}" for kind in ("key", "tag", "user")]
    assert (queue.limits.get(f"user:{LONG}")).running == 1
    task = view(queue, "b")
    assert (task.state, task.limits, task.limited_by) == ("blocked", tuple(keys), f"user:{LONG}")
    queue.ack(lease)
    assert taken(queue) == ["b"]


# What waits in a line


def test_a_unique_key_stands_while_its_task_waits_in_line(queue: Queue) -> None:
    queue.limits.set("user:*", concurrency=1)
    fill(queue, "a", user="ann")
    (lease,) = take(queue)
    queue.enqueue("b", id="b", user="ann", unique="u")
    taken(queue)
    assert states(queue, "b") == ["blocked"]
    assert (queue.enqueue("c", user="ann", unique="u")).status == "deduplicated"
    queue.ack(lease)
    complete(queue, take(queue))
    assert (queue.enqueue("c", user="ann", unique="u")).status == "created"


def test_the_latest_of_a_scope_counts_in_line_too(queue: Queue) -> None:
    queue.limits.set("user:*", concurrency=1)
    fill(queue, "a", user="ann")
    (lease,) = take(queue)
    queue.enqueue("old", user="ann", scope="s", coalesce="last")
    taken(queue)
    assert (queue.enqueue("new", user="ann", scope="s", coalesce="last")).status == "deduplicated"
    queue.ack(lease)
    (lease,) = take(queue)
    assert lease.payload == "new"


def test_what_waits_is_listed(queue: Queue) -> None:
    queue.limits.set("user:*", concurrency=1)
    fill(queue, *"abc", user="ann", limits=["k"])
    taken(queue)
    tasks = (queue.list("blocked")).tasks
    assert [(task.id, task.limits, task.limited_by) for task in tasks] == [
        ("b", ("k",), "user:ann"),
        ("c", ("k",), "user:ann"),
    ]


def test_a_task_that_waits_for_others_waits_in_line_afterwards(queue: Queue) -> None:
    queue.limits.set("user:*", concurrency=1)
    first = queue.enqueue("first")
    queue.enqueue("then", id="then", after=first, user="ann")
    queue.enqueue("ann", id="ann", user="ann")
    leases = take(queue)
    task = view(queue, "then")
    assert (task.state, task.awaits, task.limited_by) == ("blocked", 1, None)
    queue.ack(leases[0])
    assert taken(queue) == []
    assert (view(queue, "then")).limited_by == "user:ann"
    queue.ack(leases[1])
    assert taken(queue) == ["then"]


# Policies


def test_what_is_rejected_is_dead_and_may_be_retried(queue: Queue) -> None:
    queue.limits.set("user:*", concurrency=1, policy="reject")
    fill(queue, "a", user="ann")
    queue.enqueue("b", id="b", user="ann", reply=True)
    (lease,) = take(queue)
    assert lease.id == "a"
    task = view(queue, "b")
    assert (task.state, task.reason, task.deliveries) == ("dead", "limited", 0)
    assert (queue.inspect.ended("b", 0)).reason == "limited"
    assert (queue.dead.retry("b")).status == "retried"
    assert taken(queue) == []
    assert states(queue, "b") == ["dead"]
    queue.ack(lease)
    assert (queue.dead.retry_all(reason="limited")).done == 1
    assert taken(queue) == ["b"]


def test_for_a_rate_alone_nobody_is_cancelled(queue: Queue, clock: Clock) -> None:
    queue.limits.set("all", concurrency=2, starts=1, period=10, policy="cancel_oldest")
    fill(queue, "a", "b")
    leases = take(queue)
    assert [one.status for one in queue.leases.heartbeat_many(leases)] == ["renewed"]
    clock.tick(10)
    leases += take(queue)
    assert [lease.id for lease in leases] == ["a", "b"]
    clock.tick(10)
    fill(queue, "c")
    assert taken(queue) == []
    assert [one.status for one in queue.leases.heartbeat_many(leases)] == ["cancelling", "renewed"]


# How many start in a time


def test_after_a_burst_one_starts_at_a_time_evenly(queue: Queue, clock: Clock) -> None:
    queue.limits.set("key:api", starts=4, period=2, burst=3)
    fill(queue, *"abcdefgh", limits=["api"])
    assert taken(queue) == ["a", "b", "c"]
    assert (queue.limits.get("key:api")).running == 0
    ran = []
    for _ in range(5):
        clock.tick(0.499)
        assert taken(queue) == []
        clock.tick(0.001)
        ran.append(taken(queue))
    assert ran == [["d"], ["e"], ["f"], ["g"], ["h"]]


def test_who_claims_hears_when_the_rate_lets_the_next_one_start(queue: Queue, clock: Clock) -> None:
    queue.limits.set("all", starts=1, period=2)
    fill(queue, "a", "b")
    assert [lease.id for lease in (queue.leases.claim_once("w1")).leases] == ["a"]
    claimed = queue.leases.claim_once("w1")
    assert (claimed.leases, claimed.next_due) == ([], (LINE + 2000) / 1000)
    use = queue.limits.get("all")
    assert (use.waiting, use.next_start) == (1, (LINE + 2000) / 1000)
    clock.tick(2)
    assert [lease.id for lease in (queue.leases.claim_once("w1")).leases] == ["b"]


def test_the_claim_that_puts_a_task_in_line_hears_it_too(queue: Queue, clock: Clock) -> None:
    queue.limits.set("all", starts=1, period=2)
    fill(queue, "a")
    (lease,) = take(queue)
    queue.ack(lease)
    fill(queue, "b")
    claimed = queue.leases.claim_once("w1")
    assert (claimed.leases, claimed.next_due) == ([], (LINE + 2000) / 1000)


@pytest.mark.parametrize(("policy", "state"), [("reject", "dead"), ("cancel_newest", "cancelled")])
def test_a_rate_may_turn_away_what_it_does_not_let_start(queue: Queue, policy: Any, state: str) -> None:
    queue.limits.set("tag:t", starts=2, period=60, policy=policy)
    fill(queue, *"abcd", tags=["t"])
    assert taken(queue) == ["a", "b"]
    assert states(queue, "c", "d") == [state] * 2


# Together with the rest


def test_tasks_of_a_schedule_are_limited(queue: Queue, clock: Clock) -> None:
    queue.limits.set("key:k", concurrency=1)
    queue.schedules.set("s", Every(10), "tick", overlap="allow", limits=["k"], user="ann", catch_up=3600)
    for _ in range(3):
        clock.tick(10)
        queue.schedules.fire_due()
    (lease,) = take(queue)
    assert (lease.payload, lease.schedule) == ("tick", "s")
    assert (queue.stats()).blocked == 2
    firing = queue.schedules.trigger("s")
    assert firing.id
    task = view(queue, firing.id)
    assert (task.state, task.limits, task.limited_by, task.user) == ("blocked", ("k",), "key:k", "ann")
    ran = 0
    while lease:
        ran += 1
        queue.ack(lease)
        lease = next(iter(take(queue)), None)  # type: ignore[assignment]
    assert ran == 4


def test_a_schedule_that_skips_knows_that_its_task_waits_in_line(queue: Queue, clock: Clock) -> None:
    queue.limits.set("user:ann", concurrency=1)
    fill(queue, "a", user="ann")
    (lease,) = take(queue)
    queue.schedules.set("s", Every(10), "tick", user="ann")
    for _ in range(3):
        clock.tick(10)
        queue.schedules.fire_due()
    assert (queue.stats()).pending == 1
    queue.ack(lease)
    (lease,) = take(queue)
    assert lease.schedule == "s"


def test_a_step_of_a_chain_counts_as_its_own_task(queue: Queue) -> None:
    queue.limits.set("user:ann", concurrency=1)
    chains = [
        queue.chain([Task(payload=f"{name}{n}", user="ann") for n in range(3)], rid=name) for name in ("x", "y")
    ]
    ran = []
    while leases := take(queue):
        assert len(leases) == 1
        ran += [lease.payload for lease in leases]
        complete(queue, leases)
    assert sorted(ran) == ["x0", "x1", "x2", "y0", "y1", "y2"]
    assert [name for name in ran if name[0] == "x"] == ["x0", "x1", "x2"]
    assert states(queue, *[one.id for chain in chains for one in chain]) == ["completed"] * 6


def test_what_is_gathered_is_limited_and_a_rejected_part_is_a_failure(queue: Queue) -> None:
    queue.limits.set("tag:part", concurrency=2)
    total = queue.gather([Task(payload=n, tags=["part"]) for n in range(5)], "sum")
    for count in (2, 2, 1):
        leases = take(queue)
        assert len(leases) == count
        queue.ack_many([(lease, lease.payload) for lease in leases])
    (lease,) = take(queue)
    assert (lease.id, lease.payload) == (total.id, "sum")
    queue.limits.set("tag:part", concurrency=2, policy="reject")
    total = queue.gather([Task(payload=n, tags=["part"]) for n in range(5)], "sum")
    assert len(take(queue)) == 2
    taken(queue)
    task = view(queue, total.id)
    assert (task.state, task.reason) == ("dead", "after_failed")


def test_a_mailbox_gives_as_much_as_may_start(queue: Queue, clock: Clock) -> None:
    queue.limits.set("user:ann", concurrency=2)
    box = queue.mailbox("s")
    for item in "abcd":
        box.enqueue(item, user="ann")
    box.enqueue("e", user="bob")
    clock.tick(box.window)
    batch = box.try_dequeue()
    assert batch
    assert batch.items == ["a", "b", "e"]
    batch.done()
    clock.tick(box.window)
    batch = box.try_dequeue()
    assert batch
    assert batch.items == ["c", "d"]
    batch.release()
    clock.tick(box.window)
    batch = box.try_dequeue()
    assert batch
    assert batch.items == ["c", "d"]


def test_a_drained_queue_comes_to_its_end(queue: Queue) -> None:
    queue.limits.set("user:ann", concurrency=1)
    fill(queue, "a", "b", "c", user="ann")
    leases = take(queue)
    queue.admin.drain()
    with pytest.raises(QueueDraining):
        fill(queue, "d", user="ann")
    ran = []
    while leases:
        ran += [lease.id for lease in leases]
        complete(queue, leases)
        leases = take(queue)
    assert ran == ["a", "b", "c"]
    assert (queue.stats()).pending == 0


def test_a_dead_task_that_is_retried_goes_behind_those_in_line(queue: Queue) -> None:
    queue.limits.set("user:ann", concurrency=1)
    fill(queue, *"abc", user="ann")
    (lease,) = take(queue)
    queue.fail(lease, "no use", retryable=False)
    (lease,) = take(queue)
    assert lease.id == "b"
    queue.dead.retry("a")
    assert taken(queue) == []
    for id in ("c", "a"):
        queue.ack(lease)
        (lease,) = take(queue)
        assert lease.id == id


# Many at once


def test_fifty_who_claim_at_once_never_hold_more_than_is_allowed(
    url: str, base_name: str, client: redis.Redis
) -> None:
    tasks = {f"u{n // 30}-{n}": f"u{n // 30}" for n in range(270)}
    go, done, ready, ended = Event(), set[str](), list[int](), list[int]()
    works = []
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.limits.set("user:*", concurrency=3)
        queue.limits.set("all", concurrency=7)
        queue.limits.set("key:k", starts=200, period=1, burst=10)
        queue.enqueue_many([Task(id=id, user=user, limits=["k"]) for id, user in tasks.items()])
        for number in range(50):

            def work(number: int = number) -> None:
                with Adeq.from_url(url) as adeq:
                    queue = adeq.queue(base_name)
                    queue.workers.register(f"w{number}")
                    ready.append(number)
                    go.wait()
                    while len(done) < len(tasks):
                        for lease in queue.claim(f"w{number}", 3, wait=0.1):
                            if lease.delivery == 1 and int(lease.id.partition("-")[2]) % 5 == 0:
                                queue.release(lease)
                            else:
                                queue.ack(lease)
                                done.add(lease.id)
                ended.append(number)

            works.append(spawn(work))
        while len(ready) < len(works):
            sleep(0.01)
        go.set()
        for one in works:
            join(one, DEADLINE)
        assert sorted(ended) == list(range(50))
        stats = queue.stats()
        assert (stats.pending, stats.running, stats.counters["completed"]) == (0, 0, len(tasks))
        assert (queue.limits.get("all")).running == 0
    events = list(read_tasks(client, queue.base))
    most = most_at_a_time(events, lambda id: ("all", tasks[id]))
    assert most["all"] == 7
    assert max(most[user] for user in tasks.values()) == 3
    starts = [ms for _, ms in stamps_of(events, "claimed")]
    assert len(starts) == len(tasks) + len(tasks) // 5
    check_rate(starts, interval_ms=5, burst=10)

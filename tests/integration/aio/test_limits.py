"""Limits: how many tasks of a user, a tag or a key run at a time or start in a time, and what becomes of others."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import redis

from pyadeq import Lease, Limit, LimitUse, Task, TaskView
from pyadeq._twins import aio_Event, aio_join, aio_sleep, aio_spawn
from pyadeq.asyncio import Adeq, Every, Queue, StaleError
from pyadeq.errors import BadArgument, QueueDraining
from tests.chaos.task_stream import read_tasks
from tests.integration.conftest import LINE, Clock
from tests.limit_stream import check_rate, most_at_a_time, stamps_of
from tests.waiting import DEADLINE

LONG = "u" * 200
KEYS = ["all", "user:ann", "user:*", "tag:t", "tag:*", "key:k", "key:*"]


@pytest.fixture
async def queue(timed: Queue) -> Queue:
    await timed.configure(lease=60)
    return timed


async def take(queue: Queue, limit: int = 100, worker: str = "w1", **options: Any) -> list[Lease]:
    return await queue.claim(worker, limit, **options)


async def taken(queue: Queue, limit: int = 100, **options: Any) -> list[str]:
    """The ids of what may start now."""
    return [lease.id for lease in await take(queue, limit, **options)]


async def complete(queue: Queue, leases: list[Lease]) -> None:
    await queue.ack_many([(lease, None) for lease in leases])


async def fill(queue: Queue, *ids: str, **options: Any) -> None:
    await queue.enqueue_many([Task(id=id, **options) for id in ids])


async def states(queue: Queue, *ids: str) -> list[str]:
    return [task.state if task else "none" for task in await queue.get_many(ids)]


async def view(queue: Queue, id: str) -> TaskView:
    task = await queue.get(id)
    assert task
    return task


# Setting limits


def plain(limit: Limit | None) -> Limit:
    """A limit without its digest."""
    assert limit
    assert len(limit.digest) == 16
    return limit.model_copy(update={"digest": ""})


async def test_a_limit_is_set_changed_and_taken_away(queue: Queue) -> None:
    assert await queue.limits.set("user:*", concurrency=2) == "set"
    assert await queue.limits.set("user:*", concurrency=2) == "unchanged"
    assert await queue.limits.set("user:*", concurrency=3) == "set"
    (limit,) = await queue.limits.list()
    assert plain(limit) == Limit(key="user:*", concurrency=3)
    with pytest.raises(StaleError):
        await queue.limits.remove("user:*", expect="none")
    assert await queue.limits.remove("user:*") == "removed"
    assert await queue.limits.remove("user:*") == "unchanged"
    assert await queue.limits.list() == []


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
async def test_a_limit_comes_back_as_it_was_given(queue: Queue, given: Any, limit: Limit) -> None:
    for key in KEYS:
        assert await queue.limits.set(key, **given) == "set"
    found = await queue.limits.list()
    assert [one.key for one in found] == sorted(KEYS)
    for one in found:
        assert one.rate == pytest.approx(limit.rate)
        assert plain(one) == limit.model_copy(update={"key": one.key, "rate": one.rate})
        use = await queue.limits.get(one.key)
        assert use == await queue.limits.get(one.key)
        assert (use.limit, use.running, use.waiting) == (one, 0, 0)
        assert use.next_start == (LINE / 1000 if one.rate else None)


async def test_hundreds_of_limits_are_listed_by_key(queue: Queue) -> None:
    for n in reversed(range(250)):
        await queue.limits.set(f"user:u{n:03}", concurrency=n + 1)
    limits = await queue.limits.list()
    assert [(limit.key, limit.concurrency) for limit in limits] == [(f"user:u{n:03}", n + 1) for n in range(250)]


async def test_a_key_without_a_limit_may_be_looked_at(queue: Queue) -> None:
    assert await queue.limits.get("user:ann") == LimitUse(key="user:ann", running=0, waiting=0)
    await queue.limits.set("user:*", concurrency=4)
    assert plain((await queue.limits.get("user:ann")).limit) == Limit(key="user:*", concurrency=4)
    assert (await queue.limits.get("tag:ann")).limit is None


@pytest.mark.parametrize("key", ["", "ann", "team:ann", "user:", "user:a b", "user:a,b", "all:x", f"user:{LONG}u", "*"])
async def test_a_key_that_is_none_is_refused(queue: Queue, key: str) -> None:
    for call in (partial(queue.limits.set, concurrency=1), queue.limits.remove, queue.limits.get):
        with pytest.raises(BadArgument, match=r"key: .* is not accepted; allowed: all, or user:"):
            await call(key)


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
async def test_a_limit_is_refused_by_the_name_of_what_is_wrong(queue: Queue, given: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        await queue.limits.set("all", **given)
    assert await queue.limits.list() == []


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ("k", "limits must be a list, got str"),
        (["a b"], "limits: 'a b' is not accepted"),
        ([f"{LONG}u"], "limits: 'uuu.* is not accepted"),
        ([str(n) for n in range(9)], "limits: .* is not accepted; allowed: a list of 1 to 8"),
    ],
)
async def test_a_task_with_wrong_keys_is_refused(queue: Queue, limits: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        await queue.enqueue("x", limits=limits)
    assert (await queue.stats()).ready == 0


# How many run at a time


@pytest.mark.parametrize("key", KEYS)
async def test_one_runs_at_a_time_and_the_next_one_when_it_ends(queue: Queue, key: str) -> None:
    await queue.limits.set(key, concurrency=1)
    await fill(queue, "a", "b", "c", user="ann", tags=["t", "x"], limits=["k", "y"])
    by = {"user:*": "user:ann", "tag:*": "tag:t", "key:*": "key:k"}.get(key, key)
    (first,) = await take(queue)
    assert (await queue.stats()).blocked == 2
    task = await view(queue, "b")
    assert (task.state, task.limited_by, task.limits) == ("blocked", by, ("k", "y"))
    assert (await view(queue, "a")).limited_by is None
    use = await queue.limits.get(by)
    assert (use.running, use.waiting, plain(use.limit)) == (1, 2, Limit(key=key, concurrency=1))
    await queue.ack(first)
    assert await states(queue, "a", "b", "c") == ["completed", "ready", "blocked"]
    assert (await view(queue, "b")).limited_by is None
    (second,) = await take(queue)
    assert second.id == "b"
    assert await taken(queue) == []
    await queue.ack(second)
    assert await taken(queue) == ["c"]


async def test_a_user_and_a_tag_and_a_key_of_one_name_are_three(queue: Queue) -> None:
    await queue.limits.set("user:x", concurrency=1)
    await fill(queue, "tag-0", "tag-1", tags=["x"])
    await fill(queue, "key-0", "key-1", limits=["x"])
    await fill(queue, "user-0", "user-1", user="x")
    assert await taken(queue) == ["tag-0", "tag-1", "key-0", "key-1", "user-0"]


async def test_a_key_may_be_as_long_as_an_id(queue: Queue) -> None:
    for kind in ("user", "tag", "key"):
        assert await queue.limits.set(f"{kind}:{LONG}", concurrency=1) == "set"
    tags = [LONG, *(f"{n:02}{LONG[2:]}" for n in range(15))]
    keys = [LONG, *(f"{n:02}{LONG[2:]}" for n in range(7))]
    await fill(queue, "a", "b", user=LONG, tags=tags, limits=keys)
    (lease,) = await take(queue)
    assert [limit.key for limit in await queue.limits.list()] == [f"{kind}:{LONG}" for kind in ("key", "tag", "user")]
    assert (await queue.limits.get(f"user:{LONG}")).running == 1
    task = await view(queue, "b")
    assert (task.state, task.limits, task.limited_by) == ("blocked", tuple(keys), f"user:{LONG}")
    await queue.ack(lease)
    assert await taken(queue) == ["b"]


# What waits in a line


async def test_a_unique_key_stands_while_its_task_waits_in_line(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1)
    await fill(queue, "a", user="ann")
    (lease,) = await take(queue)
    await queue.enqueue("b", id="b", user="ann", unique="u")
    await taken(queue)
    assert await states(queue, "b") == ["blocked"]
    assert (await queue.enqueue("c", user="ann", unique="u")).status == "deduplicated"
    await queue.ack(lease)
    await complete(queue, await take(queue))
    assert (await queue.enqueue("c", user="ann", unique="u")).status == "created"


async def test_the_latest_of_a_scope_counts_in_line_too(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1)
    await fill(queue, "a", user="ann")
    (lease,) = await take(queue)
    await queue.enqueue("old", user="ann", scope="s", coalesce="last")
    await taken(queue)
    assert (await queue.enqueue("new", user="ann", scope="s", coalesce="last")).status == "deduplicated"
    await queue.ack(lease)
    (lease,) = await take(queue)
    assert lease.payload == "new"


async def test_what_waits_is_listed(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1)
    await fill(queue, *"abc", user="ann", limits=["k"])
    await taken(queue)
    tasks = (await queue.list("blocked")).tasks
    assert [(task.id, task.limits, task.limited_by) for task in tasks] == [
        ("b", ("k",), "user:ann"),
        ("c", ("k",), "user:ann"),
    ]


async def test_a_task_that_waits_for_others_waits_in_line_afterwards(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1)
    first = await queue.enqueue("first")
    await queue.enqueue("then", id="then", after=first, user="ann")
    await queue.enqueue("ann", id="ann", user="ann")
    leases = await take(queue)
    task = await view(queue, "then")
    assert (task.state, task.awaits, task.limited_by) == ("blocked", 1, None)
    await queue.ack(leases[0])
    assert await taken(queue) == []
    assert (await view(queue, "then")).limited_by == "user:ann"
    await queue.ack(leases[1])
    assert await taken(queue) == ["then"]


# Policies


async def test_what_is_rejected_is_dead_and_may_be_retried(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1, policy="reject")
    await fill(queue, "a", user="ann")
    await queue.enqueue("b", id="b", user="ann", reply=True)
    (lease,) = await take(queue)
    assert lease.id == "a"
    task = await view(queue, "b")
    assert (task.state, task.reason, task.deliveries) == ("dead", "limited", 0)
    assert (await queue.inspect.ended("b", 0)).reason == "limited"
    assert (await queue.dead.retry("b")).status == "retried"
    assert await taken(queue) == []
    assert await states(queue, "b") == ["dead"]
    await queue.ack(lease)
    assert (await queue.dead.retry_all(reason="limited")).done == 1
    assert await taken(queue) == ["b"]


async def test_for_a_rate_alone_nobody_is_cancelled(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("all", concurrency=2, starts=1, period=10, policy="cancel_oldest")
    await fill(queue, "a", "b")
    leases = await take(queue)
    assert [one.status for one in await queue.leases.heartbeat_many(leases)] == ["renewed"]
    clock.tick(10)
    leases += await take(queue)
    assert [lease.id for lease in leases] == ["a", "b"]
    clock.tick(10)
    await fill(queue, "c")
    assert await taken(queue) == []
    assert [one.status for one in await queue.leases.heartbeat_many(leases)] == ["cancelling", "renewed"]


# How many start in a time


async def test_after_a_burst_one_starts_at_a_time_evenly(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("key:api", starts=4, period=2, burst=3)
    await fill(queue, *"abcdefgh", limits=["api"])
    assert await taken(queue) == ["a", "b", "c"]
    assert (await queue.limits.get("key:api")).running == 0
    ran = []
    for _ in range(5):
        clock.tick(0.499)
        assert await taken(queue) == []
        clock.tick(0.001)
        ran.append(await taken(queue))
    assert ran == [["d"], ["e"], ["f"], ["g"], ["h"]]


async def test_who_claims_hears_when_the_rate_lets_the_next_one_start(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("all", starts=1, period=2)
    await fill(queue, "a", "b")
    assert [lease.id for lease in (await queue.leases.claim_once("w1")).leases] == ["a"]
    claimed = await queue.leases.claim_once("w1")
    assert (claimed.leases, claimed.next_due) == ([], (LINE + 2000) / 1000)
    use = await queue.limits.get("all")
    assert (use.waiting, use.next_start) == (1, (LINE + 2000) / 1000)
    clock.tick(2)
    assert [lease.id for lease in (await queue.leases.claim_once("w1")).leases] == ["b"]


async def test_the_claim_that_puts_a_task_in_line_hears_it_too(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("all", starts=1, period=2)
    await fill(queue, "a")
    (lease,) = await take(queue)
    await queue.ack(lease)
    await fill(queue, "b")
    claimed = await queue.leases.claim_once("w1")
    assert (claimed.leases, claimed.next_due) == ([], (LINE + 2000) / 1000)


@pytest.mark.parametrize(("policy", "state"), [("reject", "dead"), ("cancel_newest", "cancelled")])
async def test_a_rate_may_turn_away_what_it_does_not_let_start(queue: Queue, policy: Any, state: str) -> None:
    await queue.limits.set("tag:t", starts=2, period=60, policy=policy)
    await fill(queue, *"abcd", tags=["t"])
    assert await taken(queue) == ["a", "b"]
    assert await states(queue, "c", "d") == [state] * 2


# Together with the rest


async def test_tasks_of_a_schedule_are_limited(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("key:k", concurrency=1)
    await queue.schedules.set("s", Every(10), "tick", overlap="allow", limits=["k"], user="ann", catch_up=3600)
    for _ in range(3):
        clock.tick(10)
        await queue.schedules.fire_due()
    (lease,) = await take(queue)
    assert (lease.payload, lease.schedule) == ("tick", "s")
    assert (await queue.stats()).blocked == 2
    firing = await queue.schedules.trigger("s")
    assert firing.id
    task = await view(queue, firing.id)
    assert (task.state, task.limits, task.limited_by, task.user) == ("blocked", ("k",), "key:k", "ann")
    ran = 0
    while lease:
        ran += 1
        await queue.ack(lease)
        lease = next(iter(await take(queue)), None)  # type: ignore[assignment]
    assert ran == 4


async def test_a_schedule_that_skips_knows_that_its_task_waits_in_line(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("user:ann", concurrency=1)
    await fill(queue, "a", user="ann")
    (lease,) = await take(queue)
    await queue.schedules.set("s", Every(10), "tick", user="ann")
    for _ in range(3):
        clock.tick(10)
        await queue.schedules.fire_due()
    assert (await queue.stats()).pending == 1
    await queue.ack(lease)
    (lease,) = await take(queue)
    assert lease.schedule == "s"


async def test_a_step_of_a_chain_counts_as_its_own_task(queue: Queue) -> None:
    await queue.limits.set("user:ann", concurrency=1)
    chains = [
        await queue.chain([Task(payload=f"{name}{n}", user="ann") for n in range(3)], rid=name) for name in ("x", "y")
    ]
    ran = []
    while leases := await take(queue):
        assert len(leases) == 1
        ran += [lease.payload for lease in leases]
        await complete(queue, leases)
    assert sorted(ran) == ["x0", "x1", "x2", "y0", "y1", "y2"]
    assert [name for name in ran if name[0] == "x"] == ["x0", "x1", "x2"]
    assert await states(queue, *[one.id for chain in chains for one in chain]) == ["completed"] * 6


async def test_what_is_gathered_is_limited_and_a_rejected_part_is_a_failure(queue: Queue) -> None:
    await queue.limits.set("tag:part", concurrency=2)
    total = await queue.gather([Task(payload=n, tags=["part"]) for n in range(5)], "sum")
    for count in (2, 2, 1):
        leases = await take(queue)
        assert len(leases) == count
        await queue.ack_many([(lease, lease.payload) for lease in leases])
    (lease,) = await take(queue)
    assert (lease.id, lease.payload) == (total.id, "sum")
    await queue.limits.set("tag:part", concurrency=2, policy="reject")
    total = await queue.gather([Task(payload=n, tags=["part"]) for n in range(5)], "sum")
    assert len(await take(queue)) == 2
    await taken(queue)
    task = await view(queue, total.id)
    assert (task.state, task.reason) == ("dead", "after_failed")


async def test_a_mailbox_gives_as_much_as_may_start(queue: Queue, clock: Clock) -> None:
    await queue.limits.set("user:ann", concurrency=2)
    box = queue.mailbox("s")
    for item in "abcd":
        await box.enqueue(item, user="ann")
    await box.enqueue("e", user="bob")
    clock.tick(box.window)
    batch = await box.try_dequeue()
    assert batch
    assert batch.items == ["a", "b", "e"]
    await batch.done()
    clock.tick(box.window)
    batch = await box.try_dequeue()
    assert batch
    assert batch.items == ["c", "d"]
    await batch.release()
    clock.tick(box.window)
    batch = await box.try_dequeue()
    assert batch
    assert batch.items == ["c", "d"]


async def test_a_drained_queue_comes_to_its_end(queue: Queue) -> None:
    await queue.limits.set("user:ann", concurrency=1)
    await fill(queue, "a", "b", "c", user="ann")
    leases = await take(queue)
    await queue.admin.drain()
    with pytest.raises(QueueDraining):
        await fill(queue, "d", user="ann")
    ran = []
    while leases:
        ran += [lease.id for lease in leases]
        await complete(queue, leases)
        leases = await take(queue)
    assert ran == ["a", "b", "c"]
    assert (await queue.stats()).pending == 0


async def test_a_dead_task_that_is_retried_goes_behind_those_in_line(queue: Queue) -> None:
    await queue.limits.set("user:ann", concurrency=1)
    await fill(queue, *"abc", user="ann")
    (lease,) = await take(queue)
    await queue.fail(lease, "no use", retryable=False)
    (lease,) = await take(queue)
    assert lease.id == "b"
    await queue.dead.retry("a")
    assert await taken(queue) == []
    for id in ("c", "a"):
        await queue.ack(lease)
        (lease,) = await take(queue)
        assert lease.id == id


# Many at once


async def test_fifty_who_claim_at_once_never_hold_more_than_is_allowed(
    url: str, base_name: str, client: redis.Redis
) -> None:
    tasks = {f"u{n // 30}-{n}": f"u{n // 30}" for n in range(270)}
    go, done, ready, ended = aio_Event(), set[str](), list[int](), list[int]()
    works = []
    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        await queue.limits.set("user:*", concurrency=3)
        await queue.limits.set("all", concurrency=7)
        await queue.limits.set("key:k", starts=200, period=1, burst=10)
        await queue.enqueue_many([Task(id=id, user=user, limits=["k"]) for id, user in tasks.items()])
        for number in range(50):

            async def work(number: int = number) -> None:
                async with Adeq.from_url(url) as adeq:
                    queue = adeq.queue(base_name)
                    await queue.workers.register(f"w{number}")
                    ready.append(number)
                    await go.wait()
                    while len(done) < len(tasks):
                        for lease in await queue.claim(f"w{number}", 3, wait=0.1):
                            if lease.delivery == 1 and int(lease.id.partition("-")[2]) % 5 == 0:
                                await queue.release(lease)
                            else:
                                await queue.ack(lease)
                                done.add(lease.id)
                ended.append(number)

            works.append(aio_spawn(work))
        while len(ready) < len(works):
            await aio_sleep(0.01)
        go.set()
        for one in works:
            await aio_join(one, DEADLINE)
        assert sorted(ended) == list(range(50))
        stats = await queue.stats()
        assert (stats.pending, stats.running, stats.counters["completed"]) == (0, 0, len(tasks))
        assert (await queue.limits.get("all")).running == 0
    events = list(read_tasks(client, queue.base))
    most = most_at_a_time(events, lambda id: ("all", tasks[id]))
    assert most["all"] == 7
    assert max(most[user] for user in tasks.values()) == 3
    starts = [ms for _, ms in stamps_of(events, "claimed")]
    assert len(starts) == len(tasks) + len(tasks) // 5
    check_rate(starts, interval_ms=5, burst=10)

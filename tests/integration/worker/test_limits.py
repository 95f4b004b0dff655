"""Limits and fair shares with real workers: others go on, and whoever is idle wakes when one more may start.

A task that is due much later stands for time: while it is delayed, nobody has slept until something was due.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import redis

import pyadeq
from pyadeq.asyncio import Adeq, Lease, Queue, Task, TaskCancelled, TaskContext, TaskDead
from pyadeq.testing import Clock, run_all
from tests.chaos.task_stream import read_tasks
from tests.integration.conftest import Proxy
from tests.integration.running import registered
from tests.limit_stream import check_rate, most_at_a_time, stamps_of
from tests.waiting import DEADLINE, eventually

pytestmark = pytest.mark.any_engine

MUCH_LATER = 4.5  # seconds: a line is looked at after 5 s though nobody asks


@pytest.fixture
async def queue(url: str, base_name: str) -> AsyncIterator[Queue]:
    async with Adeq.from_url(url) as adeq:  # not the fixture `adeq`, which comes from pyadeq.testing here
        yield adeq.queue(base_name)


async def all_are(queue: Queue, state: str, *ids: str) -> bool:
    return all(task and task.state == state for task in await queue.get_many(ids))


async def has_finished(queue: Queue, number: int) -> bool:
    return (await queue.stats()).finished >= number


async def fill(queue: Queue, user: str, count: int, **options: Any) -> list[str]:
    """So many tasks of a user, whose ids begin with his name."""
    ids = [f"{user}.{n}" for n in range(count)]
    await queue.enqueue_many([Task(id=id, user=user, **options) for id in ids])
    return ids


async def much_later(queue: Queue) -> Callable[[], Awaitable[bool]]:
    """Whether that time has not come yet."""
    await queue.enqueue(id="later", delay=MUCH_LATER)
    return lambda: all_are(queue, "delayed", "later")


async def echo(lease: Lease) -> Any:
    return lease.payload


# Others go on


@pytest.mark.parametrize("workers", [1, 4])
async def test_others_go_on_while_one_user_is_limited(queue: Queue, client: redis.Redis, workers: int) -> None:
    gate = asyncio.Event()

    async def handle(lease: Lease) -> None:
        if lease.user == "ann":
            await gate.wait()

    await queue.limits.set("user:ann", concurrency=2)
    ann = await fill(queue, "ann", 60)
    async with AsyncExitStack() as stack:
        for number in range(workers):
            await stack.enter_async_context(registered(queue, handle, concurrency=20, name=f"w{number}"))
        await fill(queue, "bob", 200)
        await eventually(lambda: has_finished(queue, 200))
        assert (await queue.stats()).running == 2
        assert (await queue.limits.get("user:ann")).waiting == len(ann) - 2
        gate.set()
        await eventually(lambda: all_are(queue, "completed", *ann))
    events = list(read_tasks(client, queue.base))
    most = most_at_a_time(events, lambda id: [id.partition(".")[0]])
    assert most["ann"] == 2
    assert most["bob"] > 2
    assert [id for id, _ in stamps_of(events, "claimed") if id in set(ann)] == ann


async def test_many_workers_keep_many_limits(queue: Queue, client: redis.Redis) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(0)

    await queue.limits.set("user:*", concurrency=2)
    await queue.limits.set("user:cid", concurrency=4)
    await queue.limits.set("tag:t", concurrency=3)
    await queue.limits.set("all", concurrency=8)
    async with AsyncExitStack() as stack:
        for number in range(4):
            await stack.enter_async_context(registered(queue, handle, concurrency=20, name=f"w{number}"))
        ids = [id for user in ("ann", "bob", "cid") for id in await fill(queue, user, 60)]
        ids += await fill(queue, "dan", 60, tags=["t"])
        ids += await fill(queue, "eve", 60, tags=["t"], max_attempts=1)
        await eventually(lambda: has_finished(queue, len(ids)))

    def keys(id: str) -> list[str]:
        user = id.partition(".")[0]
        return ["all", user, *(["t"] if user in ("dan", "eve") else [])]

    most = most_at_a_time(read_tasks(client, queue.base), keys)
    allowed = Counter(all=8, ann=2, bob=2, cid=4, dan=2, eve=2, t=3)
    assert most <= allowed
    assert most.keys() == allowed.keys()


async def test_handlers_that_fail_and_release_keep_the_limit(queue: Queue, client: redis.Redis) -> None:
    async def handle(lease: Lease) -> None:
        number = int(lease.id.partition(".")[2])
        if lease.delivery == 1 and number % 3 == 0:
            raise ValueError
        if lease.delivery == 1 and number % 3 == 1:
            await queue.release(lease)

    await queue.limits.set("user:ann", concurrency=2)
    ids = await fill(queue, "ann", 60, max_attempts=1)
    async with registered(queue, handle, concurrency=20):
        failed, fine = ids[::3], [id for n, id in enumerate(ids) if n % 3]
        await eventually(lambda: all_are(queue, "dead", *failed))
        await eventually(lambda: all_are(queue, "completed", *fine))
        assert (await queue.dead.retry_all()).done == len(failed)
        await eventually(lambda: all_are(queue, "completed", *ids))
    assert most_at_a_time(read_tasks(client, queue.base), lambda id: ["ann"])["ann"] == 2


async def test_a_network_that_loses_replies_costs_no_slot(
    queue: Queue, client: redis.Redis, proxy: Proxy, base_name: str
) -> None:
    await queue.limits.set("user:ann", concurrency=2)
    await queue.limits.set("all", concurrency=5)
    async with Adeq.from_url(proxy.url) as adeq, registered(adeq.queue(base_name), echo, concurrency=20):
        proxy.lose_every = 20
        ids = [*await fill(queue, "ann", 40), *await fill(queue, "bob", 40)]
        await eventually(lambda: has_finished(queue, len(ids)))
        proxy.lose_every = 0
    assert proxy.lost
    most = most_at_a_time(read_tasks(client, queue.base), lambda id: ["all", id.partition(".")[0]])
    assert (most["ann"], most["all"]) == (2, 5)
    assert [(await queue.limits.get(key)).running for key in ("user:ann", "all")] == [0, 0]


# Who is idle


async def test_an_idle_worker_wakes_when_a_slot_gets_free(queue: Queue, client: redis.Redis) -> None:
    gate = asyncio.Event()

    async def wait(lease: Lease) -> None:
        await gate.wait()

    await queue.limits.set("user:*", concurrency=1)
    ids = await fill(queue, "ann", 3)
    async with registered(queue, wait, name="full", concurrency=1) as full:
        await eventually(lambda: all_are(queue, "running", ids[0]))
        full.quiet()
        async with registered(queue, echo, name="idle", concurrency=20):
            await eventually(lambda: all_are(queue, "blocked", *ids[1:]))
            is_early = await much_later(queue)
            gate.set()
            await eventually(lambda: all_are(queue, "completed", *ids))
            assert await is_early()
    events = list(read_tasks(client, queue.base))
    told = [(e.name, e.ids) for e in events if e.name in ("claimed", "completed") and e.ids[0] in ids]
    assert told == [(name, [id]) for id in ids for name in ("claimed", "completed")]
    workers = [e.words["worker"] for e in events if e.name == "claimed" and e.ids[0] in ids]
    assert workers == ["full", "idle", "idle"]


async def test_a_slot_that_a_dead_lease_held_wakes_an_idle_worker(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1)
    ids = await fill(queue, "ann", 2)
    assert [lease.id for lease in await queue.claim("gone", lease=1)] == ids[:1]
    async with registered(queue, echo):
        is_early = await much_later(queue)
        await eventually(lambda: all_are(queue, "completed", *ids))
        assert await is_early()


@pytest.mark.parametrize("workers", [1, 3])
async def test_idle_workers_wake_when_a_rate_allows_the_next(queue: Queue, client: redis.Redis, workers: int) -> None:
    await queue.limits.set("key:api", starts=5, period=1, burst=2)
    async with AsyncExitStack() as stack:
        for number in range(workers):
            await stack.enter_async_context(registered(queue, echo, concurrency=20, name=f"w{number}"))
        is_early = await much_later(queue)
        ids = await fill(queue, "ann", 8, limits=["api"])
        await eventually(lambda: all_are(queue, "completed", *ids))
        assert await is_early()
    starts = stamps_of(read_tasks(client, queue.base), "claimed")
    assert [id for id, _ in starts] == ids
    check_rate([ms for _, ms in starts], interval_ms=200, burst=2)


async def test_a_task_that_comes_too_early_for_a_rate_starts_in_time(queue: Queue, client: redis.Redis) -> None:
    """No line is there when it comes: the claim that finds it puts it there."""
    await queue.limits.set("all", starts=1, period=0.5)
    async with registered(queue, echo):
        is_early = await much_later(queue)
        for n in range(4):
            id = f"t{n}"
            await queue.enqueue(id=id)
            await eventually(lambda id=id: all_are(queue, "completed", id))  # type: ignore[misc]
        assert await is_early()
    check_rate([ms for _, ms in stamps_of(read_tasks(client, queue.base), "claimed")], interval_ms=500, burst=1)


async def test_an_idle_worker_wakes_for_a_rate_though_who_found_the_line_is_busy(queue: Queue) -> None:
    """The claim that puts the first task in line takes the second, and has room for no more."""
    gate = asyncio.Event()

    async def handle(lease: Lease) -> None:
        if lease.id == "long":
            await gate.wait()

    await queue.limits.set("key:api", starts=1, period=1)
    async with AsyncExitStack() as stack:
        for name in ("one", "other"):
            await stack.enter_async_context(registered(queue, handle, concurrency=1, name=name))
        is_early = await much_later(queue)
        await queue.enqueue(id="first", limits=["api"])
        await eventually(lambda: all_are(queue, "completed", "first"))
        await queue.enqueue_many([Task(id="rated", limits=["api"]), Task(id="long")])
        await eventually(lambda: all_are(queue, "running", "long"))
        await eventually(lambda: all_are(queue, "completed", "rated"))
        assert await is_early()
        gate.set()


async def test_who_waits_in_a_claim_wakes_too(queue: Queue) -> None:
    await queue.limits.set("user:*", concurrency=1)
    ids = await fill(queue, "ann", 2)
    (lease,) = await queue.claim("w1")
    is_early = await much_later(queue)
    waiting = asyncio.create_task(queue.claim("w2", wait=DEADLINE))
    await eventually(lambda: all_are(queue, "blocked", ids[1]))
    await queue.ack(lease)
    (lease,) = await waiting
    assert lease.id == ids[1]
    assert await is_early()


# Policies


@pytest.mark.parametrize("concurrency", [2, 20])
async def test_the_oldest_that_runs_hears_that_it_is_to_go(queue: Queue, concurrency: int) -> None:
    heard: list[tuple[str, str | None]] = []

    async def handle(lease: Lease) -> Any:
        if lease.payload == "short":
            return "done"
        try:
            await asyncio.Event().wait()
        finally:
            heard.append((lease.id, TaskContext.current().interrupted))

    await queue.limits.set("user:ann", concurrency=1, policy="cancel_oldest")
    async with registered(queue, handle, concurrency=concurrency):
        is_early = await much_later(queue)
        old = await queue.enqueue("long", id="old", user="ann", reply=True)
        await eventually(lambda: all_are(queue, "running", "old"))
        new = await queue.enqueue("long", id="new", user="ann", reply=True)
        with pytest.raises(TaskCancelled):
            await old.result(DEADLINE)
        await eventually(lambda: all_are(queue, "running", "new"))
        newest = await queue.enqueue("short", id="newest", user="ann", reply=True)
        assert await newest.result(DEADLINE) == "done"
        with pytest.raises(TaskCancelled):
            await new.result(DEADLINE)
        assert await is_early()
    assert heard == [("old", "cancelling"), ("new", "cancelling")]


async def test_who_waits_for_a_rejected_task_hears_why(queue: Queue) -> None:
    gate = asyncio.Event()

    async def handle(lease: Lease) -> None:
        await gate.wait()

    await queue.limits.set("user:ann", concurrency=1, policy="reject")
    async with registered(queue, handle):
        await queue.enqueue(id="first", user="ann")
        await eventually(lambda: all_are(queue, "running", "first"))
        second = await queue.enqueue(user="ann", reply=True)
        with pytest.raises(TaskDead, match="is dead: limited"):
            await second.result(DEADLINE)
        gate.set()


# Fair shares


@pytest.mark.slow
async def test_a_user_with_ten_tasks_does_not_wait_for_one_with_twenty_thousand(
    queue: Queue, client: redis.Redis
) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(0.02)

    await queue.configure(fair=True)
    await fill(queue, "big", 20_000)
    async with AsyncExitStack() as stack:
        for number in range(2):
            await stack.enter_async_context(registered(queue, handle, concurrency=20, name=f"w{number}"))
        await eventually(lambda: has_finished(queue, 100))
        small = await fill(queue, "small", 10)
        await eventually(lambda: all_are(queue, "completed", *small))
        assert (await queue.stats()).ready > 0, "the other one waits still"
    events = list(read_tasks(client, queue.base))
    came = next(at for at, event in enumerate(events) if event.name == "enqueued" and event.ids[0] == small[0])
    starts = [id for id, _ in stamps_of(events[came:], "claimed")]
    for turn, id in enumerate(small, start=1):
        assert starts.index(id) <= 2 * turn, f"{id} did not start in its turn: {starts[:40]}"
    client.unlink(*client.scan_iter(match=f"{queue.base}*", count=1000))  # or the audit would read all that


async def test_shares_are_kept_whatever_workers_there_are(queue: Queue, client: redis.Redis) -> None:
    await queue.configure(fair=True)
    await queue.shares.set("ann", 3)
    await queue.limits.set("all", concurrency=5)
    for user in ("ann", "bob"):
        await fill(queue, user, 200)
    async with AsyncExitStack() as stack:
        for number in range(3):
            await stack.enter_async_context(registered(queue, echo, concurrency=4, name=f"w{number}"))
        await eventually(lambda: has_finished(queue, 400))
    starts = [id[:3] for id, _ in stamps_of(read_tasks(client, queue.base), "claimed")][:200]
    assert Counter(starts) == {"ann": pytest.approx(150, abs=5), "bob": pytest.approx(50, abs=5)}


# In tests of a program


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [({"concurrency": 1}, 0), ({"starts": 1, "period": 1}, 29), ({"starts": 2, "period": 60, "burst": 10}, 600)],
)
def test_run_all_lets_pass_what_time_a_limit_takes(
    adeq: pyadeq.Adeq, adeq_clock: Clock, limit: Any, seconds: float
) -> None:
    queue = adeq.queue("limited")
    queue.limits.set("user:*", **limit)
    queue.enqueue_many([Task(payload=n, user="ann") for n in range(30)])
    began = adeq_clock.now
    assert [run.result for run in run_all(queue, lambda lease: lease.payload)] == list(range(30))
    assert adeq_clock.now - began == pytest.approx(seconds, abs=1)


def test_run_all_comes_to_the_end_of_a_long_line(adeq: pyadeq.Adeq, adeq_clock: Clock) -> None:
    queue = adeq.queue("limited")
    queue.limits.set("user:*", starts=1, period=1)
    queue.enqueue_many([Task(payload=n, user="ann") for n in range(250)])
    assert [run.result for run in run_all(queue, lambda lease: lease.payload)] == list(range(250))
    assert queue.stats().pending == 0

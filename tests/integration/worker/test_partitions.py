"""A worker of a queue in partitions: what it claims anywhere is renewed, settled and given back there."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Every, Lease, Task, TaskContext
from pyadeq.asyncio import Adeq, PartitionedQueue, Tasks, Worker
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import BadArgument
from tests.conftest import CLUSTER
from tests.integration.running import at_work
from tests.integration.servers import ThreePrimaries
from tests.quick import slow_after
from tests.waiting import DEADLINE, LONGEST_RETRY, eventually

pytestmark = [
    pytest.mark.skipif(CLUSTER, reason="these have servers of their own"),
    pytest.mark.any_engine,
]


@pytest.fixture
async def adeq(cluster: ThreePrimaries) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(cluster.url, cluster=True, retry_for=LONGEST_RETRY) as adeq:
        yield adeq


@pytest.fixture
async def queue(adeq: Adeq, base_name: str) -> PartitionedQueue:
    """In eight partitions; some of its tasks were there before, and some have ids that say nothing of theirs."""
    await adeq.queue(base_name).enqueue_many([Task(payload=n, id=f"before-{n}") for n in range(5)])
    queue = adeq.partitioned(base_name)
    await queue.repartition(8)
    await queue.enqueue_many([Task(payload=n, id=f"given-{n}") for n in range(20)])
    await queue.enqueue_many(range(25))
    return queue


async def finished(queue: PartitionedQueue) -> int:
    return (await queue.stats()).finished


@pytest.mark.slow
@pytest.mark.parametrize("renew", slow_after(1, ["process", "loop", "thread"]))
async def test_each_lease_is_kept_where_it_is(queue: PartitionedQueue, renew: Any) -> None:
    """All run for longer than a lease, at a time."""
    runs: Counter[str] = Counter()

    async def handle(lease: Lease) -> int:
        runs[lease.id] += 1
        await asyncio.sleep(8)
        return lease.delivery

    async with at_work(Worker(queue, handle, concurrency=100, lease=5, renew=renew)):
        await eventually(lambda: has(queue, 50))
    assert (len(runs), set(runs.values())) == (50, {1})
    stats = await queue.stats()
    assert (stats.counters["claimed"], stats.counters.get("stalled", 0), stats.workers) == (50, 0, 0)


async def has(queue: PartitionedQueue, number: int) -> bool:
    return await finished(queue) == number


async def test_what_is_held_goes_back_where_it_was(queue: PartitionedQueue) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.Event().wait()

    def listening() -> int:
        return len([task for task in asyncio.all_tasks() if "Waits._listen" in repr(task)])

    async with at_work(Worker(queue, handle, concurrency=100, grace=0.1)):
        await eventually(lambda: runs(queue, 50))
        await eventually(listening)
    stats = await queue.stats()
    assert (stats.ready, stats.running, stats.counters["released"]) == (50, 0, 50)
    assert listening() == 0


async def runs(queue: PartitionedQueue, number: int) -> bool:
    return (await queue.stats()).running == number


async def test_schedules_of_a_partition_are_fired_and_done_once(queue: PartitionedQueue) -> None:
    done: Counter[str] = Counter()

    async def handle(lease: Lease) -> None:
        done[lease.id] += 1

    names = [f"often-{n}" for n in range(4)]
    for name in names:
        await queue.schedules.set(name, Every(1), "work")
    held = [part.tag for part in await queue.partitions() async for _ in queue.part(part.tag).schedules.iterate()]
    assert len(set(held)) > 1
    async with at_work(Worker(queue, handle)):
        await eventually(lambda: all(sum(id.startswith(name) for id in done) >= 2 for name in names))
    assert set(done.values()) == {1}
    stats = await queue.stats()
    assert (stats.dead, stats.counters.get("stalled", 0)) == (0, 0)


async def test_a_collector_from_before_finds_what_its_children_have_done(adeq: Adeq, base_name: str) -> None:
    tasks = Tasks()

    @tasks.task
    async def collect(context: TaskContext) -> list[Any]:
        return sorted([task.result async for task in context.gathered()])

    @tasks.task
    async def part(n: int) -> int:
        return n

    whole, queue = adeq.queue(base_name), adeq.partitioned(base_name)
    collector: Any = whole.bind(collect)
    receipt = await collector.options(id="collector", gather=3).enqueue()
    for n in range(3):
        await whole.bind(part).options(parent=receipt.id).enqueue(n)
    await queue.repartition(8)
    async with at_work(Worker(queue, tasks)):
        assert await queue.result(receipt.id, DEADLINE) == [0, 1, 2]


async def test_one_partition_may_have_a_worker_of_its_own(queue: PartitionedQueue) -> None:
    one = (await queue.partitions())[0]
    part = queue.part(one.tag)
    there = (await part.stats()).ready

    async def handle(lease: Lease) -> None:
        await asyncio.sleep(0)

    for renew in ("thread", "process"):
        async with at_work(Worker(part, handle, renew=renew)):
            await eventually(lambda: is_empty(part))
    assert (await part.stats()).finished == there


async def is_empty(queue: Any) -> bool:
    stats = await queue.stats()
    return bool(stats.pending + stats.running == 0)


async def test_it_goes_on_when_the_server_is_back(binary: Path) -> None:
    """Where all partitions are on one server, that is waited for."""
    with EmbeddedServer(binary=binary, appendfsync="always") as server:
        async with Adeq.from_url(server.url, retry_for=0.5) as adeq:
            queue = adeq.partitioned("restart")
            await queue.repartition(4)
            await queue.enqueue_many(range(4_000))

            async def handle(lease: Lease) -> int:
                await asyncio.sleep(0)
                return int(lease.payload)

            async with at_work(Worker(queue, handle, concurrency=100)):
                await eventually(lambda: finished(queue))
                await asyncio.to_thread(server.restart)
                await eventually(lambda: has(queue, 4_000))
            assert (await queue.stats()).dead == 0


@pytest.mark.slow
@pytest.mark.parametrize("renew", ["loop", "thread", "process"])
async def test_the_first_partitions_of_a_queue_at_work(adeq: Adeq, base_name: str, renew: Any) -> None:
    """Who renews the leases may learn of them later than who claims them; and the other way round."""
    queue, runs, cancelled = adeq.partitioned(base_name), Counter[str](), list[str]()

    async def handle(lease: Lease) -> None:
        runs[lease.id] += 1
        try:
            await asyncio.sleep(12)
        except asyncio.CancelledError:
            cancelled.append(lease.id)
            raise

    async with at_work(Worker(queue, handle, concurrency=50, lease=5, renew=renew)):
        await queue.enqueue_many([Task(payload=n, id=f"before-{n}") for n in range(5)])
        await eventually(lambda: len(runs) == 5)
        await queue.repartition(4)
        await queue.enqueue_many(range(40))
        await eventually(lambda: has(queue, 45))
    assert (len(runs), set(runs.values()), cancelled) == (45, {1}, [])


async def test_a_function_is_bound_to_all_partitions(adeq: Adeq, queue: PartitionedQueue) -> None:
    tasks = Tasks()

    @tasks.task(version=2)
    async def half(n: int) -> set[int]:
        return {n // 2}

    half.upgrade(1)(lambda old: {"n": old["number"]})
    bound = queue.bind(half)
    await queue.enqueue({"number": 8}, kind="half", id="old")
    async with at_work(Worker(adeq.partitioned(queue.name), tasks, unknown_for=600)):
        assert await bound.run(10) == {5}
        receipts = [await bound.enqueue(n) for n in range(4)]
        assert [await one.result(DEADLINE) for one in receipts] == [{0}, {0}, {1}, {1}]
        assert await bound.result("old", DEADLINE) == {4}
        with pytest.raises(BadArgument, match="half: n: "):
            await bound.enqueue("many")  # type: ignore[arg-type]

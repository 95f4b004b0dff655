"""A queue that gets more partitions on a cluster of six nodes, while tasks run, a slot moves and primaries change."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import pytest
import redis

from pyadeq import Lease, Task
from pyadeq._core.queue.partitions import tag_in
from pyadeq.asyncio import Adeq, PartitionedQueue, Worker
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.chaos.history import gather
from pyadeq.ext.prove.chaos.judge import judge
from pyadeq.ext.prove.chaos.recorder import Recorder
from tests.audit import audit
from tests.chaos.conftest import SCALE
from tests.chaos.load import answered
from tests.conftest import CLUSTER
from tests.integration.running import at_work
from tests.integration.servers import ThreePrimaries, ask, stopped
from tests.waiting import LONGEST_RETRY, eventually, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="these have servers of their own")]
PRODUCERS, KEYS, WORKERS = 4, 6, 6  # keys of each producer
SPELL = 0.5 * max(SCALE, 1)  # seconds of load between one step and the next
EVENTS = 10_000_000
T = TypeVar("T")


@pytest.fixture
def six(binary: Path) -> Iterator[ThreePrimaries]:
    with ThreePrimaries(binary, replicas=3) as cluster:
        yield cluster


class Crowd:
    """Producers who number the tasks of their keys, and workers who take them from all partitions."""

    def __init__(self, cluster: ThreePrimaries, name: str, durability: str = "memory") -> None:
        self._cluster, self._name, self._durability = cluster, name, durability
        self._stack = AsyncExitStack()
        self._flows: list[asyncio.Task[None]] = []
        self._stopped = False
        self.put: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.begun: defaultdict[str, list[int]] = defaultdict(list)
        self.fences: defaultdict[str, list[int]] = defaultdict(list)
        self.running: set[str] = set()
        self.together: set[str] = set()

    async def __aenter__(self) -> Crowd:
        self.queue = await self._connect("memory")
        await self.queue.configure(lease=60, events_max=EVENTS)
        for number in range(PRODUCERS):
            queue = await self._connect(self._durability)
            self._flows.append(asyncio.create_task(self._produce(queue, number)))
        for number in range(WORKERS):
            queue = await self._connect("memory")
            self._flows.append(asyncio.create_task(self._work(queue, f"w{number}")))
        return self

    async def __aexit__(self, *_: object) -> None:
        for flow in self._flows:
            flow.cancel()
        await asyncio.gather(*self._flows, return_exceptions=True)
        await self._stack.aclose()

    async def _connect(self, durability: str) -> PartitionedQueue:
        connection = Adeq.from_url(
            self._cluster.url, cluster=True, retry_for=LONGEST_RETRY, durability=durability, durability_timeout=0.5
        )
        return (await self._stack.enter_async_context(connection)).partitioned(self._name)

    async def go_on(self) -> None:
        """For a while, and until each key has another task that was put in and one that was begun since."""
        put, begun = self.put.copy(), {key: len(done) for key, done in self.begun.items()}
        await asyncio.sleep(SPELL)
        await self._until(lambda: len(self.put) == PRODUCERS * KEYS)
        await self._until(lambda: all(self.put[key] > put[key] for key in self.put))
        await self._until(lambda: all(len(self.begun[key]) > begun.get(key, 0) for key in self.put))

    async def stop(self) -> None:
        """Put in no more, and wait until the last one of each key is begun."""
        self._stopped = True
        await self._until(lambda: all(max(self.begun[key]) >= self.put[key] for key in self.put))

    async def end(self) -> None:
        """Until all that was put in is done."""
        self._stopped = True
        await self._until(lambda: self.done == self.put)
        for flow in self._flows:
            flow.cancel()
        await asyncio.gather(*self._flows, return_exceptions=True)

    async def _until(self, condition: Callable[[], bool]) -> None:
        def holds() -> bool:
            for flow in self._flows:
                if flow.done() and not flow.cancelled():
                    flow.result()
            return condition()

        await eventually(holds)

    async def _produce(self, queue: PartitionedQueue, number: int) -> None:
        while not self._stopped:
            for key in (f"k{number}.{n}" for n in range(KEYS)):
                seq = self.put[key] + 1
                rid = f"{key}/{seq}"
                receipt = await answered(lambda key=key, seq=seq, rid=rid: queue.enqueue(  # type: ignore[misc]
                    [key, seq], ordering_key=key, rid=rid))  # fmt: skip
                assert receipt.status == "created"
                self.put[key] = seq

    async def _work(self, queue: PartitionedQueue, name: str) -> None:
        while True:
            try:
                leases = await queue.claim(name, 5, wait=1)
            except AdeqError:
                await asyncio.sleep(0.05)
                continue
            for lease in leases:
                key, seq = lease.payload
                if key in self.running:
                    self.together.add(key)
                self.running.add(key)
                self.begun[key].append(seq)
                self.fences[lease.id].append(lease.fence)
                await asyncio.sleep(0)
                self.running.discard(key)
                await answered(lambda lease=lease: queue.ack(lease))  # type: ignore[misc]
                self.done[key] += 1


@pytest.fixture
async def crowd(six: ThreePrimaries, base_name: str) -> AsyncIterator[Crowd]:
    async with Crowd(six, base_name) as crowd:
        yield crowd


def replace_primary(cluster: ThreePrimaries, index: int) -> None:
    """Its replica takes its place, in agreement: nothing that was answered is lost."""
    primary, replica = cluster.primaries[index], cluster.replicas[index]
    ask(replica, "CLUSTER", "FAILOVER")
    wait_until(lambda: (ask(replica, "ROLE")[0], ask(primary, "ROLE")[0]) == ("master", "slave"))


async def check(crowd: Crowd, cluster: ThreePrimaries) -> None:
    """Each task of a key was begun once, in its order, and never two of a key at a time; and nothing is left."""
    assert crowd.together == set()
    for key, count in crowd.put.items():
        assert crowd.begun[key] == list(range(1, count + 1)), key
    total = sum(crowd.put.values())
    stats = await crowd.queue.stats()
    assert (stats.pending, stats.running, stats.dead, stats.finished) == (0, 0, 0, total)
    async with Adeq.from_url(cluster.url, cluster=True) as adeq:
        checks: Counter[str] = Counter()
        for one in await crowd.queue.partitions():
            assert await asyncio.to_thread(audit_there, cluster, one.base) == []
            history = await gather(Recorder(), adeq.client, crowd.queue.part(one.tag), adeq.locks("none"))
            verdict = judge(history)
            assert verdict.ok, verdict.violations[:5]
            checks.update(verdict.checks)
    assert checks["settles_once"] >= total
    assert checks["leases_apart"] > 0


def audit_there(cluster: ThreePrimaries, base: str) -> list[str]:
    with redis.RedisCluster.from_url(cluster.url) as client:
        return list(audit(client, base))


async def test_it_grows_while_slots_move_and_primaries_are_replaced(crowd: Crowd, six: ThreePrimaries) -> None:
    await crowd.go_on()
    await crowd.queue.repartition(4)
    await crowd.go_on()
    moving = await crowd.queue.partitions()
    source, target = await asyncio.to_thread(six.begin_move, moving[0].base)
    await asyncio.sleep(SPELL)  # what is in one half of the slot and not in the other has to wait
    await asyncio.to_thread(six.end_move, moving[0].base, source, target)
    await crowd.queue.repartition(16)
    await crowd.go_on()
    await asyncio.to_thread(replace_primary, six, 0)
    await crowd.go_on()
    await crowd.end()
    assert await crowd.queue.finish_repartition() == 0
    await check(crowd, six)
    now = await crowd.queue.partitions()
    assert [one.current for one in now] == [True] * 16 + [False]


async def test_what_was_confirmed_outlives_a_primary(six: ThreePrimaries, base_name: str) -> None:
    async with Crowd(six, base_name, "replica") as crowd:
        await crowd.queue.repartition(8)
        await crowd.go_on()
        killed: EmbeddedServer = six.primaries[0]
        await asyncio.to_thread(killed.kill)
        await asyncio.to_thread(wait_until, lambda: ask(six.replicas[0], "ROLE")[0] == "master")
        await asyncio.to_thread(killed.restart)
        await crowd.go_on()
        await crowd.stop()
        for key, count in crowd.put.items():
            assert set(crowd.begun[key]) >= set(range(1, count + 1))


async def test_a_node_that_is_away_holds_up_the_work_of_its_partitions_only(
    six: ThreePrimaries, base_name: str
) -> None:
    """And no task of theirs is lost, or run twice, that ends meanwhile or waits."""
    runs: Counter[str] = Counter()
    away = asyncio.Event()

    async def handle(lease: Lease) -> str:
        runs[lease.id] += 1
        if lease.payload == "holds":
            await away.wait()
        return lease.id

    async with (
        Adeq.from_url(six.url, cluster=True, retry_for=LONGEST_RETRY) as near,
        Adeq.from_url(six.url, cluster=True) as far,
    ):
        queue = near.partitioned(base_name)
        await queue.configure(lease=60)
        parts = [one for one in await queue.repartition(8) if one.current]
        # Not that of the own base of the queue, which is asked first for each key, as long as keys move.
        index = 2 if six.owner(queue.part("-").base) is six.primaries[1] else 1
        lost = six.primaries[index]
        await asyncio.to_thread(ask, six.replicas[index], "CONFIG", "SET", "cluster-replica-no-failover", "yes")
        for node in six.nodes:
            await asyncio.to_thread(ask, node, "CONFIG", "SET", "cluster-require-full-coverage", "no")
        at_risk = {one.tag for one in parts if six.owner(one.base) is lost}
        assert 0 < len(at_risk) < len(parts)
        holding = [await queue.enqueue("holds") for _ in parts]
        made = await queue.enqueue_many([Task(payload="finds", ordering_key=f"k{n}") for n in range(40)])
        safe = [f"k{n}" for n, one in enumerate(made) if tag_in(one.id) not in at_risk]
        worker = Worker(far.partitioned(base_name), handle, concurrency=50)
        async with at_work(worker):
            await eventually(lambda: len(runs) == len(parts) + len(made))
            await eventually(lambda: has_finished(queue, len(made)))
            with stopped(lost):
                away.set()
                more = [await queue.enqueue("more", ordering_key=key) for key in safe]
                await eventually(lambda: all(runs[one.id] for one in more))
                elsewhere = [one for one in holding if tag_in(one.id) not in at_risk]
                for one in elsewhere:
                    assert await queue.result(one.id) == one.id
            total = len(parts) + len(made) + len(more)
            await eventually(lambda: has_finished(queue, total))
    assert set(runs.values()) == {1}


async def has_finished(queue: PartitionedQueue, number: int) -> bool:
    return (await queue.stats()).finished == number

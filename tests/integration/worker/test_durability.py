"""A worker whose client wants replicas to have what it wrote, while no replica does."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Lease
from pyadeq.asyncio import Adeq, Queue, Worker
from pyadeq.embedded import EmbeddedServer
from tests.conftest import CLUSTER
from tests.integration.servers import HOST, ask, replica_of, start
from tests.waiting import DEADLINE, eventually, wait_until

pytestmark = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")


@pytest.fixture
def primary(binary: Path) -> Iterator[EmbeddedServer]:
    with start(binary, {}) as primary:
        yield primary


@pytest.fixture
def replica(binary: Path, primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    with replica_of(binary, primary) as replica:
        yield replica


async def finished(queue: Queue) -> int:
    return (await queue.stats()).finished


@pytest.mark.slow
@pytest.mark.parametrize(("comes_back", "concurrency"), [(True, 5), (False, 5), (True, 20)])
async def test_what_runs_is_settled_once_and_nothing_new_is_taken(
    primary: EmbeddedServer, replica: EmbeddedServer, comes_back: bool, concurrency: int
) -> None:
    runs: list[str] = []
    go_on = asyncio.Event()

    async def handle(lease: Lease) -> None:
        runs.append(lease.id)
        await go_on.wait()

    async with (
        Adeq.from_url(primary.url) as plain,
        Adeq.from_url(primary.url, durability="replica", durability_timeout=0.1) as durable,
    ):
        queue = plain.queue("q")
        await queue.configure(lease=2)
        await queue.enqueue_many(range(8 * concurrency))
        worker = Worker(durable.queue("q"), handle, concurrency=concurrency, grace=1)
        running = asyncio.create_task(worker.run())
        await eventually(lambda: asyncio.sleep(0, len(runs) == concurrency))
        ask(replica, "REPLICAOF", "NO", "ONE")
        wait_until(lambda: ask(primary, "INFO", "replication")["connected_slaves"] == 0)
        go_on.set()
        # What ran is completed on the primary; at most one more claim was under way.
        await eventually(lambda: _at_least(queue, concurrency))
        await asyncio.sleep(1)  # in which the mistake would be made: hundreds of tasks taken, run and lost
        assert await finished(queue) == len(runs) <= 2 * concurrency
        if comes_back:
            ask(replica, "REPLICAOF", HOST, primary.port)
            await eventually(lambda: _at_least(queue, 8 * concurrency))
        worker.stop()
        await asyncio.wait_for(running, DEADLINE)
        stats = await queue.stats()
        assert (len(runs), len(set(runs))) == (stats.finished, stats.finished)
        assert (stats.running, stats.workers) == (0, 0)


async def test_a_worker_that_the_new_primary_does_not_know_registers_again(
    primary: EmbeddedServer, replica: EmbeddedServer
) -> None:
    """As after a failover: the registration is lost, and there is no replica yet."""
    started, go_on = asyncio.Event(), asyncio.Event()

    async def handle(lease: Lease) -> None:
        started.set()
        await go_on.wait()

    async with (
        Adeq.from_url(primary.url) as plain,
        Adeq.from_url(primary.url, durability="replica", durability_timeout=0.1) as durable,
    ):
        queue = plain.queue("q")
        await queue.enqueue(id="t")
        worker = Worker(durable.queue("q"), handle, name="w", grace=1)
        running = asyncio.create_task(worker.run())
        await asyncio.wait_for(started.wait(), DEADLINE)
        ask(replica, "REPLICAOF", "NO", "ONE")
        wait_until(lambda: ask(primary, "INFO", "replication")["connected_slaves"] == 0)
        ask(primary, "DEL", f"{queue.base}:worker:w", f"{queue.base}:workers")
        go_on.set()
        await eventually(lambda: _at_least(queue, 1))
        worker.stop()
        await asyncio.wait_for(running, DEADLINE)
        assert worker.done == 1


async def _at_least(queue: Queue, count: int) -> bool:
    return await finished(queue) >= count

"""A worker and a lock owner, each at work for longer than any fault of the network lasts."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from pyadeq import Adeq, Lease
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from tests.audit import audit
from tests.integration.faults.network import FATES, Network
from tests.integration.running import at_work
from tests.waiting import eventually_in_thread, wait_until

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]
SHORT = 0.2  # seconds that a client waits for a reply
LEASE = 5.0


async def test_a_worker_runs_each_task_once(near: Adeq, network: Network, base_name: str) -> None:
    runs: Counter[str] = Counter()
    queue = near.queue(base_name)

    async def handle(lease: Lease) -> str:
        runs[lease.id] += 1
        return lease.id

    async with AsyncAdeq.from_url(network.url, socket_timeout=SHORT) as far:
        network.befall("queue.register.v1", "reply cut")
        async with at_work(Worker(far.queue(base_name), handle, concurrency=2)):
            await eventually_in_thread(lambda: network.befallen)
            for number, fate in enumerate(FATES, 1):
                network.befall("queue.settle.v1", fate)
                await asyncio.to_thread(queue.enqueue_many, range(5))
                await eventually_in_thread(lambda wanted=1 + number: network.befallen == wanted)  # type: ignore[misc]
                await eventually_in_thread(lambda wanted=5 * number: queue.stats().finished == wanted)  # type: ignore[misc]
                network.deliver()
    stats = queue.stats()
    total = 5 * len(FATES)
    assert (stats.finished, stats.running, stats.ready, stats.dead) == (total, 0, 0, 0)
    assert {name: stats.counters.get(name, 0) for name in ("claimed", "completed", "stalled", "released")} == {
        "claimed": total,
        "completed": total,
        "stalled": 0,
        "released": 0,
    }
    assert len(runs) == runs.total() == total
    assert audit(near.client, queue.base) == []


async def test_a_worker_keeps_what_it_runs(near: Adeq, network: Network, base_name: str) -> None:
    """Whatever befalls its heartbeats, the lease goes on."""
    over = asyncio.Event()
    queue = near.queue(base_name)
    queue.configure(lease=LEASE)

    async def handle(lease: Lease) -> int:
        await over.wait()
        return lease.delivery

    def deadline() -> float:
        return float(near.client.zscore(f"{queue.base}:leases", "a") or 0)

    queue.enqueue("work", id="a")
    async with (
        AsyncAdeq.from_url(network.url, socket_timeout=SHORT) as far,
        at_work(Worker(far.queue(base_name), handle, renew="loop")),
    ):
        await eventually_in_thread(lambda: queue.stats().running == 1)
        for number, fate in enumerate(FATES, 1):
            network.befall("queue.heartbeat.v1", fate)
            await eventually_in_thread(lambda wanted=number: network.befallen == wanted)  # type: ignore[misc]
            until = deadline()
            await eventually_in_thread(lambda until=until: deadline() > until)  # type: ignore[misc]
            network.deliver()
        over.set()
        await eventually_in_thread(lambda: queue.stats().finished == 1)
    task = queue.get("a")
    assert task is not None
    assert (task.result, task.crashes) == (1, 0)


def test_a_lock_is_kept(near: Adeq, network: Network, base_name: str) -> None:
    """Whatever befalls its renewals, it is held; and somebody else has it only after the release."""
    locks = near.locks(base_name)
    with Adeq.from_url(network.url, socket_timeout=SHORT) as far:
        grant = far.locks(base_name).take("door", owner="far", ttl=LEASE)
        for number, fate in enumerate(FATES, 1):
            network.befall("lock.renew.v1", fate)
            until = grant.deadline
            wait_until(lambda until=until: grant.deadline > until)  # type: ignore[misc]
            assert network.befallen == number
            network.deliver()
            grant.check()
        network.befall("lock.release.v1", "request late")
        grant.release()
    heir = locks.take("door", owner="heir", wait=0)
    assert heir.fence > grant.fence
    network.deliver()
    assert [holder.rid for holder in locks.get("door").holders] == [heir.rid]
    entries: Any = near.client.xrange(f"{locks.base}:events")
    names = [entry[b"event"].decode() for _, entry in entries]
    assert names == ["lock.acquired", "lock.released", "lock.acquired"]

"""Renewal from the loop, a thread and a helper process: what each covers."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio

from pyadeq import Lease
from pyadeq._worker.renewal.base import Heard
from pyadeq.asyncio import Adeq, Queue, Worker
from tests.conftest import CLUSTER
from tests.integration.running import adeq, at_work, queue
from tests.integration.servers import HOST, ThreePrimaries, Watched
from tests.integration.worker.renewing import (
    LEASE,
    WAYS,
    block_the_loop,
    claim,
    hears_when_asked,
    ignore,
    is_kept,
    keep_the_gil,
    renewing,
)
from tests.quick import slow_after
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures

pytestmark = pytest.mark.any_engine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "keeping"),
    slow_after(1, [(keep_the_gil, {"process"}), (block_the_loop, {"thread", "process"})]),
)
async def test_what_stops_the_renewals(queue: Queue, block: Callable[[], None], keeping: set[str]) -> None:
    heard_by: dict[str, list[Heard]] = {way: [] for way in WAYS}
    async with AsyncExitStack() as stack:
        renewals = {way: await stack.enter_async_context(renewing(way, queue, heard_by[way].append)) for way in WAYS}
        leases = {way: await claim(queue, renewal) for way, renewal in renewals.items()}
        block()
        assert {way for way, lease in leases.items() if await is_kept(queue, lease)} == keeping
        for way, lease in leases.items():
            told = {status for heard in heard_by[way] for _, status in heard.interrupted}
            assert told <= (set() if way in keeping else {"lease_lost"}), way
            if way not in keeping:
                await eventually(partial(tells, heard_by[way], (lease.token, "lease_lost")))


def tells(all_heard: list[Heard], interruption: tuple[str, str]) -> bool:
    return any(interruption in heard.interrupted for heard in all_heard)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_it_renews_until_a_lease_is_dropped(queue: Queue, way: str) -> None:
    async with renewing(way, queue, ignore) as renewal:
        kept, dropped = await claim(queue, renewal), await claim(queue, renewal)
        renewal.drop([dropped.token])
        async with asyncio.timeout(DEADLINE):
            while (view := await queue.get(dropped.id)) and view.state == "running":
                await asyncio.sleep(0.01)
        assert not await is_kept(queue, dropped)
        assert await is_kept(queue, kept)


@pytest.mark.parametrize("way", WAYS)
async def test_a_cancel_is_heard_when_asked(queue: Queue, way: str) -> None:
    all_heard: list[Heard] = []
    async with renewing(way, queue, all_heard.append, 3600) as renewal:
        lease = await claim(queue, renewal, 3600)
        await hears_when_asked(renewal, all_heard)
        await queue.cancel(lease.id)
        renewal.ask()
        await eventually(lambda: any((lease.token, "cancelling") in heard.interrupted for heard in all_heard))


@pytest.mark.slow
async def test_the_prefix_and_the_slot_are_kept(url: str, base_name: str) -> None:
    async with Adeq.from_url(url, prefix="other", slot="named") as adeq:
        queue = adeq.queue(base_name)
        async with renewing("thread", queue, ignore) as thread, renewing("process", queue, ignore) as process:
            leases = [await claim(queue, thread), await claim(queue, process)]
            await queue.enqueue("later")
            await asyncio.sleep(LEASE * 1.5)
            assert [await is_kept(queue, lease) for lease in leases] == [True, True]


async def test_the_thread_has_the_test_clock(url: str, base_name: str) -> None:
    all_heard: list[Heard] = []
    now = [1_000_000]
    async with Adeq.from_url(url, clock=lambda: now[0]) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(clock="test")
        async with renewing("thread", queue, all_heard.append) as renewal:
            lease = await claim(queue, renewal)
            now[0] += round(LEASE * 2000)
            renewal.ask()
            await eventually(lambda: any((lease.token, "lease_lost") in heard.interrupted for heard in all_heard))


@pytest.mark.slow
@pytest.mark.skipif(CLUSTER, reason="these have servers of their own")
async def test_it_renews_in_a_cluster_and_with_sentinel(binary: Path, cluster: ThreePrimaries, base_name: str) -> None:
    untyped: Any = redis.asyncio.Sentinel
    with Watched(binary) as watched:
        sentinel = untyped([(HOST, watched.sentinel_port)])
        async with AsyncExitStack() as stack:
            held: list[tuple[Queue, Lease]] = []
            for client in (redis.asyncio.RedisCluster.from_url(cluster.url), sentinel.master_for("adeq")):
                await stack.enter_async_context(client)
                queue = (await stack.enter_async_context(Adeq(client))).queue(base_name)
                for way in ("thread", "process"):
                    renewal = await stack.enter_async_context(renewing(way, queue, ignore))
                    held.append((queue, await claim(queue, renewal)))
            await asyncio.sleep(LEASE * 1.5)
            assert [await is_kept(queue, lease) for queue, lease in held] == [True] * 4
        for one in sentinel.sentinels:
            await one.aclose()


# In a worker


def working(queue: Queue, handler: Any, way: Any) -> AbstractAsyncContextManager[asyncio.Task[None]]:
    return at_work(Worker(queue, handler, name="w1", lease=LEASE, renew=way))


@pytest.mark.parametrize(("way", "kept"), slow_after(1, [("process", True), ("thread", False)]))
async def test_a_handler_that_keeps_the_gil(queue: Queue, way: str, kept: bool) -> None:
    held: list[bool] = []

    async def handle(lease: Lease) -> None:
        keep_the_gil()
        held.append(await is_kept(queue, lease))

    await queue.enqueue("work")
    async with working(queue, handle, way):
        await eventually(lambda: held)
    assert held == [kept]


@pytest.mark.parametrize("way", WAYS)
async def test_cancel_and_stop_reach_the_worker(queue: Queue, way: str) -> None:
    running, cancelled = asyncio.Event(), asyncio.Event()

    async def handle(lease: Lease) -> None:
        running.set()
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    task = await queue.enqueue("work")
    async with working(queue, handle, way) as worker:
        await asyncio.wait_for(running.wait(), DEADLINE)
        await queue.cancel(task.id)
        await asyncio.wait_for(cancelled.wait(), DEADLINE)
        await queue.workers.control(mode="stop", workers=["w1"])
        await asyncio.wait_for(asyncio.shield(worker), DEADLINE)
    view = await queue.get(task.id)
    assert view
    assert view.state == "cancelled"

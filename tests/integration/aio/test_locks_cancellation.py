"""Wherever a task is cancelled that acquires a lock, neither a waiter nor a hold stays behind."""

import asyncio
from time import monotonic

import pytest

from pyadeq.asyncio import Adeq, Grant, Locks
from tests.integration.conftest import Proxy
from tests.waiting import DEADLINE


async def hold(locks: Locks) -> None:
    async with locks.acquire("db:1", owner="b", wait=DEADLINE):
        await asyncio.sleep(0)


async def nobody_but(locks: Locks, held: int) -> None:
    """What is cancelled has been told the server by now, or is about to be."""
    deadline = monotonic() + 30
    while ((stats := await locks.stats()).held, stats.waiting) != (held, 0):
        assert monotonic() < deadline, stats
        await asyncio.sleep(0.001)


async def cancelled_after(locks: Locks, steps: int) -> bool:
    """Whether the task was still at it after so many turns of the loop."""
    task = asyncio.create_task(hold(locks))
    for _ in range(steps):
        await asyncio.sleep(0)
    asked = task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled() == asked
    return asked


@pytest.mark.parametrize("free", [True, False])
async def test_at_every_step(url: str, base_name: str, free: bool) -> None:
    async with Adeq.from_url(url) as adeq, Adeq.from_url(url) as other:
        locks, holder = adeq.locks(base_name), other.locks(base_name)
        grant = None if free else await holder.take("db:1", owner="a", ttl=300)
        for steps in range(120):
            await cancelled_after(locks, steps)
            await nobody_but(holder, held=0 if free else 1)
        if grant:
            await grant.release()


async def test_at_every_moment_of_a_hand_over(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq, Adeq.from_url(url) as other:
        locks, holder = adeq.locks(base_name), other.locks(base_name)
        for moment in range(60):
            grant = await holder.take("db:1", owner="a", ttl=300)
            task = asyncio.create_task(hold(locks))
            while (await holder.stats()).waiting != 1:
                pass
            await grant.release()
            await asyncio.sleep(moment / 20_000)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await nobody_but(holder, held=0)


async def test_while_no_reply_comes(url: str, proxy: Proxy, base_name: str) -> None:
    async with Adeq.from_url(proxy.url) as adeq, Adeq.from_url(url) as other:
        locks, holder = adeq.locks(base_name), other.locks(base_name)
        await adeq.load_scripts()
        await locks.stats()
        for _ in range(2):
            proxy.held.clear()
            proxy.hold.clear()
            task = asyncio.create_task(hold(locks))
            await asyncio.to_thread(proxy.held.wait, 30)
            task.cancel()
            await asyncio.sleep(0.01)
            task.cancel()  # by somebody who does not want to wait for the tidying up
            with pytest.raises(asyncio.CancelledError):
                await task
            proxy.hold.set()
            await nobody_but(holder, held=0)


async def test_a_time_limit_around_it(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        async with locks.acquire("db:1", owner="a"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await hold(locks)
            await nobody_but(locks, held=1)


async def test_a_task_that_is_cancelled_while_it_holds(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        holds = asyncio.Event()

        async def work() -> None:
            async with locks.acquire("db:1", owner="a"):
                holds.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await holds.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await nobody_but(locks, held=0)
    assert len(asyncio.all_tasks()) == 1


def test_a_loop_that_ends_takes_the_renewals_along(url: str, base_name: str) -> None:
    async def work() -> None:
        adeq = Adeq.from_url(url)
        await adeq.locks(base_name).take("db:1", owner="a", ttl=0.5)
        await adeq._nodes.aclose()
        await adeq.client.aclose()

    asyncio.run(work())


async def test_a_coroutine_function_hears_of_a_loss(url: str, base_name: str, caplog: pytest.LogCaptureFixture) -> None:
    told: asyncio.Queue[Grant] = asyncio.Queue()

    async def on_lost(grant: Grant) -> None:
        await asyncio.sleep(0)
        told.put_nowait(grant)
        raise ZeroDivisionError("this stays in the log")

    async with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        await locks.configure(heartbeat=0.1)
        grant = await locks.take("db:1", owner="a", ttl=60, on_lost=on_lost)
        await locks.admin.force_release("db:1", "test")
        assert await asyncio.wait_for(told.get(), DEADLINE) is grant
    assert "this stays in the log" in caplog.text

"""A dequeue that is cancelled, wherever it is, gives back at once what the server has given it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pyadeq.asyncio import Adeq, Batch, Mailbox, Queue
from tests.waiting import DEADLINE


@pytest.fixture
async def queue(proxy: Any, base_name: str) -> AsyncIterator[Queue]:
    async with Adeq.from_url(proxy.url) as adeq:
        await adeq.load_scripts()
        yield adeq.queue(base_name)


async def is_back(queue: Queue, box: Mailbox, count: int = 1) -> bool:
    stats = await queue.stats()
    return (await box.length(), stats.running) == (count, 0)


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelled_before_the_claim_is_answered(proxy: Any, queue: Queue) -> None:
    box = queue.mailbox("s", window=0)
    assert await box.try_dequeue() is None  # the worker is known
    await box.enqueue(1)
    proxy.hold.clear()
    task = asyncio.create_task(box.try_dequeue())
    await asyncio.to_thread(proxy.held.wait, DEADLINE)
    task.cancel()
    proxy.hold.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await is_back(queue, box)
    assert (await queue.stats()).counters["released"] == 1
    batch = await box.try_dequeue()
    assert batch
    assert [lease.delivery for lease in batch.leases] == [2]


async def test_cancelled_at_every_step(queue: Queue) -> None:
    box = queue.mailbox("s", window=0)
    await box.enqueue(1)
    taken = steps = 0
    while taken < 3:  # the server is as fast as it is
        steps += 1 + steps // 20
        assert steps < 100_000
        task = asyncio.create_task(box.dequeue(DEADLINE))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        (batch,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(batch, Batch):
            taken += 1
            await batch.release()
        assert await is_back(queue, box)


async def test_cancelled_while_it_waits(queue: Queue) -> None:
    box = queue.mailbox("s", window=0.2)
    for items in range(2):
        task = asyncio.create_task(box.dequeue(DEADLINE))
        await asyncio.sleep(0.05)
        await cancelled(task)
        assert await is_back(queue, box, items)
        await box.enqueue(items)
    batch = await box.dequeue(DEADLINE)
    assert batch
    assert batch.items == [0, 1]


async def test_a_with_block_that_is_cancelled_gives_back(queue: Queue) -> None:
    box = queue.mailbox("s", window=0)
    began = asyncio.Event()

    async def work() -> None:
        batch = await box.dequeue(DEADLINE)
        assert batch
        async with batch:
            began.set()
            await asyncio.sleep(60)

    for item in range(3):
        await box.enqueue(item)
    task = asyncio.create_task(work())
    await began.wait()
    await cancelled(task)
    assert await is_back(queue, box, 3)


async def test_a_callback_that_is_cancelled_gives_back(queue: Queue) -> None:
    began = asyncio.Event()

    async def on_dequeued(batch: Batch) -> None:
        began.set()
        await asyncio.sleep(60)

    callback: Callable[[Batch], Any] = on_dequeued
    box = queue.mailbox("s", window=0, on_dequeued=callback)
    await box.enqueue(1)
    task = asyncio.create_task(box.dequeue(DEADLINE))
    await began.wait()
    await cancelled(task)
    assert await is_back(queue, box)


async def test_coroutine_functions_are_for_asyncio_only(url: str, base_name: str) -> None:
    import pyadeq

    async def callback(*what: Any) -> None: ...

    with pyadeq.Adeq.from_url(url) as adeq, pytest.raises(pyadeq.BadArgument, match=r"on_dequeued: .* in asyncio"):
        adeq.queue(base_name).mailbox("s", on_dequeued=callback)

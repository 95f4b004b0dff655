"""What the worker does about a task's timeout."""

import asyncio

import pytest

from pyadeq import Lease
from pyadeq.asyncio import Queue, Worker
from tests.integration.running import adeq, queue
from tests.waiting import DEADLINE

__all__ = ["adeq", "queue"]  # fixtures


async def until_ended(queue: Queue, worker: Worker, total: int) -> None:
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(DEADLINE):
        while (stats := await queue.stats()).dead + stats.finished < total:
            await asyncio.sleep(0.01)
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)


async def test_a_run_beyond_the_timeout_fails_and_is_cancelled(queue: Queue) -> None:
    cancelled: list[str] = []

    async def handle(lease: Lease) -> None:
        try:
            await asyncio.sleep(3600 if lease.id == "slow" else 0)
        except asyncio.CancelledError:
            cancelled.append(lease.id)
            raise
        if lease.id == "own":
            raise TimeoutError("something else took too long")

    for id in ("slow", "own", "quick"):
        await queue.enqueue(id=id, timeout=0.2, max_attempts=1)
    await until_ended(queue, Worker(queue, handle), 3)
    tasks = {task.id: task for task in await queue.get_many(["slow", "own", "quick"]) if task}
    assert (tasks["slow"].state, tasks["slow"].reason) == ("dead", "timeout")
    assert "longer than its timeout of 0.2 s" in str(tasks["slow"].error)
    assert (tasks["own"].state, tasks["own"].reason) == ("dead", "TimeoutError")
    assert tasks["quick"].state == "completed"
    assert cancelled == ["slow"]


async def test_a_handler_that_will_not_stop_holds_its_task_no_longer_than_the_grace(queue: Queue) -> None:
    """The heartbeat's answer ends the attempt, whatever the handler does with its cancellation."""
    go_on = asyncio.Event()

    async def handle(lease: Lease) -> None:
        while not go_on.is_set():
            try:
                await asyncio.wait_for(go_on.wait(), 3600)
            except asyncio.CancelledError:
                continue

    await queue.configure(lease=1, timeout_grace=0)
    await queue.enqueue(id="stubborn", timeout=0.2, max_attempts=1)
    worker = Worker(queue, handle)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(DEADLINE):
        while (await queue.stats()).running:
            await asyncio.sleep(0.01)
        go_on.set()
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)


@pytest.mark.parametrize(("of_queue", "of_worker"), [(0.2, 0), (0.2, 3600), (0, 0.2)])
async def test_a_task_without_a_timeout_has_that_of_the_queue_or_else_of_the_worker(
    queue: Queue, of_queue: float, of_worker: float
) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(3600 if lease.id == "slow" else 0.4)

    await queue.configure(timeout=of_queue)
    await queue.enqueue(id="slow", max_attempts=1)
    await queue.enqueue(id="own", timeout=3600, max_attempts=1)
    await until_ended(queue, Worker(queue, handle, timeout=of_worker), 2)
    slow, own = await queue.get_many(["slow", "own"])
    assert slow
    assert own
    assert (slow.state, slow.reason, own.state) == ("dead", "timeout", "completed")

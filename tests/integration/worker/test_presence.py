"""A worker among others: by which name and lanes it is known, how it comes and goes, and how it is."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from pyadeq import Lease
from pyadeq.asyncio import Queue, Worker
from pyadeq.errors import ConfigError
from tests.integration.running import adeq, queue, registered
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures


async def has_finished(queue: Queue, number: int) -> bool:
    return (await queue.stats()).finished == number


async def is_running(queue: Queue, number: int) -> bool:
    return (await queue.stats()).running == number


async def forever(lease: Lease) -> None:
    await asyncio.Event().wait()


@pytest.mark.slow
async def test_a_worker_is_known_by_group_and_capability(queue: Queue) -> None:
    async with registered(queue, forever, name="w1", group="g", capabilities=["gpu", "python"], concurrency=7, grace=0):
        (found,) = await queue.workers.list(group="g", capability="gpu")
        assert (found.name, found.group, found.capacity) == ("w1", "g", 7)
        assert set(found.capabilities) == {"gpu", "python"}
        assert tuple(found.lanes) == ("group/g/inst/w1", "group/g", "any")
        assert await queue.workers.list(group="other") == []
        await queue.enqueue_many(range(3))
        await eventually(lambda: _is_busy(queue, 3))
    assert await queue.workers.list() == []


async def _is_busy(queue: Queue, number: int) -> bool:
    (found,) = await queue.workers.list()
    return found.busy == number


async def test_an_instance_takes_its_own_tasks_and_those_of_its_group_and_anybodys(queue: Queue) -> None:
    ran: dict[str, set[str]] = {"w1": set(), "w2": set()}

    def handler(name: str) -> Callable[[Lease], Awaitable[None]]:
        async def handle(lease: Lease) -> None:
            ran[name].add(lease.id)

        return handle

    for id, lane in (("1", "group/g/inst/w1"), ("2", "group/g/inst/w2"), ("g", "group/g"), ("a", "any")):
        await queue.enqueue(id=id, lane=lane)
    await queue.enqueue(id="h", lane="group/h")
    async with (
        registered(queue, handler("w1"), name="w1", group="g"),
        registered(queue, handler("w2"), name="w2", group="g"),
    ):
        await eventually(lambda: has_finished(queue, 4))
    assert "1" in ran["w1"]
    assert "2" in ran["w2"]
    assert ran["w1"] | ran["w2"] == {"1", "2", "g", "a"}


@pytest.mark.parametrize(("lane_first", "order"), [(False, ["urgent", "own"]), (True, ["own", "urgent"])])
async def test_priority_comes_before_the_lane_unless_the_lane_is_first(
    queue: Queue, lane_first: bool, order: list[str]
) -> None:
    ran: list[str] = []

    async def handle(lease: Lease) -> None:
        ran.append(lease.id)

    await queue.enqueue(id="urgent", lane="any", priority=0)
    await queue.enqueue(id="own", lane="group/g", priority=5)
    async with registered(queue, handle, group="g", lane_first=lane_first, concurrency=1):
        await eventually(lambda: has_finished(queue, 2))
    assert ran == order


async def test_who_goes_gives_back_more_than_one_call_takes(queue: Queue) -> None:
    await queue.enqueue_many(range(1_200))
    async with registered(queue, forever, concurrency=1_200, grace=0):
        await eventually(lambda: is_running(queue, 1_200))
    stats = await queue.stats()
    assert (stats.ready, stats.running, stats.workers) == (1_200, 0, 0)


async def test_hooks_are_called_before_the_first_claim_and_after_the_last_task(queue: Queue) -> None:
    called: list[str] = []

    async def on_start() -> None:
        await asyncio.sleep(0)
        called.append("start")

    async def handle(lease: Lease) -> None:
        called.append("work")

    await queue.enqueue("work")
    async with registered(queue, handle, on_start=on_start, on_stop=lambda: called.append("stop")):
        await eventually(lambda: has_finished(queue, 1))
    assert called == ["start", "work", "stop"]


async def test_where_the_start_fails_nothing_is_claimed(queue: Queue) -> None:
    def on_start() -> None:
        raise RuntimeError("no model here")

    await queue.enqueue("work")
    with pytest.raises(RuntimeError, match="no model"):
        await Worker(queue, forever, on_start=on_start).run()
    stats = await queue.stats()
    assert (stats.ready, stats.workers, stats.counters.get("claimed", 0)) == (1, 0, 0)


async def test_wrong_options_are_refused(queue: Queue) -> None:
    for name, wrong in (("group", "a b"), ("renew", "never"), ("on_start", 3), ("lanes", "any")):
        with pytest.raises((ConfigError, ValueError), match=name):
            Worker(queue, forever, **{name: wrong})  # type: ignore[arg-type]


async def test_health_tells_a_loop_that_stands_still(queue: Queue) -> None:
    ages: list[float] = []
    go_on = threading.Event()

    async def handle(lease: Lease) -> None:
        go_on.wait(DEADLINE)  # the whole loop

    def look() -> None:
        deadline = time.monotonic() + DEADLINE
        while worker.health().loop_age < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        ages.append(worker.health().loop_age)
        go_on.set()

    async with registered(queue, handle, name="w", concurrency=4) as worker:
        before = worker.health()
        assert (before.mode, before.running, before.concurrency, before.done) == ("run", 0, 4, 0)
        assert before.loop_age < 2
        thread = threading.Thread(target=look)
        thread.start()
        await queue.enqueue("work")
        await eventually(lambda: has_finished(queue, 1))
        thread.join(DEADLINE)
        await eventually(lambda: _has_counted(worker, 1))
    assert ages[0] >= 2
    assert worker.health().mode == "stop"


async def _has_counted(worker: Worker, done: int) -> bool:
    health = worker.health()
    return health.done == done and health.server_age < DEADLINE

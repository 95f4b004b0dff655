"""What is wanted of a running worker: it hears it at once, and does it."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import pyadeq
from pyadeq import Lease
from pyadeq._worker import listener, worker
from pyadeq.asyncio import Queue, TaskContext, Worker
from pyadeq.errors import ConfigError
from tests.integration.running import adeq, blocked, queue, registered
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures

AT_ONCE = 4.5  # seconds: less than from one renewal of a lease of 15 s to the next


async def holds(condition: Callable[[], object]) -> bool:
    return bool(condition())


async def count(queue: Queue, state: str) -> int:
    return int(getattr(await queue.stats(), state))


async def is_running(queue: Queue, number: int) -> bool:
    return await count(queue, "running") == number


async def has_finished(queue: Queue, number: int) -> bool:
    return await count(queue, "finished") == number


async def forever(lease: Lease) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("concurrency", [1, 5, 20], ids=["full", "free", "free and large"])
async def test_a_running_task_that_is_cancelled_ends_at_once(queue: Queue, concurrency: int) -> None:
    contexts: list[TaskContext] = []

    async def handle(lease: Lease) -> None:
        contexts.append(TaskContext.current())
        await forever(lease)

    await queue.enqueue(id="t")
    async with registered(queue, handle, concurrency=concurrency):
        await eventually(lambda: is_running(queue, 1))
        assert await queue.cancel("t") == "cancelling"
        await eventually(lambda: has_finished(queue, 1), AT_ONCE)
    task = await queue.get("t")
    assert task is not None
    assert (task.state, contexts[0].interrupted) == ("cancelled", "cancelling")


async def test_a_cancelled_task_has_its_lease_until_its_handler_has_cleaned_up(queue: Queue) -> None:
    go_on = asyncio.Event()

    async def handle(lease: Lease) -> None:
        try:
            await forever(lease)
        finally:
            await go_on.wait()

    await queue.configure(lease=1)
    await queue.enqueue(id="t")
    async with registered(queue, handle):
        await eventually(lambda: is_running(queue, 1))
        await queue.cancel("t")
        await asyncio.sleep(2)  # two leases
        assert await is_running(queue, 1)
        go_on.set()
        await eventually(lambda: has_finished(queue, 1))
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.crashes, task.deliveries) == ("cancelled", 0, 1)


async def test_a_thread_that_ignores_its_cancellation_keeps_its_place_and_is_reported(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()
    seen: list[str] = []

    def handle(lease: Lease) -> None:
        seen.append(lease.id)
        if lease.id == "stubborn":
            go_on.wait(DEADLINE)
            seen.append(f"{TaskContext.current().interrupted}")

    monkeypatch.setattr(worker, "CLEAN_UP", 0.2)
    caplog.set_level(logging.WARNING, "pyadeq.worker")
    await queue.enqueue(id="stubborn")
    await queue.enqueue(id="next")
    async with registered(queue, handle, concurrency=1):
        await eventually(lambda: is_running(queue, 1))
        await queue.cancel("stubborn")
        await eventually(lambda: holds(lambda: "task stubborn: the handler still runs" in caplog.text))
        assert seen == ["stubborn"]
        go_on.set()
        await eventually(lambda: has_finished(queue, 2))
    assert seen == ["stubborn", "cancelling", "next"]


async def test_a_quiet_worker_ends_what_runs_and_claims_no_more_until_it_is_to(queue: Queue, client: Any) -> None:
    go_on = asyncio.Event()

    async def handle(lease: Lease) -> None:
        await go_on.wait()

    await queue.enqueue("first")
    async with registered(queue, handle, name="w", concurrency=2) as worker:
        await eventually(lambda: is_running(queue, 1))
        assert await queue.workers.control(["w"], mode="quiet") == ["w"]
        await eventually(lambda: holds(lambda: worker.health().mode == "quiet"), AT_ONCE)
        await queue.enqueue("second")
        go_on.set()
        await eventually(lambda: has_finished(queue, 1))
        await asyncio.sleep(0.5)  # in which the mistake would be made
        assert await count(queue, "ready") == 1
        assert client.llen(f"{queue.base}:wake:any") == 1  # for another worker
        await queue.workers.control(["w"], mode="run")
        await eventually(lambda: has_finished(queue, 2), AT_ONCE)


@pytest.mark.parametrize("gives_way", [Worker.quiet, Worker.stop, lambda worker: worker.resize(1)])
async def test_a_token_comes_back_from_who_does_not_claim(
    queue: Queue, client: Any, url: str, gives_way: Callable[[Worker], None]
) -> None:
    go_on = asyncio.Event()

    async def handle(lease: Lease) -> None:
        await go_on.wait()

    await queue.enqueue("runs")
    async with registered(queue, handle) as worker:
        await eventually(lambda: is_running(queue, 1))
        await eventually(lambda: holds(lambda: worker._listener.awaits_work))
        await eventually(lambda: blocked(client))
        with pyadeq.Adeq.from_url(url) as adeq:
            adeq.queue(queue.name).enqueue("work")  # the token is on its way to the worker
        assert not client.llen(f"{queue.base}:wake:any")
        gives_way(worker)
        await eventually(lambda: holds(lambda: client.llen(f"{queue.base}:wake:any")))
        assert await count(queue, "ready") == 1
        go_on.set()


async def test_a_token_comes_back_from_an_idle_worker_that_stops(queue: Queue, client: Any, url: str) -> None:
    worker = Worker(queue, forever)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: holds(lambda: worker._listener.awaits_work))
    await eventually(lambda: blocked(client))
    with pyadeq.Adeq.from_url(url) as adeq:
        adeq.queue(queue.name).enqueue("work")
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)
    assert client.llen(f"{queue.base}:wake:any") == 1


async def test_who_lets_its_tasks_end_hears_that_one_is_cancelled(queue: Queue) -> None:
    await queue.enqueue(id="t")
    async with registered(queue, forever) as worker:
        await eventually(lambda: is_running(queue, 1))
        worker.stop()
        await queue.cancel("t")
        await eventually(lambda: has_finished(queue, 1), AT_ONCE)


async def test_who_becomes_quiet_during_a_claim_takes_no_token(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    settle, go_on = queue.leases.settle, asyncio.Event()
    claims: list[int] = []

    async def slow(*args: Any, **options: Any) -> Any:
        answer = await settle(*args, **options)
        claims.append(options["claim"])
        await go_on.wait()
        return answer

    monkeypatch.setattr(queue.leases, "settle", slow)
    async with registered(queue, forever) as worker:
        await eventually(lambda: holds(lambda: claims))
        worker.quiet()
        go_on.set()
        await eventually(lambda: holds(lambda: worker.health().server_age < DEADLINE))
        assert claims[0] == 10
        assert not worker._listener.awaits_work
        worker.resume()
        await eventually(lambda: holds(lambda: worker._listener.awaits_work))


@pytest.mark.parametrize("mode", ["stop", "restart"])
async def test_stop_and_restart_let_what_runs_end(queue: Queue, mode: Any) -> None:
    go_on = asyncio.Event()

    async def handle(lease: Lease) -> None:
        await go_on.wait()

    await queue.enqueue_many(range(3))
    worker = Worker(queue, handle, concurrency=2)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: is_running(queue, 2))
    assert await queue.workers.control(everybody=True, mode=mode) == [worker.name]
    await eventually(lambda: holds(lambda: worker.health().mode == mode), AT_ONCE)
    go_on.set()
    await asyncio.wait_for(running, DEADLINE)
    stats = await queue.stats()
    assert (stats.finished, stats.ready, stats.workers, worker.restart_wanted) == (2, 1, 0, mode == "restart")


async def test_a_worker_runs_as_many_at_a_time_as_is_wanted(queue: Queue) -> None:
    places = asyncio.Semaphore(0)

    async def handle(lease: Lease) -> None:
        await places.acquire()

    await queue.enqueue_many(range(30))
    async with registered(queue, handle, name="w", concurrency=2) as worker:
        await eventually(lambda: is_running(queue, 2))
        await queue.workers.control(["w"], capacity=20)
        await eventually(lambda: is_running(queue, 20), AT_ONCE)
        await queue.workers.control(["w"], capacity=3)
        await eventually(lambda: holds(lambda: worker.concurrency == 3), AT_ONCE)
        for finished in range(1, 20):  # what runs is left to end, and nothing follows until there is room
            places.release()
            await eventually(lambda number=finished: has_finished(queue, number))  # type: ignore[misc]
            assert await count(queue, "running") == max(20 - finished, 3)
        for _ in range(30):
            places.release()
        await eventually(lambda: has_finished(queue, 30))
    with pytest.raises(ConfigError, match="concurrency"):
        worker.resize(0)


async def test_what_a_killed_worker_was_asked_is_heard_before_the_first_claim(queue: Queue) -> None:
    """Its tasks may kill each worker before the first heartbeat."""
    await queue.enqueue(id="deadly")
    await queue.workers.register("w")  # and is killed
    assert await queue.workers.control(["w"], mode="stop") == ["w"]
    worker = Worker(queue, forever, name="w")
    await asyncio.wait_for(worker.run(), DEADLINE)
    task = await queue.get("deadly")
    assert task is not None
    assert (worker.health().mode, task.state, task.deliveries, await queue.workers.get("w")) == (
        "stop",
        "ready",
        0,
        None,
    )


async def test_what_was_wanted_while_the_connection_was_lost_is_heard_after_it(
    queue: Queue, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with registered(queue, forever, name="w") as worker:
        await eventually(lambda: holds(lambda: worker._listener.awaits_work))
        await eventually(lambda: blocked(client))
        await queue.workers.control(["w"], mode="quiet")
        await eventually(lambda: holds(lambda: worker.health().mode == "quiet"), AT_ONCE)
        client.hset(f"{queue.base}:worker:w", "mode", "run")  # its token is lost with the connection
        await eventually(lambda: blocked(client))
        for each in client.client_list():
            if each["cmd"] == "blpop":
                client.client_kill_filter(_id=each["id"])
        await eventually(lambda: holds(lambda: worker.health().mode == "run"), AT_ONCE)


async def test_an_idle_worker_hears_what_is_wanted_though_its_token_is_lost(
    queue: Queue, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "LONGEST_BLOCK", 0.2)
    async with registered(queue, forever, name="w") as worker:
        await eventually(lambda: holds(lambda: worker._listener.awaits_work))
        # as `steer`, but without a token
        client.hset(f"{queue.base}:worker:w", mapping={"mode": "quiet", "heard": "0"})
        await eventually(lambda: holds(lambda: worker.health().mode == "quiet"), AT_ONCE)


async def test_an_idle_worker_hears_a_request_that_a_process_before_it_has_heard(
    queue: Queue, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "LONGEST_BLOCK", 0.2)
    monkeypatch.setattr("pyadeq._worker.worker.LONGEST_SILENCE", 0.3)
    async with registered(queue, forever, name="w") as worker:
        await eventually(lambda: holds(lambda: worker._listener.awaits_work))
        client.hset(f"{queue.base}:worker:w", mapping={"mode": "quiet", "heard": "1"})
        await eventually(lambda: holds(lambda: worker.health().mode == "quiet"), AT_ONCE)


async def test_an_idle_worker_claims_and_sends_no_heartbeats(
    queue: Queue, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "LONGEST_BLOCK", 0.1)
    sent, beat = list[object](), queue.workers.beat

    async def send(leases: Any, **how: Any) -> Any:
        sent.append(leases)
        return await beat(leases, **how)

    monkeypatch.setattr(queue.workers, "beat", send)
    async with registered(queue, forever, name="w") as worker:
        await eventually(lambda: holds(lambda: worker._listener.wakings > 3))
        assert sent == [[]]  # before the first claim


async def test_a_quiet_worker_is_seen(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "LONGEST_BLOCK", 0.2)

    async def seen() -> float:
        info = await queue.workers.get("w")
        assert info is not None
        return info.seen

    async with registered(queue, forever, name="w") as worker:
        worker.quiet()
        await eventually(lambda: holds(lambda: not worker._listener.awaits_work))
        for _ in range(3):
            last = await seen()
            await eventually(lambda last=last: _later(seen, last))  # type: ignore[misc]


async def _later(seen: Callable[[], Awaitable[float]], last: float) -> bool:
    return await seen() > last


async def test_a_busy_worker_is_steered_too(queue: Queue) -> None:
    """Its calls follow one another without a pause, and none of them blocks on the lanes."""

    async def handle(lease: Lease) -> None:
        await queue.enqueue(None)  # so that however fast it is, there is more

    await queue.enqueue_many(range(1000))
    async with registered(queue, handle, name="w", concurrency=100) as worker:
        await eventually(lambda: count(queue, "finished"))
        await queue.workers.control(["w"], mode="quiet")
        await eventually(lambda: holds(lambda: worker.health().mode == "quiet"), AT_ONCE)
        await eventually(lambda: is_running(queue, 0))
        stats = await queue.stats()
        assert stats.ready > 0
        assert (worker.done, stats.dead) == (stats.finished, 0)

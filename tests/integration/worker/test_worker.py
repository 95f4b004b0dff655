"""The worker inside a program: asyncio handlers, batches, renewal, stop."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

import pyadeq
from pyadeq import Backoff, Lease
from pyadeq.asyncio import Adeq, Queue, TaskFailed, Worker
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import BadArgument, ConfigError, WorkerReplaced
from tests.integration.running import adeq, blocked, queue, working
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures


async def count(queue: Queue, state: str) -> int:
    return int(getattr(await queue.stats(), state))


async def test_results_and_failures_are_settled(queue: Queue) -> None:
    async def handle(lease: Lease) -> Any:
        match lease.payload:
            case "works":
                return {"done": True}
            case "never":
                raise TaskFailed("no such thing", reason="bad input", retryable=False)
            case "quits":
                raise SystemExit("not the worker's end")
        raise ValueError(lease.payload)

    for word in ("works", "never", "fails", "quits"):
        await queue.enqueue(word, id=word, max_attempts=1)
    async with working(queue, handle):
        await eventually(lambda: _all_ended(queue, 4))
    tasks = {task.id: task for task in await queue.get_many(["works", "never", "fails", "quits"]) if task}
    assert (tasks["works"].state, tasks["works"].result) == ("completed", {"done": True})
    assert (tasks["never"].state, tasks["never"].reason) == ("dead", "bad_input")
    assert (tasks["fails"].state, tasks["fails"].reason) == ("dead", "ValueError")
    text = str(tasks["fails"].error).splitlines()
    assert (text[0], text[-1]) == ("Traceback (most recent call last):", "ValueError: fails")
    assert "test_worker.py" in text[1]
    assert (tasks["quits"].state, tasks["quits"].reason) == ("dead", "SystemExit")


async def _all_ended(queue: Queue, total: int) -> bool:
    stats = await queue.stats()
    return stats.finished + stats.dead == total


@pytest.mark.parametrize(
    ("reason", "retryable", "kept"),
    [(None, False, "None"), ("", 0, "error"), (3, None, "3"), ("Größe ist falsch", False, "Gr_e_ist_falsch")],
)
async def test_whatever_a_failure_says_the_worker_goes_on(queue: Queue, reason: Any, retryable: Any, kept: str) -> None:
    async def handle(lease: Lease) -> None:
        raise TaskFailed(reason=reason, retryable=retryable)

    await queue.enqueue("work", id="t", backoff=Backoff(base=0.01))
    async with working(queue, handle):
        await eventually(lambda: _all_ended(queue, 1))
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.reason) == ("dead", kept)


async def test_a_worker_that_cannot_work_is_refused(queue: Queue, url: str) -> None:
    async def handle(lease: Lease) -> None:
        return None

    for wrong in ({"concurrency": 0}, {"grace": -1}, {"lease": 0.5}, {"name": "a b"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            Worker(queue, handle, **wrong)
    with pytest.raises(BadArgument, match="lanes"):
        Worker(queue, handle, lanes=[])
    with pytest.raises(ConfigError, match="handler"):
        Worker(queue, 3)
    with pyadeq.Adeq.from_url(url) as adeq, pytest.raises(ConfigError, match="queue"):
        Worker(adeq.queue("q"), handle)  # type: ignore[arg-type]


async def test_handlers_that_clean_up_count_against_concurrency(queue: Queue, client: Any) -> None:
    alive = most = 0

    async def handle(lease: Lease) -> None:
        nonlocal alive, most
        alive += 1
        most = max(most, alive)
        try:
            await asyncio.sleep(0.5 if lease.delivery == 1 else 0)
        finally:
            await asyncio.sleep(0.5 if lease.delivery == 1 else 0)
            alive -= 1

    await queue.configure(lease=1)
    await queue.enqueue_many(range(4))
    async with working(queue, handle, concurrency=2):
        await eventually(lambda: count(queue, "running"))
        client.delete(f"{queue.base}:running")  # all leases are lost
        await eventually(lambda: _all_ended(queue, 4))
    assert most == 2


async def test_no_more_than_concurrency_run_at_once(queue: Queue) -> None:
    running = most = 0

    async def handle(lease: Lease) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    await queue.enqueue_many(range(300))
    async with working(queue, handle, concurrency=7):
        await eventually(lambda: _all_ended(queue, 300))
    assert most == 7


async def test_many_tasks_take_few_calls(queue: Queue, client: Any) -> None:
    async def handle(lease: Lease) -> None:
        return None

    await queue.enqueue_many(range(3_000))
    before = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    async with working(queue, handle, concurrency=1_500):
        async with asyncio.timeout(DEADLINE):
            while await count(queue, "finished") < 3_000:
                await asyncio.sleep(0.1)
    assert client.info("commandstats")["cmdstat_evalsha"]["calls"] - before < 300


async def test_a_task_of_another_lane_is_started_when_it_is_due(queue: Queue) -> None:
    started: asyncio.Queue[str] = asyncio.Queue()

    async def handle(lease: Lease) -> None:
        started.put_nowait(lease.payload)

    async with working(queue, handle, lanes=["group/b"]):
        await eventually(lambda: count(queue, "workers"))
        await queue.enqueue("nobody's", lane="group/a", delay=0.1)
        await queue.enqueue("b's", lane="group/b", delay=0.3)
        async with asyncio.timeout(5):  # half of the longest block
            assert await started.get() == "b's"


async def test_an_idle_worker_starts_a_task_at_once(queue: Queue, client: Any) -> None:
    started = asyncio.Event()

    async def handle(lease: Lease) -> None:
        started.set()

    async with working(queue, handle):
        await eventually(lambda: blocked(client))
        await queue.enqueue("work")
        async with asyncio.timeout(5):  # half of the longest block
            await started.wait()


async def test_a_long_task_keeps_its_lease(queue: Queue) -> None:
    async def handle(lease: Lease) -> int:
        await asyncio.sleep(4)
        return lease.delivery

    await queue.configure(lease=3)
    await queue.enqueue("long", id="t")
    async with working(queue, handle):
        await eventually(lambda: _all_ended(queue, 1))
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.result, task.crashes) == ("completed", 1, 0)


async def test_a_handler_whose_lease_is_lost_is_cancelled(queue: Queue, client: Any) -> None:
    ended: asyncio.Queue[str] = asyncio.Queue()

    async def handle(lease: Lease) -> None:
        try:
            await asyncio.sleep(DEADLINE)
        except asyncio.CancelledError:
            ended.put_nowait(lease.id)
            raise

    await queue.configure(lease=1)
    await queue.enqueue("work", id="t", delay=0)
    async with working(queue, handle, concurrency=1):
        await eventually(lambda: count(queue, "running"))
        client.hset(f"{queue.base}:running", "t", "other 0 any|0 1 1 0 1 other")
        async with asyncio.timeout(DEADLINE):
            assert await ended.get() == "t"


async def test_a_cancelled_task_ends_its_handler(queue: Queue) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(DEADLINE)

    await queue.configure(lease=1)
    await queue.enqueue("work", id="t")
    async with working(queue, handle):
        await eventually(lambda: count(queue, "running"))
        assert await queue.cancel("t") == "cancelling"
        await eventually(lambda: count(queue, "finished"))
    task = await queue.get("t")
    assert task is not None
    assert task.state == "cancelled"


async def test_stop_lets_running_tasks_end_and_gives_back_the_rest(queue: Queue) -> None:
    release = asyncio.Event()

    async def handle(lease: Lease) -> str:
        await (release.wait() if lease.payload == "ends" else asyncio.sleep(DEADLINE))
        return "ended"

    await queue.enqueue("ends", id="ends")
    await queue.enqueue("stays", id="stays")
    await queue.enqueue("waits", id="waits")
    worker = Worker(queue, handle, concurrency=2, grace=1)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: _running(queue, 2))
    worker.stop()
    release.set()
    await asyncio.wait_for(running, DEADLINE)
    ends, stays, waits = await queue.get_many(["ends", "stays", "waits"])
    assert ends is not None
    assert ends.state == "completed"
    assert stays is not None
    assert waits is not None
    assert (stays.state, stays.attempts, waits.state) == ("ready", 0, "ready")
    assert stays.place is not None
    assert waits.place is not None
    assert stays.place < waits.place
    assert (await queue.stats()).workers == 0


async def _running(queue: Queue, number: int) -> bool:
    return await count(queue, "running") == number


async def test_a_second_stop_ends_the_grace(queue: Queue) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(1_000)

    await queue.enqueue("work", id="t")
    worker = Worker(queue, handle, grace=1_000)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: count(queue, "running"))
    worker.stop()
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)
    assert await count(queue, "ready") == 1


async def test_a_result_that_comes_while_the_worker_ends_is_kept(queue: Queue) -> None:
    async def handle(lease: Lease) -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1_000)
        return "saved"

    await queue.enqueue("work", id="t")
    worker = Worker(queue, handle, grace=0)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: count(queue, "running"))
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.result) == ("completed", "saved")


async def test_a_handler_that_cleans_up_keeps_its_lease_meanwhile(queue: Queue) -> None:
    async def handle(lease: Lease) -> None:
        try:
            await asyncio.sleep(1_000)
        finally:
            await asyncio.sleep(2.2)

    await queue.configure(lease=1.5)
    await queue.enqueue("work", id="t")
    worker = Worker(queue, handle, grace=0)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: count(queue, "running"))
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.crashes, task.deliveries) == ("ready", 0, 1)


async def test_of_two_workers_with_one_name_the_newer_one_works(queue: Queue, url: str) -> None:
    await queue.workers.register("w1")
    async with Adeq.from_url(url) as another:
        other = another.queue(queue.name)
        await other.workers.register("w1")
        answers = await asyncio.gather(*[queue.claim("w1") for _ in range(5)], return_exceptions=True)
        assert {type(answer) for answer in answers} == {WorkerReplaced}
        assert await other.claim("w1") == []


async def test_a_cancelled_worker_gives_back_what_it_holds(queue: Queue) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(1_000)

    await queue.enqueue("work", id="t")
    running = asyncio.create_task(Worker(queue, handle).run())
    await eventually(lambda: count(queue, "running"))
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.attempts, task.crashes) == ("ready", 0, 0)


async def test_a_replaced_worker_ends_and_gives_back_what_it_holds(queue: Queue, url: str) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(1_000)

    await queue.configure(lease=1)
    await queue.enqueue("work", id="t")
    running = asyncio.create_task(Worker(queue, handle, name="w1", concurrency=2).run())
    await eventually(lambda: count(queue, "running"))
    async with Adeq.from_url(url) as another:
        await another.queue(queue.name).workers.register("w1")
    with pytest.raises(WorkerReplaced):
        await asyncio.wait_for(running, DEADLINE)
    task = await queue.get("t")
    assert task is not None
    assert task.state == "ready"


async def test_a_large_result_is_refused_and_the_worker_goes_on(queue: Queue) -> None:
    async def handle(lease: Lease) -> Any:
        return "x" * 2_000_000 if lease.payload == "large" else "small"

    await queue.enqueue("large", id="large")
    await queue.enqueue("small", id="small")
    async with working(queue, handle):
        await eventually(lambda: _all_ended(queue, 2))
    large = await queue.get("large")
    assert large is not None
    assert (large.state, large.reason) == ("dead", "result_too_large")


async def test_a_worker_outlives_a_restart_of_the_server(binary: Any) -> None:
    async def handle(lease: Lease) -> int:
        return int(lease.payload)

    with EmbeddedServer(binary=binary, appendfsync="always") as server:
        async with Adeq.from_url(server.url, retry_for=0.5) as adeq:
            queue = adeq.queue("restart")
            await queue.enqueue_many(range(500))
            async with working(queue, handle, concurrency=5):
                await eventually(lambda: count(queue, "finished"))
                await asyncio.to_thread(server.restart)
                await queue.enqueue_many(range(500, 600))
                await eventually(lambda: _all_ended(queue, 600))
            assert (await queue.stats()).dead == 0

"""The worker's hot path with two calls in flight: nothing is lost, run twice or run beyond what is allowed."""

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pyadeq
from pyadeq import Lease
from pyadeq.asyncio import Adeq, ProcessDied, Queue, TaskFailed, Worker
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError, WorkerReplaced
from tests.waiting import DEADLINE, eventually


async def work_off(queue: Queue, handler: Any, total: int, **options: Any) -> Worker:
    worker = Worker(queue, handler, **options)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: _all_ended(queue, total))
    worker.stop()
    await asyncio.wait_for(running, DEADLINE)
    return worker


async def _all_ended(queue: Queue, total: int) -> bool:
    stats = await queue.stats()
    return stats.finished + stats.dead == total


async def test_each_task_is_run_once_and_no_more_than_allowed_at_a_time(url: str, base_name: str) -> None:
    runs: Counter[str] = Counter()
    running = most = 0
    full, late = asyncio.Event(), asyncio.Event()

    async def handle(lease: Lease) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 60:  # then most end at once, and the others after what comes for them
            full.set()
            asyncio.get_running_loop().call_later(0.3, late.set)
        await (full if lease.payload % 3 else late).wait()
        await asyncio.sleep(0.01)
        running -= 1
        runs[lease.id] += 1
        if lease.payload % 7 == 0:
            raise TaskFailed("no", reason="told_to", retryable=False)
        return f"done {lease.payload}"

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        receipts = await queue.enqueue_many(range(2_000))
        worker = await work_off(queue, handle, 2_000, concurrency=60)
        stats = await queue.stats()
        tasks = [task for task in await queue.get_many([one.id for one in receipts]) if task]
    assert set(runs.values()) == {1}
    assert len(runs) == 2_000
    assert most == 60
    assert (stats.dead, worker.done, worker.health().failed) == (286, 2_000, 286)
    assert all(task.result == f"done {task.payload}" for task in tasks if task.state == "completed")


async def test_who_was_woken_during_a_claim_claims_again(
    url: str, base_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim that comes back empty was sent before the token was taken: the task is still there."""
    started = asyncio.Event()

    async def handle(lease: Lease) -> None:
        started.set()

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        settle = queue.leases.settle
        worker = Worker(queue, handle)

        async def late(*args: Any, **options: Any) -> Any:
            monkeypatch.undo()
            answer = await settle(*args, **options)
            await queue.enqueue("work")
            assert await queue.leases.block(["any"], DEADLINE)
            worker._listener.wakings += 1  # as where the worker has taken it, in its other line
            return answer

        monkeypatch.setattr(queue.leases, "settle", late)
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(5):  # half of the longest block
            await started.wait()
        worker.stop()
        await asyncio.wait_for(running, DEADLINE)


async def test_what_a_replaced_worker_has_done_is_settled(url: str, base_name: str) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def handle(lease: Lease) -> str:
        started.set()
        await go_on.wait()
        return "done"

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(id="t")
        running = asyncio.create_task(Worker(queue, handle, name="w").run())
        await asyncio.wait_for(started.wait(), DEADLINE)
        with pyadeq.Adeq.from_url(url) as other:
            other.queue(base_name).workers.register("w")
        go_on.set()
        with pytest.raises(WorkerReplaced):
            await asyncio.wait_for(running, DEADLINE)
        task = await queue.get("t")
        assert task is not None
        assert (task.state, task.result) == ("completed", "done")


async def test_results_larger_than_a_call_takes_are_sent_in_several(url: str, base_name: str) -> None:
    async def handle(lease: Lease) -> bytes:
        return bytes(900_000)

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue_many(range(60))
        await work_off(queue, handle, 60, concurrency=60)
        assert (await queue.stats()).dead == 0


async def test_calls_in_flight_outlive_a_restart_of_the_server(binary: Path) -> None:
    with EmbeddedServer(binary=binary, appendfsync="always") as server:
        async with Adeq.from_url(server.url, retry_for=0.5) as adeq:
            queue = adeq.queue("restart")
            await queue.enqueue_many(range(5_000))

            async def handle(lease: Lease) -> int:
                await asyncio.sleep(0)
                return int(lease.payload)

            worker = Worker(queue, handle, concurrency=100)
            running = asyncio.create_task(worker.run())
            await eventually(lambda: _some_finished(queue))
            await asyncio.to_thread(server.restart)
            await eventually(lambda: _all_ended(queue, 5_000))
            worker.stop()
            await asyncio.wait_for(running, DEADLINE)
            assert (await queue.stats()).dead == 0


async def test_calls_whose_connections_are_lost_are_applied_once(url: str, base_name: str, client: Any) -> None:
    runs: Counter[str] = Counter()

    async def handle(lease: Lease) -> int:
        runs[lease.id] += 1
        await asyncio.sleep(0)
        return int(lease.payload)

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(lease=2)
        await queue.enqueue_many(range(4_000))
        worker = Worker(queue, handle, concurrency=100)
        running = asyncio.create_task(worker.run())
        while not await _all_ended(queue, 4_000):
            for each in await asyncio.to_thread(client.client_list):
                if each["cmd"].startswith(("evalsha", "blpop")):
                    client.client_kill_filter(_id=each["id"])
            await asyncio.sleep(0.02)
        worker.stop()
        await asyncio.wait_for(running, DEADLINE)
        stats = await queue.stats()
    assert (stats.finished, stats.dead, stats.running) == (4_000, 0, 0)
    assert (len(runs), set(runs.values())) == (4_000, {1})
    assert worker.done == 4_000


async def _some_finished(queue: Queue) -> bool:
    return (await queue.stats()).finished > 0


class Unready(TaskFailed):
    """Says nothing of itself."""

    def __init__(self) -> None:
        Exception.__init__(self)


def unformattable() -> Exception:
    error = SyntaxError("bad")
    error.filename, error.lineno, error.offset, error.text = "f.py", 1, "no number", "x"  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    "make",
    [Unready, unformattable, lambda: ProcessDied("it died", exit_code=1001), lambda: TaskFailed("late", delay=-5)],
    ids=["no reason", "no format", "no exit code", "no delay"],
)
async def test_a_failure_that_cannot_be_told_is_one_all_the_same(
    url: str, base_name: str, make: Callable[[], Exception]
) -> None:
    async def handle(lease: Lease) -> str:
        if lease.payload == "odd":
            raise make()
        return "good"

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        odd, good = await queue.enqueue("odd", max_attempts=1), await queue.enqueue("good")
        await work_off(queue, handle, 2, concurrency=2)
        assert await good.result() == "good"
        outcome = await queue.inspect.ended(odd.id)
    assert outcome.status == "dead"


@pytest.mark.parametrize(("renew", "steps"), [("loop", range(0, 120, 4)), ("thread", range(0, 60, 4))])
async def test_a_run_that_is_cancelled_anywhere_leaves_nothing(
    url: str, base_name: str, renew: Any, steps: range
) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(0)

    async with Adeq.from_url(url) as adeq:
        for step in steps:
            queue = adeq.queue(f"{base_name}.{step}")
            await queue.enqueue_many(range(3))
            before = asyncio.all_tasks()
            running = asyncio.create_task(Worker(queue, handle, concurrency=4, renew=renew).run())
            for _ in range(step):
                await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(running, DEADLINE)
            assert (await queue.stats()).running == 0, f"after {step} steps"
            while adeq._registering.is_working:  # it adds the name of the queue, and has nothing to do with the run
                await asyncio.sleep(0)
            assert asyncio.all_tasks() <= before, f"after {step} steps"
            assert not [thread for thread in threading.enumerate() if thread.name == "pyadeq-renewal"]


async def test_a_signal_stops_a_worker_that_listens_to_it(url: str, base_name: str) -> None:
    running = asyncio.Event()

    async def handle(lease: Lease) -> str:
        running.set()
        await asyncio.sleep(0.1)
        return "done"

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        receipt = await queue.enqueue("work")
        worker = asyncio.create_task(Worker(queue, handle).run(signals=True))
        await asyncio.wait_for(running.wait(), DEADLINE)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(worker, DEADLINE)
        assert await receipt.result(0) == "done"
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


async def test_a_signal_stops_all_workers_of_a_process(url: str, base_name: str) -> None:
    async def handle(lease: Lease) -> None:
        raise AssertionError

    async with Adeq.from_url(url) as adeq:
        queues = [adeq.queue(f"{base_name}.{number}") for number in range(3)]
        workers = [asyncio.create_task(Worker(queue, handle).run(signals=True)) for queue in queues]
        for queue in queues:
            async with asyncio.timeout(DEADLINE):
                while not await queue.workers.list():
                    await asyncio.sleep(0.01)
        workers[1].cancel()  # the end of one leaves the others their signals
        await asyncio.wait(workers[1:2], timeout=DEADLINE)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(DEADLINE):
            await asyncio.gather(workers[0], workers[2])
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


async def test_a_name_works_once_in_a_process_and_goes_with_its_worker(url: str, base_name: str) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.sleep(0)

    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        worker = Worker(queue, handle, name="w")
        first = asyncio.create_task(worker.run())
        async with asyncio.timeout(DEADLINE):
            while not worker._listener.awaits_work:
                await asyncio.sleep(0.01)
        with pytest.raises(ConfigError, match="name: 'w' runs on this queue already"):
            await Worker(queue, handle, name="w").run()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await queue.workers.list() == []
        assert Worker(queue, handle).name != Worker(queue, handle).name


async def test_a_worker_ends_though_a_call_becomes_due_as_its_last_line_ends(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        worker = Worker(adeq.queue(base_name), lambda _: None)
        running = asyncio.create_task(worker.run())
        await eventually(lambda: adeq.queue(base_name).workers.get(worker.name))
        settling: Any = worker._settling
        wake_all = settling._pulse.beat

        def beat() -> None:
            wake_all()
            settling._due = settling._wanted.stopping  # as the timer does, but before anybody is awake

        settling._pulse.beat = beat
        worker.stop()
        await asyncio.wait_for(running, DEADLINE)
        assert not await adeq.queue(base_name).workers.get(worker.name)

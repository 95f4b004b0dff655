"""Plain functions under a Worker: in threads, and in child processes."""

import asyncio
import contextvars
import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Lease
from pyadeq.asyncio import Queue, TaskContext, Tasks, TaskView
from tests.integration.running import adeq, queue, working
from tests.integration.worker import crunching
from tests.waiting import DEADLINE, wait_until

__all__ = ["adeq", "queue"]  # fixtures

pytestmark = pytest.mark.any_engine

SOME_VARIABLE = contextvars.ContextVar[str]("some_variable")


async def state(queue: Queue, id: str, *states: str) -> TaskView:
    """The task, once it is in one of the states."""
    async with asyncio.timeout(DEADLINE):
        while (task := await queue.get(id)) is None or task.state not in states:
            await asyncio.sleep(0.01)
    return task


# Threads


async def test_as_many_threads_run_as_the_worker_takes_tasks(queue: Queue) -> None:
    together = threading.Barrier(20)
    tasks = Tasks()

    @tasks.task
    def meet() -> int:
        together.wait(DEADLINE)
        return threading.get_ident()

    await queue.enqueue_many([meet.item().model_copy(update={"id": f"t{n}"}) for n in range(20)])
    async with working(queue, tasks, concurrency=20):
        seen = {(await state(queue, f"t{n}", "completed")).result for n in range(20)}
    assert len(seen) == 20


async def test_threads_are_used_again_and_end_with_the_worker(queue: Queue) -> None:
    def handle(lease: Lease) -> int:
        return threading.get_ident()

    async with working(queue, handle, concurrency=1):
        receipts = await queue.enqueue_many(range(5))
        seen = {(await state(queue, receipt.id, "completed")).result for receipt in receipts}
        assert len(seen) == 1
    wait_until(lambda: not seen & {thread.ident for thread in threading.enumerate()})


async def test_a_thread_has_the_context_variables(queue: Queue) -> None:
    async def around(lease: Lease, call_next: Any) -> Any:
        SOME_VARIABLE.set(lease.id)
        return await call_next(lease)

    def handle(lease: Lease) -> list[str]:
        return [SOME_VARIABLE.get(), TaskContext.current().id]

    await queue.enqueue("work", id="t")
    async with working(queue, handle, middleware=[around]):
        assert (await state(queue, "t", "completed")).result == ["t", "t"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_whatever_a_function_raises_is_a_failure_of_its_task(queue: Queue, is_async: bool) -> None:
    raised = {error.__name__: error for error in (SystemExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError)}

    def handle(lease: Lease) -> None:
        raise raised[lease.payload]("reason")

    async def handle_async(lease: Lease) -> None:
        handle(lease)

    for name in raised:
        await queue.enqueue(name, id=name, max_attempts=1)
    async with working(queue, handle_async if is_async else handle):
        reasons = [(await state(queue, name, "dead")).reason for name in raised]
    assert reasons == ["SystemExit", "KeyboardInterrupt", "RuntimeError", "CancelledError"]


@pytest.mark.parametrize("runs", ["asyncio.run(main())", "asyncio.new_event_loop().run_until_complete(main())"])
async def test_ctrl_c_ends_the_worker_and_fails_no_task(url: str, queue: Queue, tmp_path: Path, runs: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import asyncio, signal
from pyadeq.asyncio import Adeq, Worker

async def handle(lease):
    signal.raise_signal(signal.SIGINT)  # `asyncio.run` cancels the program first
    signal.raise_signal(signal.SIGINT)

async def main():
    async with Adeq.from_url({url!r}) as adeq:
        await Worker(adeq.queue({queue.name!r}), handle).run()

{runs}
"""
    )
    await queue.enqueue("work", id="t", max_attempts=1)
    process = await asyncio.create_subprocess_exec(sys.executable, str(program), stderr=asyncio.subprocess.DEVNULL)
    assert await asyncio.wait_for(process.wait(), DEADLINE) == -signal.SIGINT
    await state(queue, "t", "ready", "running")


async def test_a_cancelled_thread_is_told_and_keeps_its_place_until_it_ends(queue: Queue) -> None:
    started, told, goes_on = threading.Event(), threading.Event(), threading.Event()

    def handle(lease: Lease) -> None:
        if lease.id == "next":
            return
        context = TaskContext.current()
        started.set()
        while not context.cancelled:
            told.wait(0.001)
        told.set()
        goes_on.wait(DEADLINE)
        context.check()

    await queue.enqueue("work", id="t")
    async with working(queue, handle, concurrency=1) as worker:
        await asyncio.to_thread(started.wait, DEADLINE)
        await queue.enqueue("work", id="next")
        assert await queue.cancel("t") == "cancelling"
        await asyncio.to_thread(told.wait, DEADLINE)
        assert worker.health().running == 1
        assert (await state(queue, "next", "ready")).state == "ready"
        goes_on.set()
        await state(queue, "next", "completed")
        await state(queue, "t", "cancelled")


async def test_a_thread_that_somebody_else_cancels_is_told(queue: Queue) -> None:
    async def brief(lease: Lease, call_next: Any) -> Any:
        async with asyncio.timeout(0.05):
            return await call_next(lease)

    def handle(lease: Lease) -> None:
        while True:
            TaskContext.current().check()

    await queue.enqueue("work", id="t", max_attempts=1)
    async with working(queue, handle, middleware=[brief]):
        assert (await state(queue, "t", "dead")).reason == "TimeoutError"


async def test_a_thread_that_is_out_of_time_is_told(queue: Queue) -> None:
    why: list[str | None] = []

    def handle(lease: Lease) -> None:
        context, never = TaskContext.current(), threading.Event()
        while not context.cancelled:
            never.wait(0.001)
        why.append(context.interrupted)

    await queue.enqueue("work", id="t", timeout=0.05, max_attempts=1)
    async with working(queue, handle):
        assert (await state(queue, "t", "dead")).reason == "timeout"
    assert why == ["timed_out"]


async def test_a_thread_that_never_ends_does_not_hold_up_the_end_of_the_program(url: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import asyncio, threading
from pyadeq._worker import worker as module
from pyadeq.asyncio import Adeq, Worker

module.CLEAN_UP = 0.5

async def main():
    def handle(lease):
        loop.call_soon_threadsafe(worker.stop)
        loop.call_soon_threadsafe(worker.stop)
        threading.Event().wait()

    loop = asyncio.get_running_loop()
    async with Adeq.from_url({url!r}) as adeq:
        queue = adeq.queue({f"never-{os.getpid()}"!r})
        await queue.enqueue("work", id="t")
        worker = Worker(queue, handle, grace=0)
        await worker.run()
        print((await queue.get("t")).state)

asyncio.run(main())
"""
    )
    process = await asyncio.create_subprocess_exec(sys.executable, str(program), stdout=asyncio.subprocess.PIPE)
    output, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
    assert (process.returncode, output) == (0, b"ready\n")


# Processes


async def enqueue(queue: Queue, name: str, id: str, payload: Any, **options: Any) -> None:
    await queue.enqueue(payload, kind=name, id=id, **options)


async def test_a_process_is_started_once_and_ends_with_the_worker(queue: Queue) -> None:
    async with working(queue, crunching.tasks, concurrency=1):
        for n in range(3):
            await enqueue(queue, "add", f"t{n}", {"pair": {"a": n, "b": 1}})
        results = [(await state(queue, f"t{n}", "completed")).result for n in range(3)]
        assert [result["a"] for result in results] == [1, 2, 3]
        (pid,) = {result["b"] for result in results}
        assert [child.pid for child in active_children()] == [pid]
    assert pid != os.getpid()
    assert active_children() == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_process_that_dies_is_a_failed_attempt_and_others_go_on(queue: Queue) -> None:
    codes = {"exit": 3, "kill": -signal.SIGKILL, "fault": -signal.SIGSEGV}
    async with working(queue, crunching.tasks, concurrency=2):
        for id, code in codes.items():
            await enqueue(queue, "die", id, {"code": code}, max_attempts=1)
        await enqueue(queue, "add", "lives", {"pair": {"a": 1, "b": 1}})
        for id, code in codes.items():
            task = await state(queue, id, "dead")
            assert (task.reason, task.exit_code, task.attempts, task.crashes) == ("crash", code, 1, 0)
            assert f"exit code {code}" in str(task.error)
        assert (await state(queue, "lives", "completed")).result["a"] == 2


@pytest.mark.parametrize("frozen", [False, True])
async def test_an_idle_process_that_is_killed_fails_no_task(queue: Queue, frozen: bool) -> None:
    async with working(queue, crunching.tasks, concurrency=1):
        await enqueue(queue, "add", "first", {"pair": {"a": 1, "b": 1}})
        pid = (await state(queue, "first", "completed")).result["b"]
        if frozen:  # it dies with a task that it has not begun
            os.kill(pid, signal.SIGSTOP)
            await enqueue(queue, "add", "next", {"pair": {"a": 2, "b": 1}}, max_attempts=1)
            await state(queue, "next", "running")
        os.kill(pid, signal.SIGKILL)
        if not frozen:
            await enqueue(queue, "add", "next", {"pair": {"a": 2, "b": 1}}, max_attempts=1)
        task = await state(queue, "next", "completed", "dead")
        assert (task.state, task.result["a"]) == ("completed", 3)
        assert [child.pid for child in active_children()] == [task.result["b"]] != [pid]


async def pid_of(queue: Queue, id: str) -> int:
    async with asyncio.timeout(DEADLINE):
        while (task := await queue.get(id)) is None or not task.progress_text:
            await asyncio.sleep(0.01)
    return int(task.progress_text)


def is_gone(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return False
    return True


async def test_a_cancelled_task_has_its_process_killed(queue: Queue) -> None:
    async with working(queue, crunching.tasks, concurrency=1):
        await enqueue(queue, "hang", "t", {})
        pid = await pid_of(queue, "t")
        assert await queue.cancel("t") == "cancelling"
        await state(queue, "t", "cancelled")
        wait_until(lambda: is_gone(pid))
        await enqueue(queue, "add", "next", {"pair": {"a": 2, "b": 1}})
        assert (await state(queue, "next", "completed")).result["a"] == 3


async def test_a_process_that_is_out_of_time_is_killed(queue: Queue) -> None:
    async with working(queue, crunching.tasks, concurrency=1):
        # The first task's time goes into the start of the process.
        await enqueue(queue, "add", "first", {"pair": {"a": 2, "b": 1}})
        pid = (await state(queue, "first", "completed")).result["b"]
        await enqueue(queue, "hang", "t", {}, timeout=0.2, max_attempts=1)
        assert (await state(queue, "t", "dead")).reason == "timeout"
        wait_until(lambda: is_gone(pid))


async def test_a_worker_that_is_told_to_stop_kills_its_processes(queue: Queue) -> None:
    async with working(queue, crunching.tasks, concurrency=1, grace=0):
        await enqueue(queue, "hang", "t", {})
        pid = await pid_of(queue, "t")
    wait_until(lambda: is_gone(pid))
    assert (await state(queue, "t", "ready")).attempts == 0


@pytest.mark.slow
async def test_a_process_ends_with_its_worker_process(url: str, base_name: str, queue: Queue, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import asyncio
from pyadeq.asyncio import Adeq, Worker
from tests.integration.worker import crunching

async def main():
    async with Adeq.from_url({url!r}) as adeq:
        await Worker(adeq.queue({base_name!r}), crunching.tasks).run()

if __name__ == "__main__":
    asyncio.run(main())
"""
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = await asyncio.create_subprocess_exec(sys.executable, str(program), env=environment)
    try:
        await enqueue(queue, "hang", "t", {})
        pid = await pid_of(queue, "t")
    finally:
        process.kill()
        await process.wait()
    wait_until(lambda: is_gone(pid))


async def test_a_process_knows_its_task_and_tells_of_progress(queue: Queue) -> None:
    await enqueue(queue, "about", "t", {})
    async with working(queue, crunching.tasks, name="w7"):
        task = await state(queue, "t", "completed")
    assert task.result == ["t", task.fence, 1, queue.name, "w7", False]
    assert (task.progress, task.output) == (0.5, "/out")
    assert [line.text for line in await queue.inspect.log("t")] == ["one", "two"]


async def test_what_comes_after_the_end_is_not_taken_for_another_tasks(queue: Queue) -> None:
    async with working(queue, crunching.tasks, concurrency=1):
        await enqueue(queue, "chatter", "first", {})
        await state(queue, "first", "completed")
        await enqueue(queue, "add", "next", {"pair": {"a": 2, "b": 1}})
        assert (await state(queue, "next", "completed")).result["a"] == 3
        assert await queue.inspect.log("next") == []


async def test_what_a_process_reports_wrongly_ends_with_it(queue: Queue) -> None:
    async with working(queue, crunching.tasks, concurrency=1):
        await enqueue(queue, "misreport", "t", {}, max_attempts=1)
        assert (await state(queue, "t", "dead")).reason == "TypeError"
        await enqueue(queue, "add", "next", {"pair": {"a": 2, "b": 1}})
        assert (await state(queue, "next", "completed")).result["a"] == 3


@pytest.mark.slow
async def test_a_script_without_a_guard_is_told(url: str, base_name: str, queue: Queue, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import asyncio
from pyadeq.asyncio import Adeq, Worker
from tests.integration.worker import crunching

async def main():
    async with Adeq.from_url({url!r}) as adeq:
        worker = Worker(adeq.queue({base_name!r}), crunching.tasks, on_start=lambda: None)
        working = asyncio.create_task(worker.run())
        while (task := await adeq.queue({base_name!r}).get("t")).state != "dead":
            await asyncio.sleep(0.01)
        print(task.reason)
        worker.stop()
        await working

asyncio.run(main())
"""
    )
    await enqueue(queue, "about", "t", {}, max_attempts=1)
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(program), env=environment, stdout=pipe, stderr=pipe
    )
    output, errors = await asyncio.wait_for(process.communicate(), DEADLINE)
    assert output == b"crash\n"
    assert b"Put what starts the worker under `if __name__" in errors


async def test_an_exception_comes_back_as_what_it_was(queue: Queue) -> None:
    expected = {
        "rate_limited": ("rate_limited", "slowly"),
        "bad_input": ("bad_input", "2 validation errors for Pair"),
        "own": ("own_word", "TaskFailed: no"),
        "odd": ("Odd", "Odd: one 2"),
        "local": ("RuntimeError", "Local: x"),
        "exit": ("SystemExit", "SystemExit: 3"),
        "interrupt": ("KeyboardInterrupt", "KeyboardInterrupt"),
        "memory": ("out_of_memory", "MemoryError"),
        "connection": ("connection_lost", "reset"),
    }
    async with working(queue, crunching.tasks, concurrency=1):
        for how in expected:
            await enqueue(queue, "fail", how, {"how": how}, max_attempts=1)
        for how, (reason, text) in expected.items():
            task = await state(queue, how, "dead")
            assert task.reason == reason
            assert text in str(task.error)
            first, frame, *_ = str(task.error).splitlines()
            assert first.endswith("Traceback (most recent call last):")
            assert "crunching.py" in frame, "where it was raised, without the way there"


async def test_a_function_need_not_be_hidden_by_its_task(queue: Queue) -> None:
    assert crunching.subtract(3, 1) == 2
    async with working(queue, crunching.tasks):
        assert await queue.bind(crunching.subtracting).run(3, 1) == 2


async def test_arguments_are_checked_in_the_process_too(queue: Queue) -> None:
    await enqueue(queue, "add", "t", {"pair": {"a": 1}})
    async with working(queue, crunching.tasks):
        task = await state(queue, "t", "dead")
    assert task.reason == "bad_input"
    assert str(task.error).endswith("TaskFailed: add: pair.b: it is missing\n")
    assert "Traceback" not in str(task.error)

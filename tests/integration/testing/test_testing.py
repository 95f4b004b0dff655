"""`pyadeq.testing`, called as the tests of a program call it. The plugin in pytest itself: test_testing_plugin.py."""

import asyncio
import time
from datetime import timedelta
from typing import Annotated, Any

import pytest
from pydantic import PlainSerializer

from pyadeq import Adeq, Lease, Queue, RateLimited, Task
from pyadeq import asyncio as aio
from pyadeq._core.queue.failures import FAILURES
from pyadeq.asyncio import TaskContext, TaskFailed, Tasks
from pyadeq.errors import ConfigError
from pyadeq.keys import check_name
from pyadeq.testing import Clock, enqueued, run_all
from pyadeq.testing.clients import new_prefix

LANES = 70  # more than one claim takes


@pytest.fixture
def queue(adeq: Adeq, adeq_clock: Clock) -> Queue:
    return adeq.queue("work")


@pytest.fixture
def aio_queue(aio_adeq: aio.Adeq, adeq_clock: Clock) -> aio.Queue:
    return aio_adeq.queue("work")


def payload(lease: Lease) -> Any:
    return lease.payload


def test_each_test_has_a_prefix_of_its_own() -> None:
    first, second = (new_prefix("test_it[a/b {c}: *-ü]" + "x" * 300) for _ in range(2))
    assert first != second
    assert first.startswith("test_it-a-b-c-")
    assert check_name("prefix", first) == first


# The clock


def test_the_clock_passes_when_it_is_told_to(adeq_clock: Clock) -> None:
    assert abs(adeq_clock.now - time.time()) < 30
    began, began_ms = adeq_clock.now, adeq_clock()
    assert began_ms == round(began * 1000)
    adeq_clock.advance(1.5)
    assert adeq_clock() == began_ms + 1500
    assert adeq_clock.advance(timedelta(minutes=1)) == adeq_clock.now
    adeq_clock.advance_to(began)
    assert adeq_clock() == began_ms + 61_500
    adeq_clock.advance_to(began + 100)
    assert adeq_clock() == began_ms + 100_000
    with pytest.raises(ConfigError, match="seconds: -1 is not accepted"):
        adeq_clock.advance(-1)


def test_locks_live_by_the_clock(adeq: Adeq, adeq_clock: Clock) -> None:
    locks = adeq.locks("files")
    assert locks.configure(lease=30).clock == "test"
    before = locks.stats().now
    adeq_clock.advance(3600)
    assert locks.stats().now - before == pytest.approx(3600)


def test_without_the_clock_the_time_is_the_servers(adeq: Adeq) -> None:
    assert adeq.queue("work").configure().clock == "server"


# run_all


def test_all_that_is_ready_runs_in_order(queue: Queue) -> None:
    for value, priority, lane in [(3, 5, "any"), (1, 0, "group/g"), (2, 0, "group/g/inst/i"), (4, 9, "any")]:
        queue.enqueue(value, id=f"t{value}", kind="k", priority=priority, lane=lane)
    runs = run_all(queue, payload)
    assert sorted(run.result for run in runs[:2]) == [1, 2]
    assert [run.result for run in runs[2:]] == [3, 4]
    assert {(run.kind, run.attempt, run.delivery, run.outcome) for run in runs} == {("k", 1, 1, "completed")}
    found = queue.get("t3")
    assert found
    assert (found.state, found.result) == ("completed", 3)
    assert run_all(queue, payload) == []


def test_more_lanes_than_a_claim_takes(queue: Queue) -> None:
    queue.enqueue_many([Task(payload=n, lane=f"group/g{n}") for n in range(LANES)])
    assert sorted(run.result for run in run_all(queue, payload)) == list(range(LANES))


def test_the_clock_goes_on_to_retries_and_delayed_tasks(queue: Queue, adeq_clock: Clock) -> None:
    def handle(lease: Lease) -> float:
        if lease.attempt == 1:
            raise ValueError("not yet")
        return adeq_clock.now

    began = adeq_clock.now
    queue.enqueue("now", lane="group/g")
    queue.enqueue("later", delay=3600)
    runs = run_all(queue, handle, raise_errors=False)
    assert [(run.attempt, run.outcome, run.reason) for run in runs] == [
        (1, "retried", "ValueError"),
        (2, "completed", None),
        (1, "retried", "ValueError"),
        (2, "completed", None),
    ]
    assert isinstance(runs[0].error, ValueError)
    retried = queue.get(runs[0].id)
    assert retried
    assert "test_testing.py" in str(retried.error).splitlines()[1]
    assert 0.9 <= round(runs[1].result - began, 3) <= 1.1
    assert 3600.9 <= round(runs[3].result - began, 3) <= 3601.1


def test_a_task_dies_as_under_a_worker(queue: Queue) -> None:
    def handle(lease: Lease) -> Any:
        match lease.kind:
            case "never":
                raise TaskFailed("no", reason="unreadable", retryable=False)
            case "big":
                return "x" * 1024 * 1024
            case "strange":
                return object()
        raise KeyError("always")

    for kind in ("never", "big"):
        queue.enqueue(kind=kind)
    assert [(run.kind, run.outcome, run.reason) for run in run_all(queue, handle, raise_errors=False)] == [
        ("never", "dead", "unreadable"),
        ("big", "dead", "result_too_large"),
    ]
    queue.enqueue(kind="often")
    assert [run.outcome for run in run_all(queue, handle, raise_errors=False)] == ["retried", "retried", "dead"]
    queue.enqueue(kind="strange", max_attempts=1)
    assert [run.reason for run in run_all(queue, handle, raise_errors=False)] == ["BadArgument"]


def test_a_table_of_failures_of_ones_own(queue: Queue, adeq_clock: Clock) -> None:
    def handle(lease: Lease) -> None:
        if lease.attempt == 1:
            raise RateLimited("slow down", retry_after=100)
        raise LookupError

    began = adeq_clock.now
    queue.enqueue()
    failures = FAILURES.when(LookupError, "bad_input")
    runs = run_all(queue, handle, raise_errors=False, failures=failures)
    assert [(run.outcome, run.reason) for run in runs] == [("retried", "rate_limited"), ("dead", "bad_input")]
    assert adeq_clock.now - began == pytest.approx(100)


def test_an_error_is_raised_when_its_attempt_has_been_failed(queue: Queue) -> None:
    queue.enqueue(id="t", max_attempts=1)
    with pytest.raises(ZeroDivisionError) as raised:
        run_all(queue, lambda lease: 1 / 0)
    assert raised.value.__notes__ == ["task t, attempt 1; run_all(…, raise_errors=False) records it"]
    found = queue.get("t")
    assert found
    assert (found.state, found.reason) == ("dead", "ZeroDivisionError")


def test_what_is_due_later_is_left_there_without_advance(queue: Queue, adeq_clock: Clock) -> None:
    queue.enqueue(delay=5)
    began = adeq_clock.now
    assert run_all(queue, payload, advance=False) == []
    assert adeq_clock.now == began
    assert queue.stats().delayed == 1


def test_on_the_servers_time_nothing_can_be_advanced(adeq: Adeq) -> None:
    queue = adeq.queue("work")
    queue.enqueue(1)
    assert len(run_all(queue, payload)) == 1
    queue.enqueue(2, delay=3600)
    with pytest.raises(ConfigError, match=r"due in (3600|3599)\.\d s of the server's time\. Ask for .* adeq_clock"):
        run_all(queue, payload)
    assert run_all(queue, payload, advance=False) == []


def test_a_handler_without_end_is_stopped(queue: Queue) -> None:
    def handle(lease: Lease) -> None:
        queue.enqueue(kind="again")

    queue.enqueue(kind="first")
    with pytest.raises(AssertionError, match=r"run_all: 5 runs, and there are still tasks that wait \(1\)") as raised:
        run_all(queue, handle, limit=5)
    assert str(raised.value).count("kind again, attempt 1: completed") == 3
    assert (queue.stats().ready, queue.stats().running) == (1, 0)


def test_a_paused_queue_runs_nothing(queue: Queue, adeq_clock: Clock) -> None:
    queue.enqueue()
    queue.enqueue(delay=5)
    queue.admin.pause()
    began = adeq_clock.now
    assert run_all(queue, payload) == []
    assert adeq_clock.now == began
    queue.admin.resume()
    assert len(run_all(queue, payload)) == 2


def test_a_task_whose_worker_died_runs_again(queue: Queue) -> None:
    queue.enqueue()
    (lease,) = queue.claim("somebody")
    (run,) = run_all(queue, lambda again: again.fence - lease.fence)
    assert (run.delivery, run.attempt) == (2, 1)
    assert run.result > 0


def test_a_run_whose_lease_was_taken_back_changes_nothing(queue: Queue, adeq_clock: Clock) -> None:
    def handle(lease: Lease) -> None:
        if lease.delivery == 1:
            adeq_clock.advance(20)
            queue.admin.reap()

    queue.enqueue()
    assert [run.outcome for run in run_all(queue, handle)] == ["lease_lost", "completed"]


def test_a_run_that_takes_too_long_on_the_clock_has_timed_out(queue: Queue, adeq_clock: Clock) -> None:
    queue.enqueue(timeout=5, max_attempts=1)
    (run,) = run_all(queue, lambda lease: adeq_clock.advance(6), raise_errors=False)
    assert (run.outcome, run.reason, str(run.error)) == (
        "dead",
        "timeout",
        "the run took longer than the task's timeout of 5 s",
    )


async def test_a_run_that_takes_too_long_is_ended(aio_queue: aio.Queue) -> None:
    async def handle(lease: Lease) -> None:
        await asyncio.Event().wait()

    await aio_queue.enqueue(timeout=0.05, max_attempts=1)
    (run,) = await run_all(aio_queue, handle, raise_errors=False)
    assert (run.outcome, run.reason) == ("dead", "timeout")
    await aio_queue.enqueue(timeout=0.05, max_attempts=1)
    with pytest.raises(TimeoutError):
        await run_all(aio_queue, handle)


async def test_a_handler_hears_that_its_task_is_cancelled(aio_queue: aio.Queue) -> None:
    async def handle(lease: Lease) -> None:
        context = TaskContext.current()
        await aio_queue.cancel(lease.id)
        assert not await context.heartbeat()
        context.check()

    await aio_queue.enqueue()
    (run,) = await run_all(aio_queue, handle)
    assert (run.outcome, run.reason, str(run.error)) == (
        "cancelled",
        "cancelled",
        "the handler ended, for the task is cancelling",
    )


# Handlers


async def hello(lease: Lease) -> str:
    await asyncio.sleep(0)
    context = TaskContext.current()
    assert context.lease is lease
    await context.progress(0.5, "half")
    return f"hello {lease.payload}"


def test_async_handlers_run_in_a_sync_test_on_one_loop(queue: Queue) -> None:
    loops = set()

    async def handle(lease: Lease) -> str:
        loops.add(asyncio.get_running_loop())
        return await hello(lease)

    queue.enqueue_many(["a", "b"])
    assert [run.result for run in run_all(queue, handle)] == ["hello a", "hello b"]
    assert len(loops) == 1


async def test_plain_and_async_handlers_run_in_an_async_test(aio_queue: aio.Queue) -> None:
    await aio_queue.enqueue("a", id="a")
    assert [run.result for run in await run_all(aio_queue, hello)] == ["hello a"]
    found = await aio_queue.get("a")
    assert found
    assert (found.progress, found.progress_text) == (0.5, "half")
    await aio_queue.enqueue("b")
    assert [run.result for run in await run_all(aio_queue, payload)] == ["b"]


async def test_the_two_clients_of_a_test_share_their_queues(
    adeq: Adeq, aio_adeq: aio.Adeq, adeq_clock: Clock, adeq_prefix: str
) -> None:
    assert adeq.prefix == aio_adeq.prefix == adeq_prefix
    adeq.queue("work").enqueue("a", delay=60)
    assert [run.result for run in await run_all(aio_adeq.queue("work"), hello)] == ["hello a"]


async def test_an_async_handler_cannot_run_on_a_sync_queue_in_an_async_test(queue: Queue) -> None:
    queue.enqueue()
    with pytest.raises(ConfigError, match=r"needs a queue of pyadeq\.asyncio"):
        run_all(queue, hello)
    assert queue.stats().ready == 1


def test_what_is_no_queue_or_no_handler(queue: Queue) -> None:
    with pytest.raises(ConfigError, match="queue: a str is not accepted"):
        run_all("work", payload)  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="handler: 1 is not accepted"):
        run_all(queue, 1)  # type: ignore[call-overload]


tasks = Tasks()


@tasks.task
async def add(context: TaskContext, left: int, right: int = 1) -> int:
    assert context.attempt == 1
    return left + right


@tasks.task
def shout(text: str) -> str:
    return text.upper()


@tasks.task
def weigh(grams: int) -> Annotated[int, PlainSerializer(lambda grams: f"{grams} g")]:
    return grams


def test_registered_functions_run(queue: Queue) -> None:
    queue.enqueue_many([add.item(1), add.item(1, right=2), shout.item("hey")])
    assert [run.result for run in run_all(queue, tasks)] == [2, 3, "HEY"]
    queue.enqueue_many([add.item(5)])
    (run,) = run_all(queue, add)
    found = queue.get(run.id)
    assert found
    assert (run.kind, found.result) == ("add", 6)
    queue.enqueue_many([weigh.item(7)])
    (run,) = run_all(queue, weigh)
    found = queue.get(run.id)
    assert found
    assert (run.result, found.result) == (7, "7 g")
    queue.enqueue(kind="unknown")
    assert [run.reason for run in run_all(queue, tasks, raise_errors=False)] == ["unknown_kind"]


def test_without_a_handler_the_functions_of_the_queue_run(queue: Queue) -> None:
    @queue.task
    def double(n: int) -> int:
        return 2 * n

    double.enqueue(4)
    assert [run.result for run in run_all(queue)] == [8]
    queue.bind(add).enqueue(1)
    assert [run.result for run in run_all(queue, add)] == [2]


# enqueued


def test_what_a_program_enqueued(queue: Queue) -> None:
    queue.enqueue({"n": 5}, kind="b", delay=9)
    queue.enqueue({"n": 4}, kind="b", delay=3, lane="group/g")
    queue.enqueue({"n": 3}, kind="a")
    queue.enqueue({"n": 1}, kind="a", priority=1, lane="group/g", user="u")
    queue.enqueue({"n": 2}, kind="b", priority=1)
    found = enqueued(queue)
    assert [task.payload["n"] for task in found] == [1, 2, 3, 4, 5]
    assert (found[0].user, found[0].lane, found[0].state, found[3].state) == ("u", "group/g", "ready", "delayed")
    assert [task.payload["n"] for task in enqueued(queue, kind="b")] == [2, 4, 5]
    run_all(queue, payload)
    assert enqueued(queue) == []


async def test_more_than_a_page_was_enqueued(aio_queue: aio.Queue) -> None:
    await aio_queue.enqueue_many(list(range(1200)))
    assert [task.payload for task in await enqueued(aio_queue)] == list(range(1200))

"""Durable tasks with a real Worker: steps that run once, and sleeps that hold no worker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

from pyadeq import Backoff, SyncTaskContext
from pyadeq.asyncio import Adeq, Lease, Queue, Receipt, TaskContext, TaskDead, TaskFailed, Tasks, TaskSuspended, Worker
from pyadeq.errors import ConfigError
from pyadeq.ext.connect.crypto import Encrypted, new_key
from pyadeq.testing import Clock, run_all
from tests.integration.running import adeq, at_work, queue, working
from tests.integration.worker import stepping
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures


class Plan(TypedDict):
    files: list[str]


class Calls(list[str]):
    """What functions of steps were called with."""

    async def note(self, word: str) -> str:
        self.append(word)
        return word.upper()

    def now(self, word: str) -> str:
        self.append(word)
        return word.upper()


async def steps(queue: Queue, receipt: Receipt) -> list[str]:
    return [one.full_name for one in await queue.inspect.steps(receipt.id)]


async def test_each_step_runs_once_though_the_function_begins_anew(queue: Queue) -> None:
    calls, tops = Calls(), []

    async def make_plan(repo: str) -> Plan:
        await calls.note(f"plan {repo}")
        return {"files": ["a", "b"]}

    @queue.task(reply=True)
    async def upgrade(context: TaskContext, repo: str) -> list[str]:
        tops.append(context.lease.delivery)
        plan = await context.step("plan", make_plan, repo)
        await context.sleep("cool-off", 0.2)
        return [await context.step("edit", calls.now, file) for file in plan["files"]]

    async with working(queue, queue.tasks):
        receipt = await upgrade.enqueue("r")
        assert await receipt.result(DEADLINE) == ["A", "B"]
    assert (calls, tops) == (["plan r", "a", "b"], [1, 2])
    assert await steps(queue, receipt) == ["plan", "cool-off", "edit", "edit#2"]
    task = await queue.get(receipt.id)
    assert task is not None
    assert (task.attempts, task.crashes, [run.outcome for run in await queue.inspect.runs(task.id)]) == (
        1, 0, ["completed"],
    )  # fmt: skip


async def test_a_plain_function_gets_values_in_a_thread_and_in_a_process(queue: Queue, tmp_path: Path) -> None:
    calls, file = Calls(), tmp_path / "calls"

    @queue.task(reply=True)
    def plain(context: SyncTaskContext, n: int) -> list[Any]:
        one = context.step("one", calls.now, "a")
        context.sleep("nap", 0.2)
        return [one, context.step("one", calls.now, "b"), context.patched("new"), n]

    queue.tasks.include(stepping.tasks)
    async with working(queue, queue.tasks):
        here, there = await plain.enqueue(1), await queue.enqueue({"file": str(file)}, kind="in_a_process", reply=True)
        assert await here.result(DEADLINE) == ["A", "B", True, 1]
        assert await there.result(DEADLINE) == ["A", "B", True]
    assert calls == ["a", "b"]
    assert [line.split()[:2] for line in file.read_text().splitlines()] == [
        ["a", f"{there.id}/note"], ["b", f"{there.id}/note#2"],
    ]  # fmt: skip


async def test_a_crash_between_effect_and_store_repeats_that_step_alone(queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "calls"
    queue.tasks.include(stepping.tasks)
    await queue.configure(backoff=Backoff(base=0, jitter=0))
    async with working(queue, queue.tasks):
        receipt = await queue.enqueue({"file": str(file)}, kind="killed_between", reply=True)
        # The second run does not ask for `die`, which was never stored.
        assert await receipt.result(DEADLINE) == "AB"
    assert [line.split()[0] for line in file.read_text().splitlines()] == ["a", "died", "b"]


async def test_the_steps_beside_a_wait_end_first(queue: Queue) -> None:
    calls = Calls()

    async def slow(word: str) -> str:
        await asyncio.sleep(0.2)
        return await calls.note(word)

    @queue.task(reply=True)
    async def both(context: TaskContext) -> list[str]:
        async with asyncio.TaskGroup() as group:
            group.create_task(context.sleep("nap", 0.1))
            work = [group.create_task(context.step("slow", slow, word)) for word in "ab"]
        return [one.result() for one in work]

    async with working(queue, queue.tasks):
        receipt = await both.enqueue()
        assert await receipt.result(DEADLINE) == ["A", "B"]
    assert sorted(calls) == ["a", "b"]


async def test_of_several_sleeps_each_keeps_its_time_and_steps_beside_them_run_once(queue: Queue) -> None:
    calls = Calls()

    async def slow(word: str) -> str:
        await calls.note(word)
        await asyncio.sleep(0.3)
        return word

    @queue.task(reply=True)
    async def work(context: TaskContext) -> str:
        _, _, found = await asyncio.gather(
            context.sleep("long", 0.8), context.sleep("short", 0.1), context.step("slow", slow, "beside")
        )
        return found

    async with working(queue, queue.tasks):
        receipt = await work.enqueue()
        assert await receipt.result(DEADLINE) == "beside"
    assert calls == ["beside"]
    found = {one.name: one for one in await queue.inspect.steps(receipt.id)}
    assert (found["long"].due or 0) - (found["short"].due or 0) == pytest.approx(0.7, abs=0.01)
    assert found["long"].fence == found["short"].fence


async def test_branches_may_ask_in_another_order_in_each_run(queue: Queue) -> None:
    await queue.configure(backoff=Backoff(base=0, jitter=0))
    calls = Calls()

    async def fails_once(word: str) -> str:
        await calls.note(word)
        if calls.count(word) == 1:
            await asyncio.sleep(0.2)
            raise ValueError(word)
        return word

    @queue.task(reply=True)
    async def work(context: TaskContext) -> list[str]:
        async def other() -> str:
            await asyncio.sleep(0.05)
            return await context.step("b", calls.note, "b")

        return list(await asyncio.gather(context.step("a", fails_once, "a"), other()))

    async with working(queue, queue.tasks):
        assert await (await work.enqueue()).result(DEADLINE) == ["a", "B"]
    assert calls == ["a", "b", "a"]


async def test_a_failed_step_ends_the_run(queue: Queue) -> None:
    await queue.configure(max_attempts=1)
    calls = Calls()

    async def bad() -> None:
        raise ValueError("bad")

    @queue.task(reply=True)
    async def work(context: TaskContext) -> None:
        with contextlib.suppress(ValueError):
            await context.step("primary", bad)
        await context.step("backup", calls.note, "x")

    async with working(queue, queue.tasks):
        assert "the step 'primary' has failed in this run" in await error_of(queue, await work.enqueue())
    assert calls == []


async def test_nothing_begins_after_the_run(queue: Queue) -> None:
    await queue.configure(max_attempts=1)
    calls, over = Calls(), asyncio.Event()

    async def bad() -> None:
        raise ValueError("bad")

    @queue.task(reply=True)
    async def work(context: TaskContext) -> None:
        async def orphan() -> None:
            await over.wait()
            await context.step("charge", calls.note, "charged")

        await asyncio.gather(context.step("bad", bad), orphan())

    async with working(queue, queue.tasks):
        with pytest.raises(TaskDead):
            await (await work.enqueue()).result(DEADLINE)
        over.set()
        await asyncio.sleep(0.05)
    assert calls == []


async def test_a_wait_that_is_refused_fails_its_task_alone(adeq: Adeq, queue: Queue) -> None:
    await queue.configure(max_attempts=1)

    @queue.task(reply=True)
    async def far(context: TaskContext) -> None:
        await context.sleep("far", until=1e13)

    @queue.task(reply=True)
    async def near(context: TaskContext) -> str:
        await context.sleep("near", 0.1)
        return "woken"

    async with working(queue, queue.tasks):
        bad, good = await far.enqueue(), await near.enqueue()
        assert "up to the year 9999" in await error_of(queue, bad)
        assert await good.result(DEADLINE) == "woken"
        await adeq.client.hset(f"{queue.base}:config", mapping={"layout": 1, "layout_min": 1})
        late = await near.enqueue()
        with pytest.raises(TaskDead, match="LayoutError"):
            await late.result(DEADLINE)


async def test_lost_steps_are_taken_again_once(adeq: Adeq, queue: Queue) -> None:
    calls = Calls()

    @queue.task(reply=True)
    async def work(context: TaskContext) -> str:
        found = await context.step("a", calls.note, "a")
        await context.sleep("nap", 0.3)
        return found

    async with working(queue, queue.tasks):
        receipt = await work.enqueue()
        await eventually(lambda: has_steps(queue, receipt, 2))
        await adeq.client.delete(f"{queue.base}:steps:{receipt.id}")
        assert await receipt.result(DEADLINE) == "A"
    assert calls == ["a", "a"]


async def test_a_suspension_passes_except_exception_and_runs_finally(queue: Queue) -> None:
    told: list[str] = []

    @queue.task(reply=True)
    async def careful(context: TaskContext) -> str:
        try:
            await context.sleep("nap", 0.1)
        except Exception:
            told.append("except")
        except BaseException as error:
            told.append(str(error))
            raise
        finally:
            told.append("finally")
        return "done"

    @queue.task(reply=True)
    async def careless(context: TaskContext) -> str:
        try:
            await context.sleep("nap", 0.1)
        except BaseException:
            await asyncio.sleep(0)
        return "done"

    async with working(queue, queue.tasks):
        receipts = [await careful.enqueue(), await careless.enqueue()]
        assert [await one.result(DEADLINE) for one in receipts] == ["done", "done"]
    assert told == ["the task waits: nap", "finally", "finally"]


async def test_an_attempt_that_fails_keeps_its_steps_and_a_step_may_retry_by_itself(queue: Queue) -> None:
    await queue.configure(backoff=Backoff(base=0, jitter=0))
    calls = Calls()

    async def flaky(word: str) -> str:
        await calls.note(word)
        if calls.count(word) < 3:
            raise ValueError(word)
        return word

    @queue.task(reply=True)
    async def work(context: TaskContext) -> str:
        await context.step("first", calls.note, "first")
        await context.step("own", flaky, "own", retries=2, backoff=Backoff(base=0))
        return await context.step("task", flaky, "task")

    async with working(queue, queue.tasks):
        receipt = await work.enqueue()
        assert await receipt.result(DEADLINE) == "task"
    assert calls == ["first", *["own"] * 3, *["task"] * 3]


async def test_code_that_does_not_fit_waits_with_its_reason_until_it_fits(queue: Queue) -> None:
    calls = Calls()

    @queue.task(reply=True)
    async def work(context: TaskContext) -> str:
        first = "" if context.lease.delivery == 2 else await context.step("old", calls.note, "x")
        await context.sleep("nap", 0.1)
        return first

    async with working(queue, queue.tasks):
        receipt = await work.enqueue()
        await eventually(lambda: is_reason(queue, receipt, "diverged"))
        task = await queue.get(receipt.id)
        assert task is not None
        assert (task.state, task.waits_for) == ("delayed", "old")
        await queue.admin.run_now(receipt.id)
        assert await receipt.result(DEADLINE) == "X"
    assert calls == ["x"]


async def has_steps(queue: Queue, receipt: Receipt, count: int) -> bool:
    return len(await steps(queue, receipt)) == count


async def is_reason(queue: Queue, receipt: Receipt, reason: str) -> bool:
    task = await queue.get(receipt.id)
    return task is not None and task.reason == reason


async def test_changed_code_asks_whether_a_task_is_new(queue: Queue) -> None:
    calls, changed = Calls(), False

    @queue.task(reply=True)
    async def work(context: TaskContext) -> str:
        if changed and await context.patched("more"):
            await context.step("more", calls.note, "more")
        await context.step("old", calls.note, "old")
        await context.sleep("nap", 0.3)
        return "done"

    async with working(queue, queue.tasks):
        old = await work.enqueue()
        await eventually(lambda: has_steps(queue, old, 2))
        changed = True
        new = await work.enqueue()
        assert [await one.result(DEADLINE) for one in (old, new)] == ["done", "done"]
    assert await steps(queue, old) == ["old", "nap"]
    assert await steps(queue, new) == ["more", "more#2", "old", "nap"]


async def test_results_are_what_the_function_says_and_pass_the_codec(adeq: Adeq, queue: Queue, url: str) -> None:
    async def plan() -> Plan:
        return {"files": ["secret"]}

    async def raw() -> bytes:
        return b"\x00secret"

    async with Adeq.from_url(url, codec=Encrypted([new_key()])) as sealed:
        other = sealed.queue(queue.name)

        @other.task(reply=True)
        async def work(context: TaskContext) -> list[Any]:
            found = [await context.step("plan", plan), (await context.step("raw", raw)).hex()]
            await context.sleep("nap", 0.1)
            return found

        async with working(other, other.tasks):
            receipt = await work.enqueue()
            assert await receipt.result(DEADLINE) == [{"files": ["secret"]}, b"\x00secret".hex()]
        first, *_ = await other.inspect.steps(receipt.id)
        assert first.result == {"files": ["secret"]}
    stored = await adeq.client.hgetall(f"{queue.base}:steps:{receipt.id}")
    assert not any(b"secret" in value for value in stored.values())


async def test_what_a_step_may_not_be(queue: Queue) -> None:
    await queue.configure(max_attempts=1)

    async def nothing() -> None: ...

    async def slow() -> None:
        await asyncio.sleep(60)

    async def inner(context: TaskContext) -> None:
        await context.step("inner", nothing)

    wrong: dict[str, Callable[[Any], Awaitable[object]]] = {
        "not inside of the step 'outer'": lambda context: context.step("outer", inner, context),
        "with space": lambda context: context.step("with space", nothing),
        "give either seconds or until": lambda context: context.sleep("s", 1, until=2),
        "a function annotated `-> bytes`": lambda context: context.step("bytes", lambda: b"x"),
        "TimeoutError": lambda context: context.step("t", slow, timeout=0.05),
        "only of a coroutine function": lambda context: context.step("t", lambda: 1, timeout=1),
        "too many bytes": lambda context: context.step("large", lambda: "x" * 2_000_000),
    }
    ways = list(wrong.items())

    @queue.task(reply=True)
    async def work(context: TaskContext, way: int) -> None:
        await ways[way][1](context)

    async with working(queue, queue.tasks):
        for at, (said, _) in enumerate(ways):
            assert said in await error_of(queue, await work.enqueue(at))


async def error_of(queue: Queue, receipt: Receipt) -> str:
    with pytest.raises(TaskDead):
        await receipt.result(DEADLINE)
    task = await queue.get(receipt.id)
    return (task and task.error) or ""


async def test_a_task_with_too_many_steps_is_dead(queue: Queue) -> None:
    await queue.configure(steps_max=2)

    calls = Calls()

    @queue.task(reply=True)
    async def work(context: TaskContext, sleeps: bool) -> None:
        for _ in range(2):
            await context.step("s", calls.note, "x")
        await (context.sleep("nap", 1) if sleeps else context.step("s", calls.note, "x"))

    async with working(queue, queue.tasks):
        for sleeps in (False, True):
            with pytest.raises(TaskDead, match="steps_full"):
                await (await work.enqueue(sleeps)).result(DEADLINE)


async def test_on_a_queue_of_the_last_release_the_error_says_what_to_do(adeq: Adeq, queue: Queue) -> None:
    await queue.configure(max_attempts=1)
    await adeq.client.hset(f"{queue.base}:config", mapping={"layout": 1, "layout_min": 1})

    calls = Calls()

    @queue.task(reply=True)
    async def work(context: TaskContext) -> None:
        await context.step("s", calls.note, "x")

    async with working(queue, queue.tasks):
        assert "adeq scripts migrate" in await error_of(queue, await work.enqueue())
        assert calls == []
        await queue.admin.migrate()
        await (await work.enqueue()).result(DEADLINE)
    assert calls == ["x"]


async def test_steps_are_in_the_partition_of_their_task(adeq: Adeq, base_name: str) -> None:
    calls, tasks, parted = Calls(), Tasks(), adeq.partitioned(base_name)
    await parted.repartition(2)
    await parted.configure(max_attempts=1)

    @tasks.task(name="work")
    async def work(context: TaskContext, size: int) -> int:
        large = await context.step("large", calls.note, "x" * size)
        await context.sleep("nap", 0.1)
        return len(large)

    async with at_work(Worker(parted, tasks)):
        receipts = [await parted.enqueue({"size": size}, kind="work", reply=True) for size in (1, 70_000, 2, 70_001)]
        assert [await one.result(DEADLINE) for one in receipts] == [1, 70_000, 2, 70_001]
        assert [[one.full_name for one in await parted.inspect.steps(task.id)] for task in receipts] == [
            ["large", "nap"]
        ] * 4
    assert len(calls) == 4


async def test_a_partition_of_the_last_release_refuses_before_a_function_runs(adeq: Adeq, base_name: str) -> None:
    calls, tasks, parted = Calls(), Tasks(), adeq.partitioned(base_name)
    await parted.repartition(2)
    await parted.configure(max_attempts=1)
    for part in await parted.partitions():
        await adeq.client.hset(f"{parted.part(part.tag).base}:config", mapping={"layout": 1, "layout_min": 1})

    @tasks.task(name="work")
    async def work(context: TaskContext) -> None:
        await context.step("s", calls.note, "x")

    async with at_work(Worker(parted, tasks)):
        with pytest.raises(TaskDead, match="LayoutError"):
            await (await parted.enqueue({}, kind="work", reply=True)).result(DEADLINE)
    assert calls == []


async def test_a_context_without_a_queue_calls_the_functions_and_does_not_wait() -> None:
    calls = Calls()
    context = TaskContext(Lease("t", "token", 1, 1, 1, 0.0, b"", {}))
    assert [await context.step("a", calls.note, "x"), await context.step("a", calls.note, "y")] == ["X", "Y"]
    await context.sleep("night", 8 * 3600)
    assert await context.patched("new")


def test_a_coroutine_cannot_have_the_context_of_a_plain_function(queue: Queue) -> None:
    with pytest.raises(ConfigError, match="SyncTaskContext is not accepted in a coroutine"):

        @queue.task
        async def work(context: SyncTaskContext) -> None: ...


@pytest.fixture
async def timed(url: str, base_name: str) -> AsyncIterator[Queue]:
    """A queue whose time is the test's."""
    async with Adeq.from_url(url, clock=Clock()) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(clock="test")
        yield queue


@pytest.mark.parametrize("plain", [False, True])
async def test_run_all_lets_the_time_of_a_sleep_pass(timed: Queue, plain: bool) -> None:
    calls = Calls()

    async def coroutine(context: TaskContext) -> str:
        first = await context.step("first", calls.note, "x")
        await context.sleep("night", 8 * 3600)
        return first

    def function(context: SyncTaskContext) -> str:
        first = context.step("first", calls.now, "x")
        context.sleep("night", 8 * 3600)
        return first

    task: Any = timed.task(name="work")(function if plain else coroutine)
    await task.enqueue()
    runs = await run_all(timed)
    assert [(run.outcome, run.result) for run in runs] == [("suspended", None), ("completed", "X")]
    assert calls == ["x"]


def test_a_suspension_tells_for_what_it_waits() -> None:
    assert not issubclass(TaskSuspended, Exception)
    assert issubclass(TaskFailed, Exception)

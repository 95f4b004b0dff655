"""Chains with a real Worker: what a step knows of those before it, and one task of those that it has gathered."""

import asyncio
from typing import Any

import pytest

import pyadeq
from pyadeq.asyncio import Lease, Queue, Task, TaskContext, TaskDead, Tasks
from pyadeq.testing import run_all
from tests.integration.running import adeq, queue, working
from tests.integration.worker import gathering
from tests.waiting import DEADLINE

__all__ = ["adeq", "queue"]  # fixtures

pytestmark = pytest.mark.any_engine


async def test_a_step_finds_the_result_of_the_one_before(queue: Queue) -> None:
    @queue.task(reply=True)
    async def add(context: TaskContext, n: int) -> int:
        before = await queue.get_many(context.after)
        results: list[int] = [task.result for task in before if task]
        return n + sum(results)

    async with working(queue, queue.tasks, concurrency=10):
        receipts = await queue.chain([add.item(n) for n in range(100)])
        assert await receipts[-1].result(DEADLINE) == sum(range(100))
        last = await add.options(after=receipts[:3]).run(1)
    assert last == 1 + 0 + 1 + 3


async def test_an_async_handler_reads_what_it_has_gathered(queue: Queue) -> None:
    @queue.task
    async def square(n: int) -> int:
        return n * n

    @queue.task(reply=True)
    async def total(context: TaskContext) -> int:
        return sum([child.result async for child in context.gathered()])

    async with working(queue, queue.tasks, concurrency=50):
        receipt = await queue.gather([square.item(n) for n in range(500)], total.item())
        assert await receipt.result(DEADLINE) == sum(n * n for n in range(500))


async def test_a_thread_reads_it_too(queue: Queue) -> None:
    @queue.task(reply=True)
    def total(context: TaskContext) -> list[Any]:
        return [child.payload for child in context.gathered()]

    @queue.task
    def part(of: str) -> None: ...

    async with working(queue, queue.tasks):
        receipt = await queue.gather([part.item(word) for word in "abc"], total.item())
        assert await receipt.result(DEADLINE) == [{"of": "a"}, {"of": "b"}, {"of": "c"}]


@pytest.mark.parametrize("name", ["total", "total_of_a_part"])
async def test_a_child_process_reads_it_too(queue: Queue, name: str) -> None:
    last: Any = queue.bind(getattr(gathering, name)).options(reply=True)
    async with working(queue, gathering.tasks):
        receipt = await queue.gather([gathering.part.item(n) for n in range(250)], last.item())
        assert await receipt.result(DEADLINE) == sum(n * n for n in range(250))


async def test_a_handler_makes_a_chain_of_its_own(queue: Queue) -> None:
    async def handle(lease: Lease) -> Any:
        match lease.payload:
            case {"split": count}:
                # Its id as the rid: a second run of this task makes the same again, and no more.
                receipt = await queue.gather(range(count), Task(payload="sum", reply=True), rid=f"{lease.id}.parts")
                return receipt.id
            case "sum":
                return sum([child.result async for child in TaskContext.current().gathered()])
        return lease.payload

    async with working(queue, handle):
        id = await queue.run({"split": 20}, wait=DEADLINE)
        assert await queue.result(id, DEADLINE) == sum(range(20))


async def test_behind_a_failed_step_only_what_waits_for_a_failure_runs(queue: Queue) -> None:
    ran: list[str] = []

    async def handle(lease: Lease) -> None:
        ran.append(lease.payload)
        if lease.payload == "breaks":
            raise ValueError

    first, breaks, after = await queue.chain(["first", Task(payload="breaks", max_attempts=1), "after"])
    undo = await queue.enqueue("undo", after=[first, breaks], after_any=True, after_when="failed", reply=True)
    never = await queue.enqueue("never", after=first, after_when="failed")
    anyhow = await queue.enqueue("anyhow", after=after, after_when="ended", reply=True)
    async with working(queue, handle):
        await undo.result(DEADLINE)
        await anyhow.result(DEADLINE)
        with pytest.raises(TaskDead, match="is dead: after_failed"):
            await after.result(DEADLINE)
    assert (await queue.inspect.outcome(never.id)).status == "cancelled"
    assert sorted(ran) == ["anyhow", "breaks", "first", "undo"]


# In tests of a program


async def test_run_all_runs_a_chain_and_what_is_gathered(queue: Queue, url: str) -> None:
    tasks = Tasks()

    @tasks.task
    async def part(n: int) -> int:
        return n

    @tasks.task
    async def total(context: TaskContext) -> int:
        return sum([child.result async for child in context.gathered()])

    @tasks.task
    def count(context: TaskContext) -> int:
        return len(list(context.gathered()))

    for last in (total, count):
        await queue.gather([part.item(n) for n in range(3)], last.item())
    assert [run.result for run in await run_all(queue, tasks)] == [0, 1, 2, 3, 0, 1, 2, 3]

    def in_sync() -> list[Any]:
        with pyadeq.Adeq.from_url(url) as client:
            same = client.queue(queue.name)
            for last in (total, count):
                same.gather([part.item(n) for n in range(3)], last.item())
            return [run.result for run in run_all(same, tasks)]

    assert await asyncio.to_thread(in_sync) == [0, 1, 2, 3, 0, 1, 2, 3]


async def test_run_all_sees_to_all_that_a_cancelled_tree_leaves(queue: Queue) -> None:
    root = await queue.gather(range(350), "then")
    assert await queue.cancel(root.id, tree=True) == "cancelled"
    runs = await run_all(queue, lambda lease: lease.payload, advance=False)
    assert len(runs) < 250, "claims cancel 100 at a time"
    stats = await queue.stats()
    assert (stats.pending, stats.finished) == (0, 351)

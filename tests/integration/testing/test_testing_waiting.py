"""`pyadeq.testing.worker`: code that waits for results, tested without a worker."""

import asyncio
from typing import Any

import pytest

from pyadeq import Adeq, Backoff, Rule, TaskContext, TaskDead, Tasks, WaitTimeout
from pyadeq import asyncio as aio
from pyadeq.testing import Clock, worker

tasks = Tasks()


@tasks.task(backoff=Backoff(base=60, jitter=0), max_attempts=3, failures={LookupError: Rule(retry=False)})
def halve(context: TaskContext, n: int) -> set[int]:
    if n < 0:
        raise LookupError("no such number")
    if n % 2 and context.attempt < n:
        raise ValueError("odd")
    return {n // 2}


def test_who_waits_runs_the_tasks(adeq: Adeq, adeq_clock: Clock) -> None:
    queue = adeq.queue("work")
    half, began = queue.bind(halve), adeq_clock.now
    with worker(queue, tasks) as runs:
        receipt = half.options(delay=86400).enqueue(8)
        assert not runs, "nothing runs before somebody waits"
        assert half.run(2) == {1}
        assert receipt.result() == {4}
        assert adeq_clock.now - began == pytest.approx(86400)
        assert half.run(3) == {1}
        assert [run.outcome for run in runs[2:]] == ["retried", "retried", "completed"]
        with pytest.raises(TaskDead, match="LookupError"):
            half.run(-1)
        with pytest.raises(TaskDead, match="ValueError"):
            half.run(5)
        assert [update.state for update in half.options(delay=5).enqueue(4).updates()] == ["delayed", "completed"]
    assert [run.attempt for run in runs] == [1, 1, 1, 2, 3, 1, 1, 2, 3, 1]
    with pytest.raises(WaitTimeout, match="is ready"):
        half.options(wait=0.01).run(1)


def test_nothing_that_could_end_the_wait(adeq: Adeq, adeq_clock: Clock) -> None:
    queue = adeq.queue("work")

    @queue.task
    def again() -> None:
        again.enqueue()

    with worker(queue, limit=3):
        queue.admin.pause()
        with pytest.raises(WaitTimeout, match="nothing of 'work' is left to run"):
            again.run()
        queue.admin.resume()
        with pytest.raises(AssertionError, match=r"worker: 4 runs, and there are still tasks that wait \(2\)"):
            queue.result(queue.enqueue(kind="again", delay=9).id)


async def test_tasks_that_wait_for_tasks(aio_adeq: aio.Adeq, adeq_clock: Clock) -> None:
    """Their leases are kept, though the clock goes on for days; and no task runs twice."""
    queue = aio_adeq.queue("work")

    @queue.task
    async def leaf(n: int) -> int:
        await asyncio.sleep(0)
        return n

    @queue.task
    async def tree(n: int) -> int:
        later = leaf.options(delay=3600 * 20)
        return sum(await asyncio.gather(*(later.run(one) for one in range(n)))) + await later.run(100)

    with worker(queue) as runs:
        assert await tree.run(3) == 103
        several = await asyncio.gather(tree.run(2), leaf.run(1), (await leaf.enqueue(2)).result())
        assert list(several) == [101, 1, 2]
    assert {(run.attempt, run.delivery, str(run.outcome)) for run in runs} == {(1, 1, "completed")}
    assert len(runs) == 5 + 4 + 2


async def test_on_the_servers_time(aio_adeq: aio.Adeq) -> None:
    queue, other = aio_adeq.queue("work"), aio_adeq.queue("other")

    @queue.task(backoff=Backoff(base=0.05))
    async def flaky(context: TaskContext) -> Any:
        if context.attempt == 1:
            raise ValueError("once")
        return await other.run("nested")

    with worker(queue), worker(other, lambda lease: lease.payload):
        assert await flaky.run() == "nested"
        with pytest.raises(WaitTimeout, match="is delayed"):
            await flaky.options(wait=0.01, delay=60).run()


async def test_blocks_that_end_in_any_order(aio_adeq: aio.Adeq) -> None:
    """Blocks of several asyncio tasks."""
    hints, leave = aio_adeq.hints, [asyncio.Event() for _ in range(3)]

    async def block(number: int) -> set[int]:
        queue = aio_adeq.queue(f"work{number}")
        with worker(queue, tasks):
            await leave[number].wait()
            return await queue.bind(halve).run(2 * number)

    running = [asyncio.create_task(block(number)) for number in range(3)]
    for number in (1, 0, 2):  # not as they began
        await asyncio.sleep(0)
        leave[number].set()
        assert await running[number] == {number}
    assert aio_adeq.hints is hints

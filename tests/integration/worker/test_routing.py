"""Routing with real worker processes: types of actors, their groups, and their instances."""

import signal
from collections import Counter

import pytest

from pyadeq import Queue, Task
from tests.waiting import DEADLINE, wait_until
from tests.worker_processes import Workers, workers

__all__ = ["workers"]  # a fixture

HANDLER = """
import asyncio

from pyadeq.asyncio import TaskContext


async def handle(lease):
    await asyncio.sleep((lease.payload or {}).get("seconds", 0))
    return TaskContext.current().worker
"""


def done_by(queue: Queue, tasks: list[Task]) -> Counter[str]:
    """How many of these tasks each worker has done."""
    return Counter(receipt.result(DEADLINE) for receipt in queue.enqueue_many(tasks))


@pytest.mark.slow
def test_two_instances_share_a_type(workers: Workers, queue: Queue) -> None:
    for name in ("sal-1", "sal-2"):
        workers.start(name, "--concurrency", "1")
    wait_until(lambda: len(queue.workers.list()) == 2)
    done = done_by(queue, [Task(payload={"seconds": 0.05}, reply=True) for _ in range(20)])
    assert set(done) == {"sal-1", "sal-2"}
    assert done.total() == 20


@pytest.mark.slow
def test_a_task_is_pinned_to_an_instance_of_a_pool(workers: Workers, queue: Queue) -> None:
    for name in ("box-1", "box-2", "box-3"):
        workers.start(name, "--group", "pool")
    wait_until(lambda: len(queue.workers.list(group="pool")) == 3)
    pinned = Task(lane="group/pool/inst/box-2", reply=True)
    assert done_by(queue, [pinned] * 10) == {"box-2": 10}

    workers.signal("box-2", signal.SIGTERM)
    assert workers.wait("box-2") == 0
    assert [worker.name for worker in queue.workers.list()] == ["box-1", "box-3"]
    waits = queue.enqueue(lane="group/pool/inst/box-2")
    fails = queue.enqueue(lane="group/pool/inst/box-2", fallback="fail", fallback_after=0.1)
    wider = pinned.model_copy(update={"fallback": "wider", "fallback_after": 0.1})
    assert done_by(queue, [wider] * 3).keys() <= {"box-1", "box-3"}
    assert queue.inspect.ended(fails.id, 30).reason == "nobody_came"
    assert queue.inspect.outcome(waits.id).state == "ready"
    workers.start("box-2", "--group", "pool")
    assert waits.result(DEADLINE) == "box-2"


@pytest.mark.slow
def test_old_and_new_actors_work_side_by_side(workers: Workers, queue: Queue) -> None:
    workers.start("old", "--group", "v1", "--concurrency", "1")
    workers.start("new", "--group", "v2", "--concurrency", "1", "--capability", "stream")
    wait_until(lambda: len(queue.workers.list()) == 2)
    assert [worker.name for worker in queue.workers.list(capability="stream")] == ["new"]
    assert done_by(queue, [Task(lane="group/v2", reply=True)] * 5) == {"new": 5}
    assert done_by(queue, [Task(lane="group/v1", reply=True)] * 5) == {"old": 5}
    assert set(done_by(queue, [Task(payload={"seconds": 0.05}, reply=True)] * 20)) == {"old", "new"}

    queue.workers.control(group="v1", mode="quiet")
    wait_until(lambda: all(worker.heard for worker in queue.workers.list(group="v1")))
    done_by(queue, [Task(reply=True)] * 5)  # claims of the old one may be on their way already
    assert done_by(queue, [Task(reply=True)] * 20) == {"new": 20}
    late = queue.enqueue(lane="group/v1", fallback="wider", fallback_after=0.1)
    assert late.result(DEADLINE) == "new"
    queue.workers.control(group="v1", mode="stop")
    assert workers.wait("old") == 0


@pytest.mark.slow
def test_a_name_has_one_holder(workers: Workers, queue: Queue) -> None:
    first = workers.start("box", "--group", "pool")
    wait_until(lambda: queue.workers.get("box"))
    incarnation = queue.workers.get("box")
    workers.start("box", "--group", "pool")
    assert first.child.wait(DEADLINE) == 1
    assert "registered again elsewhere" in first.log
    now = queue.workers.get("box")
    assert now is not None
    assert incarnation is not None
    assert now.incarnation != incarnation.incarnation
    assert queue.enqueue(lane="group/pool/inst/box", reply=True).result(DEADLINE) == "box"


@pytest.mark.slow
def test_two_groups_may_each_have_an_instance_of_one_name(workers: Workers, queue: Queue) -> None:
    for group in ("io", "gpu"):
        workers.start(f"{group}:1", "--group", group, "--instance", "1")
    wait_until(lambda: {worker.instance for worker in queue.workers.list()} == {"1"} and len(queue.workers.list()) == 2)
    done = done_by(queue, [Task(lane=f"group/{group}/inst/1", reply=True) for group in ("io", "gpu", "gpu")])
    assert done == {"io:1": 1, "gpu:1": 2}


@pytest.mark.slow
def test_a_worker_without_a_group_may_serve_the_default_group(workers: Workers, queue: Queue) -> None:
    workers.start("w1", "--default-group")
    wait_until(lambda: len(queue.workers.list()) == 1)
    assert queue.workers.list()[0].lanes == ("group/default", "any")
    assert done_by(queue, [Task(lane="group/default", reply=True), Task(reply=True)]) == {"w1": 2}

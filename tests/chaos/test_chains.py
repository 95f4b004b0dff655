"""A chain of a thousand steps, and ten thousand tasks that are gathered; one of three worker processes is killed."""

import signal
from itertools import pairwise

import pytest
import redis

from pyadeq import Queue, Task
from tests.audit import audit
from tests.chaos.conftest import SCALE
from tests.chaos.task_stream import TaskHistory, read_tasks
from tests.waiting import wait_until
from tests.worker_processes import Workers

pytestmark = pytest.mark.slow

LEASE = 2.0
HANDLER = """
import os

from pyadeq.asyncio import Adeq, TaskContext

queue = Adeq.from_url(os.environ["ADEQ_URL"]).queue(os.environ["ADEQ_QUEUE"])


async def handle(lease):
    context = TaskContext.current()
    match lease.kind:
        case "step":
            return sum([task.result for task in await queue.get_many(context.after)]) + 1
        case "part":
            return lease.payload
        case "sum":
            found = [child.result async for child in context.gathered()]
            return [len(found), sum(found), found == sorted(found)]
"""


def test_every_step_runs_in_its_turn_and_all_results_are_gathered(
    workers: Workers, queue: Queue, client: redis.Redis
) -> None:
    steps, parts = round(1_000 * SCALE), round(10_000 * SCALE)
    queue.configure(lease=LEASE, events_max=20 * (steps + parts), finished_max=2 * (steps + parts))
    for name in ("killed", "steady", "other"):
        workers.start(name, "--concurrency", "40")
    wait_until(lambda: len(queue.workers.list()) == 3)
    chain = queue.chain([Task(kind="step", reply=True) for _ in range(steps)])
    total = queue.gather([Task(payload=n, kind="part") for n in range(parts)], Task(kind="sum", reply=True))

    def stands_still_with_a_step() -> bool:
        workers.signal("killed", signal.SIGSTOP)
        if any(task.worker == "killed" and task.kind == "step" for task in queue.iterate("running")):
            return True
        workers.signal("killed", signal.SIGCONT)
        return False

    wait_until(lambda: queue.stats().finished >= parts // 5)
    wait_until(stands_still_with_a_step)
    workers.signal("killed", signal.SIGKILL)
    assert chain[-1].result(60 * max(SCALE, 1)) == steps
    assert total.result(60 * max(SCALE, 1)) == [parts, sum(range(parts)), True]
    for name in ("steady", "other"):
        workers.signal(name, signal.SIGTERM)
        assert workers.wait(name) == 0

    history = TaskHistory(client, queue.base)
    assert history.completed == len(history.tasks) == steps + parts + 1
    assert history.taken_back_from("killed")
    ended: set[str] = set()
    before = {one.id: earlier.id for earlier, one in pairwise(chain)}
    for event in read_tasks(client, queue.base):
        if event.name == "claimed":
            assert {before[id] for id in event.ids if id in before} <= ended
        if event.name == "completed":
            ended |= set(event.ids)
    assert audit(client, queue.base) == []

"""Worker processes that are killed, that stand still, and that are told to stop, in the midst of ten thousand tasks."""

import signal
from functools import partial
from typing import Any

import pytest
import redis

from pyadeq import Queue
from tests.audit import audit
from tests.chaos.conftest import SCALE
from tests.chaos.task_stream import TaskHistory
from tests.waiting import wait_until
from tests.worker_processes import Workers

pytestmark = pytest.mark.slow

LEASE = 2.0
HANDLER = """
import asyncio

async def handle(lease):
    await asyncio.sleep(0.05)
    return lease.payload
"""


def held_by(queue: Queue, worker: str) -> list[Any]:
    return [task for task in queue.iterate("running") if task.worker == worker]


def test_nothing_is_lost_or_done_twice_whatever_befalls_four_workers(
    workers: Workers, queue: Queue, client: redis.Redis
) -> None:
    total = round(10_000 * SCALE)
    queue.configure(lease=LEASE, events_max=20 * total)
    queue.enqueue_many(range(total))
    for name in ("killed", "stopped", "told", "steady"):
        workers.start(name, "--concurrency", "40")
    for name in workers.named:
        wait_until(partial(held_by, queue, name))

    workers.signal("stopped", signal.SIGSTOP)
    workers.signal("killed", signal.SIGKILL)
    silent = {task.id for name in ("killed", "stopped") for task in held_by(queue, name)}
    workers.signal("told", signal.SIGTERM)
    assert workers.wait("told") == 0
    assert not held_by(queue, "told")
    # Longer than their leases: somebody else has them, or has done them.
    wait_until(lambda: not {task.id for name in ("killed", "stopped") for task in held_by(queue, name)} & silent)
    workers.signal("stopped", signal.SIGCONT)

    wait_until(lambda: queue.stats().counters.get("completed", 0) >= total)
    for name in ("stopped", "steady"):
        workers.signal(name, signal.SIGTERM)
        assert workers.wait(name) == 0
    history = TaskHistory(client, queue.base)
    assert history.completed == len(history.tasks) == total
    assert history.taken_back_from("killed")
    assert history.taken_back_from("stopped")
    assert not history.taken_back_from("told"), "it gave back what it held"
    some = queue.get_many([task.id for task in queue.list("completed", limit=1000).tasks])
    assert all(task and task.result == task.payload for task in some)
    assert audit(client, queue.base) == []

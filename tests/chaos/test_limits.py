"""Worker processes that are killed and that stand still while they hold what is limited: their slots come back."""

import signal
from time import sleep

import pytest
import redis

from pyadeq import Queue, Task, TaskView
from tests.audit import audit
from tests.chaos.conftest import SCALE
from tests.chaos.task_stream import TaskHistory, read_tasks
from tests.limit_stream import check_rate, most_at_a_time, stamps_of
from tests.waiting import wait_until
from tests.worker_processes import Workers

pytestmark = pytest.mark.slow

LEASE = 1.0
SENT = 0.1  # seconds in which the server has read what somebody sent before he was stopped
HANDLER = """
import asyncio

async def handle(lease):
    await asyncio.sleep(0.02)
    return lease.payload
"""


def held_by(queue: Queue, worker: str, user: str) -> list[TaskView]:
    return [task for task in queue.iterate("running") if (task.worker, task.user) == (worker, user)]


def test_slots_come_back_from_workers_that_are_killed(workers: Workers, queue: Queue, client: redis.Redis) -> None:
    limited, others = round(250 * SCALE), round(400 * SCALE)
    ids = {user: [f"{user}.{n}" for n in range(count)] for user, count in (("ann", limited), ("bob", others))}
    total = limited + others
    queue.configure(lease=LEASE, max_crashes=100, events_max=20 * total, finished_max=2 * total)
    queue.limits.set("user:ann", concurrency=2)
    queue.limits.set("user:*", starts=400, period=1, burst=20)
    queue.enqueue_many([Task(id=id, user=user) for user, all in ids.items() for id in all])
    running = ["one", "two", "three"]
    for name in running:
        workers.start(name, "--concurrency", "20")
    caught: list[str] = []

    def stands_still_with_one() -> bool:
        """Have one of them stand still while it runs one of the two."""
        for name in set(running) - set(caught):
            if held_by(queue, name, "ann"):
                workers.signal(name, signal.SIGSTOP)
                sleep(SENT)
                if held_by(queue, name, "ann"):
                    caught.append(name)
                    return True
                workers.signal(name, signal.SIGCONT)
        return False

    wait_until(lambda: len(queue.workers.list()) == len(running))
    wait_until(stands_still_with_one)
    workers.signal(caught[0], signal.SIGKILL)
    workers.start("late", "--concurrency", "20")
    running.append("late")
    wait_until(lambda: not held_by(queue, caught[0], "ann"))
    wait_until(stands_still_with_one)
    wait_until(lambda: not held_by(queue, caught[1], "ann"))
    wait_until(stands_still_with_one)
    workers.signal(caught[2], signal.SIGKILL)
    workers.signal(caught[1], signal.SIGCONT)
    wait_until(lambda: queue.stats().counters.get("completed", 0) >= total)
    wait_until(lambda: any(worker.name == "late" for worker in queue.workers.list()))
    for name in set(running) - {caught[0], caught[2]}:
        workers.signal(name, signal.SIGTERM)
        assert workers.wait(name) == 0

    events = list(read_tasks(client, queue.base))
    history = TaskHistory(client, queue.base)
    assert history.completed == len(history.tasks) == total
    for name in caught:
        assert any(id.startswith("ann") for id in history.taken_back_from(name))
    assert most_at_a_time(events, lambda id: [id.partition(".")[0]])["ann"] == 2
    starts = [ms for id, ms in stamps_of(events, "claimed") if id.startswith("bob")]
    check_rate(starts, interval_ms=2.5, burst=20)
    assert queue.limits.get("user:ann").running == 0
    assert queue.limits.get("user:ann").waiting == 0
    assert audit(client, queue.base) == []

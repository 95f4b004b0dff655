"""Jobs of real RQ move while a worker with a scheduler is at work, and the mover is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

from pyadeq import Tasks
from pyadeq.embedded import EmbeddedServer
from tests.migrate.moving import KILLS, TASKS, New, drain_into, ran_in, run
from tests.waiting import DEADLINE, wait_until

tasks = Tasks()


@tasks.task(name="tests.migrate.jobs.note")
def note(number: int) -> None: ...


class Worker:
    """A worker of RQ with a scheduler, which forks no process for each job: a context manager."""

    def __init__(self, old: EmbeddedServer) -> None:
        command = [sys.executable, "-m", "rq.cli", "worker", "work", "--url", old.url, "--with-scheduler"]
        command += ["--worker-class", "rq.worker.SimpleWorker", "--serializer", "rq.serializers.JSONSerializer"]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*command, "--quiet"], env={**os.environ, "ADEQ_FROM": old.url}, **quiet)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(DEADLINE)


def test_nothing_is_lost_or_run_twice_under_load(old: EmbeddedServer, new: New) -> None:
    moved_ran: list[int] = []
    with Redis.from_url(old.url) as client:
        queue = Queue("work", connection=client, serializer=JSONSerializer)

        def produce(numbers: range) -> None:
            for number in numbers:
                if number % 10 == 0:
                    queue.enqueue_in(timedelta(seconds=1 if number % 20 else 90), "tests.migrate.jobs.note", number)
                else:
                    queue.enqueue("tests.migrate.jobs.note", number)

        produce(range(TASKS // 2))
        with Worker(old):
            wait_until(lambda: len(ran_in(client)) > 0)
            ended: Counter[int] = Counter()
            for number in range(KILLS):
                first = TASKS // 2 + number * (TASKS // 2) // KILLS
                produce(range(first, TASKS // 2 + (number + 1) * (TASKS // 2) // KILLS))
                ended[run(old, new, last=3 + 5 * number, source="rq")] += 1
        client.delete("rq:scheduler-lock:work")  # instead of waiting for a minute
        assert run(old, new, source="rq") == 0
        assert client.zcard("rq:scheduled:work") == client.llen("rq:queue:work") == 0
        for task in new.queue.iterate("delayed"):
            new.queue.run_now(task.id)
        wait_until(lambda: drain_into(new.queue, moved_ran) == 0)
        in_old = ran_in(client)
    assert ended[-signal.SIGKILL] >= 1, ended
    twice = {number: count for number, count in Counter(in_old + moved_ran).items() if count > 1}
    assert ({*range(TASKS)}.difference(in_old, moved_ran), twice) == (set(), {})
    assert len(moved_ran) > KILLS

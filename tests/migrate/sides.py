"""The old systems, with their real packages: each makes numbered tasks and runs them. Each 50th cannot be moved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import Redis

from pyadeq import Tasks
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate import BullQueues, CeleryQueues, RqQueues, Source
from tests.migrate.node import bullmq
from tests.waiting import DEADLINE

QUEUE = "work"
NOTE = {"celery": "app.note", "rq": "tests.migrate.jobs.note", "bullmq": "app.note"}


@dataclass(frozen=True)
class Side:
    """An old system. produce: make the tasks of some numbers. worker: runs tasks, and is stopped as operators do it."""

    name: str
    source: Callable[[Redis], Source]
    produce: Callable[[EmbeddedServer, range], None]
    worker: Callable[[EmbeddedServer], AbstractContextManager[None]]


def functions(name: str) -> Tasks:
    """The new function for the old one with this name."""
    tasks = Tasks()

    @tasks.task(name=name)
    def note(number: int, size: int = 0) -> None: ...

    return tasks


@contextmanager
def stopped_at_the_end(process: subprocess.Popen[Any]) -> Iterator[None]:
    """Stop a process as an operator would: it finishes what it runs."""
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE)


def celery_app(old: EmbeddedServer) -> Any:
    """An application that enqueues: a context manager."""
    from celery import Celery

    app = Celery("app", broker=old.url.replace("unix://", "redis+socket://"))
    app.conf.task_default_queue = QUEUE
    return app


def produce_for_celery(old: EmbeddedServer, numbers: range) -> None:
    """Each tenth task is for later."""
    begun = datetime.now(UTC)
    with celery_app(old) as app:
        for number in numbers:
            late = {"eta": begun + timedelta(seconds=number % 5)} if number % 10 == 0 else {}
            bad = {"serializer": "yaml"} if number % 50 == 1 else {}
            app.send_task("app.note", args=[number], priority=number % 10, **late, **bad)


def celery_worker(old: EmbeddedServer) -> AbstractContextManager[None]:
    """A worker with two threads."""
    pool = ["--pool", "threads", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    command = [sys.executable, "-m", "celery", "-A", "tests.migrate.app", "worker", "--loglevel", "WARNING", *pool]
    environment = {**os.environ, "ADEQ_FROM": old.url}
    return stopped_at_the_end(
        subprocess.Popen(command, env=environment, stderr=subprocess.STDOUT, stdout=subprocess.DEVNULL)
    )


def produce_for_rq(old: EmbeddedServer, numbers: range) -> None:
    """Each tenth job is for later, half of them for much later."""
    from rq import Queue
    from rq.serializers import JSONSerializer

    with Redis.from_url(old.url) as client:
        queue = Queue(QUEUE, connection=client, serializer=JSONSerializer)
        for number in numbers:
            if number % 10 == 0:
                queue.enqueue_in(timedelta(seconds=1 if number % 20 else 90), "tests.migrate.jobs.note", number)
            else:
                queue.enqueue(f"tests.migrate.jobs.{'old' if number % 50 == 1 else 'note'}", number)


@contextmanager
def rq_worker(old: EmbeddedServer) -> Iterator[None]:
    """A worker with a scheduler, which forks no process for each job."""
    command = [sys.executable, "-m", "rq.cli", "worker", QUEUE, "--url", old.url, "--with-scheduler", "--quiet"]
    command += ["--worker-class", "rq.worker.SimpleWorker", "--serializer", "rq.serializers.JSONSerializer"]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with stopped_at_the_end(subprocess.Popen(command, env={**os.environ, "ADEQ_FROM": old.url}, **quiet)):
        yield
    with Redis.from_url(old.url) as client:
        client.delete(f"rq:scheduler-lock:{QUEUE}")  # instead of waiting for a minute
        key = f"rq:queue:{QUEUE}"
        while client.lmove(f"{key}:intermediate", key):  # which the worker had taken and not begun: RQ would fail it
            pass


def bull_side(major: str) -> Side:
    """BullMQ of this major version."""

    def produce(old: EmbeddedServer, numbers: range) -> None:
        assert bullmq(major, old, "produce", numbers.start, numbers.stop).wait() == 0

    def worker(old: EmbeddedServer) -> AbstractContextManager[None]:
        return stopped_at_the_end(bullmq(major, old, "work"))

    return Side(f"bullmq-{major}", lambda client: BullQueues(client, tasks=functions(NOTE["bullmq"])), produce, worker)


SIDES = {
    side.name: side
    for side in (
        Side(
            "celery",
            lambda client: CeleryQueues(client, tasks=functions(NOTE["celery"])),
            produce_for_celery,
            celery_worker,
        ),
        Side("rq", lambda client: RqQueues(client, tasks=functions(NOTE["rq"])), produce_for_rq, rq_worker),
        bull_side("5"),
        bull_side("6"),
    )
}

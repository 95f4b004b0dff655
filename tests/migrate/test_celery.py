"""Tasks of real Celery move while its producers and its worker are at work, and the mover is killed again and again."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from pyadeq import Tasks
from pyadeq.embedded import EmbeddedServer
from tests.integration.examples import IN_MIGRATE, ROOT, blocks, run_page
from tests.migrate.moving import KILLS, TASKS, New, drain, drain_into, ran_in, run
from tests.waiting import DEADLINE, wait_until

tasks = Tasks()


@tasks.task(name="app.note")
def note(number: int, size: int = 0) -> None: ...


@pytest.fixture
def app(old: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The old application."""
    monkeypatch.setenv("ADEQ_FROM", old.url)
    sys.modules.pop("tests.migrate.app", None)
    return importlib.import_module("tests.migrate.app").app


class Worker:
    """A worker of Celery: a context manager, which stops it as an operator would."""

    def __init__(self, old: EmbeddedServer, concurrency: int = 2) -> None:
        pool = ["--pool", "threads", "--concurrency", str(concurrency), "--without-gossip", "--without-mingle"]
        command = [sys.executable, "-m", "celery", "-A", "tests.migrate.app", "worker", "--loglevel", "WARNING", *pool]
        self.process = subprocess.Popen(
            command, env={**os.environ, "ADEQ_FROM": old.url}, stderr=subprocess.STDOUT, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()  # it finishes what runs, and gives back what it has fetched
        self.process.communicate(timeout=DEADLINE)


def test_nothing_is_lost_or_run_twice_under_load(old: EmbeddedServer, new: New, app: Any) -> None:
    begun = datetime.now(UTC)

    def produce(numbers: range) -> None:
        for number in numbers:
            late = {"eta": begun + timedelta(seconds=number % 5)} if number % 10 == 0 else {}
            bad = {"serializer": "yaml"} if number % 50 == 1 else {}
            app.send_task("app.note", args=[number], priority=number % 10, ignore_result=True, **late, **bad)

    produce(range(TASKS // 2))
    parts = [range(TASKS // 2 + first, TASKS, 2) for first in (0, 1)]
    producers = [threading.Thread(target=produce, args=[part]) for part in parts]
    moved_ran: list[int] = []
    with Redis.from_url(old.url) as client, Worker(old):
        for producer in producers:
            producer.start()
        wait_until(lambda: len(ran_in(client)) > 0)
        ended = Counter(run(old, new, last=3 + 5 * number) for number in range(KILLS))
        moved_ran += drain(new.queue)
        for producer in producers:
            producer.join()
    with Redis.from_url(old.url) as client:  # the worker has given back what it had fetched
        assert run(old, new) == 0
        before = len(ran_in(client))
        with Worker(old):  # what cannot be moved is left to it
            wait_until(lambda: not client.exists("work", *(f"work\x06\x16{step}" for step in (3, 6, 9))))
        wait_until(lambda: drain_into(new.queue, moved_ran) == 0)
        in_old = ran_in(client)
    assert ended[-signal.SIGKILL] >= 1, ended
    twice = {number: count for number, count in Counter(in_old + moved_ran).items() if count > 1}
    assert ({*range(TASKS)}.difference(in_old, moved_ran), twice) == (set(), {})
    assert len(moved_ran) > KILLS
    assert all(number % 50 == 1 for number in in_old[before:])


def test_tasks_that_a_worker_had_fetched_for_later_move_once_it_has_stopped(
    old: EmbeddedServer, new: New, app: Any
) -> None:
    at = datetime(2100, 1, 1, tzinfo=UTC)
    with Redis.from_url(old.url) as client:
        for number in range(5):
            app.send_task("app.note", args=[number], eta=at)
        with Worker(old):
            wait_until(lambda: client.hlen("unacked") == 5)
            assert run(old, new) == 0
            assert new.queue.stats().delayed == 0
        wait_until(lambda: client.hlen("unacked") == 0)
        before = client.lrange("work", 0, -1)
        assert run(old, new) == 0
        assert [task.due for task in new.queue.iterate("delayed")] == [at.timestamp()] * 5
        assert run(old, new, "rollback") == 0
        assert client.lrange("work", 0, -1) == before


@pytest.mark.parametrize("page", IN_MIGRATE)
def test_the_examples_of_a_guide_run(page: str, binary: Path) -> None:
    run_page(blocks(ROOT / "docs" / page), binary)

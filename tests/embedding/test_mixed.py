"""One queue, with producers and workers in all languages, of which one each is killed: the history has no fault."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Backoff, Queue, Task
from pyadeq import asyncio as aio
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.prove.chaos.history import History, gather
from pyadeq.ext.prove.chaos.judge import judge
from pyadeq.ext.prove.chaos.recorder import Loaded
from tests.chaos.proxy import Proxy
from tests.conftest import free_port
from tests.embedding.mixed import LEASE, QUEUE, RESOURCES, Languages, lines, tasks
from tests.embedding.noted import operations
from tests.embedding.projects import target
from tests.embedding.tap import Said, Tap
from tests.waiting import wait_until

TASKS = 20_000
EACH = 2  # workers of a language
LONG = 300  # seconds
EVENTS = 10_000_000  # none is trimmed
PYTHON = Path(__file__).parent / "python"
FAULTS = {"lose_reply": 0.002, "cut_before": 0.002}

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(3, 4)]


@pytest.fixture
def said() -> list[Said]:
    return []


@pytest.fixture
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary, port=free_port()) as server:
        yield server


@pytest.fixture
def proxy(server: EmbeddedServer, said: list[Said]) -> Iterator[Proxy]:
    with Proxy(server.port or 0, seed=1, watch=lambda: Tap(said)) as proxy:
        yield proxy


@pytest.fixture
def languages(proxy: Proxy, typescript_project: Path, rust_project: Path, go_project: Path) -> Iterator[Languages]:
    languages = Languages(
        proxy.url,
        {
            "python": ([sys.executable, "mixed_worker.py"], PYTHON),
            "typescript": (["node", "mixed-worker.js"], typescript_project),
            "rust": ([str(target(rust_project) / "debug" / "mixed-worker")], rust_project),
            "go": (["bin/mixed-worker"], go_project),
        },
    )
    yield languages
    languages.end()


def test_all_is_done_once_whatever_language_does_it(
    server: EmbeddedServer, proxy: Proxy, said: list[Said], languages: Languages, typescript_project: Path
) -> None:
    url = f"redis://127.0.0.1:{server.port}"
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(QUEUE)
        queue.configure(lease=LEASE, max_attempts=20, max_crashes=10, backoff=Backoff(base=0.1), events_max=EVENTS)
        # some clients only poll, and those that are killed leave requests in line
        adeq.locks(QUEUE).configure(lease=LEASE, poll=0.3, claim=2.0, waiter=3.0, events_max=EVENTS)
        languages.start_workers(EACH)
        proxy.odds = FAULTS
        with ThreadPoolExecutor() as pool:
            producers = [
                pool.submit(produce_in_python, proxy.url, languages.lanes),
                pool.submit(produce_in_typescript, proxy.url, languages.lanes, typescript_project),
            ]
            for number, language in enumerate(languages.names, 1):
                wait_until(partial(has_done, queue, number * TASKS // 10), LONG)
                languages.kill(f"{language}-0")
            for producer in producers:
                producer.result(LONG)
        wait_until(partial(has_done, queue, TASKS), LONG)
        assert all(proxy.counts[kind] for kind in FAULTS)
        proxy.odds = {}
        assert set(languages.stop().values()) == {0}
        check_results(queue, languages.lanes)
        check_locks(adeq)
    asyncio.run(check_history(url, said, languages.names))


def produce_in_python(url: str, lanes: list[str]) -> None:
    """Half of the tasks, and the other producer the others."""
    with Adeq.from_url(url, source="python") as adeq:
        queue = adeq.queue(QUEUE)
        own = [Task(**task) for task in tasks("python", TASKS // 2, lanes)]
        for start in range(0, len(own), 100):
            queue.enqueue_many(own[start : start + 100])


def produce_in_typescript(url: str, lanes: list[str], project: Path) -> None:
    text = lines(tasks("typescript", TASKS // 2, lanes))
    env = {**os.environ, "ADEQ_URL": url, "ADEQ_QUEUE": QUEUE}
    command = ["node", "mixed-producer.js"]
    subprocess.run(command, cwd=project, env=env, input=text, text=True, check=True, timeout=LONG)


def has_done(queue: Queue, number: int) -> bool:
    return queue.stats().finished >= number


def check_results(queue: Queue, lanes: list[str]) -> None:
    """Each task was done, those of a language's lane by it."""
    by: Counter[str] = Counter()
    for producer in ("python", "typescript"):
        wanted = list(tasks(producer, TASKS // 2, lanes))
        for start in range(0, len(wanted), 1000):
            part = wanted[start : start + 1000]
            for task, view in zip(part, queue.get_many([one["id"] for one in part]), strict=True):
                assert view is not None
                assert view.state == "completed"
                by[view.result["language"]] += 1
                assert task["lane"] in ("any", f"group/{view.result['language']}")
    assert {f"group/{language}" for language in by} == set(lanes) - {"any"}
    print(json.dumps(by))


def check_locks(adeq: Adeq) -> None:
    """One was inside at a time, under a higher fence than those before; only who was killed has not left."""
    assert adeq.locks(QUEUE).stats().waiting == 0
    inside = left = 0
    for number in range(RESOURCES):
        fences = [0]
        lines: Any = adeq.client.lrange(f"mixed:r{number}", 0, -1)
        for line, _ in itertools.groupby(lines):  # a client library may push again what was lost
            word, fence = line.decode().split()
            if word == "enter":
                inside += 1
                fences.append(int(fence))
            else:
                left += 1
            assert fences == sorted(set(fences))
            assert fences[-1] == int(fence)
    assert inside >= left >= TASKS // 50


def count_renewed(history: History, language: str) -> int:
    """How many leases heartbeats of its workers have renewed."""
    beats = [op for op in history.ops if op.verb == "heartbeat" and op.client.startswith(language)]
    return sum(status == "renewed" for op in beats if op.answer for status in op.answer.get("statuses", ()))


async def check_history(url: str, said: list[Said], names: list[str]) -> None:
    async with aio.Adeq.from_url(url) as adeq:
        recorded = Loaded(operations(said), [])
        history = await gather(recorded, adeq.client, adeq.queue(QUEUE), adeq.locks(QUEUE))
    verdict = judge(history)
    killed = {f"{language}-0" for language in names}
    assert killed <= {entry.words["worker"] for entry in history.entries if entry.event == "task.stalled"}
    assert (verdict.violations, verdict.problems) == ([], [])
    assert verdict.checks["answers_kept"] >= 2 * TASKS
    renewed = {language: count_renewed(history, language) for language in names}
    assert min(renewed.values()) > 0, renewed
    print(json.dumps({"ops": len(history.ops), "checks": sum(verdict.checks.values())}))

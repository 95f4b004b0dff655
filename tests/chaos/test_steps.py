"""Durable tasks while workers and the server are killed: no function runs after its result was stored, nothing is lost.

STEPS='10000 50 5' runs 10,000 tasks, and kills 50 workers, and the server 5 times.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Backoff, Task
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.chaos.newer import ROOT
from tests.conftest import CLUSTER
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="it has servers of its own")]
STEPS = 10
TASKS, KILLS, CUTS = map(int, os.environ.get("STEPS", "200 6 1").split())
PROGRAM = ROOT / "tests/chaos/stepper.py"
BASE = "ade:{queue:q}"


def test_no_function_runs_after_its_result_was_stored(binary: Path) -> None:
    with EmbeddedServer(binary=binary, appendfsync="always") as server, EmbeddedServer(binary=binary) as notes:
        crew: list[subprocess.Popen[bytes]] = []
        with redis.Redis.from_url(notes.url, decode_responses=True) as noted, Adeq.from_url(server.url) as adeq:
            queue = adeq.queue("q")
            queue.configure(max_attempts=1000, max_crashes=1000, backoff=Backoff(base=0.05, cap=0.5), events_max=0)
            queue.enqueue_many([Task(kind="work", id=f"t{n}") for n in range(TASKS)])

            def ran() -> int:
                return int(noted.hlen("runs"))

            def start() -> None:
                crew.append(subprocess.Popen([sys.executable, PROGRAM, server.url, notes.url, str(STEPS)], cwd=ROOT))

            try:
                for _ in range(2):
                    start()
                events = ["worker"] * KILLS + ["server"] * CUTS
                random.shuffle(events)
                for at, event in enumerate(events, 1):
                    wait_until(lambda at=at: ran() >= TASKS * STEPS * at / (len(events) + 2), within=600)  # type: ignore[misc]
                    if event == "server":
                        server.kill()
                        server.restart()
                    else:
                        victim = crew.pop(random.randrange(len(crew)))
                        victim.kill()
                        victim.wait()
                        start()
                wait_until(lambda: queue.stats().finished == TASKS, within=600)
            finally:
                for worker in crew:
                    worker.kill()
                    worker.wait()
            runs: dict[str, Any] = noted.hgetall("runs")
            again = Counter(int(count) for count in runs.values())
            killed = f"killed: {KILLS} workers and {CUTS} servers"
            print(f"{TASKS} tasks with {STEPS} steps, {killed}; functions by how often they ran: {again}")
            assert noted.get("stored before") is None
            assert len(runs) == TASKS * STEPS
            found = queue.get_many([f"t{n}" for n in range(TASKS)])
            assert {task.result for task in found if task} == {sum(range(STEPS))}
            with redis.Redis.from_url(server.url) as client:
                assert audit(client, BASE) == []

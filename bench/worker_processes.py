"""What a second worker process adds for handlers that compute: `adeq worker run --processes 1` and `2`.

    python -m bench.worker_processes [--tasks 300] [--rounds 5] [--turns 250000] [-o json]

Needs two idle cores. The server, with its append-only file, runs on the same machine. The rounds alternate. A round is
the time from the first claim to the last end of its tasks, by the server's clock; the processes are up before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyadeq import Adeq, EmbeddedServer, Queue, Task
from pyadeq.ext.prove.bench.figures import machine

BAR = 0.8
JOBS = """
import os

from pyadeq.asyncio import Adeq

queue = Adeq.from_url(os.environ["ADEQ_URL"]).queue("cpu")


@queue.task
async def compute(turns: int) -> int:
    found = 0
    for turn in range(turns):
        found = (found + turn * turn) % 1_000_003
    return found
"""


def rate(queue: Queue, url: str, folder: Path, processes: int, tasks: int, turns: int) -> float:
    """Tasks per second of so many processes."""
    command = [sys.executable, "-m", "pyadeq.ext.cli", "worker", "run", "jobs:queue", "--log-level", "error"]
    command += ["--processes", str(processes), "--concurrency", "4"]
    env = {**os.environ, "ADEQ_URL": url, "PYTHONPATH": os.getcwd()}
    worker = subprocess.Popen(command, cwd=folder, env=env)
    try:
        while queue.stats().workers < processes:
            time.sleep(0.05)
        done = queue.stats().counters.get("completed", 0) + tasks
        ids = [one.id for one in queue.enqueue_many([Task(kind="compute", payload={"turns": turns})] * tasks)]
        while queue.stats().counters.get("completed", 0) < done:
            time.sleep(0.05)
        ended = [task for start in range(0, tasks, 100) for task in queue.get_many(ids[start : start + 100]) if task]
        return tasks / (max(one.ended or 0 for one in ended) - min(one.started or 0 for one in ended))
    finally:
        worker.terminate()
        worker.wait()


def main() -> None:
    """Measure, and print what the second process adds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=250_000)
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    args = parser.parse_args()
    runs: dict[str, list[float]] = {"1": [], "2": []}
    with tempfile.TemporaryDirectory() as name, EmbeddedServer() as server:
        (Path(name) / "jobs.py").write_text(JOBS)
        with Adeq.from_url(server.url) as adeq:
            for _ in range(args.rounds):
                for processes, rates in runs.items():
                    rates.append(
                        rate(adeq.queue("cpu"), server.url, Path(name), int(processes), args.tasks, args.turns)
                    )
        engine = f"{server.engine}"
    one, two = (statistics.median(rates) for rates in runs.values())
    added = (two - one) / one
    if args.output == "json":
        figures = {"engine": engine, "machine": machine(), "tasks": args.tasks, "turns": args.turns}
        print(json.dumps({**figures, "unit": "tasks per second", "runs": runs, "added": added, "bar": BAR}, indent=2))
        return
    print(f"one process {one:.1f} tasks/s, two {two:.1f}: the second adds {added:.2f} of the first (at least {BAR})")


if __name__ == "__main__":
    main()

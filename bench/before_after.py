"""What a service pays, before and after a change: pyadeq as it was at a commit beside pyadeq as it is, and its peers.

    python -m bench.before_after COMMIT [--rounds 2] [--kept 1000 100000 1000000] [--steps peers retention ...]
                                        [--engine PATH] [-o json]

Each step is another benchmark, which this command runs: `bench.peers` for single calls and the steady state of all
peers, and again for the latency of the quickest of them; `bench.retention`; `bench.client_calls` (the client's CPU,
many callers, the start of a process); and `adeq bench` (cost, memory and an idle worker). The first three alternate
between both versions; the others run once for each. It prints how long each step took. About 15 minutes in all, with
two rounds on an idle machine with two cores, without the installation of the peers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peers.environments import ROOT, environment, exported
from bench.retention import KEPT

Words = list[str]
QUICKEST = ("pyadeq", "bullmq-node", "taskiq", "saq", "rq", "huey")  # to begin a task


def main() -> None:
    """Run the steps, and print their reports as JSON, or the rows of the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit", metavar="COMMIT", help="what it was before")
    parser.add_argument("--rounds", type=int, default=2, help="the fewer, the quicker: 1 is enough to try it")
    parser.add_argument("--kept", nargs="+", type=int, default=list(KEPT), metavar="TASKS", help="for retention")
    parser.add_argument("--calls", type=int, default=5000, help="for peers and client_calls, of each kind")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"commit": arguments.commit, "rounds": arguments.rounds}
    for name in arguments.steps:
        began = time.monotonic()
        print(f"== {name}", file=sys.stderr, flush=True)
        report[name] = STEPS[name](arguments)
        print(f"== {name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    if arguments.output == "json":
        print(json.dumps(report, indent=1))
        return
    from bench.page_before import rows

    for row in rows(report):
        print(" | ".join(row))


def peers(arguments: argparse.Namespace) -> Any:
    words = ["--measure", "calls", "steady", "--before", arguments.commit]
    words += ["--calls", str(arguments.calls), "--rounds", str(arguments.rounds)]
    return run(arguments, ["-m", "bench.peers", *words])


def latency(arguments: argparse.Namespace) -> Any:
    words = ["--measure", "latency", "--before", arguments.commit, "--peers", *QUICKEST]
    words += ["--samples", str(50 * arguments.rounds), "--rounds", str(arguments.rounds)]
    return run(arguments, ["-m", "bench.peers", *words])


def retention(arguments: argparse.Namespace) -> Any:
    words = ["--before", arguments.commit, "--kept", *map(str, arguments.kept), "--rounds", str(arguments.rounds)]
    return run(arguments, ["-m", "bench.retention", *words])


def client_calls(arguments: argparse.Namespace) -> Any:
    words = ["--rounds", str(arguments.rounds), "--calls", str(arguments.calls)]
    return both(arguments, ["-m", "bench.client_calls", *words])


def bench(arguments: argparse.Namespace) -> Any:
    words = ["bench", "cost", "memory", "idle", "--no-persist", "--rounds", str(arguments.rounds)]
    return both(arguments, ["-m", "pyadeq.ext.cli", *words])


STEPS: dict[str, Callable[[argparse.Namespace], Any]] = {
    one.__name__: one for one in (peers, latency, retention, client_calls, bench)
}


def both(arguments: argparse.Namespace, command: Words) -> Any:
    """The report of each version."""
    earlier = f"{exported(arguments.commit)}{os.pathsep}{ROOT}"
    return {name: run(arguments, command, path) for name, path in (("before", earlier), ("now", str(ROOT)))}


def run(arguments: argparse.Namespace, command: Words, path: str = str(ROOT)) -> Any:
    """The report of a benchmark."""
    engine = ["--engine", str(arguments.engine)] if arguments.engine else []
    words = [sys.executable, "-P", *command, *engine, "-o", "json"]
    done = subprocess.run(words, cwd=ROOT, env=environment(path), stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()

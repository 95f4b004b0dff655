"""Run the tests whose outcome depends on the server on every engine, standalone and as a cluster of one node.

    python -m tests.engines.suite [NAME …] [--clusters all|ends] [-- PYTEST …]

NAME: only engines whose names begin like this, for instance redis or valkey-8.1
--clusters ends: as clusters only the newest Valkey and the oldest Redis
PYTEST: more arguments for pytest

DAY=<n>, the number of a day, leaves runs to the next days: the oldest Redis in one of its modes, and of the engines
between it and the newest Valkey two of three. Of the slow tests, a third is run (tests/rotation.py).

ADEQ_TEST_SERVER names servers besides those of wheels; without it, those on the PATH are taken, and the server of
`make test` runs as a cluster only. An engine that cannot be had ends it before the first test.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyadeq.embedded import find_binary
from tests.attempts import attempt
from tests.engines.engine import Absent, Engine, engines
from tests.rotation import DAY, SLOW, is_due

FOLDERS = ("tests/engines", "tests/integration", "tests/nouns", "tests/property")


@dataclass(frozen=True)
class Run:
    """The tests on one engine in one mode."""

    engine: Engine
    cluster: bool

    def __str__(self) -> str:
        return f"{self.engine.name} ({self.engine.version}), {'cluster' if self.cluster else 'standalone'}"


def main() -> int:
    """Run them all, whatever fails, and say at the end what did; 1 if anything."""
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    ours, more = words[:place], words[place + 1 :]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--clusters", choices=["all", "ends"], default="all")
    arguments = parser.parse_args(ours)
    found = list(engines(arguments.names))
    if problem := what_is_wrong(found):
        print(problem, file=sys.stderr)
        return 1
    there = [engine for engine in found if isinstance(engine, Engine)]
    tested = None if os.environ.get("ADEQ_TEST_SERVER") else find_binary()  # otherwise `make test` has run on another
    runs = plan(there, tested, ends=arguments.clusters == "ends")
    left_out = [] if DAY is None else rotated_out(runs, there, DAY)
    runs = [run for run in runs if run not in left_out]
    print("To come:", "; ".join(map(str, runs)), flush=True)
    if left_out:
        print("Left to other days:", "; ".join(map(str, left_out)), flush=True)
    results = [(run, *perform(run, more)) for run in runs]
    print()
    for run, status, seconds in results:
        print(f"{run!s:<34} {'passed' if status == 0 else f'FAILED ({status})'} in {seconds:.0f} s")
    return int(any(status for _, status, _ in results))


def what_is_wrong(found: Sequence[Engine | Absent]) -> str:
    """Why nothing can run, and what to do; empty if it can."""
    lines = [f"{engine.name}: {engine.reason}" for engine in found if isinstance(engine, Absent)]
    if lines:
        names = " ".join(engine.name for engine in found if isinstance(engine, Engine))
        return "\n".join([*lines, f"To go without: make test-engines ENGINES='{names}'"])
    return "" if found else "ENGINES: there is no such engine; python -m tests.engines lists them"


def plan(found: Sequence[Engine], tested: Path | None, *, ends: bool) -> list[Run]:
    """What has to run.

    tested: the server that `make test` has run on; None if it is not known.
    ends: as clusters only the newest Valkey and the oldest Redis.
    """
    clusters = newest_and_oldest(found) if ends else set(found)
    return [
        Run(engine, cluster)
        for engine in found
        for cluster in (False, True)
        if (engine in clusters if cluster else engine.binary != tested)
    ]


def newest_and_oldest(found: Sequence[Engine]) -> set[Engine]:
    """The newest Valkey and the oldest Redis."""
    by_age = sorted(found, key=lambda engine: engine.age)
    newest = [engine for engine in by_age if engine.family == "valkey"][-1:]
    oldest = [engine for engine in by_age if engine.family == "redis"][:1]
    return {*newest, *oldest}


def rotated_out(runs: Sequence[Run], found: Sequence[Engine], day: int) -> list[Run]:
    """The runs that wait for another day. Each of them meets each third of the slow tests: see tests/rotation.py."""
    ends = newest_and_oldest(found)
    between = [run for run in runs if run.engine not in ends]
    left_out = [run for n, run in enumerate(between) if not is_due(n, 3, day // SLOW)]
    for engine in ends:
        modes = [run for run in runs if run.engine == engine]
        left_out += [run for n, run in enumerate(modes) if not is_due(n, len(modes), day)]
    return left_out


def perform(run: Run, more: Sequence[str]) -> tuple[int, float]:
    """The exit status of the tests, and how many seconds they took."""
    print(f"\n== {run}", flush=True)
    began = time.monotonic()
    told = {
        "ADEQ_TEST_SERVER": str(run.engine.binary),
        "ADEQ_TEST_CLUSTER": str(int(run.cluster)),
        "ADEQ_TEST_ENGINES": "1",
    }
    status = attempt(
        ["-n", "4", "--dist", "worksteal", "-m", "not any_engine", *FOLDERS, *more], env={**os.environ, **told}
    )
    return status, time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())

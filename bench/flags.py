"""The time of an evaluation of a flag, and how soon a change is in the snapshots of many processes.

    python -m bench.flags [--processes 20] [--evaluators 50] [--changes 50] [--polled 6] [--engine PATH] [-o json]

Evaluations: µs of one call of the provider, and of one call of OpenFeature's client, which calls the provider. The
lowest of the rounds counts.

Changes: ms from the beginning of the `set` until a process has the flag. Each process has a provider and this number of
threads that evaluate a flag each 100 ms through OpenFeature's client. With hints, and as a user that may not subscribe,
so that only the poll of 5 s finds changes. In the end each evaluator must have seen the last change.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread
from timeit import repeat
from typing import Any

import redis
from openfeature import api
from openfeature.evaluation_context import EvaluationContext

from pyadeq import Adeq, EmbeddedServer
from pyadeq.ext.connect.openfeature import FlagProvider

WHO = EvaluationContext("5c3d8535-f81a-4478-a6d3-afaa4d51199e", {"tier": "gold"})
ON_OFF = {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "on"}
FLAGS = {
    "flag:plain": ON_OFF,
    "flag:one-fractional": {**ON_OFF, "targeting": {"fractional": [["on", 10], ["off", 90]]}},
}
BARS = {"plain": 5.0, "one-fractional": 30.0, "with hints": 200.0, "without hints": 10_000.0}
QUIET = "quiet"
"""A user that may not subscribe to channels."""


def probe(number: int) -> dict[str, Any]:
    return {"state": "ENABLED", "variants": {"number": number}, "defaultVariant": "number"}


class Watched(FlagProvider):
    """A provider that notes when it has each number of the flag `probe`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.seen: dict[int, float] = {}
        super().__init__(*args, **options)

    def _report(self, changed: Sequence[str] = ()) -> None:  # called when the new flags are in place
        now = time.time()
        self.seen.setdefault(self.resolve_integer_details("probe", -1).value, now)
        super()._report(changed)


def evaluations(url: str) -> dict[str, dict[str, float]]:
    with Adeq.from_url(url) as adeq:
        config = adeq.config("times")
        config.set_many(FLAGS)
        provider = FlagProvider(config)
        api.set_provider_and_wait(provider)
        client, found = api.get_client(), {}
        for name in (full.removeprefix("flag:") for full in FLAGS):
            found[name] = {
                "provider": shortest(partial(provider.resolve_boolean_details, name, False, WHO)),
                "client": shortest(partial(client.get_boolean_value, name, False, WHO)),
            }
        api.shutdown()
        return found


def shortest(call: Callable[[], object], number: int = 5000, rounds: int = 15) -> float:
    return min(repeat(call, number=number, repeat=rounds)) / number * 1e6


def be_a_process(url: str, evaluators: int) -> None:
    """Evaluate until stdin says which number is the last, then say when each was seen."""
    with Adeq.from_url(url) as adeq:
        provider = Watched(adeq.config("changes"), wait=60)
        api.set_provider_and_wait(provider)
        client, stop = api.get_client(), Event()
        last = [-1] * evaluators

        def evaluate(index: int) -> None:
            while not stop.wait(0.1):
                last[index] = client.get_integer_value("probe", -1, WHO)

        threads = [Thread(target=evaluate, args=(index,)) for index in range(evaluators)]
        for thread in threads:
            thread.start()
        print("ready", flush=True)
        number = int(sys.stdin.readline())
        deadline = time.monotonic() + 20
        while set(last) != {number} and time.monotonic() < deadline:
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join()
        print(json.dumps({"seen": provider.seen, "last": last}), flush=True)
        api.shutdown()


@contextmanager
def processes(url: str, count: int, evaluators: int) -> Iterator[list[subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "bench.flags", "--process", url, "--evaluators", str(evaluators)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def changes(server: EmbeddedServer, user: str, options: argparse.Namespace, count: int, pause: float) -> dict[str, Any]:
    """Milliseconds from the beginning of a `set` until each process has it."""
    with Adeq.from_url(server.url) as adeq:
        config = adeq.config("changes")
        config.set("flag:probe", probe(0))
        url = server.url if not user else f"unix://{user}:{user}@{server.socket_path}"
        with processes(url, options.processes, options.evaluators) as started:
            begun = {}
            for number in range(1, count + 1):
                # Not in step with the polls.
                time.sleep(pause * (1 + number % 7 / 7))
                begun[number] = time.time()
                config.set("flag:probe", probe(number))
            found = []
            for process in started:
                told, _ = process.communicate(f"{count}\n")
                found.append(json.loads(told))
    delays = [
        (one["seen"][str(number)] - at) * 1000
        for one in found
        for number, at in begun.items()
        if str(number) in one["seen"]
    ]
    missed = sum(last != count for one in found for last in one["last"])
    return {
        "samples": len(delays),
        "p50": quantiles(delays, n=100, method="inclusive")[49],
        "p99": quantiles(delays, n=100, method="inclusive")[98],
        "max": max(delays),
        "evaluators that missed the last": missed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.flags")
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--evaluators", type=int, default=50)
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--polled", type=int, default=6, help="changes without hints, each of which takes 10 s")
    parser.add_argument("--engine", type=Path)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--process", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.process:
        be_a_process(options.process, options.evaluators)
        return
    with EmbeddedServer(binary=options.engine) as server:
        with redis.Redis.from_url(server.url) as client:
            client.execute_command("ACL", "SETUSER", QUIET, "on", f">{QUIET}", "~*", "+@all", "resetchannels")
        found = {
            "evaluations": evaluations(server.url),
            "changes": {
                "with hints": changes(server, "", options, options.changes, 0.3),
                "without hints": changes(server, QUIET, options, options.polled, 7.0),
            },
        }
    if options.output == "json":
        print(json.dumps(found, indent=2))
        return
    print("µs of an evaluation      provider   client with provider   bar")
    for name, times in found["evaluations"].items():
        print(f"{name:<24} {times['provider']:>8.1f} {times['client']:>22.1f} {BARS[name]:>5.0f}")
    print(f"\nms until a change is in a snapshot; {options.processes} processes, {options.evaluators} evaluators each")
    print("                          p50      p99      max    samples      bar   missed")
    for name, one in found["changes"].items():
        figures = f"{one['p50']:>8.1f} {one['p99']:>8.1f} {one['max']:>8.1f} {one['samples']:>10,} {BARS[name]:>8,.0f}"
        print(f"{name:<20} {figures} {one['evaluators that missed the last']:>8}")


if __name__ == "__main__":
    main()

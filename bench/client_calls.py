"""The client's own CPU for single calls, and many callers of one process at a time.

    python -m bench.client_calls [--calls 5000] [--rounds 7] [--engine PATH] [-o json]

Append-only file off, unix socket, 200-byte payloads. The calls alternate. A figure of the first table is microseconds
of the process's CPU for one call, and of the kernel's for its socket: the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from pyadeq import Adeq, EmbeddedServer
from pyadeq.ext.bench.figures import machine

PAYLOAD = b"x" * 200
MANY = 1_000_000
WARM = 100  # calls before each round


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=5000, help="calls of each kind in a round")
    parser.add_argument("--rounds", type=int, default=7, help="how many times the calls alternate")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        about = {"engine": server.engine, "machine": machine(), "rounds": arguments.rounds}
        report = about | {"cpu": measure(server.url, arguments.calls, arguments.rounds)}
    if arguments.output == "json":
        print(json.dumps(report, indent=2))
        return
    print(report["engine"])
    for name, runs in report["cpu"].items():
        print(f"{name:28} {statistics.median(runs):7.1f} µs of the client's CPU")


def measure(url: str, calls: int, rounds: int) -> dict[str, list[float]]:
    """The client's CPU for each kind of call, in µs, in each round."""
    found: dict[str, list[float]] = {}
    with Adeq.from_url(url) as adeq:
        kinds = kinds_of(adeq)
        for round in range(rounds):
            print(f"\rround {round + 1} of {rounds}", end="", file=sys.stderr, flush=True)
            for name, call in kinds.items():
                found.setdefault(name, []).append(cpu_of(call, calls))
    print(file=sys.stderr)
    return found


def kinds_of(adeq: Adeq) -> dict[str, Callable[[], Any]]:
    """One call of each kind."""
    queue, locks, rates = adeq.queue("bench"), adeq.locks("bench"), adeq.rates("bench")
    rates.set_rule("much", limit=MANY, period=60)

    def work() -> None:
        for lease in queue.claim(limit=1):
            queue.ack(lease)

    def hold() -> None:
        with locks.acquire("resource", owner="bench"):
            pass

    return {
        "enqueue": lambda: queue.enqueue(PAYLOAD),
        "claim and ack": work,
        "acquire and release a lock": hold,
        "hit of a rate": lambda: rates.hit("much", "ann"),
        "stats of a queue": queue.inspect.stats,
    }


def cpu_of(call: Callable[[], Any], calls: int) -> float:
    """Microseconds of this process's CPU for one call."""
    for _ in range(WARM):
        call()
    before = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - before) / calls * 1e6


if __name__ == "__main__":
    main()

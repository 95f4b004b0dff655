"""The client's own CPU for single calls, many callers of one process at a time, and the start of a process.

    python -m bench.client_calls [--calls 5000] [--rounds 7] [--engine PATH] [-o json]

Append-only file off, unix socket, 200-byte payloads. Everything takes turns in each round. `cpu` is microseconds of the
process's CPU for one call, what the kernel does for its socket included. `callers` is enqueued tasks per second, the
99th percentile of the time for a call, and again the client's CPU, by one caller and by 50, with and without `batch`.
`starts` is milliseconds until a process has ended, and its CPU.
Server and client share the machine. If other programs use it too, the rate falls, but the CPU stays nearly the same.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import redis

from pyadeq import Adeq, EmbeddedServer
from pyadeq import asyncio as aio
from pyadeq.ext.prove.bench.figures import machine, quantile

PAYLOAD = b"x" * 200
MANY = 1_000_000
WARM = 100  # calls before each measurement
CALLERS = (1, 50)
AIMS = {"asyncio": 30_000, "threads": 20_000}
AIM_US = 75.0  # of the client's CPU, for an enqueue
STARTS = {"import pyadeq": ["-c", "import pyadeq"], "adeq queue ls": ["-m", "pyadeq.ext.cli", "queue", "ls"]}
AIMS_MS = {"import pyadeq": 150, "adeq queue ls": 250}
BATCHES = (False, True)[: 1 + ("batch" in inspect.signature(Adeq.from_url).parameters)]  # earlier versions have none


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=5000, help="calls of each kind in a round")
    parser.add_argument("--rounds", type=int, default=7, help="how many times everything takes turns")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        about = {"engine": server.engine, "machine": machine(), "rounds": arguments.rounds, "load": os.getloadavg()[0]}
        report = about | measure(client, server.url, arguments.calls, arguments.rounds)
    if arguments.output == "json":
        print(json.dumps(report, indent=2))
        return
    print(report["engine"])
    for name, runs in report["cpu"].items():
        print(f"{name:28} {min(runs):7.1f} µs of the client's CPU")
    for name, one in report["starts"].items():
        print(f"{name:28} {min(one['ms']):7.0f} ms, {min(one['cpu_ms']):.0f} ms of CPU")
    for one in report["callers"]:
        rate, p99, us = max(one["per_second"]), min(one["p99_ms"]), min(one["cpu_us"])
        batch = "batch" if one["batch"] else "alone"
        print(f"{one['callers']:3} × {one['of']:8} {batch:6} {rate:9,.0f}/s, p99 {p99:6.2f} ms, {us:5.1f} µs of CPU")


def measure(client: redis.Redis, url: str, calls: int, rounds: int) -> dict[str, Any]:
    """The figures of each round."""
    cpu: dict[str, list[float]] = {}
    callers: list[dict[str, Any]] = [
        {"of": of, "callers": number, "batch": batch, "per_second": [], "p99_ms": [], "cpu_us": []}
        for of in AIMS
        for number in CALLERS
        for batch in BATCHES
    ]
    starts: dict[str, dict[str, list[float]]] = {name: {"ms": [], "cpu_ms": []} for name in STARTS}
    for round in range(rounds):
        print(f"\rround {round + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        client.flushall()
        with Adeq.from_url(url) as adeq:
            for name, call in kinds_of(adeq).items():
                cpu.setdefault(name, []).append(cpu_of(call, calls))
        for name, words in STARTS.items():
            ms, cpu_ms = start(words, url)
            starts[name]["ms"].append(ms)
            starts[name]["cpu_ms"].append(cpu_ms)
        for one in callers:
            client.flushall()
            work = of_tasks if one["of"] == "asyncio" else of_threads
            began, before = time.perf_counter(), time.process_time()
            times = work(url, one["batch"], one["callers"], calls // one["callers"])
            one["per_second"].append(len(times) / (time.perf_counter() - began))
            one["cpu_us"].append((time.process_time() - before) / len(times) * 1e6)
            one["p99_ms"].append(quantile(times, 0.99) * 1000)
    print(file=sys.stderr)
    aims = {"enqueue_us": AIM_US, "per_second": AIMS, "start_ms": AIMS_MS}
    return {"cpu": cpu, "callers": callers, "starts": starts, "aims": aims}


def kinds_of(adeq: Adeq) -> dict[str, Callable[[], Any]]:
    """One call of each kind."""
    queue, locks, rates = adeq.queue("bench"), adeq.locks("bench"), adeq.rates("bench")
    rates.set("much", limit=MANY, period=60)

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
        "stats of a queue": queue.stats,
    }


def cpu_of(call: Callable[[], Any], calls: int) -> float:
    """Microseconds of this process's CPU for one call."""
    for _ in range(WARM):
        call()
    before = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - before) / calls * 1e6


def start(words: Sequence[str], url: str) -> tuple[float, float]:
    """Milliseconds until a process of Python has ended, and of its CPU."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "ADEQ_URL": url}
    subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    ms, after = (time.perf_counter() - began) * 1000, resource.getrusage(resource.RUSAGE_CHILDREN)
    return ms, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def options(batch: bool) -> dict[str, Any]:
    return {"batch": True} if batch else {}


def of_threads(url: str, batch: bool, callers: int, each: int) -> list[float]:
    """The time of each call, in seconds."""
    with Adeq.from_url(url, **options(batch)) as adeq, ThreadPoolExecutor(callers) as threads:
        queue = adeq.queue("bench")

        def work(_: int) -> list[float]:
            times = []
            for _ in range(each):
                began = time.perf_counter()
                queue.enqueue(PAYLOAD)
                times.append(time.perf_counter() - began)
            return times

        return [one for some in threads.map(work, range(callers)) for one in some]


def of_tasks(url: str, batch: bool, callers: int, each: int) -> list[float]:
    """The time of each call, in seconds."""

    async def run() -> list[float]:
        async with aio.Adeq.from_url(url, **options(batch)) as adeq:
            queue = adeq.queue("bench")

            async def work() -> list[float]:
                times = []
                for _ in range(each):
                    began = time.perf_counter()
                    await queue.enqueue(PAYLOAD)
                    times.append(time.perf_counter() - began)
                return times

            found = await asyncio.gather(*[work() for _ in range(callers)])
            return [one for some in found for one in some]

    return asyncio.run(run())


if __name__ == "__main__":
    main()

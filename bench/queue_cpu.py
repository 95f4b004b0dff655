"""The server's CPU for each task: enqueue + claim + settle at default settings, beside the floor.

    python -m bench.queue_cpu [--tasks 20000] [--pairs 7] [--engine PATH] [-o json]

The floor moves the same payload with bare stream commands on the same server: XADD, XREADGROUP COUNT 100, XACK + XDEL,
in pipelines of 100. Floor and subject alternate; minima are compared, for they repeat best on a noisy machine.
Append-only file off, unix socket, 200-byte payloads. Figures are microseconds of the server's main thread per task.

Each call, and each pipeline of the floor, is sent when the one before it is answered. Both are built and packed
beforehand: a server that waits for a slow client grows cold and is charged for it (measured in batches of 10: 4 to 8 %
more for 0.2 ms of waiting, 29 to 59 % for 1 ms).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from pyadeq import EmbeddedServer, QueueCalls, Task
from pyadeq.ext.prove.bench.scene import main_thread, sender
from pyadeq.ids import new_incarnation, new_ulid

PAYLOAD = b"x" * 200
PIPELINE = 100
ENDS = (("XACK", ("group",)), ("XDEL", ()))
BATCHES = (100, 10)
BARS = {100: 5.5, 10: 8.0}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=7, help="how many times floor and subject alternate")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        report = measure(client, arguments.tasks, arguments.pairs)
        report["engine"] = server.engine
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(client: redis.Redis, tasks: int, pairs: int) -> dict[str, Any]:
    """Alternate floor and subject; every figure of every run."""
    runs: dict[str, list[float]] = {"floor": [], **{f"batches of {batch}": [] for batch in BATCHES}}
    for pair in range(pairs):
        print(f"\rpair {pair + 1} of {pairs}", end="", file=sys.stderr, flush=True)
        runs["floor"].append(per_task(client, tasks, prepare_floor(client, tasks)))
        for batch in BATCHES:
            runs[f"batches of {batch}"].append(per_task(client, tasks, prepare(client, tasks, batch)))
    print(file=sys.stderr)
    lowest = min(runs["floor"])
    return {
        "tasks": tasks,
        "pairs": pairs,
        "unit": "microseconds of server CPU per task",
        "runs": runs,
        "ratio_to_floor": {
            f"batches of {batch}": {"ratio": min(runs[f"batches of {batch}"]) / lowest, "at_most": BARS[batch]}
            for batch in BATCHES
        },
    }


def per_task(client: redis.Redis, tasks: int, work: Callable[[], object]) -> float:
    """Microseconds of the server's main thread that the work took, by task."""
    before = main_thread(client)
    work()
    return (main_thread(client) - before) / tasks * 1e6


def prepare_floor(client: redis.Redis, tasks: int) -> Callable[[], None]:
    """The same data through a bare stream: XADD, XREADGROUP COUNT 100, XACK + XDEL."""
    client.flushall()
    client.xgroup_create("floor", "group", "0", mkstream=True)
    batches = [
        [f"1-{n}" for n in range(start, min(start + PIPELINE, tasks + 1))] for start in range(1, tasks + 1, PIPELINE)
    ]
    adds = [[("XADD", "floor", id, "payload", PAYLOAD) for id in ids] for ids in batches]
    reads = [("XREADGROUP", "GROUP", "group", "consumer", "COUNT", PIPELINE, "STREAMS", "floor", ">")]
    ends = [[(verb, "floor", *group, id) for id in ids for verb, group in ENDS] for ids in batches]
    add, take = sender(client, adds), sender(client, [part for end in ends for part in (reads, end)])

    def work() -> None:
        add()
        take()
        if client.xlen("floor"):
            raise SystemExit("the floor left entries behind; the figures would mean nothing")

    return work


def prepare(client: redis.Redis, tasks: int, batch: int) -> Callable[[], None]:
    """Enqueue all, then settle and claim until nothing is left; every call is a round trip of its own."""
    client.flushall()
    calls, incarnation, worker = QueueCalls("ade:{queue:bench}"), new_incarnation(), "bench"
    task = Task(payload=PAYLOAD)
    batches = [[new_ulid() for _ in range(min(batch, tasks - start))] for start in range(0, tasks, batch)]
    enqueues = [calls.enqueue([(id, task) for id in ids], new_ulid()) for ids in batches]
    # The worker is alone, so call n gets the n-th batch, under tokens that its number makes.
    tokens = [[(id, f"{incarnation}.0.{n}/{i}") for i, id in enumerate(ids, 1)] for n, ids in enumerate(batches, 1)]
    settles = [
        calls.settle(worker, incarnation, 0, n, acks=[(lease, None) for lease in leases], limit=batch)
        for n, leases in enumerate([[], *tokens], 1)
    ]
    register, stats = calls.register(worker, incarnation), calls.stats()
    for call in (enqueues[0], settles[0], register, stats):
        client.script_load(call.script.text)
    sender(client, [[register.command()]])()
    enqueue = sender(client, [[call.command()] for call in enqueues])
    settle = sender(client, [[call.command()] for call in settles])
    look = sender(client, [[stats.command()]])

    def work() -> None:
        enqueue()
        settle()
        ended = stats.decode(look())
        if (ended.finished, ended.running, ended.ready) != (tasks, 0, 0):
            raise SystemExit(f"not every task was completed; the figures would mean nothing: {ended}")

    return work


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{report['engine']}, {report['tasks']} tasks, {report['pairs']} pairs, µs of server CPU per task", ""]
    lines.append(f"{'':16}{'min':>8}{'median':>8}{'max':>8}   ratio to floor")
    for name, figures in report["runs"].items():
        line = f"{name:16}{min(figures):8.2f}{statistics.median(figures):8.2f}{max(figures):8.2f}"
        if name in report["ratio_to_floor"]:
            told = report["ratio_to_floor"][name]
            line += f"   {told['ratio']:.2f} (bar: {told['at_most']})"
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    main()

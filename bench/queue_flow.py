"""What the features that decide when a task may run cost the server, in CPU and in commands for each task.

    python -m bench.queue_flow [--tasks 11110] [--rounds 5] [--batch 100] [--engine PATH] [-o json]

Each subject enqueues so many tasks and settles them, in batches, on a queue of its own; they take turns, and minima are
compared. `nothing` uses none of the features: what the others cost more is their price. `all set, none used` is a queue
with a schedule that is not due, with limits, weights and chains of other tasks.
Append-only file off, unix socket, 200-byte payloads. Microseconds are of the server's main thread; commands are those
that the server counts, inside the scripts too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import redis

from bench.queue_cpu import PAYLOAD
from pyadeq import Adeq, EmbeddedServer, Every, Lease, Queue, Task
from pyadeq.ext.prove.bench.scene import main_thread
from pyadeq.ids import new_incarnation

USERS = 10
Setup = Callable[[Queue], object]
Make = Callable[[int, str], dict[str, Any]]


class Subject(NamedTuple):
    """setup: what is set for the queue. make: what task number n of a base of ids has besides its payload."""

    setup: Setup
    make: Make


def nothing(_: Any, *__: Any) -> dict[str, Any]:
    return {}


def user(n: int, _: str) -> dict[str, Any]:
    return {"user": f"u{n % USERS}"}


def follower(n: int, base: str) -> dict[str, Any]:
    """Every second task comes after the one before it."""
    return {"after": [f"{base}.{n - 1}"]} if n % 2 else {}


def child(n: int, base: str, number: int = 100) -> dict[str, Any]:
    """A task that gathers the next `number` tasks, and these tasks."""
    place = n % (number + 1)
    return {"parent": f"{base}.{n - place}"} if place else {"gather": number}


def all_set(queue: Queue) -> None:
    queue.schedules.set("tomorrow", Every(86_400))
    queue.limits.set("key:other", concurrency=1)
    queue.shares.set("other", 2)
    (first,) = queue.enqueue_many([Task(id="first")])
    queue.enqueue(after=[first], id="second")
    queue.cancel_many(["first", "second"])


SUBJECTS = {
    "nothing": Subject(nothing, nothing),
    "all set, none used": Subject(all_set, nothing),
    "a user, nothing set": Subject(nothing, user),
    "fair shares": Subject(lambda queue: queue.configure(fair=True), user),
    "a limit with room": Subject(lambda queue: queue.limits.set("user:*", concurrency=1000), user),
    "a rate with room": Subject(lambda queue: queue.limits.set("user:*", starts=100_000, burst=1_000_000), user),
    "a limit with a line": Subject(lambda queue: queue.limits.set("user:*", concurrency=5), user),
    "each second one follows": Subject(nothing, follower),
    "ten are gathered": Subject(nothing, partial(child, number=10)),
    "a hundred are gathered": Subject(nothing, child),
}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=11_110)
    parser.add_argument("--rounds", type=int, default=5, help="how many times the subjects take turns")
    parser.add_argument("--batch", type=int, default=100, help="tasks in a call")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        with Adeq.from_url(server.url) as adeq:
            report = measure(client, adeq, arguments.tasks, arguments.rounds, arguments.batch)
        report["engine"] = server.engine
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(client: redis.Redis, adeq: Adeq, tasks: int, rounds: int, batch: int) -> dict[str, Any]:
    """Every figure of every round."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in SUBJECTS}
    for turn in range(rounds):
        for at, (name, subject) in enumerate(SUBJECTS.items()):
            print(f"\rround {turn + 1} of {rounds}: {name:30}", end="", file=sys.stderr, flush=True)
            runs[name].append(price(client, adeq.queue(f"bench.{turn}.{at}"), subject, tasks, batch))
    print(file=sys.stderr)
    return {
        "tasks": tasks,
        "batch": batch,
        "rounds": rounds,
        "microseconds": {name: [cpu for cpu, _ in figures] for name, figures in runs.items()},
        "commands": {name: min(commands for _, commands in figures) for name, figures in runs.items()},
    }


def price(client: redis.Redis, queue: Queue, subject: Subject, tasks: int, batch: int) -> tuple[float, float]:
    """Microseconds of the server's CPU, and commands, for each task."""
    client.flushall()
    subject.setup(queue)
    made = [(f"t.{n}", Task(payload=PAYLOAD, **subject.make(n, "t"))) for n in range(tasks)]
    before, counted = main_thread(client), commands(client)
    for n, start in enumerate(range(0, tasks, batch)):
        client_send(queue, queue.calls.enqueue(made[start : start + batch], f"r{n}"))
    ended = sum(settled(queue, batch))
    spent, used = main_thread(client) - before, commands(client) - counted
    if ended != tasks:
        raise SystemExit(f"{ended} of {tasks} tasks were completed; the figures would mean nothing")
    return spent / tasks * 1e6, used / tasks


def settled(queue: Queue, batch: int) -> Iterator[int]:
    """Settle and claim until nothing is left; how many were claimed, call by call."""
    worker, incarnation, n = "bench", new_incarnation(), 0
    leases: list[Lease] = []
    client_send(queue, queue.calls.register(worker, incarnation))
    while True:
        n += 1
        acks = [(lease, None) for lease in leases]
        leases = client_send(
            queue, queue.calls.settle(worker, incarnation, 0, n, acks=acks, limit=batch)
        ).claimed.leases
        yield len(leases)
        if not leases:
            return


def client_send(queue: Queue, call: Any) -> Any:
    return queue._runner.send(call)


def commands(client: redis.Redis) -> int:
    """How many commands the server has carried out, inside scripts too."""
    stats: Any = client.info("commandstats")
    return sum(one["calls"] for name, one in stats.items() if name not in ("cmdstat_info", "cmdstat_evalsha"))


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    head = f"{report['engine']}, {report['tasks']} tasks in batches of {report['batch']}, {report['rounds']} rounds"
    lines = [head, "", f"{'':26}{'µs min':>8}{'median':>8}{'price':>8}{'commands':>10}{'price':>8}"]
    base, counted = min(report["microseconds"]["nothing"]), report["commands"]["nothing"]
    for name, figures in report["microseconds"].items():
        used = report["commands"][name]
        lines.append(
            f"{name:26}{min(figures):8.1f}{statistics.median(figures):8.1f}{min(figures) - base:8.1f}"
            f"{used:10.2f}{used - counted:8.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

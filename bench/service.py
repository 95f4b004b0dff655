"""The REST service under load: one process of it, on one core.

    python -m bench.service [--seconds 20] [--tasks 1000000] [-o json]

The service has a core of its own; the server of the queue and this process share another. Latencies of GET count from
the time at which a request was due, so a service that falls behind shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote, urlsplit

from pyadeq import Adeq, EmbeddedServer, Task
from pyadeq.ext.prove.bench.figures import machine

QUEUE = "mail"
RATE = 1000  # requests a second
CONNECTIONS = 16
WARM = 2000  # requests before the first figure
MANY = 10_000  # requests between two looks at the memory
PAGES = 300
CALLS = 2000
PER_USER, PER_TAG, PER_PARENT = 1000, 10_000, 100  # tasks
LOOKS = 50  # tasks of a page
BARS: dict[str, tuple[str, float]] = {
    "GET of a task: most answers a second": ("at least", float(RATE)),
    "GET of a task at 1,000 a second: p99 ms": ("at most", 50.0),
    "enqueue: p50 ms more than with the client": ("at most", 1.5),
    "page by state: p99 ms": ("at most", 50.0),
    "page by user: p99 ms": ("at most", 50.0),
    "page by tag: p99 ms": ("at most", 50.0),
    "page by parent: p99 ms": ("at most", 50.0),
}


class Connection:
    """HTTP as far as it is needed here, so that this process is not the slower one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host

    @classmethod
    async def open(cls, at: str) -> Connection:
        """A connection to the service."""
        found = urlsplit(at)
        return cls(*await asyncio.open_connection(found.hostname, found.port), found.netloc)

    async def ask(self, method: str, path: str, body: bytes = b"", wanted: int = 200, more: str = "") -> bytes:
        """The body of the answer. more: lines of the head, each with its end."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(f"{head}{more}Content-Type: application/json\r\n\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        found = await self._reader.readexactly(length)
        assert answer.startswith(b"HTTP/1.1 %d" % wanted), (answer, found)
        return found

    def close(self) -> None:
        """End it."""
        self._writer.close()


class Service:
    """`adeq serve`, on one core."""

    def __init__(self, at: str, pid: int) -> None:
        self.at, self._status, self._stat = at, Path(f"/proc/{pid}/status"), Path(f"/proc/{pid}/stat")

    @property
    def memory(self) -> float:
        """Megabytes that are resident."""
        return int(self._status.read_text().partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        user, system = self._stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(url: str, core: int) -> Iterator[Service]:
    """A service of a server."""
    words = [sys.executable, "-m", "pyadeq.ext.cli", "serve", "--no-auth", "--port", "0", "-o", "json"]
    with subprocess.Popen(
        [*words, "--url", url],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        os.sched_setaffinity(process.pid, {core})
        assert process.stdout
        try:
            yield Service(json.loads(process.stdout.readline())["at"], process.pid)
        finally:
            process.terminate()


async def gets(service: Service, ids: list[str], seconds: float) -> dict[str, float]:
    """Tasks, at a steady rate, over several connections."""
    paths = [f"/v1/queues/{QUEUE}/tasks/{quote(id, safe='')}" for id in ids]
    connections = [await Connection.open(service.at) for _ in range(CONNECTIONS)]
    for number in range(WARM):
        await connections[number % CONNECTIONS].ask("GET", paths[number % len(paths)])
    times: list[float] = []
    total = int(RATE * seconds)
    cpu, start = service.cpu, time.perf_counter()

    async def work(number: int) -> None:
        for due in range(number, total, CONNECTIONS):
            await asyncio.sleep(start + due / RATE - time.perf_counter())
            await connections[number].ask("GET", paths[due % len(paths)])
            times.append(time.perf_counter() - start - due / RATE)

    await asyncio.gather(*map(work, range(CONNECTIONS)))
    took = time.perf_counter() - start
    used = (service.cpu - cpu) / total
    fastest = await at_most(connections, paths, total)
    for connection in connections:
        connection.close()
    return {**spread(times), "per_second": total / took, "most_per_second": fastest, "cpu_us": used * 1e6}


async def at_most(connections: list[Connection], paths: list[str], total: int) -> float:
    """Answers a second if each connection asks again at once."""

    async def work(number: int) -> None:
        for one in range(number, total, CONNECTIONS):
            await connections[number].ask("GET", paths[one % len(paths)])

    start = time.perf_counter()
    await asyncio.gather(*map(work, range(CONNECTIONS)))
    return total / (time.perf_counter() - start)


async def memory(service: Service, ids: list[str]) -> dict[str, float]:
    """Megabytes before and after many requests that differ: half of them enqueue."""
    connection = await Connection.open(service.at)

    async def ask(requests: int) -> None:
        for number in range(requests // 2):
            await connection.ask("GET", f"/v1/queues/{QUEUE}/tasks/{ids[number % len(ids)]}")
            await connection.ask("POST", f"/v1/queues/{QUEUE}/tasks", b'{"payload": "%d"}' % number, 202)

    found = {"requests": float(MANY)}
    await ask(MANY)
    found["before"] = service.memory
    await ask(MANY)
    found["after"] = service.memory
    connection.close()
    return found


async def enqueues(service: Service, url: str) -> dict[str, dict[str, float]]:
    """One task at a time, by the client and by REST in turns."""
    connection = await Connection.open(service.at)
    body = json.dumps({"payload": "x" * 200}).encode()
    client, rest = [], []
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(QUEUE)
        for _ in range(CALLS):
            client.append(timed(lambda: queue.enqueue("x" * 200)))
            start = time.perf_counter()
            await connection.ask("POST", f"/v1/queues/{QUEUE}/tasks", body, 202)
            rest.append(time.perf_counter() - start)
    connection.close()
    return {"client": spread(client[100:]), "rest": spread(rest[100:])}


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fill(url: str, tasks: int) -> list[str]:
    """Enqueue many tasks, which differ in user, tag and parent. Returns some of their ids."""
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(QUEUE)
        for first in range(0, tasks, 1000):
            some = range(first, min(first + 1000, tasks))
            queue.enqueue_many([task(number) for number in some])
            print(f"\r{first + len(some):,} tasks", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [f"t{number}" for number in range(0, tasks, max(1, tasks // 1000))]


def task(number: int) -> Task:
    """One of many."""
    return Task(
        payload="x" * 50,
        id=f"t{number}",
        user=f"u{number // PER_USER}",
        tags=(f"g{number // PER_TAG}",),
        parent=f"p{number // PER_PARENT}",
        kind=f"k{number % 1000}",
    )


async def pages(service: Service, tasks: int) -> dict[str, dict[str, float]]:
    """Pages of 50 by each index, half of them with a cursor; and of a kind, which has no index."""
    connection = await Connection.open(service.at)
    found = {}
    for index, per in (("state", tasks), ("user", PER_USER), ("tag", PER_TAG), ("parent", PER_PARENT), ("kind", tasks)):
        times: list[float] = []
        for number in range(PAGES // 2):
            value = number * 7919 % max(1, tasks // per)
            words = {"user": f"user=u{value}", "tag": f"tag=g{value}", "parent": f"parent=p{value}"}
            words |= {"kind": f"state=ready&kind=k{number}"}
            path = f"/v1/queues/{QUEUE}/tasks?limit={LOOKS}&{words.get(index, 'state=ready')}"
            cursor = ""
            for _ in range(2):
                start = time.perf_counter()
                page = json.loads(await connection.ask("GET", f"{path}&cursor={cursor}"))
                times.append(time.perf_counter() - start)
                cursor = page["cursor"]
                assert index == "kind" or len(page["items"]) == LOOKS, page
        found[index] = spread(times)
    connection.close()
    return found


def spread(times: list[float]) -> dict[str, float]:
    """In milliseconds."""
    return {"p50": median(times) * 1e3, "p99": quantiles(times, n=100)[98] * 1e3, "most": max(times) * 1e3}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of GET requests")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="in the queue of the pages")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})  # for the server, too
    with EmbeddedServer() as server, serving(server.url, cores[-1]) as service:
        ids = fill(server.url, arguments.tasks)
        report: dict[str, Any] = {
            "engine": server.engine,
            "machine": machine(),
            "tasks": arguments.tasks,
            "enqueue": asyncio.run(enqueues(service, server.url)),
            "pages": asyncio.run(pages(service, arguments.tasks)),
            "memory": asyncio.run(memory(service, ids)),
            "get": asyncio.run(gets(service, ids, arguments.seconds)),
        }
    report |= {"load": os.getloadavg()[0], "bars": compared(report)}
    if arguments.output == "json":
        print(json.dumps(report, indent=2))
        return
    for part in ("get", "enqueue", "pages", "memory"):
        print(part, json.dumps(report[part], indent=2))
    for name, one in report["bars"].items():
        print(f"{name:45} {one['is']:9.2f}   {one['at']} {one['bar']:g}{'' if one['met'] else '   MISSED'}")


def compared(report: dict[str, Any]) -> dict[str, Any]:
    """The figures beside what they should be."""
    is_ = {
        "GET of a task: most answers a second": report["get"]["most_per_second"],
        "GET of a task at 1,000 a second: p99 ms": report["get"]["p99"],
        "enqueue: p50 ms more than with the client": report["enqueue"]["rest"]["p50"]
        - report["enqueue"]["client"]["p50"],
        **{f"page by {index}: p99 ms": report["pages"][index]["p99"] for index in ("state", "user", "tag", "parent")},
    }
    return {
        name: {"is": is_[name], "at": at, "bar": bar, "met": is_[name] >= bar if at == "at least" else is_[name] <= bar}
        for name, (at, bar) in BARS.items()
    }


if __name__ == "__main__":
    main()

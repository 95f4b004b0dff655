"""The server that is measured, and how: by its own accounts, and by packed calls that do not make it wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import redis

from pyadeq import Adeq, Call, EmbeddedServer, Lease, Locks, Queue, Task
from pyadeq.ids import new_ulid

PAYLOAD = b"x" * 200
HOUR = 3600.0
TOLD_EVERY = 50_000  # tasks that are enqueued
Command = tuple[Any, ...]
Tell = Callable[[str], None]


def untold(words: str) -> None:
    """Nobody wants to hear what is measured now."""


@dataclass(frozen=True)
class Plan:
    """How to measure.

    tasks: how many a measurement takes; rounds: how often it is made; most: how many other tasks there may be.
    persistent: whether a server of our own has an append-only file. engine: its binary; None for the usual one.
    """

    tasks: int = 20_000
    rounds: int = 5
    most: int = 1_000_000
    persistent: bool = True
    engine: Path | None = None


class Scene:
    """A server with queues of our own on it. own: whether the server is ours, too."""

    def __init__(self, adeq: Adeq, url: str, plan: Plan, own: bool, tell: Tell) -> None:
        self.adeq, self.url, self.plan, self.own, self.tell = adeq, url, plan, own, tell
        self.tasks, self.rounds = plan.tasks, plan.rounds
        self.client: Any = adeq.client
        self.engine = engine_of(self.client)
        self.left_out: list[str] = []
        self._ends = False  # with the queue that is on it

    @classmethod
    @contextmanager
    def at(cls, url: str | None, plan: Plan, tell: Tell = untold) -> Iterator[Scene]:
        """Yield a scene on the server of a URL, or on a new one of our own if there is none."""
        with private(plan) if url is None else nullcontext(url) as there, _client(there) as adeq:
            yield cls(adeq, there, plan, url is None, tell)

    @contextmanager
    def anew(self) -> Iterator[Scene]:
        """Yield a scene on a server that was never large: deleted data makes the next calls dearer, as tables shrink.

        There is no other one than that of a URL.
        """
        if not self.own:
            yield self
            return
        with Scene.at(None, self.plan, self.tell) as scene:
            scene._ends = True
            yield scene

    @contextmanager
    def queue(self) -> Iterator[Queue]:
        """A new queue, which is deleted afterwards."""
        queue = self.adeq.queue(f"bench-{new_ulid()}")
        try:
            yield queue
        finally:
            if not self._ends:  # millions of tasks take as long to delete as to make
                self.remove(queue.base)

    @contextmanager
    def locks(self) -> Iterator[Locks]:
        """A new lock domain, which is deleted afterwards."""
        locks = self.adeq.locks(f"bench-{new_ulid()}")
        try:
            yield locks
        finally:
            self.remove(locks.base)

    @contextmanager
    def noun(self, word: str) -> Iterator[Any]:
        """A new object of a noun, such as a change domain, which is deleted afterwards."""
        found = self.adeq.noun(word, f"bench-{new_ulid()}")
        try:
            yield found
        finally:
            if not self._ends:
                self.remove(found.base)

    def remove(self, base: str) -> None:
        """Delete all keys of a base, at once: what is freed later would be charged to the next measurement."""
        keys: list[bytes] = []
        for key in self.client.scan_iter(match=f"{base.replace('[', '[[]')}*", count=10_000):
            keys.append(key)
            if len(keys) == 1000:
                self.client.delete(*keys)
                keys.clear()
        if keys:
            self.client.delete(*keys)
        while int(self.client.info("memory").get("lazyfree_pending_objects", 0)):
            time.sleep(0.01)

    def cpu(self, work: Callable[[], object]) -> float:
        """Seconds of the server's main thread that some work took."""
        before = main_thread(self.client)
        work()
        return main_thread(self.client) - before

    def price(self, calls: Sequence[Call[Any]]) -> tuple[float, float, Any]:
        """Make calls one after the other. Returns main thread seconds and script commands per call, and the last reply.

        A server counts what scripts send and what clients send alike; the clients' part is known.
        """
        work = self.calls(calls)
        answers: list[Any] = []
        before = self.commands()
        cpu = self.cpu(lambda: answers.append(work()))
        looks = 3  # of these commands that have been counted themselves: two of `cpu`, one of `commands`
        inside = self.commands() - before - looks - len(calls)
        return cpu / len(calls), inside / len(calls), calls[-1].decode(answers[0])

    def commands(self) -> int:
        """How many commands the server has run, those inside of scripts too; without this one."""
        stats = self.client.info("commandstats")
        return sum(int(one["calls"]) for one in stats.values())

    def memory(self, base: str, *but: str) -> int:
        """What the server uses, but for the events, which are trimmed and do not grow, and the keys of these names."""
        rest = sum(int(self.client.memory_usage(f"{base}:{name}", samples=0) or 0) for name in ("events", *but))
        return int(self.client.info("memory")["used_memory"]) - rest

    def sender(self, pipelines: Sequence[Sequence[Command]]) -> Callable[[], Any]:
        """Sends pipelines, each when the one before it is answered; see the function."""
        return sender(self.client, pipelines)

    def calls(self, calls: Sequence[Call[Any]]) -> Callable[[], Any]:
        """Sends calls one after the other."""
        for script in {call.script for call in calls}:
            self.client.script_load(script.text)
        return self.sender([[call.command()] for call in calls])


def sender(client: Any, pipelines: Sequence[Sequence[Command]]) -> Callable[[], Any]:
    """Sends pipelines, packed now, each when the one before it is answered; answers the last reply.

    A server that waits for a slow client grows cold, and is charged for it.
    """
    pool = client.connection_pool
    connection = pool.get_connection()
    packed = [(b"".join(b"".join(connection.pack_command(*one)) for one in some), len(some)) for some in pipelines]
    pool.release(connection)

    def send() -> Any:
        connection = pool.get_connection()
        try:
            reply = None
            for commands, replies in packed:
                connection.send_packed_command([commands])
                for _ in range(replies):
                    reply = connection.read_response()
            return reply
        finally:
            pool.release(connection)

    return send


def main_thread(client: Any) -> float:
    """Seconds of CPU that the server's main thread has used."""
    info = client.info("cpu")
    return float(info["used_cpu_user_main_thread"]) + float(info["used_cpu_sys_main_thread"])


def fill(queue: Queue, count: int, payload: bytes = PAYLOAD, tell: Tell = untold, **options: Any) -> None:
    """Enqueue that many tasks. tell: hears how many there are by now."""
    receipts = queue.enqueue_stream(repeat(Task(payload=payload, **options), count))
    for number, _ in enumerate(receipts, 1):
        if number % TOLD_EVERY == 0:
            tell(f"{number:,} of {count:,} tasks are there")


def take(queue: Queue, count: int) -> list[Lease]:
    """Leases of that many waiting tasks, for an hour."""
    leases: list[Lease] = []
    while len(leases) < count:
        leases += queue.claim("bench", min(1000, count - len(leases)), lease=HOUR)
    return leases


@contextmanager
def private(plan: Plan) -> Iterator[str]:
    """The URL of a server of our own, with an append-only file, flushed every second, or with none."""
    config = {"save": "", "auto-aof-rewrite-percentage": "0"}
    with EmbeddedServer(binary=plan.engine, appendfsync="everysec", config=config) as server:
        if not plan.persistent:
            with redis.Redis.from_url(server.url) as client:
                client.config_set("appendonly", "no")
        yield server.url


def engine_of(client: Any) -> str:
    """The server's name and version."""
    info = client.info("server")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"


def _client(url: str) -> Adeq:
    return Adeq.from_url(url, socket_timeout=60.0)

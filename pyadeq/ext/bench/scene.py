"""The server that is measured, and how: by its own accounts, and by packed calls that do not make it wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import redis

from pyadeq import Adeq, Call, EmbeddedServer, Queue, Task
from pyadeq.ids import new_ulid

PAYLOAD = b"x" * 200
Command = tuple[Any, ...]


class Scene:
    """A server with queues of our own on it. tasks: how many a measurement takes; rounds: how often it is made."""

    def __init__(
        self, adeq: Adeq, url: str, persistent: bool | None, tasks: int, rounds: int, tell: Callable[[str], None]
    ) -> None:
        self.adeq, self.url, self.tasks, self.rounds, self.tell = adeq, url, tasks, rounds, tell
        self.client: Any = adeq.client
        self.engine = engine_of(self.client)
        self._persistent = persistent

    @classmethod
    @contextmanager
    def at(
        cls, url: str | None, persistent: bool, tasks: int, rounds: int, tell: Callable[[str], None]
    ) -> Iterator[Scene]:
        """On a server, or on a new one of our own."""
        with private(persistent) if url is None else nullcontext(url) as there, _client(there) as adeq:
            yield cls(adeq, there, persistent if url is None else None, tasks, rounds, tell)

    @contextmanager
    def anew(self) -> Iterator[Scene]:
        """On a server that has not been large: what is deleted makes the next calls dearer, as tables shrink.

        There is no other one than that of a URL.
        """
        if self._persistent is None:
            yield self
            return
        with Scene.at(None, self._persistent, self.tasks, self.rounds, self.tell) as scene:
            yield scene

    @contextmanager
    def queue(self) -> Iterator[Queue]:
        """A queue that nobody has used, and that is gone afterwards."""
        queue = self.adeq.queue(f"bench-{new_ulid()}")
        try:
            yield queue
        finally:
            self.remove(queue.base)

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

    def commands(self) -> int:
        """How many commands the server has run, those inside of scripts not counted; without this one."""
        return int(self.client.info("stats")["total_commands_processed"])

    def memory(self, queue: Queue) -> int:
        """What the server uses, but for the events of a queue, which are trimmed and do not grow with its tasks."""
        events = self.client.memory_usage(f"{queue.base}:events", samples=0) or 0
        return int(self.client.info("memory")["used_memory"]) - int(events)

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


def fill(queue: Queue, count: int, payload: bytes = PAYLOAD, **options: Any) -> None:
    """Put so many tasks in line."""
    for _ in queue.enqueue_stream(Task(payload=payload, **options) for _ in range(count)):
        pass


@contextmanager
def private(persistent: bool) -> Iterator[str]:
    """The URL of a server of our own, with an append-only file, flushed every second, or with none."""
    with EmbeddedServer(appendfsync="everysec", config={"save": "", "auto-aof-rewrite-percentage": "0"}) as server:
        if not persistent:
            with redis.Redis.from_url(server.url) as client:
                client.config_set("appendonly", "no")
        yield server.url


def engine_of(client: Any) -> str:
    """The server's name and version."""
    info = client.info("server")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"


def _client(url: str) -> Adeq:
    return Adeq.from_url(url, socket_timeout=60.0)

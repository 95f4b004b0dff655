"""Producers and workers of the older layouts, written from their design, without pyadeq."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Protocol

from redis import Redis

from pyadeq import Adeq
from pyadeq.ext.move.migrate import ListQueues, ListWriter, Source, StreamQueue, StreamWriter
from pyadeq.ext.move.migrate.lists import actor_queue

STREAM, GROUP, DELAYED = "ade:queue:tasks", "ade-workers", "ade:queue:delayed"
FAILS = 25
"""Each of so many tasks of the stream fails at its first attempt, so the old system delivers it again."""


class Layout(Protocol):
    """One older layout."""

    name: str
    queue: str
    lanes: tuple[str, ...]

    def source(self, old: Redis) -> Source: ...
    def put(self, old: Redis, number: int) -> None:
        """Enqueue a task as an old producer does."""

    def write(self, adeq: Adeq, old: Redis, number: int, queue: str) -> None:
        """Enqueue a task by the writer of pyadeq."""

    def work(self, old: Redis) -> None:
        """Run some tasks as an old worker does: push their numbers to the list `ran`."""

    def stop(self, old: Redis) -> None:
        """Let the old worker deregister."""

    def begin(self, old: Redis, payload: Any) -> bool:
        """Begin a task in pyadeq. False: it has run already, as its handler sees."""

    @staticmethod
    def delivers_again(number: int) -> bool:
        """Whether the old system itself delivers a task twice."""

    def number(self, payload: Any) -> int:
        """The number of a task in pyadeq."""


class StreamLayout:
    name, queue, lanes = "stream", "tasks", ("any",)

    def __init__(self, old: Redis) -> None:
        old.xgroup_create(STREAM, GROUP, "$", mkstream=True)

    def source(self, old: Redis) -> Source:
        return StreamQueue(old)

    def put(self, old: Redis, number: int) -> None:
        id, payload, now = f"task-{number}", json.dumps({"number": number}), time.time_ns() // 1_000_000
        row: dict[Any, Any] = {"id": id, "status": "pending", "payload": payload, "createdAt": now, "attemptCount": 0}
        old.hset(f"ade:task:{id}", mapping={**row, "maxAttempts": 3, "priority": 5, "kind": "message"})
        if number % 10 == 0:
            old.zadd(DELAYED, {id: now + number % 1000})
        else:
            old.xadd(STREAM, {"taskId": id, "payload": payload, "priority": 5})

    def write(self, adeq: Adeq, old: Redis, number: int, queue: str) -> None:
        at = time.time() + number % 7 if number % 10 == 0 else None
        StreamWriter(adeq, old, queue=queue).enqueue({"number": number}, id=f"task-{number}", run_after=at)

    def work(self, old: Redis) -> None:
        old.hset("ade:workers:active", "w1", "{}")
        self._promote(old)
        found: Any = old.xreadgroup(GROUP, "w1", {STREAM: ">"}, count=2)
        for entry, fields in found[0][1] if found else ():
            id = fields[b"taskId"].decode()
            key, number = f"ade:task:{id}", json.loads(fields[b"payload"])["number"]
            old.hset(key, mapping={"status": "running", "startedAt": time.time_ns() // 1_000_000, "workerId": "w1"})
            attempts = old.hincrby(key, "attemptCount", 1)
            if number % FAILS == 1 and attempts == 1:
                old.hset(key, mapping={"status": "pending", "error": "first", "workerId": ""})
                old.zadd(DELAYED, {id: time.time_ns() // 1_000_000 + 100})
            else:
                old.rpush("ran", number)
                old.hset(key, mapping={"status": "completed", "result": "{}"})
            old.xack(STREAM, GROUP, entry)

    def _promote(self, old: Redis) -> None:
        due: Any = old.zrangebyscore(DELAYED, "-inf", time.time() * 1000, start=0, num=100)
        for id in due:
            if old.zrem(DELAYED, id):
                found: Any = old.hmget(f"ade:task:{id.decode()}", "payload", "priority")
                old.xadd(STREAM, {"taskId": id, "payload": found[0], "priority": found[1]})

    def stop(self, old: Redis) -> None:
        """Let the worker deregister."""
        old.hdel("ade:workers:active", "w1")

    def begin(self, old: Redis, payload: Any) -> bool:
        return True

    @staticmethod
    def delivers_again(number: int) -> bool:
        return False  # a failed attempt is no run

    def number(self, payload: Any) -> int:
        return int(payload["number"])


class ListLayout:
    name, queue, lanes = "lists", "osis", ("group/default/inst/1", "group/default", "any")
    KEYS = (
        "hero:q:work:type:osis:group:default:inst:1",
        "hero:q:work:type:osis:group:default",
        "hero:q:work:type:osis",
    )
    LEGACY = "hero:job:actor_queue:osis"

    def __init__(self, old: Redis) -> None:
        pass

    def source(self, old: Redis) -> Source:
        return ListQueues(old)

    def put(self, old: Redis, number: int) -> None:
        id = self._create(old, number)
        keys = [self.KEYS[number % 3]] if number % 5 else [self.LEGACY]
        if number % 7 == 0:  # dual push
            keys = [self.KEYS[2], self.LEGACY]
        for key in keys:
            old.lpush(f"{key}:prio:1" if number % 11 == 0 and key in self.KEYS else key, id)

    def write(self, adeq: Adeq, old: Redis, number: int, queue: str) -> None:
        id = self._create(old, number)
        group, instance = [("default", "1"), ("default", None), (None, None)][number % 3]
        legacy = [actor_queue("osis")] if number % 7 == 0 else []
        ListWriter(adeq, old, queues={"osis": queue}).push(id, "osis", group=group, instance=instance, legacy=legacy)

    def work(self, old: Redis) -> None:
        for key in [f"{self.KEYS[2]}:prio:1", *self.KEYS, self.LEGACY]:
            found: Any = old.lpop(key, 1)
            for id in found or ():
                job = f"hero:job:{id.decode()}"
                if old.hget(job, "status") != b"dispatched":
                    continue  # the other copy of a dual push
                old.hset(job, "status", "started")
                old.rpush("ran", int(id.decode().removeprefix("job-")))
                old.hset(job, mapping={"status": "finished", "output": "{}"})

    def stop(self, old: Redis) -> None:
        """Nothing: an actor that is not there takes nothing."""

    def begin(self, old: Redis, payload: Any) -> bool:
        job = f"hero:job:{payload['job_id']}"
        if old.hget(job, "status") != b"dispatched":
            return False
        old.hset(job, mapping={"status": "finished", "output": "{}"})
        return True

    @staticmethod
    def delivers_again(number: int) -> bool:
        return number % 7 == 0  # it is in two lists

    def number(self, payload: Any) -> int:
        return int(payload["job"]["number"])

    def _create(self, old: Redis, number: int) -> str:
        id = f"job-{number}"
        old.hset(f"hero:job:{id}", mapping={"number": number, "status": "dispatched", "script": "print(1)"})
        return id


class OldLocks:
    """Locks as an old program takes them: the hash with a time to live, in a transaction."""

    def __init__(self, old: Redis, prefix: str = "lock:") -> None:
        self._old, self._prefix = old, prefix

    def take(self, name: str, agent: str, ttl: int = 30) -> bool:
        """Take an exclusive lock. Returns whether it was free."""
        key, field = self._prefix + name, "holder_agent_id" if name.startswith("task:") else "exclusive_holder"
        with self._old.pipeline() as pipe:
            pipe.hsetnx(key, field, agent)
            pipe.expire(key, ttl, nx=True)
            taken: bool = pipe.execute()[0]
        return taken

    def release(self, name: str, agent: str) -> None:
        """Release it if the agent still has it."""
        key = self._prefix + name
        script = "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('DEL', KEYS[1]) end"
        self._old.eval(script, 1, key, "holder_agent_id" if name.startswith("task:") else "exclusive_holder", agent)


LAYOUTS: dict[str, Any] = {"stream": StreamLayout, "lists": ListLayout}


class Working(threading.Thread):
    """Calls a function again and again until it is stopped: a context manager."""

    def __init__(self, act: Any, pause: float = 0.05) -> None:
        super().__init__(daemon=True)
        self._act, self._pause, self._ended = act, pause, threading.Event()
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._ended.is_set():
                self._act()
                self._ended.wait(self._pause)
        except BaseException as error:
            self.failed = error

    def __enter__(self) -> Working:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self.join()
        assert self.failed is None, self.failed

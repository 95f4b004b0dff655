"""The five old systems: tasks as their producers write them, with random details, their workers, and what waits.

Each call of a producer has a number. Its task has it in its arguments, wherever it runs.
"""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from random import Random
from typing import Any, ClassVar

from redis import Redis

from pyadeq import Adeq, Tasks
from pyadeq.ext.move.migrate import (
    BullQueues,
    CeleryQueues,
    ListQueues,
    ListWriter,
    RqQueues,
    StreamQueue,
    StreamWriter,
)
from tests.integration.move.test_migrate import message
from tests.integration.move.test_migrate_rq import JOBS

LATER = 4_102_444_800
tasks = Tasks()


@tasks.task(name="app.add")
def add(n: int) -> None:
    """Has no parameter `odd`, so some tasks do not fit."""


class Old:
    """One of them. Most have a hash for each task.

    places: keys with waiting tasks, each with its kind: `right`, `left` and `newest` are lists. begin: commands before
    the first task. changes: a field of a hash with which pyadeq does not run the task, and one that makes another task
    of it. choices: options of a command. reuses: whether an id may be used again.
    """

    name: str
    source: Any
    queues: tuple[str, ...]
    places: ClassVar[dict[str, str]]
    begin: tuple[tuple[str, ...], ...] = ()
    hash, changes = "", ("", "")
    choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    verbs: tuple[tuple[str, ...], ...] = (("move",),)
    reuses = False
    write: Any = None  # the writer of pyadeq

    def __init__(self, client: Any, random: Random) -> None:
        self.client, self.random = client, random
        self.latest: dict[str, int] = {}  # the last call with an id
        for call in self.begin:
            self.client.execute_command(*call)

    def put(self, number: int, id: str, key: str) -> None:
        """Enqueue a task as a producer does."""
        self.client.hset(f"{self.hash}{id}", mapping=self.job(number))
        self.add(key, id, LATER * 1000 + number)

    def job(self, number: int) -> Any:
        """Return the hash of a task."""

    def add(self, key: str, found: str, score: int = 0) -> None:
        """Add a message to a place."""
        if (kind := self.places[key]) == "set":
            self.client.zadd(key, {found: score})
        elif kind == "stream":
            self.client.xadd(key, {"taskId": found})
        else:
            (self.client.rpush if kind == "left" else self.client.lpush)(key, found)

    def number(self, found: bytes) -> int:
        """Return the number of a message."""
        return self.latest[found.decode()]

    def waiting(self) -> dict[str, list[int]]:
        """Return the numbers of what waits in each place, first the next one."""
        return {key: [*map(self.number, self._messages(key, kind))] for key, kind in self.places.items()}

    def _messages(self, key: str, kind: str) -> list[bytes]:
        if kind == "stream":
            last = self.client.xinfo_groups(key)[0]["last-delivered-id"].decode()
            return [fields[b"taskId"] for _, fields in self.client.xrange(key, f"({last}")]
        found: list[bytes] = (self.client.zrange if kind == "set" else self.client.lrange)(key, 0, -1)
        return found[::-1] if kind == "right" else found

    def take(self) -> int | None:
        """Let an old worker run a task."""
        key, kind = self.random.choice([one for one in self.places.items() if one[1] != "set"])
        if kind == "stream":
            found = self.client.xreadgroup("ade-workers", "w", {key: ">"}, count=1)
            return self.number(found[0][1][0][1][b"taskId"]) if found else None
        taken = (self.client.rpop if kind == "right" else self.client.lpop)(key)
        return None if taken is None else self.number(taken)

    def change(self, id: str) -> str:
        """Change or delete the hash of a task. Returns how."""
        key, (field, data) = f"{self.hash}{id}", self.changes
        if not self.client.exists(key) or self.is_(0.2):
            return "deleted" if self.client.delete(key) else "is gone"
        if data and self.is_(0.5):
            self.client.hset(key, data, json.dumps({"n": self.latest[id], "m": self.random.random()}))
            return f"other {data}"
        if not self.client.hdel(key, field):
            self.client.hset(key, field, "started")
        return f"{field} added or removed"

    def is_(self, chance: float) -> bool:
        """Return True at random."""
        return self.random.random() < chance

    def odd(self) -> dict[str, int]:
        """Return arguments by name."""
        return {"odd": 1} if self.is_(0.15) else {}


class Celery(Old):
    name, source, queues, reuses = "celery", CeleryQueues, ("work0", "work1"), True
    places: ClassVar = {f"work{n}{end}": "right" for n in (0, 1) for end in ("", "\x06\x163")}
    begin = tuple(("SADD", f"_kombu.binding.work{n}", f"work{n}\x06\x16\x06\x16work{n}") for n in (0, 1))
    choices: ClassVar = {"tasks": (None, tasks), "trust_pickle": (False, True)}

    def put(self, number: int, id: str, key: str) -> None:
        pickled, body = self.is_(0.25), [[number], self.odd(), {"chain": [1]} if self.is_(0.1) else {}]
        found = json.loads(message("pickle" if pickled else "plain", id))
        found["body"] = base64.b64encode(pickle.dumps(body) if pickled else json.dumps(body).encode()).decode()
        found["properties"]["delivery_tag"] = str(number)
        self.add(key, json.dumps(found))

    def number(self, found: bytes) -> int:
        return int(json.loads(found)["properties"]["delivery_tag"])


class Rq(Old):
    name, source, queues, reuses = "rq", RqQueues, ("default",), True
    places: ClassVar = {"rq:queue:default": "left", "rq:scheduled:default": "set"}
    begin = (("SADD", "rq:queues", "rq:queue:default"),)
    hash, changes, choices = "rq:job:", ("webhooks", ""), Celery.choices

    def job(self, number: int) -> Any:
        call = ("app.add", None, [number], self.odd())
        data = zlib.compress(pickle.dumps(call) if self.is_(0.25) else json.dumps(call).encode())
        plain = {name: value.encode("latin-1") for name, value in JOBS["plain"].items()}
        return {**plain, "data": data, "enqueued_at": str(number)}

    def change(self, id: str) -> str:
        if self.is_(0.5):
            return super().change(id)
        others = f"rq:job:{id}:dependents"
        return "no dependents" if self.client.delete(others) else f"{self.client.sadd(others, 'x')} dependent"


class Bull(Old):
    name, source, queues = "bullmq", BullQueues, ("mail",)
    places: ClassVar = {"bull:mail:wait": "right", "bull:mail:prioritized": "set", "bull:mail:delayed": "set"}
    begin = (("HSET", "bull:mail:meta", "version", "bullmq:5.0"),)
    choices: ClassVar = {"tasks": (None, tasks)}
    hash, changes = "bull:mail:", ("parentKey", "data")

    def job(self, number: int) -> Any:
        return {"name": "app.add", "data": json.dumps({"n": number, **self.odd()}), "opts": "{}", "timestamp": number}

    def add(self, key: str, found: str, score: int = 0) -> None:
        super().add(key, found, score << 12 if key.endswith("delayed") else (3 << 32) + score % 1000)


class Lists(Old):
    name, source, queues = "lists", ListQueues, ("osis",)
    places: ClassVar = {"hero:q:work:type:osis": "newest", "hero:q:work:type:osis:group:g": "newest"}
    hash, changes, verbs = "hero:job:", ("status", ""), (("move",), ("mirror", "shadow", "cutover"))

    def job(self, number: int) -> Any:
        return {"n": number}

    def write(self, adeq: Adeq, client: Redis, number: int, id: str, key: str) -> None:
        client.hset(f"hero:job:{id}", "n", str(number))
        ListWriter(adeq, client).push(id, "osis", group="g" if key.endswith(":g") else None)


class Stream(Old):
    name, source, queues = "stream", StreamQueue, ("tasks",)
    places: ClassVar = {"ade:queue:tasks": "stream", "ade:queue:delayed": "set"}
    begin = (("XGROUP", "CREATE", "ade:queue:tasks", "ade-workers", "$", "MKSTREAM"),)
    hash, changes, verbs = "ade:task:", ("status", "payload"), Lists.verbs

    def job(self, number: int) -> Any:
        return {"payload": json.dumps({"n": number}), "createdAt": number}

    def write(self, adeq: Adeq, client: Redis, number: int, id: str, key: str) -> None:
        at = LATER + number / 1000 if self.places[key] == "set" else None
        StreamWriter(adeq, client).enqueue({"n": number}, id=id, run_after=at)


SYSTEMS = (Celery, Rq, Bull, Lists, Stream)

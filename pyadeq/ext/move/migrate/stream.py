"""A Redis stream with a consumer group, a sorted set of delayed tasks, and a hash for each task."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from redis import Redis

from pyadeq import Adeq, Backoff, Task
from pyadeq.errors import BadArgument
from pyadeq.ext.move.migrate.enqueuer import views_of
from pyadeq.ext.move.migrate.rows import read_whole
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Unmovable, check_id, existing
from pyadeq.ext.move.migrate.waiting import GROUP, MOST_FIELDS, fields_of, packed, stays
from pyadeq.ext.move.migrate.writer import Writer, checked
from pyadeq.ids import new_ulid

STREAM: Final = "ade:queue:tasks"
DELAYED: Final = "ade:queue:delayed"
WORKERS: Final = "ade:workers:active"
HEARTBEATS: Final = "ade:workers:heartbeat"
"""A worker that has not reported here for a minute is dead: `lua/ends.lua`."""
FAILURES: Final = "ade:events:task-failed"
"""The channel on which the old workers publish a task that has failed for good."""
READER: Final = "migrate-failures"
"""The group of readers of events that publishes there."""
PRIORITY: Final = 5
ATTEMPTS: Final = 3
QUEUE: Final = "tasks"
"""The name of the only queue, for `--queue tasks=NEW`."""
PLACES: Final = {
    STREAM: Place(STREAM, QUEUE, PRIORITY, "stream"),
    # while a worker lives, its promoter may enqueue what is due
    DELAYED: Place(DELAYED, QUEUE, PRIORITY, "ms", WORKERS),
}
Row = Mapping[bytes, bytes]


def task_key(id: str) -> str:
    """Return the key of the hash of a task."""
    return f"ade:task:{id}"


class StreamQueue:
    """The waiting and the delayed tasks.

    What the consumer group was not yet given waits. Tasks of workers are only counted: the old workers finish them, or
    put them into the delayed set for another attempt.
    """

    name = "stream"

    def __init__(self, client: Redis) -> None:
        self.client = client

    def places(self, queues: Sequence[str]) -> list[Place]:
        """Return the stream and the sorted set, as far as they exist."""
        if queues and QUEUE not in queues:
            return []
        return existing(self.client, [*PLACES.values()])

    def read(self, place: Place, messages: Sequence[bytes]) -> list[Moving | Left]:
        """Return what each message is, with the hash of its task."""
        rows = [_id_and_time(place, message) for message in messages]
        hashes = read_whole(self.client, [task_key(id) for id, _ in rows])
        return [
            Left(id, f"its entry has more than {MOST_FIELDS} fields; it stays where it is", _digest(row))
            if place.kind == "stream" and stays(message)
            else self.task(id, row, at)
            for message, (id, at), row in zip(messages, rows, hashes, strict=True)
        ]

    def task(self, id: str, row: Row, at: float | None = None) -> Moving | Left:
        """Return the task of a hash. at: when it is due, if it is delayed."""
        try:
            check_id(id)
            if not row:
                raise Unmovable("its hash no longer exists")
            return _moving(id, row, at)
        except Unmovable as error:
            return Left(id, str(error), "")
        except BadArgument as error:
            return Left(id, error.message, _digest(row))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return Left(id, "its hash is not that of a task", _digest(row))

    def others(self) -> dict[str, int]:
        """Return the number of tasks that workers have fetched and not acknowledged."""
        groups: Any = self.client.xinfo_groups(STREAM) if self.client.type(STREAM) == b"stream" else []
        return {"running in workers": sum(group["pending"] for group in groups if group["name"] == GROUP.encode())}


class StreamWriter:
    """Enqueues tasks in the old layout, in pyadeq, or in both, as the phase of the migration says: see `Writer`."""

    def __init__(self, adeq: Adeq, client: Redis, *, queue: str = QUEUE) -> None:
        self._source = StreamQueue(client)
        self._writer = Writer(adeq, self._source, queues={QUEUE: queue})

    def enqueue(
        self,
        payload: Any,
        *,
        id: str | None = None,
        kind: str = "message",
        priority: int = PRIORITY,
        max_attempts: int = ATTEMPTS,
        run_after: float | None = None,
        **fields: str,
    ) -> str:
        """Enqueue a task. Returns its id.

        run_after: a time in seconds since 1970. fields: further ones of its hash, such as parentTaskId.
        """
        id, text = id or new_ulid(), json.dumps(payload)
        row: dict[str, str] = {
            "id": id,
            "status": "pending",
            "payload": text,
            "createdAt": str(time.time_ns() // 1_000_000),
            "attemptCount": "0",
            "maxAttempts": str(max_attempts),
            "priority": str(priority),
            "kind": kind,
            **fields,
        }
        one = checked(self._source.task(id, {k.encode(): v.encode() for k, v in row.items()}, run_after))
        if run_after is None:
            place = PLACES[STREAM]
            message = packed([b"taskId", id.encode(), b"payload", text.encode(), b"priority", b"%d" % priority])
        else:
            place, message = PLACES[DELAYED], f"{run_after * 1000:.0f} {id}".encode()
        self._writer.write([place], message, one, task_key(id), row)
        return id


def publish_failures(adeq: Adeq, client: Redis, queue: str) -> int:
    """Publish moved tasks that are dead since the last call on `ade:events:task-failed`. Returns how many.

    For observers of the old system: call it again and again until they read the events of pyadeq. Like each message of
    Pub/Sub, it reaches those that listen just then. After a kill, a message may come twice.
    """
    events, count = adeq.events("queue", queue), 0
    events.add(READER)
    while (batch := events.read(READER)).events or batch.gap:
        ids = [id for event in batch.events if event.event == "task.dead" for id in event.ids]
        for view in views_of(adeq.queue(queue), ids):
            if view is not None and view.state == "dead":
                before = (view.headers or {}).get("stream", {}).get("attempts", 0)
                told = {"taskId": view.id, "error": view.error, "totalAttempts": before + view.attempts}
                client.publish(FAILURES, json.dumps(told))
                count += 1
        events.ack(READER, batch)
    return count


def _moving(id: str, row: Row, at: float | None) -> Moving:
    fields = {name.decode(): value.decode() for name, value in row.items()}
    status = fields.get("status", "pending")
    if status not in ("pending", "running"):
        raise Unmovable(f"its status is {status[:60]}")
    attempts, most = int(fields.get("attemptCount") or 0), int(fields.get("maxAttempts") or ATTEMPTS)
    payload = json.loads(fields["payload"])
    about = payload if isinstance(payload, dict) else {}
    origin: dict[str, Any] = {
        name: fields[name] for name in ("parentTaskId", "subagentId", "createdAt") if fields.get(name)
    }
    if attempts:
        origin["attempts"] = attempts
    task = Task(
        payload=payload,
        id=id,
        kind=fields.get("kind") or "message",
        priority=int(fields.get("priority") or PRIORITY),
        max_attempts=max(1, most - attempts),
        backoff=Backoff(
            base=1.0,
            multiplier=float(about.get("backoffMultiplier") or 2),
            cap=float(about.get("maxBackoffMs") or 300_000) / 1000,
            jitter=0.1,
        ),
        run_after=at,
        headers={"stream": origin} if origin else None,
    )
    return Moving(task, _digest(row), delivered=attempts > 0 or bool(fields.get("startedAt")))


def _digest(row: Row) -> str:
    """Return what tells this task from another with its id. A further attempt of it is the same task."""
    told = b"\0".join(row.get(name, b"") for name in (b"kind", b"createdAt", b"payload"))
    return hashlib.sha1(told, usedforsecurity=False).hexdigest()


def _id_and_time(place: Place, message: bytes) -> tuple[str, float | None]:
    if place.kind == "stream":
        return fields_of(message).get(b"taskId", b"").decode(errors="replace"), None
    score, _, id = message.decode(errors="replace").partition(" ")
    return id, float(score or 0) / 1000  # without one, a cleanup has deleted the message meanwhile

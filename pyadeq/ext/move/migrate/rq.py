"""RQ: lists of job ids, sorted sets of scheduled ones, and a hash for each job. RQ itself is not needed."""

from __future__ import annotations

import hashlib
import json
import pickle
import zlib
from collections.abc import Sequence
from time import time
from typing import Any, Final

from redis import Redis

from pyadeq import Backoff, Task, Tasks
from pyadeq.ext.move.migrate.rows import read_rows
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Unmovable, existing, moving_or_left, replies

QUEUE, JOB = "rq:queue:", "rq:job:"
MOST_INFLATED: Final = 1 << 20
"""Bytes of a call. A payload of pyadeq has at most 1 MiB."""
PRIORITY: Final = 5
"""The priority of all tasks of RQ, which has none: its workers take from one queue before another."""
UNMOVABLE: Final = {
    "success_callback_name": "it has a callback",
    "failure_callback_name": "it has a callback",
    "stopped_callback_name": "it has a callback",
    "webhooks": "it has webhooks",
    "repeats_left": "it repeats: make a schedule of it",
}
FIELDS: Final = (
    *("retries_left", "created_at", "enqueued_at", "data"),  # these tell a job from another
    *("timeout", "result_ttl", "retry_intervals", "group_id", "meta"),
    *UNMOVABLE,
)
Job = dict[str, bytes]


class RqQueues:
    """The waiting and the scheduled jobs of RQ.

    tasks: task functions by the paths of RQ's functions, as for Celery.
    trust_pickle: load the pickles that RQ makes unless it has a JSONSerializer. A pickle may run any code, so do that
    only if nobody else can write to the old server.
    """

    name = "rq"

    def __init__(self, client: Redis, *, tasks: Tasks | None = None, trust_pickle: bool = False) -> None:
        self.client = client
        self._tasks, self._trusted = tasks, trust_pickle

    def places(self, queues: Sequence[str]) -> list[Place]:
        """Return for each queue its list, and the sorted set of what is scheduled."""
        places = []
        for name in sorted(dict.fromkeys(queues)) or self._names():
            places.append(Place(f"{QUEUE}{name}", name, PRIORITY, "left"))
            guard = f"rq:scheduler-lock:{name}"
            places.append(Place(f"rq:scheduled:{name}", name, PRIORITY, "times", guard))
        return existing(self.client, places)

    def read(self, place: Place, messages: Sequence[bytes]) -> list[Moving | Left]:
        """Return what each job is."""
        rows = [_id_and_time(place, message) for message in messages]
        keys = [f"{JOB}{id}" for id, _ in rows]
        found = read_rows(self.client, keys, FIELDS, [f"{key}:dependents" for key in keys])
        return [self._read(id, at, *row) for (id, at), row in zip(rows, found, strict=True)]

    def others(self) -> dict[str, int]:
        """Return the number of jobs that run, and that wait for others.

        A worker that stops between taking a job and beginning it leaves the job behind. RQ fails it after some minutes.
        """
        with self.client.pipeline(transaction=False) as pipe:
            for name in self._names():
                pipe.zcard(f"rq:wip:{name}")
                pipe.llen(f"{QUEUE}{name}:intermediate")
                pipe.zcard(f"rq:deferred:{name}")
            counts = [count or 0 for count in replies(pipe)]
        return {
            "running in workers": sum(counts[::3]),
            "taken by workers that have not begun them": sum(counts[1::3]),
            "waiting for other jobs": sum(counts[2::3]),
        }

    def _names(self) -> list[str]:
        known: Any = self.client.smembers("rq:queues")
        return sorted(key.decode(errors="replace").removeprefix(QUEUE) for key in known)

    def _read(
        self, id: str, at: float | None, values: Sequence[bytes | None] | None, ttl_ms: int, dependents: int
    ) -> Moving | Left:
        job = {name: value for name, value in zip(FIELDS, values or (), strict=False) if value is not None}

        def read() -> Task:
            if not job:
                raise Unmovable("its job no longer exists")
            if dependents:
                raise Unmovable("other jobs depend on it")
            for name, why in UNMOVABLE.items():
                if job.get(name):
                    raise Unmovable(why)
            return self._task(id, at, job, ttl_ms)

        return moving_or_left(id, _digest(job), read, "it is no job of RQ")

    def _task(self, id: str, at: float | None, job: Job, ttl_ms: int) -> Task:
        kind, instance, args, kwargs = self._loaded(_inflated(job["data"]))
        if instance is not None:
            raise Unmovable("it is a method of an object")
        retries = int(job.get("retries_left", b"0"))
        if self._tasks is None:
            json.dumps([args, kwargs])  # a TypeError for what is no JSON
            task = Task(payload={"args": args, "kwargs": kwargs}, max_attempts=retries + 1)
        elif (function := self._tasks.get(kind)) is None:
            raise Unmovable(f"its function {kind!r} is not in --tasks")
        else:
            task = function.item(*args, **kwargs)
        changes: dict[str, Any] = {"id": id, "kind": kind, "priority": PRIORITY}
        if at is not None:
            changes["run_after"] = at
        if retries:
            changes |= {"max_attempts": retries + 1, "backoff": _backoff(job)}
        if (timeout := int(job.get("timeout", b"-1"))) > 0:
            changes["timeout"] = float(timeout)
        if (result_ttl := int(job.get("result_ttl", b"-1"))) >= 0:
            changes["result_ttl"] = float(result_ttl)
        if ttl_ms > 0:
            changes["expires_at"] = time() + ttl_ms / 1000
        origin: dict[str, Any] = {"group": job["group_id"].decode()} if job.get("group_id") else {}
        if job.get("meta"):
            origin["meta"] = self._loaded(job["meta"])
            json.dumps(origin)
        if origin:
            changes["headers"] = {**(task.headers or {}), "rq": origin}
        return task.model_copy(update=changes)

    def _loaded(self, data: bytes) -> Any:
        if data[:1] == b"\x80":  # the protocol of a pickle, from version 2 on
            if not self._trusted:
                raise Unmovable("it is a pickle, which is only loaded with --trust-pickle")
            return pickle.loads(data)
        return json.loads(data)


def _id_and_time(place: Place, message: bytes) -> tuple[str, float | None]:
    if place.kind != "times":
        return message.decode(errors="replace"), None
    score, _, id = message.decode(errors="replace").partition(" ")
    return id, float(score or 0)  # without one, a cleanup has deleted the message meanwhile


def _digest(job: Job) -> str:
    """Return what tells this job from another with its id, also from the same call that was enqueued again."""
    if not job:
        return ""
    told = b"\0".join(job.get(name, b"") for name in FIELDS[:4])
    return hashlib.sha1(told, usedforsecurity=False).hexdigest()


def _inflated(data: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(data, MOST_INFLATED)
    except zlib.error:  # jobs of old releases are not compressed
        return data
    if unpacking.unconsumed_tail:
        raise Unmovable("its call is larger than 1 MiB")
    return found


def _backoff(job: Job) -> Backoff:
    """Return the intervals of a job. If they differ, pyadeq doubles them from the first to the longest."""
    intervals = [float(one) for one in json.loads(job.get("retry_intervals") or b"[0]")]
    multiplier = 1.0 if len({*intervals}) == 1 else 2.0
    return Backoff(base=intervals[0], multiplier=multiplier, cap=max(intervals), jitter=0.0)

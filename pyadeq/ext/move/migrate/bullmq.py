"""BullMQ 5 and 6: lists and sorted sets of job ids, and a hash for each job. Node is not needed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from redis import Redis

from pyadeq import Backoff, Task, Tasks
from pyadeq.ext.move.migrate.rows import read_rows
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Unmovable, escaped, existing, moving_or_left, replies

PREFIX: Final = "bull"
LOWEST: Final = 9
"""Jobs of BullMQ have priorities up to 2,097,152. From this one on they share the last of pyadeq."""
PER_MS: Final = 0x1000
"""The score of a delayed job is its time in milliseconds times this, plus a number."""
PER_PRIORITY: Final = 0x100000000
"""The score of a prioritized job is its priority times this, plus a number."""
FIELDS: Final = ("name", "data", "opts", "timestamp", "atm", "priority", "parentKey", "rjk", "deid", "defa")
UNMOVABLE: Final = {
    "parentKey": "it is a child in a flow",
    "rjk": "it is of a job scheduler: make a schedule of it",
    "defa": "a child of it has failed, so it is about to fail",
}
LONGEST: Final = 604_800.0
"""Seconds of a pause in pyadeq."""
Job = dict[str, bytes]


class BullQueues:
    """The waiting, prioritized, delayed and paused jobs of BullMQ.

    tasks: task functions by the names of jobs. The data of a job are then the arguments by name, and are checked before
    anything moves. None: the payload is the data.
    prefix: of the keys, `prefix` in BullMQ.
    """

    def __init__(self, client: Redis, *, tasks: Tasks | None = None, prefix: str = PREFIX) -> None:
        self.client = client
        self.name = "bullmq" if prefix == PREFIX else f"bullmq:{prefix}"
        self._prefix, self._tasks = prefix, tasks

    def places(self, queues: Sequence[str]) -> list[Place]:
        """Return for each queue its lists of waiting and paused jobs as one, and those of other jobs."""
        places = []
        for name in sorted(dict.fromkeys(queues)) or self._queues():
            base = f"{self._prefix}:{name}"
            places.append(Place(f"{base}:wait", name, 0, "wait"))
            places.append(Place(f"{base}:prioritized", name, None, "prioritized"))
            places.append(Place(f"{base}:delayed", name, None, "delayed"))
        return existing(self.client, places)

    def read(self, place: Place, messages: Sequence[bytes]) -> list[Moving | Left]:
        """Return what each job is."""
        scored = [_id_and_score(place, message) for message in messages]
        base = place.key.removesuffix(place.kind)
        keys = [f"{base}{id}" for id, _ in scored]
        found = read_rows(self.client, keys, FIELDS, [f"{key}:processed" for key in keys])
        return [self._read(place, *one, row.values, row.other) for one, row in zip(scored, found, strict=True)]

    def others(self) -> dict[str, int]:
        """Return the number of jobs that run, have ended, wait for children, or are made again and again."""
        keys = {
            "running in workers": "active",
            "waiting for their children": "waiting-children",
            "of job schedulers": "repeat",
            "completed": "completed",
            "failed": "failed",
        }
        counts = dict.fromkeys(keys, 0)
        for name in self._queues():
            with self.client.pipeline(transaction=False) as pipe:
                pipe.llen(f"{self._prefix}:{name}:active")
                for key in [*keys.values()][1:]:
                    pipe.zcard(f"{self._prefix}:{name}:{key}")
                for what, count in zip(keys, replies(pipe), strict=True):
                    counts[what] += count or 0
        return counts

    def _queues(self) -> list[str]:
        start, end = f"{self._prefix}:", ":meta"
        found = self.client.scan_iter(match=f"{escaped(start)}*{end}", count=1000)
        names = {key.decode(errors="replace").removeprefix(start).removesuffix(end) for key in found}
        return sorted(name for name in names if ":" not in name)  # a job's id may end so

    def _read(
        self, place: Place, id: str, score: float | None, values: Sequence[bytes | None] | None, processed: int
    ) -> Moving | Left:
        job = {
            name: value for name, value in zip(FIELDS, values or [None] * len(FIELDS), strict=True) if value is not None
        }

        def read() -> Task:
            if not job:
                raise Unmovable("its job no longer exists")
            if processed:
                raise Unmovable("it is the parent in a flow")
            for name, why in UNMOVABLE.items():
                if job.get(name):
                    raise Unmovable(why)
            return self._task(place, id, score, job)

        return moving_or_left(id, _digest(place, job), read, "it is no job of BullMQ")

    def _task(self, place: Place, id: str, score: float | None, job: Job) -> Task:
        kind, data, options = job["name"].decode(), json.loads(job["data"]), json.loads(job["opts"])
        if options.get("repeat"):
            raise Unmovable(UNMOVABLE["rjk"])
        made, attempts = int(job.get("atm", b"0")), int(options.get("attempts") or 1)
        changes: dict[str, Any] = {"id": id, "kind": kind, "priority": min(int(job.get("priority", b"0")), LOWEST)}
        if self._tasks is None:
            task = Task(payload=job["data"])
        elif (function := self._tasks.get(kind)) is None:
            raise Unmovable(f"its name {kind!r} is not in --tasks")
        elif not isinstance(data, dict):
            raise Unmovable("its data are no object, so they are no arguments by name")
        else:
            task = function.item(**data)
        if self._tasks is None or "attempts" in options:
            changes["max_attempts"] = max(1, attempts - made)
        if score is not None and place.kind == "prioritized":
            changes["priority"] = min(int(score // PER_PRIORITY), LOWEST)
        elif score is not None:
            changes["run_after"] = score // PER_MS / 1000
        if attempts > 1 and (backoff := _backoff(options.get("backoff"), made)):
            changes["backoff"] = backoff
        if (kept := options.get("removeOnComplete")) is True:
            changes["result_ttl"] = 0.0
        elif isinstance(kept, dict) and "age" in kept:
            changes["result_ttl"] = float(kept["age"])
        if "deid" in job and not (options.get("de") or {}).get("ttl"):
            changes["unique"] = job["deid"].decode()
        if made:
            changes["headers"] = {**(task.headers or {}), "bullmq": {"attempts": made}}
        return task.model_copy(update=changes)


def _id_and_score(place: Place, message: bytes) -> tuple[str, float | None]:
    if place.kind == "wait":
        return message.decode(errors="replace"), None
    score, _, id = message.decode(errors="replace").partition(" ")
    return id, float(score or 0)  # without one, a cleanup has deleted the message meanwhile


def _digest(place: Place, job: Job) -> str:
    """Return what tells this job from another with its id, also in another queue. Another attempt is the same job."""
    if not job:
        return ""
    told = b"\0".join([place.queue.encode(), *(job.get(name, b"") for name in FIELDS[:5])])
    return hashlib.sha1(told, usedforsecurity=False).hexdigest()


def _backoff(found: Any, made: int) -> Backoff | None:
    """Return the pauses between attempts. None: a strategy of the old program, so that of the function stays."""
    if not isinstance(found, dict) or found.get("type") not in ("fixed", "exponential"):
        return None if found else Backoff(base=0.0, jitter=0.0)
    longest, half = float(found.get("delay") or 0) / 1000, float(found.get("jitter") or 0) / 2
    jitter = half / (1 - half)  # BullMQ takes a part of the pause away, pyadeq adds one or takes it away
    if found["type"] == "fixed":
        return Backoff(base=longest * (1 - half), multiplier=1.0, cap=longest, jitter=jitter)
    return Backoff(base=min(longest * (1 - half) * 2**made, LONGEST), cap=LONGEST, jitter=jitter)

"""What the event stream of a queue tells, and how the rules judge it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import redis

from pyadeq.ext.prove.chaos import History, judge, read_entries
from pyadeq.ext.prove.chaos.tale import COMPLETED, Tale


class Event(NamedTuple):
    """An entry of the stream. ms: the server's time."""

    name: str
    ms: int
    ids: list[str]
    words: dict[str, str]


def read_tasks(client: redis.Redis, base: str) -> Iterator[Event]:
    for entry in read_entries(client, base):
        yield Event(entry.event.removeprefix("task."), entry.ms, list(entry.ids), entry.words)


class TaskHistory:
    """All tasks of a queue whose stream is whole. Raises AssertionError where it breaks a rule."""

    def __init__(self, client: redis.Redis, base: str) -> None:
        entries = read_entries(client, base)
        verdict = judge(History(entries=entries, trimmed=0))
        assert verdict.ok, "\n".join(map(str, verdict.violations))
        assert verdict.checks["leases_apart"] > 0
        self._tale = Tale(entries)
        self.tasks = list(self._tale.lives)

    @property
    def completed(self) -> int:
        return sum(self._tale.state(id) == COMPLETED for id in self.tasks)

    def taken_back_from(self, worker: str) -> list[str]:
        return [
            id
            for id, leases in self._tale.leases.items()
            for lease in leases
            if lease.claim.words["worker"] == worker and lease.end and lease.end.event == "task.stalled"
        ]

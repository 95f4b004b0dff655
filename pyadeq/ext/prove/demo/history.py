"""What happened, read from the queue's event stream: every stamp is the server's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from redis import Redis

PAGE = 1000


@dataclass
class History:
    """waits: seconds from ready to claimed, for each claim. runs: from claimed to completed.

    stalled: task, worker and time of every lease that was taken back. Points in time are ms since the epoch.
    """

    completed: Counter[str] = field(default_factory=Counter)
    completed_by: dict[str, str] = field(default_factory=dict)
    waits: list[tuple[str, float]] = field(default_factory=list)
    runs: list[tuple[str, float]] = field(default_factory=list)
    stalled: list[tuple[str, str, int]] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    dead: dict[str, str] = field(default_factory=dict)
    first_ms: int = 0
    last_ms: int = 0

    @property
    def retries(self) -> int:
        """How many attempts failed and were not the last."""
        return self.failed.total()

    @property
    def seconds(self) -> float:
        """The seconds from the first task enqueued to the last one settled."""
        return (self.last_ms - self.first_ms) / 1000


def read_history(client: Redis, base: str) -> History:
    """Read the whole stream of a queue."""
    history = History()
    ready: dict[str, int] = {}
    claimed: dict[str, tuple[int, str]] = {}
    for event, now, ids, detail in read_events(client, f"{base}:events"):
        match event:
            case "task.enqueued":
                history.first_ms = history.first_ms or now
                ready.update(dict.fromkeys(ids, now))
            case "task.promoted" | "task.released":
                ready.update(dict.fromkeys(ids, now))
            case "task.claimed":
                history.waits += [(id, (now - ready[id]) / 1000) for id in ids if id in ready]
                claimed.update(dict.fromkeys(ids, (now, detail["worker"])))
            case "task.completed":
                history.completed.update(ids)
                history.runs += [(id, (now - claimed[id][0]) / 1000) for id in ids if id in claimed]
                history.completed_by |= {id: claimed[id][1] for id in ids if id in claimed}
                history.last_ms = now
            case "task.retried":
                history.failed.update(ids)
            case "task.stalled":
                history.stalled.append((ids[0], detail["worker"], now))
                ready[ids[0]] = now
            case "task.dead":
                history.dead[ids[0]] = detail["reason"]
                history.last_ms = now
    return history


def read_events(client: Redis, stream: str) -> Iterator[tuple[str, int, list[str], dict[str, str]]]:
    """Name, time in ms, task ids and details of every entry, in order."""
    start = "-"
    while page := _page(client, stream, start):
        for _, fields in page:
            words = {name.decode(): value.decode() for name, value in fields.items()}
            details = dict(word.split("=", 1) for word in words.get("payload", "").split())
            yield words["event"], int(words["timestamp"]), words["id"].split(), details
        start = f"({page[-1][0].decode()}"


def _page(client: Redis, stream: str, start: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
    page: Any = client.xrange(stream, start, "+", PAGE)
    return list(page)

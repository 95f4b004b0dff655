"""What the model keeps: tasks, leases and workers. Times are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import Any

Answer = tuple[Any, ...]
LOST: Answer = ("lease_lost",)


@dataclass(frozen=True)
class Backoff:
    base: int = 1000
    multiplier: float = 2.0
    cap: int = 300_000
    jitter: float = 0.1

    def before(self, retry: int, ppm: int) -> int:
        """ppm: 0 to 1,000,000 of the jitter's range; 500,000 is its middle."""
        growth = self.multiplier ** min(retry - 1, 150)  # the cap has come long before, or never comes
        plain = min(self.base * growth, self.cap)
        return floor(min(plain * (1 + self.jitter * (ppm / 500_000 - 1)), self.cap))


@dataclass(frozen=True)
class Spec:
    """What a producer says of a task."""

    id: str
    payload: bytes = b""
    lane: str = "any"
    priority: int = 5
    delay: int = 0
    kind: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    max_attempts: int | None = None
    backoff: Backoff | None = None


@dataclass
class Lease:
    token: str
    worker: str
    started: int
    cancelling: bool = False


@dataclass
class Task:
    id: str
    spec: Spec
    stamp: str  # rid and index of the call that made it
    place: int
    created: int
    state: str = "new"  # ready, delayed, running, completed, cancelled or dead
    since: int = 0  # when it last became ready
    at: int = 0  # due time, deadline or time of the end
    attempts: int = 0
    crashes: int = 0
    deliveries: int = 0
    lease: Lease | None = None
    last: Lease | None = None  # the current lease, or the one before
    settled: tuple[str, Answer] = ("", LOST)  # the last settlement's token and answer
    reason: str | None = None
    error: str | None = None
    result: bytes | None = None


@dataclass
class Worker:
    incarnation: str
    seen: int
    # By slot: the last n, when presence was noted last, and the ids and tokens that were given.
    slots: dict[int, tuple[int, int, list[tuple[str, str]]]] = field(default_factory=dict)

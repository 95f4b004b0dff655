"""What the oracle remembers: requests, their parts, capacities, and what has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

FORGET = 120_000  # ms that an ended request is remembered
LATEST = 60_000  # ms that a request may be older than now, or newer, to be taken
SETTINGS = {
    "lease_ms": 30_000,
    "poll_ms": 2_000,
    "claim_ms": 5_000,
    "waiter_ms": 15_000,
    "priority_step_ms": 5_000,
    "policy": "requester",
    "rate_per_minute": 0,
    "rate_burst": 10,
    "detect_visits": 1000,
}
Settings = dict[str, Any]


@dataclass(slots=True)
class Part:
    """One resource of a request. mode: `x`, `s`, or `p` with the permits wanted."""

    resource: str
    mode: str
    permits: int = 1
    fence: int = 0
    base: str = ""  # what its owner held when it asked: `covers`, or `upgrades` from shared

    @property
    def code(self) -> str:
        return f"p{self.permits}" if self.mode == "p" else self.mode

    def conflicts(self, other: Part) -> bool:
        return not self.mode == other.mode == "s"


@dataclass(slots=True)
class Request:
    rid: str
    owner: str
    agent: str
    parts: list[Part]
    ttl: int
    priority: int = 5
    since: int = 0
    born: int = 0
    until: int = 0
    purpose: str = ""
    order: str = "-"  # place in line while it waits
    granted: int = 0
    state: str = "held"  # waits, granted, held
    deadline: int = 0

    @property
    def waiting(self) -> bool:
        return self.state == "waits"

    @property
    def upgrades(self) -> bool:
        return any(part.base == "upgrades" for part in self.parts)

    def part(self, resource: str) -> Part | None:
        return next((part for part in self.parts if part.resource == resource), None)


class Ended(NamedTuple):
    outcome: str
    detail: str
    until: int  # when it is forgotten


@dataclass(slots=True)
class Capacity:
    max: int
    silent: int = 0
    seen: int = 0
    status: str = "active"

    def serves(self, now: int) -> bool:
        return self.status == "active" and not self.offline(now)

    def offline(self, now: int) -> bool:
        return self.silent > 0 and now - self.seen > self.silent

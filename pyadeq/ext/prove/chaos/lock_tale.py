"""What the event stream of a lock domain tells, request by request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pyadeq.ext.prove.chaos.history import Entry

WAITS, HOLDS, OVER = "waiting", "held", "ended"
# In which states an event can happen to a request; None: it is new.
POSSIBLE: dict[str, set[str | None]] = {
    "lock.queued": {None, WAITS},
    "lock.promoted": {WAITS},
    "lock.acquired": {None, HOLDS},
    "lock.released": {HOLDS},
    "lock.expired": {HOLDS},
    "lock.cancelled": {WAITS},
    "lock.deadlock": {None, WAITS},
}


class Part(NamedTuple):
    """What a request has or wants of one resource. code: `x`, `s`, or `p<n>`. fence: 0 while it waits for it."""

    code: str
    fence: int
    resource: str


@dataclass(slots=True)
class Request:
    """A request for one or more locks. granted, ended: the entries that say so. claimed: its client has seen it.

    strong: the resources that it held exclusively to its end. A downgrade has no event: only the end shows it.
    """

    rid: str
    owner: str
    parts: tuple[Part, ...]
    state: str | None = None
    came: Entry | None = None
    granted: Entry | None = None
    ended: Entry | None = None
    claimed: bool = False
    strong: frozenset[str] = frozenset()


class Odd(NamedTuple):
    """An event that cannot happen to a request in that state."""

    rid: str
    entry: Entry
    state: str | None


@lru_cache(1024)  # most are told of twice or three times
def parse_parts(locks: str) -> tuple[Part, ...]:
    """The word `locks` of an event. ValueError for anything else."""
    parts = []
    for one in locks.split(","):
        code, _, rest = one.partition("/")
        fence, _, resource = rest.partition("=")
        parts.append(Part(code.rstrip("+"), int(fence), resource))
    return tuple(parts)


class LockTale:
    """All requests, in the order of their coming; and what happened, in the order of the stream.

    steps: each grant, and each end of one: whether it is a grant, the request, its parts then, and the entry.
    granted: what was given out: the request, the resource and the fence.
    """

    def __init__(self, entries: Iterable[Entry], *, cut: bool | None = None) -> None:
        self.requests: dict[str, Request] = {}
        self.steps: list[tuple[bool, Request, tuple[Part, ...], Entry]] = []
        self.granted: set[tuple[str, str, int]] = set()
        self.odd: list[Odd] = []
        self.unknown: list[Odd] = []
        for entry in entries:
            if entry.event not in POSSIBLE:
                continue
            rid, parts = entry.ids[0], parse_parts(entry.words["locks"])
            request = self.requests.get(rid)
            if request is None:
                request = self.requests[rid] = Request(rid, entry.words["owner"], parts, came=entry)
                if None not in POSSIBLE[entry.event]:
                    self.unknown.append(Odd(rid, entry, None))
            elif request.state not in POSSIBLE[entry.event]:
                self.odd.append(Odd(rid, entry, request.state))
            self._step(request, parts, entry)
        self.cut = bool(self.unknown) if cut is None else cut

    def _step(self, request: Request, parts: tuple[Part, ...], entry: Entry) -> None:
        event = entry.event
        if event == "lock.promoted" or (event == "lock.acquired" and request.state is None):
            request.parts, request.granted, request.state = parts, entry, HOLDS
            self.steps.append((True, request, parts, entry))
            self.granted.update((request.rid, part.resource, part.fence) for part in parts)
        elif event == "lock.queued":
            request.state = WAITS
        elif event != "lock.acquired":
            if request.state == HOLDS:
                self.steps.append((False, request, request.parts, entry))
                request.strong = frozenset(part.resource for part in parts if part.code == "x")
            request.state, request.ended = OVER, entry
        request.claimed |= event == "lock.acquired"

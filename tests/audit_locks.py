"""What must hold of all that a lock domain stores, between any two calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from tests.nouns.audit import names_below
from tests.stored import Stored

KINDS = {"config", "graph", "requests", "deadlines", "capacity", "rates", "unchecked", "search", "events"}
GOING = {"search"}  # what is found anew if it is gone
OUTCOMES = {
    "released", "expired", "cancelled", "timed_out", "abandoned", "lost", "deadlock", "revoked", "busy", "unavailable",
    "forced", "offline", "owner_waits",
}  # fmt: skip
# Fields of `requests` that are the domain's own.
OWN = {"#now", "#offset", "#fence", "#seq", "#waiting", "#due", "#detected"}
LATEST = 2.0**53
MOST_SHARED = 63  # so many shared waiters may be passed; those with more of them ahead are not looked at
RECORD = re.compile(
    r"(?P<state>waits|granted|held) (?P<owner>\S+) (?P<agent>\S+) (?P<priority>\d) (?P<since_ms>\d+)"
    r" (?P<born_ms>\d+) (?P<ttl_ms>\d+) (?P<until_ms>\d+) (?P<order>\S+) (?P<granted_ms>\d+)"
    r" (?P<parts>\S+) (?P<purpose>.*)",
    re.S,
)
PART = re.compile(r"(x|s|p[1-9]\d*)(\+?)/(\d+)=(\S+)")


class Part(NamedTuple):
    """What a request has or wants of one resource.

    The fence is 0 while it waits, unless its owner has it already. leans: it ends if that hold, or the shared one that
    is to become exclusive, goes.
    """

    code: str
    leans: bool
    fence: int
    resource: str

    @property
    def permits(self) -> int:
        return int(self.code[1:] or 0)


class Request(NamedTuple):
    """A record of `requests`, live or ended; an ended one has an outcome and no owner."""

    state: str
    owner: str = ""
    agent: str = ""
    priority: int = 0
    since_ms: int = 0
    born_ms: int = 0
    ttl_ms: int = 0
    until_ms: int = 0
    order: str = ""
    granted_ms: int = 0
    parts: tuple[Part, ...] = ()
    purpose: str = ""
    outcome: str = ""
    detail: str = ""


class Own(NamedTuple):
    """The clock and the counters of a domain. due: no deadline comes before."""

    now: int = 0
    offset: int = 0
    fence: int = 0
    seq: int = 0
    waiting: int = 0
    due: int = 0
    detected: int = 0


class Capacity(NamedTuple):
    most: int
    status: str
    silent_ms: int
    seen_ms: int
    used: int


def parse_request(record: str) -> Request:
    """Raises ValueError for what is no record."""
    state, _, rest = record.partition(" ")
    if state == "ended":
        outcome, _, detail = rest.partition(" ")
        if outcome not in OUTCOMES:
            raise ValueError(record)
        return Request(state, outcome=outcome, detail=detail)
    if (found := RECORD.fullmatch(record)) is None:
        raise ValueError(record)
    fields: dict[str, Any] = found.groupdict()
    for name in ("priority", "since_ms", "born_ms", "ttl_ms", "until_ms", "granted_ms"):
        fields[name] = int(fields[name])
    return Request(**fields | {"parts": tuple(map(parse_part, fields["parts"].split(",")))})


def parse_part(part: str) -> Part:
    if (found := PART.fullmatch(part)) is None:
        raise ValueError(part)
    return Part(found[1], found[2] == "+", int(found[3]), found[4])


def parse_capacity(record: str) -> Capacity:
    most, status, silent_ms, seen_ms, used = record.split(" ")
    return Capacity(int(most), status, int(silent_ms), int(seen_ms), int(used))


def conflict(one: str, other: str) -> bool:
    """Whether requests of these codes for one resource, of two owners, wait for each other in line."""
    return not one == other == "s"


class LockAudit:
    """All that is stored of a lock domain, read at once; nobody must be using it meanwhile.

    names: of its keys, where they are known.
    """

    def __init__(self, client: Any, base: str, names: Iterable[str] | None = None) -> None:
        self.client, self.base = client, base
        self.names = sorted(names_below(client, base) if names is None else names)
        self.stored = stored = Stored(client, base, self.names)
        self.graph, self.deadlines, self.unchecked = map(stored.zset, ("graph", "deadlines", "unchecked"))
        self.capacity = {resource: parse_capacity(one) for resource, one in stored.hash("capacity").items()}
        self.requests: dict[str, Request] = {}
        self.unread: list[str] = []
        self.own = Own()
        for rid, record in stored.hash("requests").items():
            if rid in OWN:
                self.own = self.own._replace(**{rid[1:]: int(record)})
                continue
            try:
                self.requests[rid] = parse_request(record)
            except ValueError:
                self.unread.append(f"request {rid} is no record: {record!r}")
        self.now = self.own.now
        self.holds: defaultdict[str, dict[str, Part]] = defaultdict(dict)  # by resource, of each rid
        self.lines: defaultdict[str, dict[str, Part]] = defaultdict(dict)  # the same, in the order of the line
        for rid, request in sorted(self.requests.items(), key=lambda one: (one[1].order, one[0])):
            for part in request.parts:
                if request.state == "waits" and part.fence:
                    continue  # it has that already
                (self.lines if request.state == "waits" else self.holds)[part.resource][rid] = part

    @cached_property
    def live(self) -> dict[str, Request]:
        return {rid: request for rid, request in self.requests.items() if request.state != "ended"}

    def problems(self) -> Iterator[str]:
        yield from (f"{name}: unknown" for name in self.names if name not in KINDS and not name.startswith("events:"))
        going = {name for name in self.names if self.stored.ttls[name] != -1}
        yield from (f"{name} goes by itself" for name in sorted(going - GOING))
        yield from (f"{name} does not go by itself" for name in sorted(GOING & set(self.names) - going))
        yield from self.unread
        yield from self._members()
        yield from self._deadlines()
        yield from self._grants()
        yield from self._capacity()
        yield from self._exclusion()
        yield from self._owners()
        yield from self._lost_wakeups()

    def _members(self) -> Iterator[str]:
        wanted = {member for rid, request in self.live.items() for member in members(rid, request)}
        yield from (f"graph lacks '{member}'" for member in sorted(wanted - self.graph.keys()))
        yield from (f"graph has '{member}', which no request says" for member in sorted(self.graph.keys() - wanted))
        yield from (f"graph has '{member}' at {score}" for member, score in self.graph.items() if score)

    def _deadlines(self) -> Iterator[str]:
        timed = {member: ms for member, ms in self.deadlines.items() if not member.startswith("promote ")}
        due = {rid for rid, ms in timed.items() if ms >= 0}
        yield from (f"deadlines lacks {rid}, which {self.live[rid].state}" for rid in sorted(self.live.keys() - due))
        yield from (f"deadlines has {rid}, which is not live" for rid in sorted(due - self.live.keys()))
        ended = {rid for rid, request in self.requests.items() if request.state == "ended"}
        kept = timed.keys() - due
        yield from (f"deadlines lacks {rid}, which has ended" for rid in sorted(ended - kept))
        yield from (f"deadlines has {rid}, as if it had ended" for rid in sorted(kept - ended))
        if self.own.due > (first := min((ms for ms in self.deadlines.values() if ms >= 0), default=LATEST)):
            yield f"due is {self.own.due}, the first deadline {first:.0f}"
        waiting = sum(request.state == "waits" for request in self.live.values())
        if self.own.waiting != waiting:
            yield f"waiting is {self.own.waiting}, {waiting} wait"
        for rid in sorted(one for one in self.unchecked if not one.startswith("line ")):
            if rid not in self.live or self.live[rid].state != "waits":
                yield f"unchecked has {rid}, which does not wait"

    def _grants(self) -> Iterator[str]:
        highest = self.own.fence
        for rid, request in self.live.items():
            waiting = request.state == "waits"
            if (request.order == "-") == waiting:
                yield f"request {rid} {request.state}, but its order is {request.order}"
            for part in request.parts:
                if not waiting and part.fence == 0:
                    yield f"request {rid} {request.state} {part.resource} without a fence"
                if part.leans and not waiting:
                    yield f"request {rid} {request.state}, but leans on another hold of {part.resource}"
                if waiting and part.fence and not part.leans:
                    yield f"request {rid} {request.state}, but has the fence {part.fence} of {part.resource}"
                if part.fence > highest:
                    yield f"request {rid} has the fence {part.fence} of {part.resource}, above {highest}"
        for resource, parts in self.holds.items():
            owners: defaultdict[int, set[str]] = defaultdict(set)
            for rid, part in parts.items():
                owners[part.fence].add(self.live[rid].owner)
            for fence, those in owners.items():
                if len(those) > 1:
                    yield f"the fence {fence} of {resource} is that of {sorted(those)}"
            if len(exclusive := {part.fence for part in parts.values() if part.code == "x"}) > 1:
                yield f"{resource} is held exclusively under the fences {sorted(exclusive)}"

    def _capacity(self) -> Iterator[str]:
        for resource in sorted(self.capacity.keys() | self.holds.keys()):
            used = sum(part.permits for part in self.holds[resource].values())
            found = self.capacity.get(resource, Capacity(0, "active", 0, 0, 0))
            if found.used != used:
                yield f"capacity of {resource} has {found.used} in use, {used} permits are held"
            if found.status not in ("active", "draining"):
                yield f"capacity of {resource} is {found.status}"

    def _exclusion(self) -> Iterator[str]:
        for resource, parts in self.holds.items():
            kinds = {part.code[0] for part in parts.values()}
            owners = {self.live[rid].owner for rid in parts}
            if ("x" in kinds and len(owners) > 1) or ("p" in kinds and kinds != {"p"}):
                yield f"{resource} is held by {[(self.live[rid].owner, part.code) for rid, part in parts.items()]}"

    def _owners(self) -> Iterator[str]:
        waits: defaultdict[str, list[str]] = defaultdict(list)
        for rid, request in self.live.items():
            if request.state == "waits":
                waits[request.owner].append(rid)
        yield from (f"{owner} waits by {sorted(rids)}" for owner, rids in waits.items() if len(rids) > 1)

    def _lost_wakeups(self) -> Iterator[str]:
        for rid, request in self.live.items():
            if request.state != "waits" or self.deadlines.get(rid, 0) <= self.now:
                continue
            resources = [part.resource for part in request.parts]
            if not any(
                member.split(" ")[1] in resources for member in self.deadlines if member.startswith("promote ")
            ) and self.is_grantable(rid):
                yield f"request {rid} {request.state} for {resources}, which it could have"

    def is_grantable(self, rid: str) -> bool:
        """Whether nobody of another owner holds or is ahead in line in a way that conflicts."""
        request = self.live[rid]
        parts = [part for part in request.parts if not part.fence]
        return self._has_support(request) and all(self._is_free(rid, request, part) for part in parts)

    def _has_support(self, request: Request) -> bool:
        """Whether the holds are there on which it leans."""
        for part in request.parts:
            holds = self.holds[part.resource].items()
            codes = {held.code for rid, held in holds if self.live[rid].owner == request.owner}
            if part.leans and "x" not in codes and ("s" not in codes or (part.code == "x" and part.fence)):
                return False
        return True

    def _is_free(self, rid: str, request: Request, part: Part) -> bool:
        for number, (other, ahead) in enumerate(self.lines[part.resource].items()):
            if other == rid:
                break
            if conflict(part.code, ahead.code) or number >= MOST_SHARED:
                return False
        holds = [(self.live[other].owner, held) for other, held in self.holds[part.resource].items()]
        if part.code[0] == "p":
            if any(held.code[0] != "p" for _, held in holds) or part.resource not in self.capacity:
                return False
            most, status, silent_ms, seen_ms, used = self.capacity[part.resource]
            offline = silent_ms > 0 and self.now - seen_ms > silent_ms
            return status == "active" and not offline and used + part.permits <= most
        return not any(
            held.code[0] == "p" or (owner != request.owner and conflict(part.code, held.code)) for owner, held in holds
        )


def members(rid: str, request: Request) -> Iterator[str]:
    """What the graph holds of a live request."""
    yield f"a {request.agent} {rid}"
    for code, _, fence, resource in request.parts:
        if request.state != "waits":
            yield f"r {resource} h {code} {request.owner} {rid}"
            yield f"o {request.owner} h {resource} {code} {rid}"
        elif not fence:
            yield f"r {resource} q {request.order} {code} {request.owner} {rid}"
            yield f"o {request.owner} w {resource} {request.order} {code} {rid}"

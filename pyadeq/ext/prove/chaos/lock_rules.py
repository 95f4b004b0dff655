"""Rules about locks: who holds one shuts others out, each grant has a higher fence, and what has ended stays ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import Op
from pyadeq.ext.prove.chaos.lock_tale import OVER, Part, Request

CODES = {"exclusive": "x", "shared": "s", "permit": "p"}


def compatible(one: str, other: str) -> bool:
    """Whether two owners may hold a lock in these ways at the same time: both shared, or both by permits."""
    return one == other == "s" or one[0] == other[0] == "p"


def locks_exclude(case: Case, found: Finding) -> None:
    """An exclusive lock has one owner, and no other holder; a shared one has none who holds it exclusively."""
    holders: defaultdict[str, dict[str, tuple[Request, str]]] = defaultdict(dict)
    for granted, request, parts, entry in case.locks.steps:
        for part in parts:
            here = holders[part.resource]
            if not granted:
                here.pop(request.rid, None)
                continue
            found.checks += 1
            for other, granted_code in here.values():
                # it may have been downgraded: when, no event says
                downgraded = granted_code == "x" and part.resource not in other.strong
                code = "s" if downgraded else granted_code
                if other.owner != request.owner and not compatible(part.code, code):
                    text = f"{request.owner} was granted it ({part.code}) at {entry.position}, and {other.owner} had it"
                    found.convict(part.resource, f"{text} ({code})")
            here[request.rid] = request, part.code
    _by_clients(case, found)


class Hold(NamedTuple):
    """A lock from when its holder was told so, until it asked to give it back, and was told that it was its to give."""

    since: float
    until: float
    code: str
    owner: str
    op: Op


def _by_clients(case: Case, found: Finding) -> None:
    downgraded = {op.asked["rid"] for op in case.calls.lock_ends if op.verb == "downgrade" and op.outcome != "refused"}
    ends = {op.asked["rid"]: op for op in case.calls.lock_ends if op.answer.get("statuses") == ["released"]}
    by_resource: defaultdict[str, list[Hold]] = defaultdict(list)
    for op in case.calls.takes:
        end, rid = ends.get(op.answer["rid"]), op.answer["rid"]
        if end is None or op.ended is None:
            continue
        for resource, mode, _ in op.asked["locks"]:
            code = "s" if rid in downgraded and mode == "exclusive" else CODES[mode]
            by_resource[resource].append(Hold(op.ended, end.began, code, op.asked["owner"], op))
    for resource, holds in by_resource.items():
        holds.sort(key=lambda hold: hold.since)
        open_ones: list[Hold] = []
        for hold in holds:
            open_ones = [other for other in open_ones if other.until > hold.since]
            for other in open_ones:
                if other.owner != hold.owner and not compatible(other.code, hold.code):
                    found.convict(resource, f"{hold.owner} and {other.owner} held it at the same time, both to the end")
            open_ones.append(hold)


def lock_fences_rise(case: Case, found: Finding) -> None:
    """Each grant of a lock has a higher fence than those before it; what its owner has already keeps its fence."""
    highest: defaultdict[str, int] = defaultdict(int)
    held: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for granted, request, parts, entry in case.locks.steps:
        for part in parts:
            own = held[part.resource, request.owner]
            if not granted:
                own.pop(request.rid, None)
                continue
            found.checks += 1
            if part.fence <= highest[part.resource] and part.fence not in own.values():
                text = f"granted to {request.owner} at {entry.position} under fence {part.fence}"
                found.convict(part.resource, f"{text}, not above {highest[part.resource]}")
            highest[part.resource] = max(highest[part.resource], part.fence)
            own[request.rid] = part.fence


def requests_end_once(case: Case, found: Finding) -> None:
    """A request that has ended stays ended, in whatever order its calls come: it holds and awaits nothing again."""
    found.checks += sum(request.state == OVER for request in case.locks.requests.values())
    for rid, entry, state in case.locks.odd:
        found.convict(rid, f"{entry.event} at {entry.position}, while it was {state}")


def names(parts: Iterable[Part]) -> str:
    """The locks of a request."""
    return ", ".join(part.resource for part in parts)

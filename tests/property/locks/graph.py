"""Who waits for whom, written out in full; deadlocks by letting everybody go who can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.property.locks.records import Capacity, Part, Request


class Edge(NamedTuple):
    """`owner` waits for `resource`, which `blocker` has, or is ahead in line for."""

    owner: str
    mode: str
    resource: str
    blocker: str
    held: bool


class Picture:
    """Holders and lines at one moment. line: the waiters of the whole domain, in the order of their places."""

    def __init__(
        self, holders: Iterable[Request], line: Sequence[Request], capacity: Mapping[str, Capacity] | None = None
    ) -> None:
        self.holders, self.line = list(holders), list(line)
        self.capacity = capacity or {}

    def holds(self, resource: str) -> Iterator[tuple[Request, Part]]:
        for request in self.holders:
            if part := request.part(resource):
                yield request, part

    def ahead(self, request: Request, part: Part) -> Iterator[Request]:
        """The waiters that one has to wait for, in the line of one resource."""
        for other in self.line:
            if other is request:
                return
            its = other.part(part.resource)
            if its and its.base != "covers" and other.owner != request.owner and part.conflicts(its):
                yield other

    def covering(self, owner: str, part: Part) -> Part | None:
        """The hold that makes a part a re-entry: past everybody, under the same fence."""
        held = [held for holder, held in self.holds(part.resource) if holder.owner == owner]
        if part.mode == "p":
            return None
        enough = [one for one in held if one.mode == "x" or one.mode == part.mode == "s"]
        return max(enough, key=lambda one: one.fence, default=None)

    def against(self, request: Request, part: Part) -> Iterator[Request]:
        """The holders that one may have to wait for. Permits count also against their own owner."""
        for holder, held in self.holds(part.resource):
            mixed = (held.mode == "p") != (part.mode == "p")
            if mixed or (part.mode == "p") or (holder.owner != request.owner and part.conflicts(held)):
                yield holder

    def fits(self, request: Request, part: Part) -> bool:
        """Whether the holders leave room; who is ahead in line is another question."""
        if part.mode != "p":
            return not any(self.against(request, part))
        limit = self.capacity.get(part.resource)
        if limit is None:
            return False
        held = [held for _, held in self.holds(part.resource)]
        return all(one.mode == "p" for one in held) and sum(one.permits for one in held) + part.permits <= limit.max

    def waits_for(self, request: Request) -> list[Part]:
        return [part for part in request.parts if part.base != "covers"]

    def wanted(self) -> list[Part]:
        return [part for request in self.line for part in self.waits_for(request)]

    def blocked(self, request: Request) -> bool:
        return any(not self.fits(request, part) or any(self.ahead(request, part)) for part in self.waits_for(request))

    def edges(self) -> set[Edge]:
        return {edge for request in self.line for edge in self.edges_of(request)}

    def edges_of(self, request: Request) -> Iterator[Edge]:
        """Of permits these are candidates only: any holder of some may do."""
        for part in self.waits_for(request):
            for held, others in ((True, self.against(request, part)), (False, self.ahead(request, part))):
                for other in others:
                    yield Edge(request.owner, part.code, part.resource, other.owner, held)

    def stuck(self, leave: bool = True) -> set[str]:
        """The requests that can never be granted, whatever all others do: owners who do not wait let go of all.

        leave: who asks for permits that are not given out goes away: so it hears at its next poll.
        """
        left = Picture(self.holders, self.line, self.capacity)
        while True:
            waiting = {request.owner for request in left.line}
            free = [request for request in left.holders if request.owner not in waiting]
            ready = [
                request for request in left.line if (leave and left._hopeless(request)) or not left.blocked(request)
            ]
            if not free and not ready:
                return {request.rid for request in left.line}
            left.holders = [request for request in left.holders if request not in free]
            left.line = [request for request in left.line if request not in ready]

    def _hopeless(self, request: Request) -> bool:
        wanted = [(part.permits, self.capacity.get(part.resource)) for part in request.parts if part.mode == "p"]
        return any(limit is None or limit.status != "active" or permits > limit.max for permits, limit in wanted)

    def inserted(self, request: Request, at: int) -> Picture:
        line = [*self.line[:at], request, *self.line[at:]]
        return Picture(self.holders, line, self.capacity)


def reachable(edges: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """node -> all nodes that a path of one edge or more leads to."""
    direct: dict[str, set[str]] = {}
    for start, end in edges:
        direct.setdefault(start, set()).add(end)
    found = {}
    for node in direct:
        seen: set[str] = set()
        todo = [node]
        while todo:
            new = direct.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        found[node] = frozenset(seen)
    return found


def is_cycle(text: str, edges: Iterable[Edge]) -> bool:
    """Whether a told cycle, `owner>mode>resource …`, goes along edges and back to its beginning."""
    known = {(edge.owner, edge.mode, edge.resource, edge.blocker) for edge in edges}
    steps = [tuple(step.split(">")) for step in text.split(" ")]
    return len({step[0] for step in steps}) == len(steps) and all(
        (*step, after[0]) in known for step, after in zip(steps, steps[1:] + steps[:1], strict=True)
    )

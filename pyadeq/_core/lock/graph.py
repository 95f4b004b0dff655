"""The wait-for graph: the edges of one domain or of several, the deadlocks in them, and drawings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pyadeq.models.lock import CycleEdge, Edge


@dataclass(frozen=True)
class LockGraph:
    """The waits in a domain at about one time."""

    edges: tuple[Edge, ...]

    def cycles(self) -> list[list[Edge]]:
        """Return the deadlocks in it, one cycle of each."""
        return deadlocks(self.edges)

    def mermaid(self) -> str:
        """Return a Mermaid flowchart. A dashed arrow: the other owner only waits ahead. Deadlocks are red."""
        numbers = {name: index for index, name in enumerate(self._owners())}
        lines = ["flowchart LR"]
        lines += [f'  n{number}["{name}"]' for name, number in numbers.items()]
        for edge in self.edges:
            arrow = "-->" if edge.held else "-.->"
            lines.append(f'  n{numbers[edge.owner]} {arrow}|"{edge.mode} {edge.resource}"| n{numbers[edge.blocker]}')
        if stuck := sorted(self._stuck()):
            lines.append(f"  linkStyle {','.join(map(str, stuck))} stroke:red")
        return "\n".join(lines) + "\n"

    def dot(self) -> str:
        """Return Graphviz DOT text, drawn as in `mermaid`."""
        lines = ["digraph locks {", "  rankdir=LR;"]
        lines += [f'  "{name}";' for name in self._owners()]
        stuck = self._stuck()
        for number, edge in enumerate(self.edges):
            style = ("" if edge.held else ", style=dashed") + (", color=red" if number in stuck else "")
            lines.append(f'  "{edge.owner}" -> "{edge.blocker}" [label="{edge.mode} {edge.resource}"{style}];')
        return "\n".join([*lines, "}"]) + "\n"

    def _stuck(self) -> set[int]:
        """Return the numbers of the edges that form deadlocks."""
        circles = [id(edge) for circle in self.cycles() for edge in circle]
        return {number for number, edge in enumerate(self.edges) if id(edge) in circles}

    def _owners(self) -> list[str]:
        return sorted({name for edge in self.edges for name in (edge.owner, edge.blocker)})


def deadlocks(edges: Iterable[Edge]) -> list[list[Edge]]:
    """Return cycles of owners that can never continue. Each search assumes that the victims of earlier cycles have
    ended.
    """
    left = list(edges)
    found = []
    while cycle := _cycle(_stuck(left)):
        found.append(cycle)
        rid = victim(cycle).rid
        left = [edge for edge in left if edge.rid != rid]
    return found


def victim(cycle: Sequence[Edge]) -> Edge:
    """Return the edge whose wait is to end: the same for every finder of this cycle, so that no two waits are ended."""
    return max(cycle, key=lambda edge: edge.rid)


def told(cycle: Sequence[Edge]) -> list[CycleEdge]:
    """Return a cycle in the form for the error."""
    return [CycleEdge(edge.owner, edge.mode, edge.resource, edge.permits) for edge in cycle]


def steady(before: Collection[Edge], after: Collection[Edge]) -> list[Edge]:
    """Return the waits that existed all the time between two readings. The first ended before the second began.

    A request never waits or holds again after it has ended. So an edge in both readings existed the whole time, and all
    of these existed together. A wait for permits depends on all owners that could give some: it counts only if these
    owners did not change.
    """
    stood = {_stamp(edge) for edge in before} & {_stamp(edge) for edge in after}
    changed = {edge.rid for edge in (*before, *after) if _any_will_do(edge) and _stamp(edge) not in stood}
    return [edge for edge in after if _stamp(edge) in stood and edge.rid not in changed]


def _stamp(edge: Edge) -> tuple[str | None, str, str, str]:
    return edge.domain, edge.rid, edge.resource, edge.blocker_rid


def _any_will_do(edge: Edge) -> bool:
    """Return whether the edge leads to one of several holders, each of which could give the missing permits."""
    return edge.mode == "permit" and edge.held


def _stuck(edges: Iterable[Edge]) -> dict[str, list[Edge]]:
    """Return the owners that can never continue, with the edges among them: what graph reduction leaves.

    An owner that waits for permits continues as soon as one holder of permits does. All other owners need all their
    blockers to continue.
    """
    waits: dict[str, list[Edge]] = {}
    for edge in edges:
        waits.setdefault(edge.owner, []).append(edge)
    while True:
        free = [owner for owner, ways in waits.items() if _can_go_on(ways, waits)]
        if not free:
            return {owner: [edge for edge in ways if edge.blocker in waits] for owner, ways in waits.items()}
        for owner in free:
            del waits[owner]


def _can_go_on(ways: Sequence[Edge], waiting: Collection[str]) -> bool:
    free = [edge for edge in ways if edge.blocker not in waiting]
    if len(free) == len(ways):
        return True
    stuck = [edge for edge in ways if edge.blocker in waiting]
    return all(_any_will_do(edge) for edge in stuck) and any(_any_will_do(edge) for edge in free)


def _cycle(stuck: dict[str, list[Edge]]) -> list[Edge]:
    """Return one cycle among these owners; empty if there is none."""
    path: list[Edge] = []
    seen: dict[str, int] = {}
    owner = min(stuck, default="")
    while stuck and owner not in seen:
        seen[owner] = len(path)
        path.append(min(stuck[owner], key=lambda edge: (edge.blocker, edge.resource)))
        owner = path[-1].blocker
    return path[seen[owner] :] if stuck else []

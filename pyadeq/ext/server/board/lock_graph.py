"""The waits of a lock domain as a picture: owners, the resources that they wait for, and who holds these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from pyadeq.asyncio import Edge, LockGraph
from pyadeq.ext.server.board.layers import Arrow, layout
from pyadeq.ext.server.board.words import mode

MOST_NODES: Final = 60
MOST_BESIDE: Final = 8
"""Waiters of one resource that are in no deadlock, at most."""
MOST_ROWS: Final = 200
"""Waits in the table, at most."""
LETTERS: Final = 20
WIDTH: Final = 156
HEIGHT: Final = 30
ACROSS: Final = 64
"""Pixels between two layers."""
DOWN: Final = 14
EDGE: Final = 8

Node = tuple[Literal["owner", "resource"], str]


class Wait(NamedTuple):
    """A row of the table beside the picture. deadlock: its number, from 1; 0 for none."""

    edge: Edge
    mode: str
    deadlock: int


class Picture(NamedTuple):
    """The waits of a domain.

    svg: the picture, empty if there are no waits. drawn: how many waits are in it. waits: the first of them, deadlocks
    first. total: how many were read. cycles: a sentence for each deadlock.
    """

    svg: str
    drawn: int
    waits: list[Wait]
    total: int
    cycles: list[str]


def picture(edges: Sequence[Edge], link: Callable[[Node], str]) -> Picture:
    """Draw waits. link: the path of a node's page."""
    cycles = LockGraph(tuple(edges)).cycles()
    numbers = {id(edge): number for number, cycle in enumerate(cycles, 1) for edge in cycle}
    waits = [Wait(edge, mode(edge.mode, edge.permits), numbers.get(id(edge), 0)) for edge in edges]
    waits.sort(key=lambda wait: wait.deadlock or len(cycles) + 1)
    nodes: dict[Node, None] = {}
    arrows: dict[Arrow, int] = {}
    ahead: set[Arrow] = set()
    beside: Counter[str] = Counter()
    drawn = 0
    for wait in waits:
        needed: dict[Node, None] = {("owner", wait.edge.owner): None, ("resource", wait.edge.resource): None}
        if wait.edge.held or wait.deadlock:
            needed["owner", wait.edge.blocker] = None
        if len(nodes | needed) > MOST_NODES or (not wait.deadlock and beside[wait.edge.resource] == MOST_BESIDE):
            continue
        beside[wait.edge.resource] += not wait.deadlock
        nodes |= needed
        drawn += 1
        for arrow, number in _arrows(wait):
            arrows[arrow] = arrows.get(arrow, 0) or number
            if arrow[0][0] == arrow[1][0]:
                ahead.add(arrow)
    return Picture(
        _svg(list(nodes), arrows, ahead, link) if nodes else "",
        drawn,
        waits[:MOST_ROWS],
        len(edges),
        [_sentence(cycle) for cycle in cycles],
    )


def _arrows(wait: Wait) -> Iterable[tuple[tuple[Node, Node], int]]:
    """Yield arrows from an owner to the resource and on to its holder. A waiter ahead has an arrow only in a deadlock:
    otherwise a lock with many waiters would be a long chain.
    """
    owner: Node = ("owner", wait.edge.owner)
    resource: Node = ("resource", wait.edge.resource)
    blocker: Node = ("owner", wait.edge.blocker)
    yield (owner, resource), wait.deadlock if wait.edge.held else 0
    if wait.edge.held:
        yield (resource, blocker), wait.deadlock
    elif wait.deadlock:
        yield (owner, blocker), wait.deadlock


def _sentence(cycle: Sequence[Edge]) -> str:
    return ", ".join(
        f"{edge.owner} waits for {edge.resource} ({mode(edge.mode, edge.permits)}) "
        f"{'held by' if edge.held else 'behind'} {edge.blocker}"
        for edge in cycle
    )


def _svg(nodes: Sequence[Node], arrows: dict[Arrow, int], ahead: set[Arrow], link: Callable[[Node], str]) -> str:
    found = layout(nodes, list(arrows))
    points = [point for way in found.ways.values() for point in way] + list(found.places.values())
    top, bottom, right = min(y for _, y in points), max(y for _, y in points), max(x for x, _ in points)

    def at(place: tuple[int, float]) -> tuple[float, float]:
        return EDGE + place[0] * (WIDTH + ACROSS), EDGE + (place[1] - top) * (HEIGHT + DOWN)

    width = 2 * EDGE + right * (WIDTH + ACROSS) + WIDTH
    height = 2 * EDGE + (bottom - top) * (HEIGHT + DOWN) + HEIGHT
    parts = [
        _arrow([at(place) for place in way], arrows[arrow], arrow in ahead)
        for arrow, way in sorted(found.ways.items(), key=lambda item: arrows[item[0]])
    ]
    stuck = {node for arrow, number in arrows.items() if number for node in arrow}
    parts += [_node(node, at(place), node in stuck, link(node)) for node, place in found.places.items()]  # type: ignore[arg-type]
    return (
        f'<svg class="graph" role="group" aria-label="Owners, resources and waits" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">{"".join(parts)}</svg>'
    )


def _node(node: Node, at: tuple[float, float], is_stuck: bool, path: str) -> str:
    kind, name = node
    x, y = at
    text = name if len(name) <= LETTERS else f"{name[: LETTERS // 2]}…{name[1 - LETTERS // 2 :]}"
    stuck = ' class="stuck"' if is_stuck else ""
    what = f"{kind} {name}{', in a deadlock' if is_stuck else ''}"
    return (
        f'<a href="{escape(path)}" data-id="{escape(f"{kind} {name}")}" aria-label="{escape(what)}">'
        f"<title>{escape(what)}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="{15 if kind == "owner" else 2}"'
        f"{stuck}/>"
        f'<text x="{x + WIDTH / 2:.1f}" y="{y + HEIGHT / 2 + 4.5:.1f}">{escape(text)}</text></a>'
    )


def _arrow(way: Sequence[tuple[float, float]], deadlock: int, is_ahead: bool) -> str:
    """A curve. To the right it leaves at the right side and ends at the left one; back, the other way round."""
    forward = way[-1][0] > way[0][0]
    (x0, y0), *between, (x1, y1) = [(x, y + HEIGHT / 2) for x, y in way]
    head = 8 if forward else -8
    line = [(x0 + WIDTH if forward else x0, y0)]
    for x, y in between:  # straight through the column of a layer, so that it crosses no box
        line += [(x, y), (x + WIDTH, y)] if forward else [(x + WIDTH, y), (x, y)]
    tip = (x1 if forward else x1 + WIDTH, y1)
    line.append((tip[0] - head, y1))
    curve = f"M{line[0][0]:.1f} {line[0][1]:.1f}"
    for (xa, ya), (xb, yb) in pairwise(line):
        half = (xa + xb) / 2
        curve += f"C{half:.1f} {ya:.1f} {half:.1f} {yb:.1f} {xb:.1f} {yb:.1f}"
    kinds = " ".join(word for word, is_so in (("stuck", deadlock), ("ahead", is_ahead)) if is_so)
    mark = ""
    if deadlock:
        (xa, ya), (xb, yb) = line[:2]
        mark = f'<text class="mark" x="{(xa + xb) / 2:.1f}" y="{(ya + yb) / 2 + 4.5:.1f}">{deadlock}</text>'
    return (
        f'<path class="{kinds}" d="{curve}"/>'
        f'<polygon class="{kinds}" points="{tip[0]:.1f},{y1:.1f} {tip[0] - head:.1f},{y1 - 5:.1f}'
        f' {tip[0] - head:.1f},{y1 + 5:.1f}"/>{mark}'
    )

"""A layout of a directed graph in layers, from left to right: arrows that close a cycle are the only ones that go back.

The steps are those of Sugiyama: cycles are cut, each node comes one layer after its predecessors, arrows over several
layers get a place in each, and nodes are sorted by the average of their neighbours.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

SWEEPS: Final = 6
"""How often the layers are sorted: more changes little."""

Node = Hashable
Arrow = tuple[Node, Node]


class Layout(NamedTuple):
    """The positions of everything in a picture.

    places: the layer and the row of each node; rows of a layer are spread around 0.
    ways: for each arrow the places that it passes, from its start to its end.
    """

    places: dict[Node, tuple[int, float]]
    ways: dict[Arrow, list[tuple[int, float]]]


def layout(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> Layout:
    """Place a graph. The same graph always gets the same layout, so that a picture does not jump."""
    arrows = [arrow for arrow in dict.fromkeys(arrows) if arrow[0] != arrow[1]]
    back = _back(nodes, arrows)
    forward = [(end, start) if (start, end) in back else (start, end) for start, end in arrows]
    layer_of: dict[Any, int] = dict(_layers(nodes, forward))
    steps: list[tuple[Any, Any]] = []
    chains: list[list[Any]] = []
    for number, (start, end) in enumerate(forward):
        between = [(_BEND, number, at) for at in range(layer_of[start] + 1, layer_of[end])]
        layer_of |= {bend: bend[2] for bend in between}
        chains.append([start, *between, end])
        steps += pairwise(chains[-1])
    rows = _sorted(layer_of, steps)
    places = {node: (layer_of[node], rows[node]) for node in layer_of}
    ways = {
        arrow: [places[node] for node in (reversed(chain) if arrow in back else chain)]
        for arrow, chain in zip(arrows, chains, strict=True)
    }
    return Layout({node: places[node] for node in nodes}, ways)


_BEND: Final = object()


def _following(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> dict[Node, list[Node]]:
    found: dict[Node, list[Node]] = {node: [] for node in nodes}
    for start, end in arrows:
        found[start].append(end)
    return found


def _back(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> set[Arrow]:
    """The arrows that close a cycle, in a walk along all of them that begins where no arrow ends."""
    following, ends = _following(nodes, arrows), {end for _, end in arrows}
    back, done, path = set[Arrow](), set[Node](), set[Node]()
    for first in sorted(nodes, key=lambda node: node in ends):
        if first in done:
            continue
        walk = [(first, iter(following[first]))]
        path.add(first)
        while walk:
            node, left = walk[-1]
            for end in left:
                if end in path:
                    back.add((node, end))
                elif end not in done:
                    path.add(end)
                    walk.append((end, iter(following[end])))
                    break
            else:
                path.discard(node)
                done.add(node)
                walk.pop()
    return back


def _layers(nodes: Sequence[Node], arrows: Sequence[Arrow]) -> dict[Node, int]:
    """One more than the largest layer of those before it."""
    following = _following(nodes, arrows)
    open_before = {node: sum(end == node for _, end in arrows) for node in nodes}
    found = dict.fromkeys(nodes, 0)
    free = [node for node in nodes if not open_before[node]]
    for node in free:  # it grows while it is walked
        for end in following[node]:
            found[end] = max(found[end], found[node] + 1)
            open_before[end] -= 1
            if not open_before[end]:
                free.append(end)
    return found


def _sorted(layer_of: dict[Any, int], steps: Sequence[tuple[Any, Any]]) -> dict[Any, float]:
    """The row of each node in its layer."""
    layers: dict[int, list[Any]] = {}
    for node, at in layer_of.items():
        layers.setdefault(at, []).append(node)
    before: dict[Any, list[Any]] = {node: [] for node in layer_of}
    after: dict[Any, list[Any]] = {node: [] for node in layer_of}
    for start, end in steps:
        before[end].append(start)
        after[start].append(end)
    rows: dict[Any, float] = {}

    def spread(layer: list[Any]) -> None:
        rows.update({node: row - (len(layer) - 1) / 2 for row, node in enumerate(layer)})

    for layer in layers.values():
        spread(layer)
    for sweep in range(SWEEPS):
        neighbours = after if sweep % 2 else before
        for at in sorted(layers, reverse=bool(sweep % 2)):
            middle = {
                node: sum(rows[one] for one in near) / len(near) if (near := neighbours[node]) else rows[node]
                for node in layers[at]
            }
            layers[at].sort(key=middle.__getitem__)
            spread(layers[at])
    return rows

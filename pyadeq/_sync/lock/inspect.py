# Generated from pyadeq/_async/lock/inspect.py by pyadeq/_unasync.py; do not edit.
"""The wait graph of a lock domain: the requests that wait for others."""

from __future__ import annotations

from pyadeq._sync.lock.base import LocksBase
from pyadeq._core.lock.graph import LockGraph
from pyadeq.models.lock import Edge


class LockInspect:
    """`locks.inspect`: the requests that wait for others. All calls only read."""

    def __init__(self, locks: LocksBase) -> None:
        self._runner = locks._runner
        self._calls = locks.calls

    def edges(self) -> tuple[Edge, ...]:
        """Return which requests wait for which. Edges that follow from others are left out."""
        edges: list[Edge] = []
        cursor = ""
        while True:
            page = self._runner.send(self._calls.edges(cursor))
            edges += page.edges
            cursor = page.cursor
            if not cursor:
                return tuple(edges)

    def graph(self) -> LockGraph:
        """Return which owners wait for which, for drawing: `graph.mermaid()`, `graph.dot()`."""
        return LockGraph(self.edges())

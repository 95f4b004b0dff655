# Generated from pyadeq/_async/lock/inspect.py by pyadeq/_unasync.py; do not edit.
"""Looking into a lock domain: who holds, who waits, for whom, and what happens."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

from pyadeq._sync.lock.base import LocksBase
from pyadeq._core.lock.graph import LockGraph
from pyadeq.models.lock import Edge, LockStats, LockView, RequestPage, RequestView

PAGE = 200


class LockFilter(TypedDict, total=False):
    """Which requests are meant: those that fit all that is named. type: what stands before the `:` of resources."""

    type: str | None
    owner: str | None
    agent: str | None
    state: Literal["all", "held", "waiting"]


class LockInspect:
    """`locks.inspect`: who holds, who waits, and for whom. Nothing here changes anything."""

    def __init__(self, locks: LocksBase) -> None:
        self._runner = locks._runner
        self._calls = locks.calls

    def show(self, resource: str, limit: int = 100) -> LockView:
        """A resource: who holds it, and who waits for it in which order, up to limit of them."""
        return self._runner.send(self._calls.show(resource, limit))

    def list(self, *, cursor: str = "", limit: int = 100, **filter: Unpack[LockFilter]) -> RequestPage:
        """One page of those who hold or wait. A page may be empty though there are more: the cursor tells."""
        return self._runner.send(self._calls.list(cursor=cursor, limit=limit, **filter))

    def iterate(self, **filter: Unpack[LockFilter]) -> Iterator[RequestView]:
        """All that `list` finds, page by page."""
        cursor = ""
        while True:
            page = self.list(cursor=cursor, limit=PAGE, **filter)
            for request in page.requests:
                yield request
            cursor = page.cursor
            if not cursor:
                return

    def edges(self) -> tuple[Edge, ...]:
        """Who waits for whom. What follows from other edges is left out."""
        edges: builtins.list[Edge] = []
        cursor = ""
        while True:
            page = self._runner.send(self._calls.edges(cursor))
            edges += page.edges
            cursor = page.cursor
            if not cursor:
                return tuple(edges)

    def graph(self) -> LockGraph:
        """Who waits for whom, to be drawn: `graph.mermaid()`, `graph.dot()`."""
        return LockGraph(self.edges())

    def stats(self) -> LockStats:
        """How much there is of what."""
        return self._runner.send(self._calls.stats())

# Generated from pyadeq/_async/lock/inspect.py by pyadeq/_unasync.py; do not edit.
"""Reading a lock domain: holders, waiters, wait-for edges, and counts."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

from pyadeq._sync.lock.base import LocksBase
from pyadeq._core.lock.graph import LockGraph
from pyadeq.models.lock import Edge, LockStats, LockView, RequestPage, RequestView

PAGE = 200


class LockFilter(TypedDict, total=False):
    """A filter for requests: all given conditions must match. type: the part of a resource before its `:`."""

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
        """Return a resource with its holders and its waiters in order, at most `limit` of each."""
        return self._runner.send(self._calls.show(resource, limit))

    def list(self, *, cursor: str = "", limit: int = 100, **filter: Unpack[LockFilter]) -> RequestPage:
        """Return one page of the requests that hold or wait. A page may be empty although there are more: check the
        cursor.
        """
        return self._runner.send(self._calls.list(cursor=cursor, limit=limit, **filter))

    def iterate(self, **filter: Unpack[LockFilter]) -> Iterator[RequestView]:
        """Iterate over all requests that `list` finds, page by page."""
        cursor = ""
        while True:
            page = self.list(cursor=cursor, limit=PAGE, **filter)
            for request in page.requests:
                yield request
            cursor = page.cursor
            if not cursor:
                return

    def edges(self) -> tuple[Edge, ...]:
        """Return which requests wait for which. Edges that follow from others are left out."""
        edges: builtins.list[Edge] = []
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

    def stats(self) -> LockStats:
        """Return the counts of the domain, and its settings."""
        return self._runner.send(self._calls.stats())

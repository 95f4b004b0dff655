"""Looking into a lock domain: who holds, who waits, for whom, and what happens."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator
from typing import Literal, TypedDict, Unpack

from pyadeq._async.lock.base import LocksBase
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

    async def show(self, resource: str, limit: int = 100) -> LockView:
        """A resource: who holds it, and who waits for it in which order, up to limit of them."""
        return await self._runner.send(self._calls.show(resource, limit))

    async def list(self, *, cursor: str = "", limit: int = 100, **filter: Unpack[LockFilter]) -> RequestPage:
        """One page of those who hold or wait. A page may be empty though there are more: the cursor tells."""
        return await self._runner.send(self._calls.list(cursor=cursor, limit=limit, **filter))

    async def iterate(self, **filter: Unpack[LockFilter]) -> AsyncIterator[RequestView]:
        """All that `list` finds, page by page."""
        cursor = ""
        while True:
            page = await self.list(cursor=cursor, limit=PAGE, **filter)
            for request in page.requests:
                yield request
            cursor = page.cursor
            if not cursor:
                return

    async def edges(self) -> tuple[Edge, ...]:
        """Who waits for whom. What follows from other edges is left out."""
        edges: builtins.list[Edge] = []
        cursor = ""
        while True:
            page = await self._runner.send(self._calls.edges(cursor))
            edges += page.edges
            cursor = page.cursor
            if not cursor:
                return tuple(edges)

    async def graph(self) -> LockGraph:
        """Who waits for whom, to be drawn: `graph.mermaid()`, `graph.dot()`."""
        return LockGraph(await self.edges())

    async def stats(self) -> LockStats:
        """How much there is of what."""
        return await self._runner.send(self._calls.stats())

"""Lock domains: who holds and who waits, the graph of their waits, and the page of one resource."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final, Literal, NamedTuple

from fastapi import Path, Query, Request, Response

from pyadeq.asyncio import Edge, LockStats
from pyadeq.errors import AdeqError
from pyadeq.ext.server.board.lock_graph import Node, Picture, picture
from pyadeq.ext.server.board.looks import NUMBERS_FOR, Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Access, Gate, access
from pyadeq.ext.server.paths import segment, url

MOST: Final = 100
"""Domains, requests, holders or waiters of one page."""
MOST_WAITS: Final = 2000
"""Waits that are read for a picture, at most."""
MOST_READS: Final = 10
GRAPH_FOR: Final = 2.0

router = pages()
Observed = Annotated[Access, access("lock", "lock.observe")]
Text = Annotated[str, Query(max_length=512)]


class Row(NamedTuple):
    """A domain. now: its numbers, None if they cannot be read; the problem says why."""

    name: str
    now: LockStats | None
    problem: str = ""


@router.get("/locks")
async def domains(
    request: Request, q: Annotated[str, Query(max_length=200)] = "", page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """All domains that somebody may see. q: a text in their names."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    seen = await looks.seen(await gate.principal(request), "lock", q)
    pages = max(1, -(-len(seen) // MOST))
    page = min(page, pages)
    rows = await asyncio.gather(*[_row(gate, looks, name) for name in seen[(page - 1) * MOST : page * MOST]])
    return await render(
        request,
        "lock_domains.html",
        rows=[row for row in rows if row],
        q=q,
        total=len(seen),
        page=page,
        pages=pages,
    )


@router.get("/locks/{domain:adeq_segment}")
async def domain(
    request: Request,
    access: Observed,
    state: Literal["all", "held", "waiting"] = "all",
    owner: Text = "",
    agent: Text = "",
    type: Text = "",
    cursor: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    """The graph of waits, and who holds and who waits. The filter is about the list only."""
    looks: Looks = request.app.state.looks
    domain, at = access.found, url(request, f"/locks/{segment(access.name)}")
    chosen = {"owner": owner or None, "agent": agent or None, "type": type or None}

    async def listed() -> Any:
        return await domain.list(state=state, cursor=cursor, limit=MOST, **chosen)

    def link(node: Node) -> str:
        kind, name = node
        return f"{at}/resources/{segment(name)}" if kind == "resource" else f"{at}?owner={segment(name)}#requests"

    async def drawn() -> tuple[Picture, bool]:
        edges, is_all = await _waits(access)
        return picture(edges, link), is_all

    (graph, is_all), now, found = await asyncio.gather(
        looks.shared(("lock graph", access.name, at), GRAPH_FOR, drawn),
        _stats(looks, domain),
        looks.shared(("lock requests", access.name, state, owner, agent, type, cursor), NUMBERS_FOR, listed),
    )
    return await render(
        request,
        "lock_domain.html",
        name=access.name,
        now=now,
        graph=graph,
        is_all=is_all,
        found=found,
        filter={"state": state, "owner": owner, "agent": agent, "type": type},
        is_first=not cursor,
    )


@router.get("/locks/{domain:adeq_segment}/resources/{resource:adeq_segment}")
async def resource(request: Request, access: Observed, resource: Annotated[str, Path()]) -> Response:
    """The page of a resource: who holds it, and who waits for it, in order."""
    looks: Looks = request.app.state.looks

    async def shown() -> Any:
        return await access.found.get(resource, MOST)

    found = await looks.shared(("lock resource", access.name, resource), NUMBERS_FOR, shown)
    return await render(request, "lock_resource.html", name=access.name, found=found)


async def _row(gate: Gate, looks: Looks, name: str) -> Row | None:
    try:
        domain = await gate.find("lock", name, False)
        return domain and Row(name, await _stats(looks, domain))
    except AdeqError as error:  # one domain that cannot be read hides no other
        return Row(name, None, str(error))


async def _stats(looks: Looks, domain: Any) -> LockStats:
    found: LockStats = await looks.shared(("lock stats", domain.name), NUMBERS_FOR, domain.stats)
    return found


async def _waits(access: Access) -> tuple[list[Edge], bool]:
    """The first waits, and whether they are all."""
    edges: list[Edge] = []
    cursor = ""
    for _ in range(MOST_READS):
        page = await access.adeq.send(access.found.calls.edges(cursor, min(1000, MOST_WAITS - len(edges))))
        edges += page.edges
        cursor = page.cursor
        if not cursor or len(edges) >= MOST_WAITS:
            break
    return edges, not cursor

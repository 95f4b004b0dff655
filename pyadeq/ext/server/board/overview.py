"""The first page: a row for each queue."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from fastapi import Request, Response

from pyadeq.errors import AdeqError
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Gate

MOST: Final = 100
"""Queues of one page, at most."""

router = pages()


class Row(NamedTuple):
    """A queue. now: its numbers, None if they cannot be read. past: finished tasks in a second, minute by minute."""

    name: str
    now: Any
    past: list[float]
    failed: list[float]
    rate: float
    problem: str = ""


@router.get("/")
async def overview(request: Request, q: str = "", page: int = 1) -> Response:
    """All queues that somebody may see. q: a text in their names."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    principal = await gate.principal(request)
    seen = await looks.seen(principal, "queue", q)
    pages = max(1, -(-len(seen) // MOST))
    page = min(max(page, 1), pages)
    rows = await asyncio.gather(*[_row(gate, looks, name) for name in seen[(page - 1) * MOST : page * MOST]])
    return await render(
        request, "overview.html", rows=[row for row in rows if row], q=q, total=len(seen), page=page, pages=pages
    )


async def _row(gate: Gate, looks: Looks, name: str) -> Row | None:
    try:
        queue = await gate.find("queue", name, False)
        if queue is None:
            return None
        now, past = await asyncio.gather(looks.overview(queue), looks.past(queue))
    except AdeqError as error:  # one queue that cannot be read, such as one of a newer layout, hides no other
        return Row(name, None, [], [], 0.0, str(error))
    rate = past[-1].rate("completed") if past else 0.0
    return Row(name, now, [one.rate("completed") for one in past], [one.rate("dead") for one in past], rate)

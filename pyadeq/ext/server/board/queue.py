"""The page of one queue."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response

from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Access, access

STATES = ("ready", "running", "delayed", "blocked", "stalled", "finished", "dead")
FLOWS = ("enqueued", "completed", "retried", "dead")

router = pages()


@router.get("/queues/{queue:adeq_segment}")
async def queue(request: Request, access: Annotated[Access, access("queue", "queue.observe")]) -> Response:
    """How many tasks are in each state, what happened lately, and what one can do with the queue."""
    looks: Looks = request.app.state.looks
    now, past = await looks.overview(access.found), await looks.past(access.found)
    flows = {name: [one.rate(name) for one in past] for name in FLOWS}
    return await render(
        request,
        "queue.html",
        name=access.name,
        now=now,
        counts={name: getattr(now, name) for name in STATES},
        flows=flows,
    )

"""`GET /admin/queue`: the numbers of all queues together. A page for browsers, JSON for programs that ask for it.

The fields have the names of Sidekiq's statistics, so that programs that read these can read this. There are three more:
`completed`, `cancelled` and `blocked`.
"""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.responses import JSONResponse

from pyadeq.asyncio import QueueOverview
from pyadeq.errors import AdeqError
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Gate
from pyadeq.ext.server.problems import Refused

MOST: Final = 200
"""Queues of one answer, at most."""
HTML: Final = "text/html"
JSON: Final = "application/json"

router = pages()


class Numbers(BaseModel):
    """The numbers of one queue, or of all queues together.

    processed: attempts that ended, well or not. failed: those that did not end well. retries: those of them that were
    followed by another attempt. completed, cancelled: tasks that ended so. These five are totals; all others are how it
    is now.
    busy: tasks that run. processes: workers. enqueued: ready tasks. scheduled: delayed tasks. blocked: tasks that wait
    for others. dead: the dead set.
    latency: for how many seconds the oldest ready task has waited.
    """

    processed: int = 0
    failed: int = 0
    retries: int = 0
    completed: int = 0
    cancelled: int = 0
    busy: int = 0
    processes: int = 0
    enqueued: int = 0
    scheduled: int = 0
    blocked: int = 0
    dead: int = 0
    latency: float = 0.0


class Statistics(Numbers):
    """All queues together, and each by its name. complete: whether these are all that the caller may see."""

    queues: dict[str, Numbers]
    complete: bool


@router.get("/admin/queue")
async def admin_queue(request: Request) -> Response:
    """The numbers of all queues that somebody may see."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    principal = await gate.principal(request)
    kind = preferred(request.headers.get("accept") or "*/*")
    if kind is None:
        raise Refused(406, "NOT_ACCEPTABLE", f"Accept: none of these is here; allowed: {HTML}, {JSON}")
    names = await looks.seen(principal, "queue")
    shown = names[:MOST]

    async def read(name: str) -> Numbers | None:
        try:
            queue = await gate.find("queue", name, False)
            return None if queue is None else _numbers(await looks.overview(queue))
        except AdeqError:
            return None

    found = await asyncio.gather(*[read(name) for name in shown])
    queues = {name: numbers for name, numbers in zip(shown, found, strict=True) if numbers is not None}
    statistics = _added(queues, len(queues) == len(names))
    if kind == JSON:
        return JSONResponse(statistics.model_dump(), headers={"Vary": "Accept, Cookie"})
    response = await render(
        request, "admin_queue.html", all=statistics, total=len(names), fields=tuple(Numbers.model_fields)
    )
    response.headers["Vary"] = "Accept, Cookie, X-Fragment"
    return response


def preferred(accept: str) -> str | None:
    """HTML or JSON, whichever a header Accept prefers; HTML if it does not say. None: neither."""
    qualities = {kind: _quality(accept, kind) for kind in (HTML, JSON)}
    best = max(qualities, key=qualities.__getitem__)
    return best if qualities[best] > 0 else None


def _quality(accept: str, kind: str) -> float:
    """The quality of a media type by the most specific range that it is in; 0 if it is in none."""
    ranges = (kind, f"{kind.partition('/')[0]}/*", "*/*")
    found: dict[str, float] = {}
    for part in accept.split(","):
        word, *parameters = (text.strip().lower() for text in part.split(";"))
        quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        try:
            found[word] = float(quality)
        except ValueError:
            found[word] = 0.0
    return next((found[one] for one in ranges if one in found), 0.0)


def _numbers(now: QueueOverview) -> Numbers:
    failed = now.counters.get("retried", 0) + now.counters.get("dead", 0)
    completed = now.counters.get("completed", 0)
    return Numbers(
        processed=completed + failed,
        failed=failed,
        retries=now.counters.get("retried", 0),
        completed=completed,
        cancelled=now.cancelled,
        busy=now.running,
        processes=now.workers,
        enqueued=now.ready,
        scheduled=now.delayed,
        blocked=now.blocked,
        dead=now.dead,
        latency=round(now.waited, 3),
    )


def _added(queues: dict[str, Numbers], complete: bool) -> Statistics:
    sums = {
        name: (max if name == "latency" else sum)([getattr(one, name) for one in queues.values()] or [0])
        for name in Numbers.model_fields
    }
    return Statistics(**sums, queues=queues, complete=complete)

"""What an autoscaler asks: how much waits, how much runs, and for how long the oldest has waited."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from pyadeq.errors import DamagedError
from pyadeq.ext.server.api.routes import by_hand
from pyadeq.ext.server.gate import OWN, Gate

log = logging.getLogger("pyadeq.server")
MOST: Final = 100
"""Queues of one request. Each costs one read of the queue, or of each of its partitions."""

router = APIRouter()


class QueueLoad(BaseModel):
    """One queue now.

    queued: tasks that can start. delayed, blocked: tasks that wait for a time, for other tasks or for a limit.
    oldest: for how many seconds the oldest queued task has waited.
    workers: how many were seen of late.
    """

    queue: str
    queued: int
    delayed: int
    blocked: int
    running: int
    oldest: float
    workers: int


class Load(BaseModel):
    """The queues that the caller may see, in the order of the request. queued, running: of all of them."""

    items: list[QueueLoad]
    queued: int
    running: int


@by_hand(router, "queue_load")
async def load(
    request: Request,
    queue: Annotated[list[str], Query(min_length=1, max_length=MOST, description="A name; repeat it for several.")],
) -> Load:
    """Return how much waits and runs in the named queues, for autoscalers.

    The right `queue.observe` is required for each. A queue that does not exist, that you may not see, or
    whose data is damaged is left out.
    """
    gate: Gate = request.app.state.gate
    principal = await gate.principal(request)
    seen = [name for name in dict.fromkeys(queue) if not name.startswith(OWN) and principal.may("queue.observe", name)]
    found = [one for one in await asyncio.gather(*[_load_of(gate, name) for name in seen]) if one is not None]
    return Load(items=found, queued=sum(one.queued for one in found), running=sum(one.running for one in found))


async def _load_of(gate: Gate, name: str) -> QueueLoad | None:
    try:
        queue = await gate.find("queue", name, False)
        if queue is None:
            return None
        now = await queue.inspect.overview()
    except DamagedError as error:
        log.error("queue %s is left out: %s", name, error)
        return None
    return QueueLoad(
        queue=name,
        queued=now.ready,
        delayed=now.delayed,
        blocked=now.blocked,
        running=now.running,
        oldest=round(now.waited, 3),
        workers=now.workers,
    )

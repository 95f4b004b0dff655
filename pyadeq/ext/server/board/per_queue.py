"""What screens about parts of queues share: they show one queue, or all that somebody may see, and a part of each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Query, Request

from pyadeq import tiers
from pyadeq.asyncio import PartitionedQueue, Queue, TaskView
from pyadeq.errors import AdeqError
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.gate import Access, Gate, enter
from pyadeq.models.queue import State

MOST_QUEUES: Final = 50
"""Queues of one page, at most."""
FOR: Final = 2.0
"""Seconds for which a part is remembered."""

Chosen = Annotated[str, Query(max_length=200)]
"""The parameter `queue` of a page; empty: all queues."""
Page = Annotated[int, Query(ge=1, le=1000)]


class Part(NamedTuple):
    """A part of a queue, such as its workers. problem: why it cannot be read; found is None then."""

    queue: str
    found: Any
    problem: str = ""


class Parts(NamedTuple):
    """The parts of a page. total: queues that somebody may see. page, pages: which page this is, of how many."""

    parts: list[Part]
    total: int
    page: int
    pages: int


async def of_queues(
    request: Request, what: str, queue: str, page: int, read: Callable[[Access], Awaitable[Any]]
) -> Parts:
    """Read a part of one queue, or of all that somebody may see. One that cannot be read hides no other."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks

    async def part(access: Access) -> Part:
        try:
            return Part(access.name, await looks.shared((what, access.name), FOR, lambda: read(access)))
        except AdeqError as error:
            return Part(access.name, None, str(error))

    if queue:
        return Parts([await part(await enter(request, "queue", queue, "queue.observe"))], 1, 1, 1)
    principal = await gate.principal(request)
    names = await looks.seen(principal, "queue")
    pages = max(1, -(-len(names) // MOST_QUEUES))
    page = min(page, pages)

    async def one(name: str) -> Part | None:
        try:
            found = await gate.find("queue", name, False)
        except AdeqError as error:
            return Part(name, None, str(error))
        scope = next(scope for scope in principal.scopes_of(name) if "queue.observe" in scope.rights)
        return None if found is None else await part(Access(gate.adeq, found, name, principal, scope))

    found = await asyncio.gather(*[one(name) for name in names[(page - 1) * MOST_QUEUES : page * MOST_QUEUES]])
    return Parts([part for part in found if part], len(names), page, pages)


async def parts_of(queue: Queue | PartitionedQueue) -> list[Queue]:
    """The partitions of a queue, or the queue itself."""
    return [queue] if isinstance(queue, Queue) else [queue.part(one.tag) for one in await queue.partitions()]


async def first_tasks(queue: Queue | PartitionedQueue, state: State, most: int) -> list[TaskView]:
    """The first tasks in a state, as far as their tiers allow. The partitions are read one after the other."""
    found: list[TaskView] = []
    for part in await parts_of(queue):
        found += (await part.list(state, limit=most - len(found))).tasks
        if len(found) >= most:
            break
    return [tiers.shown(task) for task in found]

"""Waits with a deadline while the server is away. A client for failovers tries much longer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyadeq.asyncio import Adeq
from pyadeq.errors import TransportError

RETRY_FOR, SHORT, HANGS = 45.0, 0.2, 20.0
"""Seconds: of the client, of a wait, and after which a wait has not ended with its deadline."""


async def follow(updates: Any) -> None:
    async for _ in updates:
        pass


WAITS: dict[str, Callable[[Adeq], Awaitable[Any]]] = {
    "result": lambda adeq: adeq.queue("q").result("a", SHORT),
    "updates": lambda adeq: follow(adeq.queue("q").updates("a", timeout=SHORT)),
    "claim": lambda adeq: adeq.queue("q").claim("w", wait=SHORT),
    "mailbox": lambda adeq: adeq.queue("q").mailbox("s").dequeue(SHORT),
    "events": lambda adeq: adeq.events("queue", "q").read("g", wait=SHORT),
    "partitions: result": lambda adeq: adeq.partitioned("p").result("a", SHORT),
    "partitions: updates": lambda adeq: follow(adeq.partitioned("p").updates("a", timeout=SHORT)),
    "partitions: claim": lambda adeq: adeq.partitioned("p").claim("w", wait=SHORT),
    "partitions: events": lambda adeq: adeq.partitioned("p").events.read("g", wait=SHORT),
}


@pytest.mark.parametrize("wait", WAITS)
async def test_a_wait_ends_with_its_deadline(wait: str) -> None:
    async with Adeq.from_url("redis://127.0.0.1:1", retry_for=RETRY_FOR) as adeq:
        with pytest.raises(TransportError) as lost:
            await asyncio.wait_for(WAITS[wait](adeq), HANGS)
        assert lost.value.retryable

"""A worker of a program, for as long as a test needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pyadeq.asyncio import Worker
from tests.waiting import DEADLINE


@asynccontextmanager
async def working(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """It runs while the block does; what it ends with by itself is raised."""
    running = asyncio.create_task(worker.run())
    try:
        yield running
    finally:
        worker.stop()
        await asyncio.wait_for(running, DEADLINE)


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, that may ask the server; fail when it does not in time."""
    async with asyncio.timeout(DEADLINE):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.01)

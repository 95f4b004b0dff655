"""A service that forwards events and sends messages, until a signal."""

from __future__ import annotations

import asyncio
from typing import Any

from pyadeq.asyncio import Worker
from pyadeq.ext.outgoing.follower import Follower


async def run_service(worker: Worker, follower: Follower[Any], *, signals: bool = True) -> None:
    """Run both. SIGTERM and SIGINT end them: messages that are being sent have 30 s to end."""
    working = asyncio.create_task(worker.run(signals=signals))
    forwarding = asyncio.create_task(follower.run())
    try:
        await asyncio.wait([working, forwarding], return_when=asyncio.FIRST_COMPLETED)
        worker.stop()
    except asyncio.CancelledError:
        working.cancel()
        raise
    finally:
        forwarding.cancel()
        ends = await asyncio.gather(working, forwarding, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end

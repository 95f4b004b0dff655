"""The service that forwards events and sends messages, until a signal."""

from __future__ import annotations

import asyncio
from typing import Any

from pyadeq.asyncio import Adeq
from pyadeq.ext.webhooks.delivery import CONCURRENCY, Deliverer
from pyadeq.ext.webhooks.forwarder import FIND, Forwarder


async def serve(
    adeq: Adeq, *, concurrency: int = CONCURRENCY, find: float = FIND, signals: bool = True, **options: Any
) -> None:
    """Forward and send. SIGTERM and SIGINT end it: messages that are being sent have 30 s to end.

    concurrency: messages at a time. find: seconds between two looks for new queues and so on. options: those of
    Deliverer. Any number of processes may do it. Each may be killed at any time: nothing is lost.
    """
    async with Deliverer(adeq, **options) as deliverer:
        worker = deliverer.worker(concurrency=concurrency)
        working = asyncio.create_task(worker.run(signals=signals))
        forwarding = asyncio.create_task(Forwarder(adeq, find=find).run())
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

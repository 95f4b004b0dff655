"""The service that forwards events and sends messages, until a signal."""

from __future__ import annotations

from typing import Any

from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.follower import FIND
from pyadeq.ext.outgoing.plain import aio_without_codec
from pyadeq.ext.outgoing.service import run_service
from pyadeq.ext.outgoing.webhooks.delivery import CONCURRENCY, Deliverer
from pyadeq.ext.outgoing.webhooks.forwarder import Forwarder


async def serve(
    adeq: Adeq, *, concurrency: int = CONCURRENCY, find: float = FIND, signals: bool = True, **options: Any
) -> None:
    """Forward and send. SIGTERM and SIGINT end it: messages that are being sent have 30 s to end.

    concurrency: messages at a time. find: seconds between two looks for new queues and so on. options: those of
    Deliverer. Any number of processes may do it. Each may be killed at any time: nothing is lost.
    """
    async with Deliverer(adeq, **options) as deliverer, aio_without_codec(adeq) as plain:
        worker = deliverer.worker(concurrency=concurrency)
        await run_service(worker, Forwarder(plain, find=find), signals=signals)

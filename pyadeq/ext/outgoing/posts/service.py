"""The service that makes and sends posts, until a signal."""

from __future__ import annotations

from typing import Any

from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.follower import FIND
from pyadeq.ext.outgoing.plain import aio_without_codec
from pyadeq.ext.outgoing.posts.delivery import CONCURRENCY, Poster
from pyadeq.ext.outgoing.posts.forwarder import Forwarder
from pyadeq.ext.outgoing.service import run_service


async def serve(
    adeq: Adeq, *, concurrency: int = CONCURRENCY, find: float = FIND, signals: bool = True, **options: Any
) -> None:
    """Make posts and send them. SIGTERM and SIGINT end it: posts that are being sent have 30 s to end.

    concurrency: posts at a time. find: seconds between two looks for new queues and so on. options: those of Poster.
    Any number of processes may do it. Each may be killed at any time: nothing is lost.
    """
    async with aio_without_codec(adeq) as plain, Poster(plain, **options) as poster:
        await run_service(poster.worker(concurrency=concurrency), Forwarder(plain, find=find), signals=signals)

"""The time of the server."""

from __future__ import annotations

from pyadeq import Adeq
from pyadeq.asyncio import Adeq as AsyncAdeq


def server_time(adeq: Adeq) -> float:
    """The time by which events are stamped: in whole milliseconds, as they are.

    Otherwise an endpoint would miss the events of the millisecond in which it was added.
    """
    return _seconds(*adeq.client.time())


async def aio_server_time(adeq: AsyncAdeq) -> float:
    """The time by which events are stamped, read on an event loop: seconds since the epoch, in whole milliseconds."""
    return _seconds(*await adeq.client.time())


def _seconds(seconds: int, micros: int) -> float:
    return float((seconds * 1000 + micros // 1000) / 1000)

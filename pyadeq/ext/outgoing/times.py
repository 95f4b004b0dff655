"""The time of the server."""

from __future__ import annotations

from pyadeq import Adeq


def server_time(adeq: Adeq) -> float:
    """The time by which events are stamped: in whole milliseconds, as they are.

    Otherwise an endpoint would miss the events of the millisecond in which it was added.
    """
    seconds, micros = adeq.client.time()
    return float((seconds * 1000 + micros // 1000) / 1000)

"""The events of a lock domain or a change domain, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from time import monotonic, sleep
from typing import Any

from pyadeq import Adeq

MOST = 1000  # events in one answer


def follow(adeq: Adeq, stream: str, interval: float, seconds: float | None) -> Iterator[dict[str, str]]:
    """What comes after the newest event of now, for that many seconds; without, for ever."""
    client: Any = adeq.client
    until = inf if seconds is None else monotonic() + seconds
    newest = client.xrevrange(stream, count=1)
    last = newest[0][0] if newest else b"0"
    while True:
        over = monotonic() >= until
        found = client.xrange(stream, b"(" + last, "+", count=MOST)
        for id, fields in found:
            last = id
            yield {name.decode(): value.decode(errors="replace") for name, value in fields.items()}
        if over:
            return
        if len(found) < MOST:
            sleep(max(min(interval, until - monotonic()), 0))

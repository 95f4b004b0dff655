"""How many requests each token has made lately, counted in this process.

A call of the server for each request would cost more than most requests. So each process counts for itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyadeq.ext.server.tokens import Rate

MOST_KEYS: Final = 10_000
"""Tokens whose requests are counted. The one that was used longest ago is forgotten."""


class Buckets:
    """A flow of requests for each token: the rate of the token on average, and the requests of one period at once."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def wait(self, key: str, rate: Rate) -> int:
        """Count a request. Seconds until it would be allowed, and then it does not count; 0: it is allowed."""
        now = self._clock()
        full_at = max(self._full_at.get(key, now), now) + rate.period / rate.limit
        if (over := full_at - now - rate.period) > 1e-9:
            return ceil(over)
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        if len(self._full_at) > MOST_KEYS:
            self._full_at.popitem(last=False)
        return 0

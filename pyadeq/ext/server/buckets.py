"""How many requests each token has made lately, counted in this process.

A call of the server for each request would cost more than most requests. So each process counts for itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final

from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pyadeq.ext.server.tokens import Rate

MOST_KEYS: Final = 10_000
"""Tokens whose requests are counted. The one that was used longest ago is forgotten."""
LEFT: Final = "rate_headers"
"""The name in the state of a request under which the headers for its answer are."""


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

    def headers(self, key: str, rate: Rate) -> dict[str, str]:
        """What is left of the rate, as draft-ietf-httpapi-ratelimit-headers says it: t is when all of it is there."""
        owed = max(self._full_at.get(key, 0.0) - self._clock(), 0.0)
        left = int((rate.period - owed) * rate.limit / rate.period + 1e-6)
        return {
            "RateLimit-Policy": f'"token";q={rate.limit};w={ceil(rate.period)}',
            "RateLimit": f'"token";r={left};t={ceil(owed)}',
        }


class RateHeaders:
    """Adds these headers to the answer of each request that was counted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and (found := state.get(LEFT)):
                MutableHeaders(scope=message).update(found)
            await send(message)

        await self._app(scope, receive, with_headers)

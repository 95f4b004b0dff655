"""Rate limits of the requests of an ASGI application."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from inspect import isawaitable
from typing import Any

from pyadeq.asyncio import Rates
from pyadeq.ext.connect.asgi.types import App, Message, Receive, Scope, Send
from pyadeq.keys import PATTERNS
from pyadeq.models.rate import OnError, RateAnswer, RuleAnswer

Hit = tuple[str, str] | tuple[str, str, int]
Hits = Callable[[Scope], Sequence[Hit] | Awaitable[Sequence[Hit]]]

QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
AWAY_AFTER = 1
"""Seconds after which a client may try again while the server of the rates is away."""


class RateLimits:
    """Refuses requests that rules do not allow: 429, with `Retry-After` in whole seconds, rounded up.

    app: the application behind it.
    rates: a rate namespace of `pyadeq.asyncio`.
    hits: which rules a request hits, and for which subjects: a function of the ASGI scope, also an async one. An empty
    list lets the request pass. The rules must not be rules of concurrency: a request has no lease.
    headers: whether answers have the headers `RateLimit-Policy` and `RateLimit` of the IETF draft.
    on_error: what holds while the server is away for rules that this process has not read yet: `closed` answers 503,
    `open` lets requests pass. For other rules, their own `on_error` decides.
    retry_for: seconds for which to try again to reach the server. By default it is asked once.

    Requests count before they are answered. A request is not counted again by a repeated call, because none is
    repeated. Only HTTP requests are limited; other scopes, such as websockets, pass.
    """

    def __init__(
        self,
        app: App,
        rates: Rates,
        hits: Hits,
        *,
        headers: bool = False,
        on_error: OnError = "closed",
        retry_for: float = 0.0,
    ) -> None:
        self.app = app
        self._rates = rates
        self._hits = hits
        self._headers = headers
        self._on_error = on_error
        self._retry_for = retry_for

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the application answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        found = self._hits(scope)
        hits = await found if isawaitable(found) else found
        if not hits:
            await self.app(scope, receive, send)
            return
        answer = await self._rates.hit_all(hits, on_error=self._on_error, retry_for=self._retry_for)
        own = _headers(answer) if self._headers else []
        if not answer:
            await _refuse(send, answer, own)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *own]}
            await send(message)

        await self.app(scope, receive, with_headers if own else send)


def client_address(scope: Scope) -> str:
    """The address of the client as a subject. Behind a proxy, the server has to set it: uvicorn --proxy-headers.

    A text that no subject may contain becomes its SHA-256.
    """
    address = (scope.get("client") or ("unknown", 0))[0]
    if isinstance(address, str) and PATTERNS["label"].fullmatch(address):
        return address
    return sha256(str(address).encode()).hexdigest()


async def _refuse(send: Send, answer: RateAnswer, own: list[tuple[bytes, bytes]]) -> None:
    """429 for what rules refuse, 503 while the server is away."""
    away = answer.status == "unavailable"
    status, title = (503, "Service Unavailable") if away else (429, "Too Many Requests")
    problem: dict[str, Any] = {"type": "about:blank" if away else QUOTA_EXCEEDED, "title": title, "status": status}
    if not away:
        problem["violated-policies"] = [one.rule for one in answer.rules if one.status in ("refused", "never")]
    body = json.dumps(problem).encode()
    wait = AWAY_AFTER if away else _seconds(answer.retry_after)
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
        *([] if answer.status == "never" else [(b"retry-after", b"%d" % wait)]),
        *own,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _headers(answer: RateAnswer) -> list[tuple[bytes, bytes]]:
    """The headers of the draft. `t` is not later than `Retry-After`."""
    if not answer.rules:
        return []
    most = _seconds(answer.retry_after) if answer.retry_after else None
    policies = ", ".join(f'"{one.rule}";q={one.limit};w={_seconds(one.period)}' for one in answer.rules)
    states = ", ".join(f'"{one.rule}";r={one.remaining};t={_after(one, most)}' for one in answer.rules)
    return [(b"ratelimit-policy", policies.encode()), (b"ratelimit", states.encode())]


def _after(rule: RuleAnswer, most: int | None) -> int:
    """Return the seconds until the rule allows its full limit again; after a refusal, until it allows the next call."""
    after = math.ceil(rule.retry_after or rule.reset_after)
    return after if most is None else min(after, most)


def _seconds(time: float) -> int:
    """Whole seconds, rounded up, and at least 1: 0 would invite a client to try again at once."""
    return max(1, math.ceil(time))

"""Who makes a request: by a token."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from fastapi import Request

from pyadeq.asyncio import Adeq
from pyadeq.ext.server.attempts import Attempts, address_of
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.rights import Principal
from pyadeq.ext.server.tokens import NAMESPACE, TEXT, Token, read_token

POLL: Final = 5.0
"""Seconds after which the tokens are read again, if the server has not said that they have changed."""
LONGEST_AWAY: Final = 60.0
"""Seconds for which tokens are accepted while the server is away."""
FIRST_LOAD: Final = 2.0
"""Seconds that a request waits until the tokens are loaded for the first time."""


class Tokens:
    """Tells who makes a request by the token in its header: `Authorization: Bearer adeq_…`.

    adeq: the client. The first request begins to watch the namespace of the tokens; closing the client ends it.
    more: further tokens by id, of this process only. clock: seconds since the epoch.

    A change of a token takes effect at once, or after 5 s if the server's hint is lost. If the server is away for more
    than a minute, nobody is let in. After ten wrong secrets for one token from one address within a minute, it is not
    accepted from there until the minute is over.
    """

    def __init__(
        self, adeq: Adeq, *, more: Mapping[str, Token] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._snapshot = adeq.config(NAMESPACE).watch(poll=POLL)
        self._more = {id: token.encoded() for id, token in (more or {}).items()}
        self._clock = clock
        self._attempts = Attempts()

    async def __call__(self, request: Request) -> Principal | None:
        """Return who makes the request; None if it has no bearer token."""
        given = bearer_of(request)
        if given is None:
            return None
        match = TEXT.fullmatch(given)
        value = await self._find(match[1]) if match else None
        token = read_token(value) if value else None
        attempt = address_of(request), match[1] if match and token else ""
        if match is None or token is None or value is None or self._attempts.wait(attempt):
            raise self._failed(attempt)
        if not token.fits(match[2]) or token.state(self._clock()) == "revoked":
            raise self._failed(attempt)
        if token.state(self._clock()) == "expired":
            raise _not_accepted("TOKEN_EXPIRED", "this token has expired")
        return _principal(value)

    def _failed(self, attempt: tuple[str, str]) -> Refused:
        """Count an attempt that has failed, unless there were too many."""
        if wait := self._attempts.wait(attempt):
            headers = {"Retry-After": str(wait)}
            return Refused(429, "TOO_MANY_ATTEMPTS", "too many wrong tokens", headers=headers, retryable=True)
        self._attempts.failed(attempt)
        return _not_accepted("UNAUTHENTICATED", "this token is not accepted")

    async def _find(self, id: str) -> bytes | None:
        """What is stored of a token. Refused if the server is away for too long."""
        if id in self._more:
            return self._more[id]
        if not self._snapshot.loaded:
            await self._snapshot.start(FIRST_LOAD)
        if self._snapshot.age > LONGEST_AWAY:
            headers = {"Retry-After": "1"}
            raise Refused(503, "TOKENS_UNKNOWN", "the tokens cannot be read now", headers=headers, retryable=True)
        stored = self._snapshot.get(id)
        return stored and stored.value


@lru_cache(maxsize=10_000)
def _principal(value: bytes) -> Principal | None:
    token = read_token(value)
    return None if token is None else Principal(token.owner, (token.scope(),))


def bearer_of(request: Request) -> str | None:
    """The bearer token of a request; None if it has none."""
    given = request.headers.getlist("authorization")
    if len(given) > 1:
        raise Refused(400, "BAD_REQUEST", "header Authorization: it is there twice; allowed: once")
    scheme, _, text = (given or [""])[0].partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


def _not_accepted(code: str, detail: str) -> Refused:
    return Refused(401, code, detail, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})

"""Logins of the board: sessions of the realm `_board`, whose user is the id of a token. So what a token may do, a login
may do, and as long: each request asks for the token again.

A one-use code is a session of the realm `_codes`. Whoever ends it first is logged in. Codes of posts are there, too.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request, Response

from pyadeq.asyncio import Adeq
from pyadeq.ext.operations.rights import Principal
from pyadeq.ext.outgoing.posts.codes import ACTOR
from pyadeq.ext.outgoing.posts.codes import REALM as CODES
from pyadeq.ext.server.attempts import Attempts, address_of
from pyadeq.ext.server.authentication import Tokens
from pyadeq.ext.server.problems import Refused

REALM: Final = "_board"
COOKIE: Final = "adeq_board"
SECURE: Final = f"__Host-{COOKIE}"
"""The name at https. Browsers take it from nobody but this host."""
IDLE: Final = 12 * 3600.0
LIFETIME: Final = 7 * 86_400.0
CODE_LIFETIME: Final = 3600.0
MOST_LOGINS: Final = 100
"""Logins of one token, at most. A new one ends the one that would end first."""
KNOWN_FOR: Final = 3.0
"""Seconds for which a login is not looked up again. After a logout elsewhere, it lasts so much longer."""
MOST_KNOWN: Final = 10_000
HTTPS: Final = b"https"


class Logins:
    """Tells who makes a request by its cookie. It can be one of `first_of`."""

    def __init__(self, adeq: Adeq, tokens: Tokens) -> None:
        self._sessions = adeq.sessions(REALM)
        self._codes = adeq.sessions(CODES)
        self._tokens = tokens
        self._attempts = Attempts()
        self._known: OrderedDict[str, tuple[float, str | None, bytes]] = OrderedDict()

    async def __call__(self, request: Request) -> Principal | None:
        """Return who is logged in; None without a cookie, and if the login or its token has ended."""
        found = _cookie(request)
        if found is None:
            return None
        name, id = found
        user, data = await self._look(id)
        if user is None or (data == HTTPS) != (name == SECURE):
            return None
        return await self._tokens.principal_of(request, user)

    async def _look(self, id: str) -> tuple[str | None, bytes]:
        """The token of a login, and whether it was made at https."""
        now, key = monotonic(), sha256(id.encode()).hexdigest()
        until, user, data = self._known.get(key, (0.0, None, b""))
        if until > now:
            return user, data
        session = await self._sessions.get(id)
        user, data = (session.user, session.data) if session else (None, b"")
        self._known[key] = now + KNOWN_FOR, user, data
        self._known.move_to_end(key)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return user, data

    async def code(self, token: str) -> str:
        """Make a code that logs in once, within an hour, with the rights of a token that has this id."""
        session = await self._codes.create(token, idle=CODE_LIFETIME, lifetime=CODE_LIFETIME, limit=MOST_LOGINS)
        return session.id

    async def by_code(self, request: Request, response: Response, code: str) -> bool:
        """Log in by a code. False if it is used up, over, or none."""
        attempt = address_of(request), CODES
        self._patience(attempt)
        session = await self._codes.get(code)
        if session is None or session.user.startswith(ACTOR) or not await self._codes.revoke(code):
            self._attempts.failed(attempt)
            return False
        return await self._log_in(request, response, session.user)

    async def by_token(self, request: Request, response: Response, text: str) -> bool:
        """Log in by the text of a token. Refused if it is not accepted."""
        return await self._log_in(request, response, await self._tokens.id_of(request, text))

    def _patience(self, attempt: tuple[str, str]) -> None:
        if wait := self._attempts.wait(attempt):
            raise Refused(429, "TOO_MANY_ATTEMPTS", "too many wrong codes", headers={"Retry-After": str(wait)})

    async def _log_in(self, request: Request, response: Response, token: str) -> bool:
        if await self._tokens.principal_of(request, token) is None:
            return False
        await self.log_out(request, response)
        # A browser says in Origin how it reached the service, also behind a proxy that speaks TLS.
        secure = "https" in (request.url.scheme, urlsplit(request.headers.get("origin", "")).scheme)
        session = await self._sessions.create(
            token,
            agent=request.headers.get("user-agent", "")[:200],
            address=address_of(request),
            data=HTTPS if secure else b"",
            idle=IDLE,
            lifetime=LIFETIME,
            limit=MOST_LOGINS,
        )
        response.set_cookie(
            SECURE if secure else COOKIE,
            session.id,
            max_age=round(LIFETIME),
            httponly=True,
            secure=secure,
            samesite="strict",
            path="/",
        )
        return True

    async def log_out(self, request: Request, response: Response) -> None:
        """End the login of a request, if it has one."""
        found = _cookie(request)
        if found is None:
            return
        await self._sessions.revoke(found[1])
        self._known.pop(sha256(found[1].encode()).hexdigest(), None)
        response.delete_cookie(found[0], path="/", secure=found[0] == SECURE, httponly=True, samesite="strict")


def _cookie(request: Request) -> tuple[str, str] | None:
    """The name and the value of the cookie; the one of https first."""
    return next(((name, request.cookies[name]) for name in (SECURE, COOKIE) if request.cookies.get(name)), None)

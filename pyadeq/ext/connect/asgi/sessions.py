"""Sessions of the users of an ASGI application, in a cookie."""

from __future__ import annotations

import re
from asyncio import Lock
from typing import Any, Final, Literal

from pyadeq import asyncio as aio
from pyadeq.errors import ConfigError
from pyadeq.ext.connect.asgi.types import App, Message, Receive, Scope, Send
from pyadeq.keys import shown
from pyadeq.models.base import Seconds
from pyadeq.models.session import Session

SameSite = Literal["lax", "strict", "none"]

# A browser takes a cookie with this prefix only from the host itself, over TLS, and for all paths.
PREFIX: Final = "__Host-"
SAME_SITE: Final = ("lax", "strict", "none")
FIRST: Final = ("http.response.start", "websocket.accept")  # the messages with the headers of an answer


class Sessions:
    """Gives each request the session of its cookie, as `scope["session"]`: `request.session` in Starlette and FastAPI.

    app: the application behind it.
    sessions: a realm of `pyadeq.asyncio`.
    name: of the cookie, which is `__Host-<name>`, `HttpOnly` and `Secure`.
    same_site: which requests from other sites bring the cookie: `lax`, `strict` or `none`.
    persistent: whether the browser keeps the cookie when it is closed, until the lifetime of the session is over.

    The server is asked when the application loads the session, once for each request. A request that needs no
    session costs no call.
    """

    def __init__(
        self,
        app: App,
        sessions: aio.Sessions,
        *,
        name: str = "session",
        same_site: SameSite = "lax",
        persistent: bool = False,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name):
            raise ConfigError(f"name: {shown(name)} is not accepted; allowed: 1 to 100 of A-Z a-z 0-9 _ -")
        if same_site not in SAME_SITE:
            raise ConfigError(f"same_site: {shown(same_site)} is not accepted; allowed: {', '.join(SAME_SITE)}")
        self.app = app
        self._sessions = sessions
        self._cookie = PREFIX + name
        self._flags = f"Path=/; Secure; HttpOnly; SameSite={same_site.capitalize()}"
        self._persistent = persistent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the session of its cookie."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        own = RequestSession(self._sessions, _cookie(scope, self._cookie))

        async def with_cookie(message: Message) -> None:
            if message["type"] in FIRST and own.changed:
                # The answer has a secret of one user: no cache may keep it.
                headers = [(b"set-cookie", self._set(own.session)), (b"cache-control", b"no-store")]
                others = [one for one in message.get("headers", ()) if bytes(one[0]).lower() != b"cache-control"]
                message = {**message, "headers": [*others, *headers]}
            await send(message)

        await self.app({**scope, "session": own}, receive, with_cookie)

    def _set(self, session: Session | None) -> bytes:
        """The header that stores the id in the browser, or deletes it."""
        if session is None:
            return f"{self._cookie}=; Max-Age=0; {self._flags}".encode()
        age = f"Max-Age={int(session.ends - session.active)}; " if self._persistent else ""
        return f"{self._cookie}={session.id}; {age}{self._flags}".encode()


class RequestSession:
    """The session of a request. Change it before the answer begins: the cookie is one of its headers."""

    def __init__(self, sessions: aio.Sessions, id: str | None) -> None:
        self.session: Session | None = None
        """The session, once it was loaded or created."""
        self.changed = False
        """Whether the answer sets the cookie."""
        self._sessions = sessions
        self._id = id
        self._loaded = id is None
        self._lock = Lock()

    async def load(self) -> Session | None:
        """Return the session; None if nobody is logged in. Only the first call of a request asks the server."""
        async with self._lock:
            if not self._loaded and self._id is not None:
                self.session = await self._sessions.get(self._id)
                self._loaded = True
        # The cookie of a session that is gone stays: another answer may have replaced it meanwhile.
        return self.session

    async def create(self, user: str, **options: Any) -> Session:
        """Log a user in, with a new id. The session before, if there is one, is ended at once.

        options: those of `Sessions.create`.
        """
        made = await self._sessions.create(user, **options)
        if self._id is not None:
            await self._sessions.revoke(self._id)
        self._keep(made)
        return made

    async def update(self, **changes: Any) -> Session | None:
        """Change fields of the session, as `Sessions.update` does; None if nobody is logged in."""
        found = await self.load()
        self.session = await self._sessions.update(found, **changes) if found else None
        return self.session

    async def rotate(self, *, grace: Seconds = 0.0) -> Session | None:
        """Give the session a new id, because it gets more rights; None if nobody is logged in.

        grace: for how many seconds the former id may read the session.
        """
        found = await self.load()
        new = await self._sessions.rotate(found, grace=grace) if found else None
        if new is None or new.rotated:
            self.session = new
        else:
            self._keep(new)
        return new

    async def end(self) -> None:
        """Log the user out."""
        if self._id is not None:
            await self._sessions.revoke(self._id)
        self._keep(None)

    def _keep(self, session: Session | None) -> None:
        self.session, self.changed, self._loaded = session, True, True
        self._id = session.id if session else None


def _cookie(scope: Scope, name: str) -> str | None:
    """The value of a cookie, if the request has it."""
    for header, value in scope["headers"]:
        if header == b"cookie":
            for part in value.decode("latin-1").split(";"):
                word, _, id = part.strip().partition("=")
                if word == name and id:
                    return str(id)
    return None

"""How large the body of a request may be, and how long it may take.

The framework reads the whole body into memory before it is known who asks.
"""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyadeq.ext.server.problems import Refused, answer_of

MOST: Final = 8 * 1024 * 1024
"""Bytes of a body. A payload has at most 1 MiB; as JSON with escapes, it may be six times as long."""
LONGEST: Final = 60.0
"""Seconds from the first look at a body to its end."""
_LARGE: Final = f"the body has more than {MOST:,} bytes; send less at a time"


class Bodies:
    """Refuses bodies that are too large or too slow. It goes around an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and (len(length) > len(str(MOST)) or int(length) > MOST):
            await answer_of(Refused(413, "TOO_LARGE", _LARGE))(scope, receive, send)
            return
        read, until, ended = 0, 0.0, False

        async def bounded() -> Message:
            nonlocal read, until, ended
            if ended:  # what comes now is the end of the connection
                return await receive()
            until = until or asyncio.get_running_loop().time() + LONGEST
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                what = f"the body has not come within {LONGEST:g} s"
                raise HTTPException(408, what, {"Connection": "close"}) from None
            read += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if read > MOST:
                raise HTTPException(413, _LARGE, {"Connection": "close"})
            return message

        await self._app(scope, bounded, send)

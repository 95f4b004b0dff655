"""Sessions: the realms, who is logged in, and ending logins. Ids of sessions are never shown, only their handles."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query, Request, Response

from pyadeq.asyncio import SessionEntry, SessionUser
from pyadeq.ext.server.board.looks import NUMBERS_FOR, Looks
from pyadeq.ext.server.board.names import names_page
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Access, access

MOST: Final = 100
"""Sessions of a page, at most."""

router = pages()


@router.get("/sessions")
async def realms(request: Request, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """All realms that somebody may see."""
    return await names_page(request, "session", q, title="Sessions", what="Realms", path="/sessions", first="login")


@router.get("/sessions/{realm:adeq_segment}")
async def realm(
    request: Request,
    access: Annotated[Access, access("session", "session.observe")],
    user: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """The sessions of a realm, or of one user in it."""
    looks: Looks = request.app.state.looks

    async def read() -> tuple[list[SessionEntry], int, SessionUser | None]:
        found: list[SessionEntry] = []
        async for entry in access.found.iterate(user or None):
            found.append(entry)
            if len(found) > MOST:
                break
        return found, await access.found.count(), await access.found.user(user) if user else None

    found, count, about = await looks.shared(("sessions", access.name, user), NUMBERS_FOR, read)
    return await render(
        request,
        "realm.html",
        name=access.name,
        sessions=found[:MOST],
        is_all=len(found) <= MOST,
        count=count,
        about=about,
        user=user,
    )

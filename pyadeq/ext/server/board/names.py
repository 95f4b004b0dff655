"""A list of the names of one noun, as a page."""

from __future__ import annotations

from fastapi import Request, Response

from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import render
from pyadeq.ext.server.gate import Gate


async def names_page(request: Request, noun: str, q: str, *, title: str, what: str, path: str, first: str) -> Response:
    """The names that somebody may see. q: a text in them. what: what they are. first: what one of them begins with."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    names = await looks.seen(await gate.principal(request), noun, q)
    return await render(request, "names.html", title=title, what=what, path=path, names=names, q=q, first=first)

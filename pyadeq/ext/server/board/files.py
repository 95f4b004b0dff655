"""The style sheet and the script of the pages."""

from __future__ import annotations

from fastapi import Response

from pyadeq.ext.server.board.page import HERE, asset, pages
from pyadeq.ext.server.problems import Refused

TYPES = {"board.css": "text/css", "board.js": "text/javascript", "icon.svg": "image/svg+xml"}

router = pages()


@router.get("/static/{digest}/{name}")
async def file(digest: str, name: str) -> Response:
    """A file, to keep for a year: another content has another path."""
    if name not in TYPES or asset(name) != f"/static/{digest}/{name}":
        raise Refused(404, "NOT_FOUND", "there is no such file")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response((HERE / "static" / name).read_bytes(), media_type=TYPES[name], headers=headers)


@router.get("/robots.txt")
async def robots() -> Response:
    """No page is for search engines."""
    return Response("User-agent: *\nDisallow: /\n", media_type="text/plain")

"""The page for a path that does not exist. It comes last, and leaves the API its own answers."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.convertors import Convertor, register_url_convertor

from pyadeq.ext.server.board.page import pages
from pyadeq.ext.server.problems import Refused


class Rest(Convertor[str]):
    """Any path that is not of the API."""

    regex = "(?!v1/|do/).*"

    def convert(self, value: str) -> str:
        """Return the value from the path, unchanged."""
        return value

    def to_string(self, value: str) -> str:
        """Return the value for the path, unchanged."""
        return value


register_url_convertor("adeq_rest", Rest())
router = pages()


@router.get("/{path:adeq_rest}")
async def missing(request: Request, path: str) -> Response:
    """Say that there is no such page."""
    await request.app.state.gate.principal(request)
    raise Refused(404, "NOT_FOUND", "there is no such page")

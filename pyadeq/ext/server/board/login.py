"""The pages to log in and out."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from pyadeq.ext.server.board.forms import local, read_form
from pyadeq.ext.server.board.logins import Logins
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.paths import url
from pyadeq.ext.server.problems import Refused

router = pages()


@router.get("/login")
async def ask(request: Request, code: str = "", next: str = "/") -> Response:
    """Ask for a token. With a code of a link, ask for one click: programs that look at links must not use it up."""
    return await render(request, "login.html", code=code[:200], next=local(next), refused="")


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Log in by a token or a code."""
    fields = await read_form(request)
    logins, to = _logins(request), local(fields.get("next", "/"))
    if logins is None:
        raise Refused(404, "NOT_FOUND", "this service has no logins of its own")
    response = RedirectResponse(url(request, to), status_code=303)
    code, refused = fields.get("code", ""), "this link was used already, or is too old"
    try:
        if await (
            logins.by_code(request, response, code)
            if code
            else logins.by_token(request, response, fields.get("token", "").strip())
        ):
            return response
        status = 401
    except Refused as error:
        status, refused = error.problem.status, error.problem.detail
    return await render(request, "login.html", status=status, code="", next=to, refused=refused)


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the login."""
    response = RedirectResponse(url(request, "/login"), status_code=303)
    if (logins := _logins(request)) is not None:
        await logins.log_out(request, response)
    return response


def _logins(request: Request) -> Logins | None:
    logins: Logins | None = request.app.state.logins
    return logins

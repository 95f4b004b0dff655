"""What all pages share: their route, their template, their headers, and what a person reads if something is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse

from pyadeq.errors import AdeqError
from pyadeq.ext.operations.rights import MANAGE, WEBHOOKS, Principal
from pyadeq.ext.server.board import charts, words
from pyadeq.ext.server.board.looks import lacks_names
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.problems import Refused, refused_of
from pyadeq.ext.shared.change_text import actor_of

HERE: Final = Path(__file__).parent
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-store",
    "Vary": "Cookie, X-Fragment",
}
FRAGMENT: Final = "x-fragment"
"""The header of a page's own script, which wants the changing part of the page only."""
SAID: Final = "adeq_said"
"""The cookie with what the last form has done, for the next page."""
NAV: Final = (
    ("Queues", "", "queue.observe"),
    ("Workers", "workers", "queue.observe"),
    ("Schedules", "schedules", "queue.observe"),
    ("Limits", "limits", "queue.observe"),
    ("Locks", "locks", "lock.observe"),
    ("Inbox", "inbox", "change.observe"),
    ("Sessions", "sessions", "session.observe"),
    ("Rates", "rates", "rate.observe"),
    ("Configs", "configs", "config.observe"),
    ("Webhooks", "webhooks", WEBHOOKS),
    ("Tokens", "tokens", MANAGE),
)
"""Title and path of the pages that each page links to, for those who have the right somewhere."""


class Page(APIRoute):
    """A route whose problems are pages, and whose answers have the headers of pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the framework, in this."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            lacks_names.set(False)
            try:
                response = await handle(request)
            except (Refused, AdeqError, RequestValidationError) as error:
                response = await problem_page(request, refused_of(error))
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return answer


def pages() -> APIRouter:
    """A router for pages."""
    return APIRouter(route_class=Page, include_in_schema=False, default_response_class=HTMLResponse)


async def render(request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
    """A page from its template, or its changing part, if that is asked for."""
    is_fragment = FRAGMENT in request.headers
    principal: Principal | None = getattr(request.state, "principal", None)
    said = "" if is_fragment else words.unpacked(request.cookies.get(SAID, ""))
    text = (
        _environment()
        .get_template(template)
        .render(
            base="fragment.html" if is_fragment else "layout.html",
            root=request.scope.get("root_path", ""),
            here=_here(request),
            who=principal,
            nav=[] if principal is None else _nav(principal),
            said=said,
            lacks_names=lacks_names.get(),
            can_log_out=request.app.state.logins is not None,
            asset=asset,
            **context,
        )
    )
    response = HTMLResponse(text, status_code=status)
    if said:
        response.delete_cookie(SAID, path="/")
    return response


async def problem_page(request: Request, refused: Refused, back: str = "") -> Response:
    """The page of a problem; for somebody who is not logged in, the way to log in. back: the page with the form."""
    problem = refused.problem
    if problem.status == 401 and request.method == "GET" and request.app.state.logins is not None:
        return RedirectResponse(url(request, f"/login?next={segment(_here(request))}"), status_code=303)
    response = await render(request, "problem.html", status=problem.status, problem=problem, back=back)
    response.headers.update(refused.headers)
    return response


@cache
def asset(name: str) -> str:
    """The path of a file of `static`, with a digest, so that browsers keep it for a year."""
    return f"/static/{hashlib.sha256((HERE / 'static' / name).read_bytes()).hexdigest()[:12]}/{name}"


def may(principal: Principal, right: str, name: str, *, by_user: bool = False) -> bool:
    """Whether to show a button. The API checks the right again. by_user: a scope of one user is enough."""
    return principal.may(right, name, by_user=by_user)


def _nav(principal: Principal) -> list[tuple[str, str]]:
    rights = {right for scope in principal.scopes for right in scope.rights}
    return [(title, path) for title, path, right in NAV if right in rights]


def _here(request: Request) -> str:
    """The path and query of this page, below the prefix."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    query = request.scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else str(path)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "segment": segment,
        "time": lambda at: Markup(words.time(at)),
        "age": words.age,
        "number": words.number,
        "rate": words.rate,
        "mode": lambda lock: words.mode(lock.mode, lock.permits),
        "long": words.as_json,
        "actor": lambda entry: actor_of(entry.by, entry.caller),
        "spark": lambda values, label: Markup(charts.spark(values, label)),
    }
    made.globals["may"] = may
    return made

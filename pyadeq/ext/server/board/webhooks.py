"""Webhooks: the endpoints that somebody manages, one of them with its last messages, and forms to change them."""

from __future__ import annotations

import asyncio
import json
from time import time
from typing import Any, Final, get_args

from fastapi import Request, Response

from pyadeq.ext.outgoing.webhooks.endpoints import CONCURRENCY, Content, Order
from pyadeq.ext.server.api.webhook_messages import read_messages
from pyadeq.ext.server.api.webhooks import DAY, Id, Manager
from pyadeq.ext.server.board.forms import ask, read_form, typed
from pyadeq.ext.server.board.looks import NUMBERS_FOR, Looks
from pyadeq.ext.server.board.page import pages, problem_page, render
from pyadeq.ext.server.paths import segment
from pyadeq.ext.server.problems import Problem, Refused
from pyadeq.models.queue import State

LAST: Final = 20
"""Messages of each state on a page."""
STATES: Final[tuple[tuple[State, str], ...]] = (
    ("dead", "Failed for good"),
    ("delayed", "To be tried again"),
    ("completed", "Delivered"),
)
SPANS: Final = (("10 minutes", 600.0), ("1 hour", 3600.0), ("6 hours", 6 * 3600.0), ("1 day", DAY), ("7 days", 7 * DAY))

router = pages()


@router.get("/webhooks")
async def webhooks(request: Request, manager: Manager) -> Response:
    """The endpoints that somebody manages."""
    return await render(
        request,
        "webhooks.html",
        endpoints=[*(await manager.all()).values()],
        orders=get_args(Order),
        contents=get_args(Content),
        concurrency=CONCURRENCY,
    )


@router.get("/webhooks/{endpoint:adeq_segment}")
async def webhook(request: Request, manager: Manager, id: Id) -> Response:
    """One endpoint, and its last messages."""
    endpoint = await manager.find(id)
    looks: Looks = request.app.state.looks

    async def read() -> list[Any]:
        return await asyncio.gather(*[read_messages(manager, id, state, limit=LAST) for state, _ in STATES])

    # What is shown depends on the endpoint only, and who gets here manages it.
    found = await looks.shared(("webhook", id, endpoint.version), NUMBERS_FOR, read)
    return await render(
        request,
        "webhook.html",
        one=endpoint,
        lists=[(state, title, page.items) for (state, title), page in zip(STATES, found, strict=True)],
        now=time(),
        most=LAST,
        spans=SPANS,
        orders=get_args(Order),
        contents=get_args(Content),
    )


@router.post("/webhooks")
async def add(request: Request) -> Response:
    """Add an endpoint by the API. If its secret was made, show it: no other page and no cookie ever has it."""
    fields = typed(await read_form(request))
    id = str(fields.pop("id", ""))
    status, body = await ask(request, "PUT", f"/v1/webhooks/{segment(id)}", fields, headers=[(b"if-match", b'"v0"')])
    return await _shown(request, status, body, back="/webhooks")


@router.post("/webhooks/{endpoint:adeq_segment}")
async def rotate(request: Request, id: Id) -> Response:
    """Rotate the secret by the API, and show a new one."""
    fields, at = typed(await read_form(request)), f"/webhooks/{segment(id)}"
    status, body = await ask(request, "POST", f"/v1{at}:rotate", fields)
    return await _shown(request, status, body, back=at)


async def _shown(request: Request, status: int, body: bytes, back: str) -> Response:
    answer = json.loads(body)
    if status >= 400:
        refused = Refused(status, "", "")
        refused.problem = Problem.model_validate(answer)
        return await problem_page(request, refused, back=back)
    request.app.state.looks.forget()
    return await render(request, "webhook_made.html", status=status, made=answer, back=back)

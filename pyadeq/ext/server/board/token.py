"""Tokens: a list, a form to make one, and the page that shows its text once."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from fastapi import Request, Response

from pyadeq.ext.operations.rights import ACT, MANAGE, rights_of
from pyadeq.ext.server.api.tokens import manager, visible
from pyadeq.ext.server.board.forms import ask, read_form, typed
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, problem_page, render
from pyadeq.ext.server.problems import Problem, Refused
from pyadeq.ext.server.tokens import DAY, all_tokens

READ_FOR: Final = 2.0
ROLES: Final = ("observer", "producer", "worker", "operator")
LIFETIMES: Final = (
    ("1 day", DAY),
    ("7 days", 7 * DAY),
    ("30 days", 30 * DAY),
    ("90 days", 90 * DAY),
    ("1 year", 365 * DAY),
)
PERIODS: Final = (("second", 1), ("minute", 60), ("hour", 3600))

router = pages()


@router.get("/tokens")
async def tokens(request: Request) -> Response:
    """The tokens that somebody may manage."""
    config, who = await manager(request)
    looks: Looks = request.app.state.looks

    async def read() -> Any:
        return all_tokens(await config.list())

    found = visible(await looks.shared(("tokens",), READ_FOR, read), who)
    own = [scope for scope in who.scopes if MANAGE in scope.rights]
    rights = {right for scope in own for right in scope.rights}
    return await render(
        request,
        "tokens.html",
        tokens=found.items,
        complete=found.complete,
        now=time.time(),
        roles=[role for role in ROLES if rights_of([role]) <= rights],
        rights=sorted(rights),
        names=own[0].names,
        user=own[0].user,
        groups="dba, security" if ACT in rights else ", ".join(who.groups),
        lifetimes=LIFETIMES,
        periods=PERIODS,
        limit=who.rate,
    )


@router.post("/tokens")
async def make(request: Request) -> Response:
    """Make a token by the API, and show its text. No other page and no cookie ever has it."""
    fields = typed(await read_form(request))
    forever = fields.pop("forever", None)
    limit, period = fields.pop("limit", None), fields.pop("period", None)
    if limit is not None:
        fields["rate"] = {"limit": limit, "period": period}
    if forever:
        fields["lifetime"] = None
    status, body = await ask(request, "POST", "/v1/tokens", fields)
    answer = json.loads(body)
    if status >= 400:
        refused = Refused(status, "", "")
        refused.problem = Problem.model_validate(answer)
        return await problem_page(request, refused, back="/tokens")
    request.app.state.looks.forget()
    return await render(request, "token_made.html", status=status, made=answer)

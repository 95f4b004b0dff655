"""Rates: the rules of a namespace, and what they allow a subject now."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final, NamedTuple, get_args

from fastapi import Query, Request, Response

from pyadeq.asyncio import RateRule, RuleAnswer
from pyadeq.ext.server.board.looks import NUMBERS_FOR, Looks
from pyadeq.ext.server.board.names import names_page
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Access, access
from pyadeq.models.rate import RateAlgorithm

MOST: Final = 50
"""Rules of a page: each is asked for the subject."""

router = pages()


class Row(NamedTuple):
    """A rule, and what it says to the subject; None without one."""

    rule: RateRule
    now: RuleAnswer | None


@router.get("/rates")
async def namespaces(request: Request, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """All namespaces that somebody may see."""
    return await names_page(request, "rate", q, title="Rates", what="Namespaces", path="/rates", first="rule")


@router.get("/rates/{namespace:adeq_segment}")
async def rules(
    request: Request,
    access: Annotated[Access, access("rate", "rate.observe")],
    subject: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """The rules of a namespace. subject: also show what each allows it now."""
    looks: Looks = request.app.state.looks

    async def read() -> tuple[list[Row], int]:
        found: list[RateRule] = await access.found.list()
        shown = found[:MOST]
        answers: list[Any] = [None] * len(shown)
        if subject:
            answers = await asyncio.gather(*[access.found.peek(rule.name, subject) for rule in shown])
        return [Row(rule, now) for rule, now in zip(shown, answers, strict=True)], len(found)

    rows, total = await looks.shared(("rates", access.name, subject), NUMBERS_FOR, read)
    return await render(
        request,
        "rate_rules.html",
        name=access.name,
        rows=rows,
        total=total,
        subject=subject,
        algorithms=get_args(RateAlgorithm),
    )

"""The inbox: the changes of all domains that wait for an answer of somebody, the most urgent first."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, NamedTuple

from fastapi import Query, Request, Response

from pyadeq.asyncio import Inbox, InboxEntry
from pyadeq.errors import AdeqError
from pyadeq.ext.operations.rights import Principal
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import OWN, Gate, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.shared.change_text import title_of

MOST_DOMAINS: Final = 50
"""Domains of one page, at most."""
PAGE: Final = 50
"""Changes of a domain that one page shows, at most."""
READ_FOR: Final = 2.0
WEIGHTS: Final = {"urgent": 1000, "high": 500, "normal": 100, "low": 0}
"""The weight of a priority in the order of an inbox; the server orders by the same weights."""
OBSERVE: Final = "change.observe"

router = pages()


class Row(NamedTuple):
    """A change that waits. now: the time of its domain."""

    domain: str
    entry: InboxEntry
    title: str
    now: float


class Read(NamedTuple):
    """A page of the inbox of a domain; why there is none."""

    domain: str
    page: Inbox | None
    problem: str = ""


@router.get("/inbox")
async def inbox(
    request: Request,
    principal: Annotated[str, Query(max_length=100, description="Whose inbox.")] = "",
    groups: Annotated[str, Query(max_length=2000, description="The groups for which this person answers.")] = "",
    domain: Annotated[str, Query(max_length=100)] = "",
    cursor: Annotated[str, Query(max_length=500, description="Of one domain.")] = "",
) -> Response:
    """What waits for the person who is logged in, or for somebody else."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    who = await gate.principal(request)
    wanted, of_groups = principal.strip().lower(), words_of(groups) or [*who.groups]
    may_ask = any(OBSERVE in scope.rights and scope.user is None for scope in who.scopes)
    own = {name.lower() for name in (who.name, *(scope.user for scope in who.scopes if scope.user))}
    if not may_ask and wanted not in {"", *own}:
        raise Refused(403, "FORBIDDEN", f"{who.name} may see the own inbox only")
    if not may_ask and not {*who.groups}.issuperset(of_groups):
        raise Refused(403, "FORBIDDEN", f"{who.name} may see the own groups only: {', '.join(who.groups) or 'none'}")
    names = [domain] if domain else await looks.names("change")
    seen = [(name, whose) for name in names if (whose := _whose(who, name, wanted)) is not None]
    if domain and not seen:
        raise missing("domain", domain)
    found = await asyncio.gather(
        *[_read(gate, looks, name, whose, of_groups, cursor if domain else "") for name, whose in seen[:MOST_DOMAINS]]
    )
    rows: dict[tuple[str, str], Row] = {}
    for one in found:
        for entry in one.page.entries if one.page else ():  # a person answers once, asked alone or in a group
            row = Row(one.domain, entry, title_of(entry.description), one.page.now if one.page else 0.0)
            rows.setdefault((one.domain, entry.id), row)
    return await render(
        request,
        "inbox.html",
        rows=sorted(rows.values(), key=_urgency),
        whose=sorted({whose for _, whose in seen}) or [wanted or who.name],
        wanted=wanted,
        groups=of_groups,
        domain=domain,
        may_ask=may_ask,
        domains=len(seen),
        most=MOST_DOMAINS,
        more=[(one.domain, one.page.cursor) for one in found if one.page and one.page.cursor],
        problems=[one for one in found if one.problem],
    )


def words_of(text: str) -> list[str]:
    """The words of a list, which has commas, spaces or lines."""
    return list(dict.fromkeys(text.replace(",", " ").split()))


def _whose(who: Principal, domain: str, wanted: str) -> str | None:
    """Return the user whose inbox of a domain they may see; None if none. A scope of one user has only its own."""
    for scope in [] if domain.startswith(OWN) else who.scopes_of(domain):
        own = (scope.user or who.name).lower()
        if OBSERVE in scope.rights and (scope.user is None or wanted in ("", own)):
            return wanted or own
    return None


async def _read(gate: Gate, looks: Looks, domain: str, whose: str, groups: list[str], cursor: str) -> Read:
    async def read() -> Inbox | None:
        changes = await gate.find("change", domain, False)
        if changes is None:
            return None
        found: Inbox = await changes.inbox(whose, groups=groups, cursor=cursor, limit=PAGE)
        return found

    try:
        key = "inbox", domain, whose, tuple(groups), cursor
        return Read(domain, await looks.shared(key, READ_FOR, read))
    except AdeqError as error:  # one domain that cannot be read, such as one of a newer layout, hides no other
        return Read(domain, None, str(error))


def _urgency(row: Row) -> tuple[int, float]:
    """The order of the server within a domain: by risk and priority, then by the end of the review."""
    weight = WEIGHTS[row.entry.review_priority or "normal"]
    return -10 * (row.entry.risk_score or 0) - weight, row.entry.due

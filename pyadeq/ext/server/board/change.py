"""Changes: the domains, the changes of one, and one change with its votes and its log."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from fastapi import Query, Request, Response

from pyadeq.asyncio import Change, ChangePage, ChangeStats
from pyadeq.errors import AdeqError
from pyadeq.ext.operations.rights import ACT, Principal
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import may, pages, render
from pyadeq.ext.server.board.words import as_json
from pyadeq.ext.server.gate import Access, Gate, access, missing
from pyadeq.ext.shared.change_text import diff_of, follow_ids, parts_that_differ, path_of, shown, title_of
from pyadeq.models.change import ChangeState

PAGE: Final = 50
MOST_DOMAINS: Final = 100
READ_FOR: Final = 2.0
LOG: Final = 100
"""The newest entries of a log that the page shows."""
KEPT: Final = 10
"""Revisions before the current one whose contents are kept."""
MOST_TASKS: Final = 50
"""Steps whose tasks are looked for, the newest."""
MOST_REQUESTS: Final = 20
STATES: Final = get_args(ChangeState)
ANSWERED: Final = ("approved", "rejected", "changes_requested", "abstained")
By = Literal["state", "author", "reviewer", "resource", "team", "tag"]
Observed = Annotated[Access, access("change", "change.observe", by_user=True)]

router = pages()


class Domain(NamedTuple):
    """A domain, and how many of its changes are in each state; why this is not known."""

    name: str
    stats: ChangeStats | None
    problem: str = ""


@router.get("/changes")
async def domains(request: Request) -> Response:
    """The domains that somebody may see."""
    gate: Gate = request.app.state.gate
    looks: Looks = request.app.state.looks
    who = await gate.principal(request)
    seen = [name for name in await looks.names("change") if "change.observe" in _rights(who, name)]
    found = await asyncio.gather(*[_domain(gate, looks, who, name) for name in seen[:MOST_DOMAINS]])
    shown = ("reviewing", "submitted", "approved", "applying", "failed")
    return await render(request, "changes.html", domains=found, states=shown, total=len(seen), most=MOST_DOMAINS)


@router.get("/changes/{domain:adeq_segment}")
async def changes(
    request: Request,
    access: Observed,
    by: By = "state",
    value: Annotated[str, Query(max_length=300)] = "reviewing",
    cursor: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """The changes of a domain in a state, of an author and so on, the newest first."""
    looks: Looks = request.app.state.looks
    value = value.strip()

    async def read() -> ChangePage:
        found: ChangePage = await access.found.list(cursor=cursor, limit=PAGE, **{by: value})
        return found

    page = await looks.shared(("changes by", access.name, by, value, cursor), READ_FOR, read) if value else None
    return await render(
        request,
        "changes_of.html",
        name=access.name,
        by=by,
        value=value,
        page=page,
        titles={one.id: title_of(one.description) for one in page.changes} if page else {},
        conditions=get_args(By),
        states=STATES,
        stats=await _stats(looks, access.found) if may(access.principal, "change.observe", access.name) else None,
    )


@router.get("/changes/{domain:adeq_segment}/{id:adeq_segment}")
async def change(
    request: Request, access: Observed, id: str, since: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """One change: what it would do, who has answered, and what has become of it. since: a revision to compare with."""
    found: Change | None = await access.found.get(id, requests=True, log=LOG, texts=True)
    if found is None:
        raise missing("change", id)
    rights = _rights(access.principal, access.name)
    looks: Looks = request.app.state.looks
    stats = await _stats(looks, access.found)
    policies: dict[str, Any] = {}
    if found.state == "draft" and "change.author" in rights:
        policies = await access.found.policies.list()
    run = found.run
    texts = {
        "Preview": (found.preview or b"").decode(errors="replace"),
        "Factors of the risk": found.risk.factors if found.risk else "",
        "Output of the run": (run.output or "") if run else "",
        "Error of the run": "\n".join(filter(None, [run.error, run.error_details])) if run else "",
    }
    return await render(
        request,
        "change.html",
        domain=access.name,
        change=found,
        title=title_of(found.description) or found.id,
        now=stats.now,
        path=path_of(found.state, found.submitted is not None, found.approved is not None),
        parameters=as_json(shown(found.data)) if found.data else "",
        texts={name: as_json(text) for name, text in texts.items() if text},
        diff=await _diff(access, found, since),
        revisions=range(max(1, found.rev - KEPT), found.rev),
        tasks=await _tasks(request, access, found, stats.settings.get("follow_queue")),
        locks=await _locks(request, access, found, stats.settings.get("lock_domain")),
        policies=policies,
        rights=rights,
        operates=may(access.principal, "change.operate", access.name),
        part=_part(found, access),
        pending=("pending", "changes_requested"),
    )


class Part(NamedTuple):
    """What somebody has to do with a change.

    asked: the request to answer. groups: their own that are asked. answered: whether they have answered. wrote: whether
    they have written it. delegated: whether they have handed a request on.
    """

    name: str
    asked: int | None
    groups: list[str]
    answered: bool
    wrote: bool
    delegated: bool


def _part(change: Change, access: Access) -> Part:
    me, who = access.acts_as, access.principal
    any_group = who.may(ACT, access.name)
    requests, log = change.requests or (), change.log or ()
    open_ = [one for one in requests if one.status in ("pending", "changes_requested")]
    asked = {one.assignee.removeprefix("group:") for one in open_ if one.assignee.startswith("group:")}
    writers = {change.author, change.principal}
    writers |= {one.by for one in log if one.event in ("change.created", "change.revised")}
    return Part(
        me,
        next((one.slot for one in open_ if one.assignee == f"user:{me}"), None),
        sorted(group for group in asked if any_group or group in who.groups),
        any(one.reviewed_by == me and one.status in ANSWERED for one in requests),
        me in writers,
        any(me in one.delegation_chain for one in open_),
    )


class Diff(NamedTuple):
    """What is different since a revision. lines: of each part; None if that revision is not kept."""

    since: int
    lines: dict[str, list[str]] | None


async def _diff(access: Access, change: Change, since: int | None) -> Diff | None:
    since = since or change.rev - 1
    if not 1 <= since < change.rev:
        return None
    before = await access.found.get_revision(change.id, since)
    if before is None:
        return Diff(since, None)

    def lines() -> dict[str, list[str]]:
        return {name: list(diff_of(before, change, name)) for name in parts_that_differ(before, change)}

    return Diff(since, await asyncio.to_thread(lines))  # of thousands of lines, it takes seconds


async def _domain(gate: Gate, looks: Looks, who: Principal, name: str) -> Domain:
    if not may(who, "change.observe", name):
        return Domain(name, None)
    try:
        changes = await gate.find("change", name, False)
        return Domain(name, None if changes is None else await _stats(looks, changes))
    except AdeqError as error:  # one domain that cannot be read hides no other
        return Domain(name, None, str(error))


async def _stats(looks: Looks, changes: Any) -> ChangeStats:
    found: ChangeStats = await looks.shared(("changes", changes.name), READ_FOR, changes.stats)
    return found


async def _tasks(request: Request, access: Access, change: Change, queue: str | None) -> list[Any] | None:
    """The tasks that follow its steps, and their queue; None for those who may not see them."""
    if queue in (None, "none") or not may(access.principal, "queue.observe", queue):
        return None
    gate: Gate = request.app.state.gate
    found = await gate.find("queue", queue, False)
    ids = follow_ids(access.name, change)[-MOST_TASKS:]
    if found is None or not ids:
        return []
    tasks = await found.get_many(ids)
    return [(queue, task) for task in tasks if task is not None]


async def _locks(request: Request, access: Access, change: Change, domain: str | None) -> list[Any] | None:
    """The locks that its run holds or waits for, and their domain; None for those who may not see them."""
    if domain in (None, "none") or not may(access.principal, "lock.observe", domain):
        return None
    gate: Gate = request.app.state.gate
    found = await gate.find("lock", domain, False)
    if found is None:
        return []
    page = await found.list(owner=f"{access.name}/{change.id}", limit=MOST_REQUESTS)
    return [(domain, one) for one in page.requests]


def _rights(who: Principal, name: str) -> set[str]:
    """All rights in a name, also those for one user: steps of a change keep to the user."""
    return {right for scope in who.scopes_of(name) for right in scope.rights}

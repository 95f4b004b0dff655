"""Dead tasks of a queue by kind and reason, and bulks: changes of all tasks that match."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from pydantic import BaseModel

from pyadeq import tiers
from pyadeq.asyncio import DeadSummary, TaskView
from pyadeq.ext.server.api import bulks as api
from pyadeq.ext.server.api.bulk_runs import Verb, parts_of
from pyadeq.ext.server.api.filters import filter_of, with_filter
from pyadeq.ext.server.board.forms import ask as ask_api
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, problem_page, render
from pyadeq.ext.server.gate import Access, access
from pyadeq.ext.server.paths import segment
from pyadeq.ext.server.problems import Problem, Refused
from pyadeq.ext.server.reads import ask

COUNTED_FOR: Final = 15.0
"""Seconds for which the counts are remembered: ten calls of 1,000 tasks each."""
NEWEST: Final = 10
"""Tasks that are shown with their errors. Each is read with its payload."""
MOST_PARTS: Final = 16
"""Partitions in which the newest ones are looked for."""
MOST_GROUPS: Final = 200

router = pages()


@with_filter
class BulkQuery(BaseModel):
    """What a bulk would change."""

    verb: Verb
    state: str = ""


@router.get("/queues/{queue:adeq_segment}/dead")
async def dead(request: Request, access: Annotated[Access, access("queue", "queue.observe")]) -> Response:
    """How many dead tasks there are of each kind and reason, and the newest ones with their errors."""
    looks: Looks = request.app.state.looks
    found, newest, now = await asyncio.gather(
        counted(looks, access),
        looks.shared(("newest", access.name), COUNTED_FOR, lambda: _newest(access)),
        looks.overview(access.found),
    )
    return await render(
        request,
        "dead.html",
        name=access.name,
        found=found,
        groups=found.groups[:MOST_GROUPS],
        newest=newest,
        now=now,
        query=lambda **words: urlencode({name: value for name, value in words.items() if value}),
    )


async def counted(looks: Looks, access: Access) -> DeadSummary:
    """The newest 10,000 dead tasks by kind and reason."""
    found: DeadSummary = await looks.shared(("dead", access.name), COUNTED_FOR, access.found.dead.summary)
    return found


async def _newest(access: Access) -> list[TaskView]:
    """The tasks that died last, as far as their tiers allow. The set of dead tasks is in the order of their ends."""
    parts = (await parts_of(access.found))[:MOST_PARTS]
    sets = [ask(access.adeq, "zrange", f"{part.base}:dead", 0, NEWEST - 1, desc=True) for part in parts]
    found: list[TaskView] = []
    for part, ids in zip(parts, await asyncio.gather(*sets), strict=True):
        found += [tiers.shown(one) for one in await part.get_many([id.decode() for id in ids]) if one is not None]
    newest = sorted((one for one in found if one.state == "dead"), key=lambda one: one.ended or 0.0, reverse=True)
    return [one.model_copy(update={"data": None, "result_data": None}) for one in newest[:NEWEST]]


@router.get("/queues/{queue:adeq_segment}/bulks")
async def bulks(request: Request, access: api.Observed) -> Response:
    """The bulks that run, or have ended within a week."""
    found = await api.list_bulks(access, request)
    return await render(request, "bulks.html", name=access.name, own=access.scope.user, found=found.items)


@router.get("/queues/{queue:adeq_segment}/bulks/new")
async def confirm(
    request: Request,
    access: api.Changing,
    query: Annotated[BulkQuery, Query()],
) -> Response:
    """What a bulk would change: the API counts, and changes nothing."""
    verb = query.verb
    filter: dict[str, Any] = {**filter_of(query)}
    if query.state and verb == "cancel":  # all others change dead tasks
        filter["state"] = query.state
    at = f"/queues/{segment(access.name)}/bulks"
    status, body = await ask_api(request, "POST", f"/v1{at}", {"verb": verb, "filter": filter, "dry_run": True})
    answer: dict[str, Any] = json.loads(body)
    if status >= 400:
        refused = Refused(status, "", "")
        refused.problem = Problem.model_validate(answer)
        return await problem_page(request, refused)
    return await render(
        request,
        "bulk_confirm.html",
        name=access.name,
        own=access.scope.user,
        verb=verb,
        filter=filter,
        text=json.dumps(filter),
        counted=answer,
        path=at,
    )


@router.get("/queues/{queue:adeq_segment}/bulks/{id:adeq_segment}")
async def bulk(request: Request, access: api.Observed, id: api.Id) -> Response:
    """How far a bulk is, and how it has ended."""
    found = await api.get_bulk(access, id, request)
    right = api.RIGHTS[found.verb]
    return await render(
        request,
        "bulk.html",
        name=access.name,
        own=access.scope.user,
        bulk=found,
        right=right,
        by_user=found.verb == "cancel",
    )

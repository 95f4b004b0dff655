"""The tasks of a queue: a page of those that match what the URL says."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple, get_args
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse

from pyadeq.asyncio import Queue, TaskView
from pyadeq.errors import AdeqError
from pyadeq.ext.server.api import tasks as api
from pyadeq.ext.server.api.filters import filter_of, with_filter
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.problems import Refused, refused_of
from pyadeq.models.queue import INDEXED, State, TaskFilter

SIZE: Final = 50
"""Tasks of a page."""
CALL: Final = 1000
"""Tasks that one call looks at, at most."""
MOST_CALLS: Final = 10
"""Calls for a page, or one for each partition if these are more."""
STATES: Final = get_args(State)
OPEN: Final = ("ready", "delayed", "blocked", "running", "stalled")
FIRST: Final[tuple[State, ...]] = ("running", "ready", "delayed", "blocked", "dead")
"""The states of which one is shown if the URL names none: the first that has tasks."""
LISTED_FOR: Final = 2.0
"""Seconds for which a page is remembered."""
SEARCHED_FOR: Final = 10.0
"""Seconds for which a page is remembered whose search has looked at many tasks."""

CONDITIONS: Final = tuple(TaskFilter.__annotations__)
router = pages()


@with_filter
class ListQuery(BaseModel):
    """What the URL says."""

    state: State | Literal[""] = ""
    text: str = Field("", max_length=200)
    cursor: str = Field("", max_length=2000)


class Found(NamedTuple):
    """Some tasks. cursor: of the next page; empty on the last one. looked: how many were looked at, at most."""

    items: list[TaskView]
    cursor: str
    looked: int


@router.get("/queues/{queue:adeq_segment}/tasks")
async def tasks(request: Request, access: api.Observed, query: Annotated[ListQuery, Query()]) -> Response:
    """A page of tasks. text: a part of the id, which the server does not know by itself: the ids are looked through."""
    state, text, cursor = query.state, query.text, query.cursor
    filter = filter_of(query)
    looks: Looks = request.app.state.looks
    own = access.scope.user
    now = None if own is not None else await looks.overview(access.found)
    at = f"/queues/{segment(access.name)}/tasks"
    if not state and not own and filter.keys().isdisjoint(INDEXED):  # what the server cannot list as it is
        state = next(
            (name for name in ("running", "ready", "delayed", "blocked", "dead") if getattr(now, name)), "ready"
        )
        shown = {"state": state, **filter, **({"text": text} if text else {})}
        return RedirectResponse(url(request, f"{at}?{urlencode(shown)}"), status_code=303)
    key = ("tasks", access.name, own, access.may_reveal, state, text, cursor, *filter.items())
    searched = bool(text or filter.keys() - {*INDEXED})
    refused: Refused | None = None
    found, exact = Found([], "", 0), None
    try:
        found = await looks.shared(
            key, SEARCHED_FOR if searched else LISTED_FOR, lambda: _look(access, state or None, filter, text, cursor)
        )
        exact = await _exact(access, text) if text and not cursor else None
    except (Refused, AdeqError) as error:
        refused = refused_of(error)
        if refused.problem.status != 400:
            raise
    asked = {"state": state, **dict.fromkeys(CONDITIONS, ""), **filter, "text": text}
    return await render(
        request,
        "task_list.html",
        status=200 if refused is None else 400,
        name=access.name,
        own=own,
        now=now,
        one=isinstance(access.found, Queue),
        states=STATES,
        counts={name: getattr(now, name) for name in (*OPEN, "dead")} if now else {},
        asked=asked,
        conditions=[name for name in CONDITIONS if name != "user" or own is None],
        query=lambda **more: urlencode({name: value for name, value in (asked | more).items() if value}),
        found=found,
        exact=exact,
        cursor=cursor,
        searched=searched,
        size=SIZE,
        refused=refused and refused.problem,
        bulks=_bulks(state, filter) if not text and found.items else [],
    )


def _bulks(state: str, filter: TaskFilter) -> list[str]:
    """What one can do with all tasks that match."""
    if state == "dead":
        return ["retry", "abandon"]
    return ["cancel"] if state in OPEN or (not state and not filter.keys().isdisjoint(INDEXED)) else []


async def _look(access: Access, state: State | None, filter: TaskFilter, text: str, cursor: str) -> Found:
    """Read until a page is full, or enough was looked at. A call looks at CALL tasks at most."""
    items: list[TaskView] = []
    most = MOST_CALLS if isinstance(access.found, Queue) else max(MOST_CALLS, len(await access.found.partitions()))
    for calls in range(1, most + 1):  # noqa: B007
        limit = CALL if text else SIZE - len(items)
        page = await api.find_tasks(access, state, filter, cursor, limit)
        fitting = [at for at, task in enumerate(page.items) if text in task.id]
        if len(items) + len(fitting) > SIZE:  # read again up to the last one that fits: its cursor is the next page
            last = fitting[SIZE - len(items) - 1]
            page = await api.find_tasks(access, state, filter, cursor, last + 1)
            fitting = [at for at, task in enumerate(page.items) if text in task.id]
        items += [page.items[at] for at in fitting]
        cursor = page.cursor
        if not cursor or len(items) >= SIZE:
            break
    return Found(items, cursor, calls * CALL)


async def _exact(access: Access, id: str) -> str | None:
    """The id, if a task has it that the scope may know of."""
    try:
        return (await api.task_of(access, id)).id
    except (Refused, AdeqError):  # there is none, or it is no id
        return None

"""One task: what is stored of it, what its runs did, and what it waits for."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fastapi import Request, Response
from markupsafe import Markup
from starlette.responses import RedirectResponse

from pyadeq import tiers
from pyadeq.asyncio import LogLine, Queue, TaskRun, TaskStep, TaskView
from pyadeq.ext.operations import ALL
from pyadeq.ext.server.api import tasks as api
from pyadeq.ext.server.api.task_events import TaskEvents, events_of
from pyadeq.ext.server.board import words
from pyadeq.ext.server.board.charts import states
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.board.words import MOST_TEXT
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.reads import ask
from pyadeq.models.option import Kind
from pyadeq.models.queue import OPTIONS

MOST: Final = 20
MOST_STEPS: Final = 100
"""Children of a task, and tasks that wait for it, on its page."""
SEEN_FOR: Final = 1.0
"""Seconds for which a task is remembered."""
WORDS: Final[dict[tiers.What, str]] = {
    "content": "payload, result, headers, progress and log",
    "error": "errors",
    "words": "user, tags, keys and source",
}
"""What a tier may hide, for people."""
_TRACE: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
EVENTS_FOR: Final = 10.0
"""Seconds for which the events of a task are remembered: they are looked for in those of the queue."""
MOST_EVENTS: Final = 1000

BUTTONS: Final = tuple(one for one in ALL.values() if one.button and one.path.startswith("/queues/{queue}/tasks/{id}:"))
"""Operations on a task that its page has a button for."""

router = pages()


class Stored(NamedTuple):
    """A payload or a result: its text as it is stored, its size, and whether this is all of it.

    hidden: by the tier. problem: why there is no text.
    """

    name: str
    text: str = ""
    size: int = 0
    whole: bool = True
    hidden: bool = False
    problem: str = ""


class Around(NamedTuple):
    """What a page shows besides the task. children, waiting: the first ones; more: whether there are others."""

    runs: list[TaskRun]
    steps: list[TaskStep]
    log: list[LogLine]
    children: list[TaskView]
    more_children: bool
    waiting: list[TaskView]


@router.get("/queues/{queue:adeq_segment}/tasks/{id:adeq_segment}")
async def task(request: Request, access: api.Observed, id: api.Id) -> Response:
    """A task, as far as its tier allows."""
    return await _page(request, access, await _seen(request, access, id))


@router.post("/queues/{queue:adeq_segment}/tasks/{id:adeq_segment}/reveal")
async def reveal(request: Request, access: api.Observed, id: api.Id) -> Response:
    """A task with all that its tier hides, once: the event that says who has seen it is written first."""
    return await _page(request, access, await api.reveal(access, id), revealed=True)


@router.get("/queues/{queue:adeq_segment}/tasks/{id:adeq_segment}/reveal")
async def after_reveal(request: Request, access: api.Observed, id: api.Id) -> Response:
    """Somebody has reloaded the page: what was revealed is not shown again."""
    return RedirectResponse(url(request, _path(access, id)), status_code=303)


async def _seen(request: Request, access: Access, id: str) -> TaskView:
    """The task with all that is stored. Pages show what its tier allows."""
    looks: Looks = request.app.state.looks
    key = ("task", access.name, access.scope.user, id)
    found: TaskView = await looks.shared(key, SEEN_FOR, lambda: api.task_of(access, id))
    return found


async def _page(request: Request, access: Access, found: TaskView, *, revealed: bool = False) -> Response:
    looks: Looks = request.app.state.looks
    key = ("around", access.name, access.scope.user, found.id)
    around: Around = await looks.shared(key, SEEN_FOR, lambda: _around(access, found))
    events: TaskEvents = await looks.shared(
        ("events", access.name, access.scope.user, found.id, revealed, found.state, found.deliveries),
        EVENTS_FOR,
        lambda: events_of(access, found, MOST_EVENTS, revealed),
    )
    task = found if revealed else tiers.shown(found)
    hidden = () if revealed else tiers.hidden(found.tier)
    runs = around.runs
    if not revealed and not tiers.may_show(found.tier, "error"):
        runs = [run.model_copy(update={"error": None}) for run in runs]
    return await render(
        request,
        "task.html",
        name=access.name,
        own=access.scope.user,
        task=task,
        facts=_facts(task),
        path=_path(access, found.id),
        picture=Markup(states(found.state)),
        hidden=hidden,
        hides="; ".join(text for what, text in WORDS.items() if not tiers.may_show(found.tier, what)),
        revealed=revealed,
        may_reveal=access.may_reveal,
        stored=[_stored(found, name, hidden) for name in ("payload", "result")],
        runs=runs,
        steps=(around.steps if revealed else tiers.shown_steps(found.tier, around.steps))[-MOST_STEPS:],
        log=around.log if revealed or tiers.may_show(found.tier, "content") else [],
        around=around,
        events=events,
        trace=trace_url(task),
        buttons=[one for one in BUTTONS if one.button and found.state in one.button.states],
        open=found.state in ("ready", "delayed", "blocked", "running", "stalled"),
    )


async def _steps(access: Access, task: TaskView) -> list[TaskStep]:
    steps: list[TaskStep] = await access.found.inspect.steps(task.id) if task.steps else []
    return steps


async def _around(access: Access, task: TaskView) -> Around:
    """All runs and lines: the page leaves out what the tier hides."""
    runs, steps, log, children, waiting = await asyncio.gather(
        access.found.inspect.runs(task.id),
        _steps(access, task),
        access.found.inspect.log(task.id),
        api.find_tasks(access, None, {"parent": task.id}, limit=MOST),
        _waiting(access, task),
    )
    return Around(runs, steps, log, children.items, bool(children.cursor), waiting)


async def _waiting(access: Access, task: TaskView) -> list[TaskView]:
    """The first tasks that wait for the end of this one. The set also has some that do not wait any more."""
    part = access.found if isinstance(access.found, Queue) else await access.found.part_of(task.id)
    if part is None:
        return []
    ids = [id.decode() for id in await ask(access.adeq, "zrange", f"{part.base}:dependents:{task.id}", 0, MOST - 1)]
    found = [tiers.shown(one) for one in await part.get_many(ids) if one is not None]
    return [
        one
        for one in found
        if one.state == "blocked" and task.id in one.after and access.scope.user in (None, one.user)
    ]


def _facts(task: TaskView) -> dict[str, tuple[str, Any]]:
    """The title and the value of each option, by name. The page takes some out in their places; the others follow."""
    forms: dict[Kind, Callable[[Any], str]] = {
        "seconds": words.age,
        "moment": lambda at: Markup(words.time(at)),
        "list": ", ".join,
        "number": str,
    }
    found = {}
    for name, one in OPTIONS.items():
        if one.option.title:
            value = getattr(task, name)
            found[name] = (
                one.option.title,
                value if value in (None, ()) or one.kind not in forms else forms[one.kind](value),
            )
    return found


def _stored(task: TaskView, name: str, hidden: tuple[str, ...]) -> Stored:
    """A payload or a result as it is stored, cut if it is long."""
    data = task.data if name == "payload" else task.result_data
    if name in hidden:
        return Stored(name, hidden=bool(data))
    if name in task.unreadable:
        return Stored(name, problem=task.unreadable[name])
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return Stored(name, size=len(data or b""), problem="it is not UTF-8")
    return Stored(name, text[:MOST_TEXT], len(data or b""), len(text) <= MOST_TEXT)


def trace_url(task: TaskView) -> str | None:
    """The page of the trace of its enqueue: ADEQ_TRACE_URL with its `{trace_id}` replaced, as on the command line."""
    template = os.environ.get("ADEQ_TRACE_URL", "")
    found = _TRACE.fullmatch(task.trace or "")
    if found is None or "{trace_id}" not in template or not template.startswith(("https://", "http://")):
        return None
    return template.replace("{trace_id}", found[1]).replace("{span_id}", found[2])


def _path(access: Access, id: str) -> str:
    return f"/queues/{segment(access.name)}/tasks/{segment(id)}"

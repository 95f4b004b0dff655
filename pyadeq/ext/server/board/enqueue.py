"""The form to enqueue a task. If the API refuses it, it comes back with what was typed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Query, Request, Response
from starlette.responses import RedirectResponse

from pyadeq import tiers
from pyadeq.asyncio import TaskView
from pyadeq.ext.server.api import tasks as api
from pyadeq.ext.server.board.forms import ask, read_form, say, typed
from pyadeq.ext.server.board.page import may, pages, render, url
from pyadeq.ext.server.board.words import MOST_TEXT
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.paths import segment
from pyadeq.ext.server.problems import Problem, Refused
from pyadeq.ids import new_ulid


class Field(NamedTuple):
    """A field of the form. kind: as in `forms`. choices: the only values."""

    name: str
    label: str
    kind: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name in the form."""
        return f"{self.name}:{self.kind}" if self.kind else self.name


FIRST: Final = (
    Field("kind", "Kind"),
    Field("user", "User"),
    Field("tags", "Tags", "list", "with commas between them"),
    Field("priority", "Priority", "int", "0 (first) to 9; empty: 5"),
    Field("delay", "Delay in seconds", "float"),
    Field("run_after", "Not before", "", "a time with its zone, as in 2027-01-31T09:00Z"),
    Field("max_attempts", "Attempts at most", "int", "empty: as the queue says"),
    Field("tier", "Tier", choices=tiers.TIERS, help="empty: as the queue says"),
)
MORE: Final = (
    Field("id", "Id", help="an id that is taken enqueues nothing"),
    Field("lane", "Lane", help="any, group/NAME or group/NAME/inst/NAME"),
    Field("timeout", "Timeout of a run in seconds", "float"),
    Field("expires_at", "Expires at", "", "a time with its zone"),
    Field("limits", "Limits", "list", "with commas between them"),
    Field("parent", "Parent", help="the id of a task"),
    Field("after", "Runs after", "list", "ids of tasks"),
    Field("ordering_key", "Ordering key"),
    Field("idempotency_key", "Idempotency key"),
    Field("unique", "Unique key"),
    Field("source", "Source", help="empty: who you are"),
)
SAID: Final = {
    "created": "The task is enqueued.",
    "exists": "There is a task with this id already. Nothing was enqueued.",
    "deduplicated": "Another task has its key: this one. Nothing was enqueued.",
}

router = pages()


@router.get("/queues/{queue:adeq_segment}/enqueue")
async def form(request: Request, access: api.Enqueued, like: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The empty form, or one with what a task has, as far as its tier allows."""
    values, left_out = {"id": new_ulid()}, ""
    if like:
        task = await api.task_of(access.with_right("queue.observe", by_user=True), like)
        copied, left_out = _copied(tiers.shown(task))
        values |= copied
    return await _form(request, access, values, left_out=left_out, like=like)


@router.post("/queues/{queue:adeq_segment}/enqueue")
async def enqueue(request: Request, access: api.Enqueued) -> Response:
    """Enqueue it by the API, and show it. A form that is sent twice has the same id, and so enqueues once."""
    fields = await read_form(request)
    at = f"/queues/{segment(access.name)}"
    try:
        status, body = await ask(request, "POST", f"/v1{at}/tasks", typed(fields))
    except Refused as refused:  # a text that is no value of its type
        return await _form(request, access, _by_name(fields), refused.problem)
    answer = json.loads(body)
    if status >= 400:
        return await _form(request, access, _by_name(fields), Problem.model_validate(answer))
    request.app.state.looks.forget()
    sees = may(access.principal, "queue.observe", access.name, by_user=True)
    to = f"{at}/tasks/{segment(answer['id'])}" if sees else f"{at}/enqueue"
    response = RedirectResponse(url(request, to), status_code=303)
    say(response, f"{SAID[answer['status']]}{'' if sees else ' ' + answer['id']}")
    return response


async def _form(
    request: Request,
    access: Access,
    values: Mapping[str, str],
    problem: Problem | None = None,
    *,
    left_out: str = "",
    like: str = "",
) -> Response:
    own = access.scope.user
    return await render(
        request,
        "enqueue.html",
        status=problem.status if problem else 200,
        name=access.name,
        own=own,
        first=[field for field in FIRST if field.name != "user" or own is None],
        more=MORE,
        values=values,
        faults={one.pointer.split("/")[1]: one.detail for one in problem.errors if "/" in one.pointer}
        if problem
        else {},
        problem=problem,
        left_out=left_out,
        like=like,
        open=any(values.get(field.name) not in (None, "", "any") for field in MORE if field.name != "id"),
    )


def _faults(problem: Problem) -> dict[str, str]:
    """What is wrong, by field."""
    return {one.pointer.split("/")[1]: one.detail for one in problem.errors if "/" in one.pointer}


def _by_name(fields: Mapping[str, str]) -> dict[str, str]:
    return {name.partition(":")[0]: value for name, value in fields.items()}


def _copied(task: TaskView) -> tuple[dict[str, str], str]:
    """What another task like it gets, and why it does not get all."""
    names = ("kind", "user", "max_attempts", "tier", "lane", "timeout", "ordering_key", "parent")
    found: dict[str, Any] = {name: getattr(task, name) for name in names}
    found |= {"priority": task.priority, "tags": ", ".join(task.tags), "limits": ", ".join(task.limits)}
    values = {name: str(value) for name, value in found.items() if value not in (None, "")}
    if "payload" in tiers.hidden(task.tier):
        return values, f"The payload is not copied, because the tier {task.tier} hides it."
    try:
        text = (task.data or b"").decode()
        json.loads(text or "null")
    except (ValueError, RecursionError):
        return values, "The payload is not copied, because it is not JSON."
    if "payload" in task.unreadable or len(text) > MOST_TEXT:
        return values, "The payload is not copied, because it is too long or cannot be read."
    return values | {"payload": text}, ""

"""The form to enqueue a task. If the API refuses it, it comes back with what was typed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Query, Request, Response
from starlette.responses import RedirectResponse

from pyadeq import tiers
from pyadeq.asyncio import TaskView
from pyadeq.errors import AdeqError
from pyadeq.ext.server.api import tasks as api
from pyadeq.ext.server.api.kinds import kinds_of
from pyadeq.ext.server.board.forms import ask, read_form, say, typed
from pyadeq.ext.server.board.page import may, pages, render
from pyadeq.ext.server.board.words import MOST_TEXT
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.problems import Problem, Refused
from pyadeq.ids import new_ulid
from pyadeq.models.option import Declared
from pyadeq.models.queue import OPTIONS


class Field(NamedTuple):
    """A field of the form. kind: as in `forms`. choices: the only values. secret: what was typed is not shown again."""

    name: str
    label: str
    kind: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    secret: bool = False

    @property
    def key(self) -> str:
        """The name of the field in the form."""
        return f"{self.name}:{self.kind}" if self.kind else self.name


def _of_option(one: Declared) -> Field:
    kinds = {"seconds": "float", "number": "int", "list": "list", "flag": "bool", "object": "json"}
    choices = ("true", "false") if one.kind == "flag" else one.choices
    return Field(one.name, one.option.field, kinds.get(one.kind, ""), one.option.note, choices)


_IN_ROWS: Final = sorted((one for one in OPTIONS.values() if one.option.field), key=lambda one: one.option.row)
FIRST: Final = tuple(_of_option(one) for one in _IN_ROWS if not one.option.more)
MORE: Final = tuple(_of_option(one) for one in _IN_ROWS if one.option.more)
COPIED: Final = tuple(one for one in _IN_ROWS if one.option.copied and one.name in TaskView.model_fields)
SAID: Final = {
    "created": "The task is enqueued.",
    "exists": "There is a task with this id already. Nothing was enqueued.",
    "deduplicated": "Another task has its key: this one. Nothing was enqueued.",
}

KEPT: Final = 5.0
"""Seconds for which the kinds of a queue are shown as they were."""
MOST_KINDS: Final = 100
MOST_FIELDS: Final = 50
MOST_CHOICES: Final = 100
MOST_NAME: Final = 60
MOST_HELP: Final = 300
TYPES: Final = {"string": "", "integer": "int", "number": "float", "boolean": "bool"}

router = pages()
Known = Annotated[str, Query(max_length=200)]


@router.get("/queues/{queue:adeq_segment}/enqueue")
async def form(
    request: Request, access: api.Enqueued, kind: Known = "", like: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """The empty form, or one with what a task has, as far as its tier allows. kind: with a field for each argument."""
    values, left_out = {"id": new_ulid()} | ({"kind": kind} if kind else {}), ""
    if like:
        task = await api.task_of(access.with_right("queue.observe", by_user=True), like)
        copied, left_out = _copied(tiers.shown(task))
        values |= copied
    return await _form(request, access, values, kind=kind, left_out=left_out, like=like)


@router.post("/queues/{queue:adeq_segment}/enqueue")
async def enqueue(request: Request, access: api.Enqueued, kind: Known = "") -> Response:
    """Enqueue it by the API, and show it. A form that is sent twice has the same id, and so enqueues once."""
    fields = await read_form(request)
    at = f"/queues/{segment(access.name)}"
    try:
        status, body = await ask(request, "POST", f"/v1{at}/tasks", typed(fields))
    except Refused as refused:  # a text that is no value of its type
        return await _form(request, access, _by_name(fields), refused.problem, kind=kind)
    answer = json.loads(body)
    if status >= 400:
        return await _form(request, access, _by_name(fields), Problem.model_validate(answer), kind=kind)
    request.app.state.looks.forget()
    sees = may(access.principal, "queue.observe", access.name, by_user=True)
    to = f"{at}/tasks/{segment(answer['id'])}" if sees else f"{at}/enqueue"
    response = RedirectResponse(url(request, to), status_code=303)
    said = f"{SAID[answer['status']]}{'' if sees else ' ' + answer['id']}"
    if wanted := _by_name(fields).get("kind"):
        with suppress(AdeqError):
            warning = await access.adeq.kinds(access.name).explain_unknown(wanted)
            said += f" But {warning}" if warning else ""
    say(response, said)
    return response


async def _form(
    request: Request,
    access: Access,
    values: Mapping[str, str],
    problem: Problem | None = None,
    *,
    kind: str = "",
    left_out: str = "",
    like: str = "",
) -> Response:
    own = access.scope.user
    kinds = await request.app.state.looks.shared(
        ("kinds", access.name), KEPT, lambda: kinds_of(access.adeq, access.name)
    )
    chosen = next((one for one in kinds if one.kind == kind), None)
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
        kinds=kinds[:MOST_KINDS],
        chosen=chosen,
        arguments=fields_of(chosen.arguments) if chosen and chosen.arguments else None,
        open=any(values.get(field.name) not in (None, "", "any") for field in MORE if field.name != "id"),
    )


def fields_of(schema: Mapping[str, Any]) -> list[Field] | None:
    """A field for each argument: of the simple types their own, of others one for JSON. None: the form has no room."""
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    if not isinstance(properties, dict) or not isinstance(required, list) or len(properties) > MOST_FIELDS:
        return None
    if any(not name.isidentifier() or len(name) > MOST_NAME for name in properties):
        return None  # a name with a point would mean an object
    return [_field(name, one if isinstance(one, dict) else {}, name in required) for name, one in properties.items()]


def _field(name: str, said: Mapping[str, Any], required: bool) -> Field:
    options = said.get("anyOf")
    if isinstance(options, list):  # an optional one is also null, which it is if it is left empty
        others = [one for one in options if one != {"type": "null"}]
        if len(others) == 1 and len(options) == 2 and isinstance(others[0], dict):
            said = {**said, **others[0]}
    wanted = said.get("type")
    kind = TYPES.get(wanted, "json") if isinstance(wanted, str) else "json"
    enum = said.get("enum")
    choices: tuple[str, ...] = ()
    if kind == "bool":
        choices = ("true", "false")
    elif kind == "" and isinstance(enum, list) and all(isinstance(one, str) for one in enum):
        choices = tuple(enum[:MOST_CHOICES])
    secret = said.get("writeOnly") is True or said.get("format") == "password"
    notes = [text for text in (said.get("description"),) if isinstance(text, str)]
    if "default" in said and not secret:
        notes.append(f"empty: {json.dumps(said['default'])}")
    elif not required:
        notes.append("optional")
    if kind == "json":
        notes.append("JSON")
    help = "; ".join(notes)[:MOST_HELP]
    return Field(f"payload.{name}", name, kind, help, choices, required, secret)


def _faults(problem: Problem) -> dict[str, str]:
    """What is wrong, by field."""
    return {one.pointer.split("/")[1]: one.detail for one in problem.errors if "/" in one.pointer}


def _by_name(fields: Mapping[str, str]) -> dict[str, str]:
    return {name.partition(":")[0]: value for name, value in fields.items()}


def _copied(task: TaskView) -> tuple[dict[str, str], str]:
    """What another task like it gets, and why it does not get all."""
    found: dict[str, Any] = {one.name: getattr(task, one.name) for one in COPIED}
    found |= {one.name: ", ".join(found[one.name]) for one in COPIED if one.kind == "list"}
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

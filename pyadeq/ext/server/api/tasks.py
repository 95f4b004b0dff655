"""Tasks: enqueue, look at, wait for, cancel; and claim and settle, for workers without a client of their own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field, model_validator

from pyadeq import tiers
from pyadeq.asyncio import LogLine, PartitionedQueue, Queue, TaskRun, TaskStep, TaskView, WaitTimeout
from pyadeq.ext.operations import tasks
from pyadeq.ext.server.api.filters import filter_of, with_filter
from pyadeq.ext.server.api.own_tasks import OF_KEYS, check_own, check_tree, id_of_key, keep_to_user
from pyadeq.ext.server.api.routes import PROBLEMS, add, by_hand, entry
from pyadeq.ext.server.api.strict import few
from pyadeq.ext.server.gate import Access, described, missing
from pyadeq.ext.server.paths import segment, url
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.traces import in_trace_of
from pyadeq.models.queue import CancelStatus, ReceiptStatus, State, Task, TaskFilter

LONGEST_WAIT: Final = 60.0
"""Seconds that a request may wait for a task."""
MOST_IN_PAGE: Final = 1000
PAGE: Final = 1000
PAGES: Final = 10
"""How far a list looks for tasks that its reader may know to match. Each page has at most PAGE tasks."""
_WAIT: Final = re.compile(r"\s*wait\s*=\s*\"?(\d{1,6})\"?\s*")

ENQUEUE: Final = "task_enqueue"
GET: Final = "task_get"
Enqueued = entry(ENQUEUE)
Observed = entry(GET)

router = APIRouter()


class NewTask(Task):
    """A task to enqueue. All but the payload are as in Python's `Task`."""

    payload: Any = Field(default=None, repr=False, description="Any JSON.")
    after: tuple[str, ...] = Field(default=(), description="Ids of tasks that this one comes after.")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: Any) -> Any:
        return few(cls, value)


class TaskReceipt(BaseModel):
    """The answer to an enqueue.

    status: `created`; `exists` if the id was taken; `deduplicated` if another task has its key: then id is that task's.
    """

    status: ReceiptStatus
    queue: str
    id: str


class TaskPage(BaseModel):
    """Some tasks. cursor: for the next page; empty on the last one. A page may be empty although more follow."""

    items: list[TaskView]
    cursor: str = ""


@with_filter
class TaskQuery(BaseModel):
    """The conditions for tasks, and the page of them."""

    state: State | None = None
    cursor: str = Field("", max_length=2000)
    limit: int = Field(50, ge=1, le=MOST_IN_PAGE)


class Cancelled(BaseModel):
    """The answer to a cancel. `cancelling`: the task runs, and its worker is asked to stop."""

    status: CancelStatus


class Logged(BaseModel):
    """Lines that the runs of a task have logged, the oldest first."""

    items: list[LogLine]


class Runs(BaseModel):
    """The runs of a task, the oldest first."""

    items: list[TaskRun]


class Steps(BaseModel):
    """The stored steps of a task, in the order in which they were stored."""

    items: list[TaskStep]


Id = Annotated[str, Path(description="The id of the task.", json_schema_extra=described("id"))]
Prefer = Annotated[str | None, Header(description="`wait=30`: wait so many seconds, at most 60, for the end.")]
IdempotencyKey = Annotated[
    str | None,
    Header(max_length=300, description="A request with the same key and body has the answer of the first one."),
]


@by_hand(
    router,
    ENQUEUE,
    status_code=202,
    response_model=TaskReceipt,
    responses={200: {"model": TaskView, "description": "With `Prefer: wait`: how the task ended."}, **PROBLEMS},
)
async def enqueue(
    access: Access,
    task: NewTask,
    response: Response,
    request: Request,
    prefer: Prefer = None,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Enqueue a task. Answers at once, or with `Prefer: wait=30` when the task has ended, at most after 30 seconds.

    A task of an `Idempotency-Key` has an id that is made of the key, as long as the task is kept. The header
    `traceparent` becomes the trace of the task.
    """
    fields: dict[str, Any] = {name: getattr(task, name) for name in task.model_fields_set}
    await keep_to_user(access, fields)
    own = f"api:{access.principal.name}"
    if (fields.get("source") or own).startswith("api:"):
        if fields.get("source") not in (None, own):
            raise Refused(403, "FORBIDDEN", f"#/source: {fields['source']!r} is somebody else's; yours is {own!r}")
        fields["source"] = own
    rid = None
    if idempotency_key is not None:
        if task.id is not None:
            raise Refused(400, "BAD_REQUEST", "#/id: a task has an id or an Idempotency-Key, not both")
        fields["id"], rid = _once(access, idempotency_key, task)
    elif (task.id or "").startswith(OF_KEYS):
        raise Refused(400, "BAD_REQUEST", f"#/id: {OF_KEYS} begins the ids of requests with an Idempotency-Key")
    wait = _wait_of(prefer)
    if wait:
        fields["reply"] = True
    payload = fields.pop("payload", None)
    with in_trace_of(access.adeq, request.headers):
        receipt = await access.found.enqueue(payload, **fields, rid=rid)
    if receipt.status == "exists" and idempotency_key is not None:
        raise Refused(422, "KEY_REUSED", "Idempotency-Key: another request has this key; send another key")
    if receipt.status == "exists" and access.scope.user is not None and (taken := await access.found.get(receipt.id)):
        check_own(access, taken)
    response.headers["Location"] = url(request, f"/v1/queues/{segment(access.name)}/tasks/{segment(receipt.id)}")
    if receipt.status != "created":
        response.status_code = 200
    sees = receipt.status == "created" or access.principal.may("queue.observe", access.name, by_user=True)
    if wait and sees and (ended := await _ended(access, receipt.id, wait)) is not None:
        response.status_code, response.headers["Preference-Applied"] = 200, f"wait={wait:.0f}"
        return Response(
            tiers.shown(ended).model_dump_json(), media_type="application/json", headers=dict(response.headers)
        )
    if wait:
        response.headers["Retry-After"] = "1"
    return TaskReceipt(status=receipt.status, queue=access.name, id=receipt.id)


@by_hand(router, "task_list")
async def list_tasks(access: Access, query: Annotated[TaskQuery, Query()]) -> TaskPage:
    """Return a page of the tasks that match all given conditions, without payloads. At least one must be given.

    State, user, tag and parent have an index: one of them is needed. A page reads at most 1,000 tasks of the smallest
    index. So with kind, reason, source or lane it may have few tasks, or none, and still a cursor.
    """
    return await find_tasks(access, query.state, filter_of(query), query.cursor, query.limit)


async def find_tasks(
    access: Access, state: State | None, filter: TaskFilter, cursor: str = "", limit: int = 50
) -> TaskPage:
    """A page of the tasks that the scope may know of, and may know to match."""
    words, own = access.words(filter), access.scope.user
    if own is not None:
        if filter.get("user") not in (None, own):
            return TaskPage(items=[])
        filter = {**filter, "user": own}
    if words or own is not None:
        page, following = await _matching(access.found, state, filter, words, own, cursor, limit)
    else:
        page, following = await _page(access.found, state, filter, cursor, limit)
    return TaskPage(items=[tiers.shown(task) for task in page], cursor=following)


@by_hand(router, GET, name="get_task")
async def get_task(access: Access, id: Id, prefer: Prefer = None) -> TaskView:
    """Return a task as it is now, as far as its tier allows. With `Prefer: wait=30`, wait for its end first."""
    task = await task_of(access, id)
    if (wait := _wait_of(prefer)) and task.state not in ("completed", "dead", "cancelled"):
        task = await _ended(access, id, wait) or await task_of(access, id)
    return tiers.shown(task)


@by_hand(
    router,
    "task_reveal",
)
async def reveal(access: Access, id: Id) -> TaskView:
    """Return a task with all that its tier hides, and record who has seen it. Needs the right `payload.reveal`."""
    if not access.may_reveal:
        raise Refused(403, "FORBIDDEN", f"{access.principal.name} does not have the right payload.reveal")
    await task_of(access, id)
    if await access.found.admin.reveal(id, actor=access.principal.name) == "not_found":
        raise missing("task", id)
    return await task_of(access, id)


@by_hand(router, "task_runs")
async def runs(access: Access, id: Id) -> Runs:
    """Return the runs of a task, the oldest first, with their ends and errors."""
    task = await task_of(access, id)
    found = await access.found.inspect.runs(id)
    if not tiers.may_show(task.tier, "error"):
        found = [run.model_copy(update={"error": None}) for run in found]
    return Runs(items=found)


@by_hand(router, "task_steps")
async def steps(access: Access, id: Id) -> Steps:
    """Return the stored steps of a durable task, in the order in which they were stored, as its tier allows."""
    task = await task_of(access, id)
    return Steps(items=tiers.shown_steps(task.tier, await access.found.inspect.steps(id)))


@by_hand(router, "task_log")
async def log(access: Access, id: Id) -> Logged:
    """Return the last lines that the runs of a task have logged; none if the tier hides them."""
    task = await task_of(access, id)
    return Logged(items=await access.found.inspect.log(id) if tiers.may_show(task.tier, "content") else [])


@by_hand(router, "task_cancel")
async def cancel(access: Access, id: Id, tree: bool = False) -> Cancelled:
    """Cancel a task: a waiting one at once, a running one by its worker. tree: also its children, and theirs."""
    if access.scope.user is not None:
        await task_of(access, id)
        if tree:
            await check_tree(access, id)
    status = await access.found.cancel(id, tree)
    if status == "not_found":
        raise missing("task", id)
    if status == "finished" and not tree:
        raise Refused(409, "FINISHED", f"task {id!r} has ended")
    return Cancelled(status=status)


async def task_of(access: Access, id: str) -> TaskView:
    """A task that the scope may know of."""
    task: TaskView | None = await access.found.get(id)
    if task is None or access.scope.user not in (None, task.user):
        raise missing("task", id)
    return task


add(router, tasks.OPERATIONS, own=task_of)


async def _ended(access: Access, id: str, wait: float) -> TaskView | None:
    """The task when it has ended; None if it has not within this time, or is gone."""
    try:
        await access.found.inspect.ended(id, wait)
    except WaitTimeout:
        return None
    found: TaskView | None = await access.found.get(id)
    if found is not None:
        check_own(access, found)
    return found


def _wait_of(prefer: str | None) -> float:
    """How many seconds a request wants to wait: RFC 7240's `wait`, at most a minute."""
    for one in (prefer or "").split(","):
        if found := _WAIT.fullmatch(one):
            return min(float(found[1]), LONGEST_WAIT)
    return 0.0


def _once(access: Access, key: str, task: Task) -> tuple[str, str]:
    """The id and the rid of a task with an Idempotency-Key.

    The same request gives the same two, and so the same answer. Another body gives another rid: the id is taken then.
    """
    key = key.strip().strip('"')
    if not key:
        raise Refused(400, "BAD_REQUEST", "header Idempotency-Key: it is empty")
    id = id_of_key(access, key, [access.name])
    body = json.dumps(task.model_dump(mode="json"), sort_keys=True)
    return id, f"{id}.{hashlib.sha256(body.encode()).hexdigest()[:40]}"


async def _matching(
    queue: Queue | PartitionedQueue,
    state: State | None,
    filter: TaskFilter,
    words: Collection[str],
    own: str | None,
    cursor: str,
    limit: int,
) -> tuple[list[TaskView], str]:
    """Find tasks for somebody who must not learn of other users' tasks, or these words of restricted tasks.

    A cursor names the task at which the server has stopped, and the index in which it looked. So the server is asked
    for one condition only, which does not depend on tasks that the reader may not know. The others are tested here.
    There is a cursor only if one more task matches. After PAGES pages, there is one anyway.
    """
    driver = _driver(state, filter, words, own)
    found: list[TaskView] = []
    size, end = min(limit + 1, PAGE), (cursor, 0)
    for _ in range(PAGES):
        page, following = await _page(queue, *driver, cursor, size)
        for at, task in enumerate(page, start=1):
            if not _fits(task, state, filter) or not tiers.may_match(task, words):
                continue
            if len(found) == limit:
                return found, (await _page(queue, *driver, *end))[1]
            found.append(task)
            end = cursor, at
        cursor, size = following, PAGE
        if not cursor:
            return found, ""
    return found, (await _page(queue, *driver, *end))[1] if len(found) == limit else cursor


def _driver(
    state: State | None, filter: TaskFilter, words: Collection[str], own: str | None
) -> tuple[State | None, TaskFilter]:
    """The one condition that the server is asked for."""
    if own is not None:
        return None, {"user": own}
    for name in ("parent", "user", "tag"):
        if name in filter and name not in words:
            return None, {name: filter[name]}  # type: ignore[misc]
    if state is not None and state != "ready":
        return state, {}
    return state, filter  # all indexes that are left are about hidden words, or of one lane


def _fits(task: TaskView, state: State | None, filter: TaskFilter) -> bool:
    """Whether a task matches all conditions."""
    given: dict[str, Any] = {**filter}
    tag = given.pop("tag", None)
    return (
        state in (None, task.state)
        and (tag is None or tag in task.tags)
        and all(getattr(task, name) == value for name, value in given.items())
    )


async def _page(
    queue: Queue | PartitionedQueue, state: State | None, filter: TaskFilter, cursor: str, limit: int
) -> tuple[list[TaskView], str]:
    """One page, and the cursor of the next. The partitions of a queue are read one after the other."""
    asked = hashlib.sha256(json.dumps([state, filter], sort_keys=True).encode()).hexdigest()[:16]
    tag, inner = _read_cursor(cursor, asked)
    parts = [queue] if isinstance(queue, Queue) else [queue.part(one.tag) for one in await queue.partitions()]
    tags = [part.base for part in parts]
    at = tags.index(tag) if tag in tags else 0
    if tag and tag not in tags:
        raise Refused(400, "BAD_REQUEST", "?cursor: the queue has other partitions now; begin again without a cursor")
    page = await parts[at].list(state, cursor=inner, limit=limit, **filter)
    if page.cursor:
        return page.tasks, _write_cursor(asked, tags[at], page.cursor)
    return page.tasks, _write_cursor(asked, tags[at + 1], "") if at + 1 < len(parts) else ""


def _write_cursor(asked: str, base: str, inner: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([asked, base, inner]).encode()).decode().rstrip("=")


def _read_cursor(cursor: str, asked: str) -> tuple[str, str]:
    if not cursor:
        return "", ""
    try:
        of, base, inner = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not (isinstance(base, str) and isinstance(inner, str)):
            raise ValueError
    except ValueError:
        raise Refused(400, "BAD_REQUEST", "?cursor: this is no cursor; take it from an answer") from None
    if of != asked:
        raise Refused(400, "BAD_REQUEST", "?cursor: it belongs to other conditions; send the same ones")
    return base, inner

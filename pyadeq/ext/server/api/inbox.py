"""`POST /inbox`: the whole body is the payload of a task. For programs that send a document and know no options."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Depends, Query, Request, Response

from pyadeq.ext.operations import ALL
from pyadeq.ext.server.api.routes import PROBLEMS, by_hand
from pyadeq.ext.server.api.tasks import LONGEST_WAIT, IdempotencyKey, NewTask, TaskReceipt, enqueue
from pyadeq.ext.server.gate import Access, enter
from pyadeq.models.queue import TaskView

DEFAULT: Final = "default"
INBOX: Final = "task_inbox"

router = APIRouter()


async def _queue(
    request: Request,
    queue: Annotated[str, Query(description="The queue; it is created if it does not exist.")] = DEFAULT,
) -> Access:
    return await enter(request, "queue", queue, *ALL[INBOX].rights, create=True, by_user=True)


@by_hand(
    router,
    INBOX,
    status_code=202,
    response_model=TaskReceipt,
    responses={200: {"model": TaskView, "description": "With `?sync=true`: how the task ended."}, **PROBLEMS},
)
async def inbox(
    access: Annotated[Access, Depends(_queue)],
    payload: Annotated[Any, Body(description="Any JSON: the payload of the task.")],
    response: Response,
    request: Request,
    kind: Annotated[str | None, Query(description="The kind of the task.")] = None,
    sync: Annotated[bool, Query(description="Wait for the end of the task, at most a minute.")] = False,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Enqueue the whole body as the payload of a task. Answers at once, or with `?sync=true` when the task has ended.

    With `?sync=true`, the answer is 200 with the task and its result, whether it has completed or failed. If it has not
    ended after a minute, the answer is 202, as without. `Idempotency-Key` and `traceparent` are as for
    `POST /v1/queues/{queue}/tasks`.
    """
    task = NewTask(payload=payload) if kind is None else NewTask(payload=payload, kind=kind)
    prefer = f"wait={LONGEST_WAIT:.0f}" if sync else None
    return await enqueue(access, task, response, request, prefer, idempotency_key)

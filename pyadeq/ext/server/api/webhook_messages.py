"""The messages of webhooks by REST: what was sent, a test, and what is sent again."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Body, Path, Query
from pydantic import BaseModel, Field

from pyadeq.asyncio import TaskView
from pyadeq.errors import WaitTimeout
from pyadeq.ext.outgoing.webhooks.endpoints import Endpoint
from pyadeq.ext.outgoing.webhooks.messages import TEST, webhook_id
from pyadeq.ext.server.api.routes import by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.api.webhooks import Id, Managed, Manager
from pyadeq.ext.server.gate import described, missing
from pyadeq.models.queue import State

MOST_IN_PAGE: Final = 100

router = APIRouter()


class Trial(Strict):
    """wait: seconds, for the answer of the receiver."""

    wait: float = Field(default=2.0, ge=0, le=60, allow_inf_nan=False)


class Tested(BaseModel):
    """How a test has ended. `waiting`: not yet; is there a process that sends? answer: the status of the receiver."""

    status: Literal["completed", "dead", "waiting"]
    answer: int | None = None
    reason: str | None = None
    error: str | None = None


class Range(Strict):
    """The events of which time: seconds since the epoch. until: null: now. cursor: of the answer before."""

    since: float = Field(ge=0, le=1e11, allow_inf_nan=False)
    until: float | None = Field(default=None, ge=0, le=1e11, allow_inf_nan=False)
    cursor: str = Field(default="", max_length=500)


class ReplayedView(BaseModel):
    """sent: messages that are sent again. waiting: those that are on their way anyway."""

    sent: int
    waiting: int


class ReplayedPart(ReplayedView):
    """A part of the events of a time. `more`: send the request again with this cursor."""

    status: Literal["done", "more"]
    cursor: str


class Message(BaseModel):
    """A message, and how far it is.

    id: of its task. webhook_id: what the receiver knows it by. ids: of what the event was. due: of the next attempt.
    """

    id: str
    webhook_id: str
    type: str
    stream: str | None
    seq: str | None
    ids: list[str]
    state: State
    attempts: int
    reason: str | None
    error: str | None
    created: float | None
    due: float | None
    ended: float | None


class Messages(BaseModel):
    """Some messages. cursor: for the next page; empty on the last one. A page may be empty although more follow."""

    items: list[Message]
    cursor: str


@by_hand(router, "webhooks_test")
async def try_out(manager: Manager, id: Id, trial: Annotated[Trial | None, Body()] = None) -> Tested:
    """Have a message of type `webhook.test` sent, by a process that sends messages. It is tried once."""
    await manager.find(id)
    try:
        outcome = await manager.webhooks.test(id, wait=(trial or Trial()).wait)
    except WaitTimeout:
        return Tested(status="waiting")
    if outcome.status != "completed":
        return Tested(status="dead", reason=outcome.reason, error=outcome.error)
    return Tested(status="completed", answer=outcome.result["status"])


@by_hand(router, "webhooks_replay")
async def replay(manager: Manager, id: Id, range: Annotated[Range, Body()]) -> ReplayedPart:
    """Send the messages about all events of a time again, as far as the server has the events.

    A request looks at some 5,000 events. If the status is `more`, send it again with the `cursor` of the answer.
    """
    await manager.find(id)
    done, cursor = await manager.webhooks.replay_part(id, range.since, range.until, range.cursor)
    return ReplayedPart(**done._asdict(), status="more" if cursor else "done", cursor=cursor)


@by_hand(router, "webhooks_messages")
async def messages(
    manager: Manager,
    id: Id,
    state: State | None = None,
    cursor: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_IN_PAGE)] = 50,
) -> Messages:
    """Return messages of an endpoint, as long as they are kept: delivered (`completed`), failed (`dead`) or waiting."""
    await manager.find(id)
    return await read_messages(manager, id, state, cursor, limit)


@by_hand(router, "webhooks_messages_replay")
async def replay_message(
    manager: Manager,
    id: Id,
    message: Annotated[str, Path(description="Its webhook-id.", json_schema_extra=described("id"))],
) -> ReplayedView:
    """Send a message again. It keeps its `webhook-id`. A dead one begins again with all its attempts."""
    await manager.find(id)
    endpoint = (await manager.webhooks.get(id)).endpoint
    found = await manager.webhooks.message(message)
    if found is None or _message(found, id, endpoint) is None:
        raise missing("message", message)
    return ReplayedView(**(await manager.webhooks.replay(message))._asdict())


async def read_messages(manager: Managed, id: str, state: State | None, cursor: str = "", limit: int = 50) -> Messages:
    """A page of the messages of an endpoint."""
    endpoint = (await manager.webhooks.get(id)).endpoint
    found, following = await manager.webhooks.messages(id, state, cursor=cursor, limit=limit)
    items = [_message(one, id, endpoint) for one in found]
    return Messages(items=[one for one in items if one is not None], cursor=following)


def _message(task: TaskView, id: str, endpoint: Endpoint) -> Message | None:
    """What a task of the queue says. None if it is of another endpoint, or of a stream that this one has no more."""
    payload = task.payload
    if task.user != id or not isinstance(payload, dict):
        return None
    type, stream = payload.get("type"), payload.get("stream")
    if type != TEST and not (isinstance(stream, str) and endpoint.wants_stream(stream)):
        return None
    return Message(
        id=task.id,
        webhook_id=webhook_id(task.id),
        type=str(type),
        stream=stream,
        seq=payload.get("seq"),
        ids=payload.get("ids", []),
        state=task.state,
        attempts=task.attempts,
        reason=task.reason,
        error=task.error,
        created=task.created,
        due=task.due if task.state == "delayed" else None,
        ended=task.ended,
    )

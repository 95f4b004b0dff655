"""The events of one task, as far as they are still stored. The stream has no index: it is read from its end."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel

from pyadeq.asyncio import Event, Queue, TaskView
from pyadeq.ext.server.api.event_groups import OneEvent
from pyadeq.ext.server.api.live import PAGE, only, shown
from pyadeq.ext.server.api.routes import by_hand
from pyadeq.ext.server.api.tasks import Id, task_of
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.reads import ask

MOST: Final = 10_000
"""Events of the queue that one request looks at, at most."""

router = APIRouter()


class TaskEvents(BaseModel):
    """The events of a task, the oldest first.

    looked: how many events of the queue were looked at, from the newest back. complete: whether these are all events of
    the task. If not, older ones were not looked at, or are deleted.
    """

    items: list[OneEvent]
    looked: int
    complete: bool


@by_hand(router, "task_events")
async def events(access: Access, id: Id, most: Annotated[int, Query(ge=1, le=MOST)] = MOST) -> TaskEvents:
    """Return what has happened to a task, the oldest event first.

    The newest `most` events of the queue are looked at, back to the enqueue of the task. `complete` says whether that
    was enough. An event of several tasks names only this one.
    """
    return await events_of(access, await task_of(access, id), most, access.may_reveal)


async def events_of(access: Access, task: TaskView, most: int, reveals: bool) -> TaskEvents:
    """The events of a task that the scope may know of. reveals: with what its tier hides."""
    part = access.found if isinstance(access.found, Queue) else await access.found.part_of(task.id)
    found: list[OneEvent] = []
    looked, end, id = 0, "+", task.id.encode()
    while part is not None and looked < most:
        page = await ask(access.adeq, "xrevrange", f"{part.base}:events", end, count=min(PAGE, most - looked))
        for place, fields in page:
            looked += 1
            if id in fields.get(b"id", b"").split():
                found.append(_of_task(access, task, Event.from_entry(place, fields), reveals))
                if fields[b"event"] == b"task.enqueued":
                    return TaskEvents(items=found[::-1], looked=looked, complete=True)
        if not page:
            break
        end = f"({page[-1][0].decode()}"
    return TaskEvents(items=found[::-1], looked=looked, complete=False)


def _of_task(access: Access, task: TaskView, event: Event, reveals: bool) -> OneEvent:
    """The event without what belongs to other tasks, and without what the tier hides."""
    event = event if reveals else shown(event)
    event = event._replace(ids=(task.id,)) if access.scope.user is None else only(event, (task.id,))
    return OneEvent(**event.as_json())

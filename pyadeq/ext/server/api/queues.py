"""Operations on queues, and on their schedules, limits, shares, workers and dead tasks. Tasks: see `tasks`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Body, Header, Path, Response
from pydantic import BaseModel

from pyadeq import tiers
from pyadeq.asyncio import (
    At,
    Cron,
    Every,
    Limits,
    QueueAdmin,
    QueueDead,
    QueueInspect,
    QueueSettings,
    QueueWorkers,
    Schedule,
    SchedulePut,
    Schedules,
    Shares,
)
from pyadeq.ext.server.api.operations import Operation, add, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.api.tasks import NewTask
from pyadeq.ext.server.etags import expected_rev
from pyadeq.ext.server.gate import Access, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.models.base import Seconds
from pyadeq.models.schedule import Overlap

MISSING: Final = {"not_found": 404}
SCHEDULE: Final = {"not_found": 404, "stale": 409}
DEAD: Final = {"not_found": 404, "not_dead": 409, "conflict": 409}


async def shown_schedules(access: Access, found: list[Schedule]) -> list[Schedule]:
    """Schedules, as far as the tiers of their tasks allow."""
    tier = (await access.found.settings()).tier
    return [tiers.shown_schedule(schedule, tier) for schedule in found]


async def shown_schedule(access: Access, found: Schedule) -> Schedule:
    """A schedule, as far as the tier of its tasks allows."""
    return (await shown_schedules(access, [found]))[0]


OPERATIONS: Final = (
    Operation("GET /queues/{queue}/stats", QueueInspect.stats, "observe", "inspect", etag=True),
    Operation("GET /queues/{queue}", QueueInspect.overview, "observe", "inspect", etag=True),
    Operation("GET /queues/{queue}/history", QueueInspect.history, "observe", "inspect"),
    Operation("GET /queues/{queue}/lengths", QueueInspect.length, "observe", "inspect"),
    Operation("GET /queues/{queue}/settings", QueueSettings.get, "observe", "settings", etag=True),
    Operation(
        "PATCH /queues/{queue}/settings", QueueSettings.change, "operate", "settings", create=True, without=("clock",)
    ),
    Operation("POST /queues/{queue}:pause", QueueAdmin.pause, "operate", "admin"),
    Operation("POST /queues/{queue}:resume", QueueAdmin.resume, "operate", "admin"),
    Operation("POST /queues/{queue}:drain", QueueAdmin.drain, "operate", "admin"),
    Operation("POST /queues/{queue}:purge", QueueAdmin.purge, "operate", "admin"),
    Operation("POST /queues/{queue}:trim", QueueAdmin.trim, "operate", "admin"),
    Operation("GET /queues/{queue}/dead:summary", QueueDead.summary, "observe", "dead"),
    Operation("POST /queues/{queue}/tasks/{id}:retry", QueueDead.retry, "operate", "dead", DEAD),
    Operation("POST /queues/{queue}/tasks/{id}:abandon", QueueDead.abandon, "operate", "dead", DEAD),
    Operation("GET /queues/{queue}/workers", QueueWorkers.list, "observe", "workers"),
    Operation("GET /queues/{queue}/workers/{name}", QueueWorkers.get, "observe", "workers"),
    Operation("POST /queues/{queue}/workers:steer", QueueWorkers.steer, "operate", "workers"),
    Operation("GET /queues/{queue}/limits", Limits.list, "observe", "limits", etag=True),
    Operation("GET /queues/{queue}/limits/{key}", Limits.inspect, "observe", "limits", etag=True),
    Operation("PUT /queues/{queue}/limits/{key}", Limits.set, "operate", "limits", create=True),
    Operation("DELETE /queues/{queue}/limits/{key}", Limits.remove, "operate", "limits", MISSING),
    Operation("GET /queues/{queue}/shares", Shares.all, "observe", "shares"),
    Operation("GET /queues/{queue}/shares/{user}", Shares.get, "observe", "shares"),
    Operation("PUT /queues/{queue}/shares/{user}", Shares.set, "operate", "shares", create=True),
    Operation(
        "GET /queues/{queue}/schedules",
        Schedules.iterate,
        "observe",
        "schedules",
        name="schedules_list",
        show=shown_schedules,
        etag=True,
    ),
    Operation(
        "GET /queues/{queue}/schedules/{name}", Schedules.get, "observe", "schedules", show=shown_schedule, etag=True
    ),
    Operation("POST /queues/{queue}/schedules/{name}:pause", Schedules.pause, "operate", "schedules", SCHEDULE),
    Operation(
        "POST /queues/{queue}/schedules/{name}:resume", Schedules.resume, "operate", "schedules", SCHEDULE, feeds=True
    ),
    Operation(
        "POST /queues/{queue}/schedules/{name}:trigger", Schedules.trigger, "operate", "schedules", SCHEDULE, feeds=True
    ),
)

router = APIRouter()
add(router, OPERATIONS)


IfMatch = Annotated[str | None, Header(description="The ETag of the schedule as you have read it.")]


class Removed(BaseModel):
    """The answer to a removal."""

    status: Literal["done"]


class NewSchedule(Strict):
    """A schedule: when it fires, and the task that it enqueues. See `Schedules.put` in Python."""

    timing: Cron | Every | At
    task: NewTask = NewTask()
    overlap: Overlap = "skip"
    catch_up: Seconds = 3600.0
    jitter: Seconds = 0.0


@by_hand(
    router,
    Operation(
        "PUT /queues/{queue}/schedules/{name}", needs="operate", create=True, feeds=True, name="queue_schedules_put"
    ),
)
async def put_schedule(
    access: Access,
    name: Annotated[str, Path()],
    schedule: Annotated[NewSchedule, Body()],
    response: Response,
    if_match: IfMatch = None,
) -> SchedulePut:
    """Create a schedule, or change the one with that name.

    With `If-Match`, it is changed only if nobody has changed, paused or removed it since. Otherwise the answer is 412,
    and nothing has changed. Firing is no change.
    """
    put: SchedulePut = await access.found.schedules.put(
        name,
        schedule.timing,
        schedule.task,
        overlap=schedule.overlap,
        catch_up=schedule.catch_up,
        jitter=schedule.jitter,
        expect=expected_rev(if_match),
    )
    if put.status in ("stale", "not_found"):
        raise _changed_since(name)
    response.headers["ETag"] = f'"r{put.rev}"'
    return put


@by_hand(router, Operation("DELETE /queues/{queue}/schedules/{name}", needs="operate", name="queue_schedules_remove"))
async def remove_schedule(access: Access, name: Annotated[str, Path()], if_match: IfMatch = None) -> Removed:
    """Delete a schedule. Tasks that it has enqueued stay.

    With `If-Match`, it is deleted only if nobody has changed or paused it since. Otherwise the answer is 412, and
    nothing has changed. Firing is no change.
    """
    status = await access.found.schedules.remove(name, expect=expected_rev(if_match))
    if status == "not_found":
        raise missing("schedule", name)
    if status == "stale":
        raise _changed_since(name)
    return Removed(status=status)


def _changed_since(name: str) -> Refused:
    return Refused(412, "STALE", f"schedule {name!r} has another revision, or none; read it again")

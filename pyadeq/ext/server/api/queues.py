"""Operations on queues, and on their schedules, limits, shares, workers and dead tasks. Tasks: see `tasks`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Header, Path, Response
from pydantic import BaseModel

from pyadeq import tiers
from pyadeq.asyncio import (
    At,
    Cron,
    Every,
    Schedule,
    SchedulePut,
)
from pyadeq.ext.operations import queues
from pyadeq.ext.server.api.routes import add, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.api.tasks import NewTask
from pyadeq.ext.server.etags import expected_rev
from pyadeq.ext.server.gate import Access, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.models.base import Seconds
from pyadeq.models.schedule import Overlap


async def shown_schedules(access: Access, found: list[Schedule]) -> list[Schedule]:
    """Schedules, as far as the tiers of their tasks allow."""
    tier = (await access.found.settings()).tier
    return [tiers.shown_schedule(schedule, tier) for schedule in found]


async def shown_schedule(access: Access, found: Schedule) -> Schedule:
    """A schedule, as far as the tier of its tasks allows."""
    return (await shown_schedules(access, [found]))[0]


router = APIRouter()
add(router, queues.OPERATIONS, show={"queue_schedules_list": shown_schedules, "queue_schedules_get": shown_schedule})


IfMatch = Annotated[str | None, Header(description="The ETag of the schedule as you have read it.")]


class Removed(BaseModel):
    """The answer to a removal."""

    status: Literal["done"]


class NewSchedule(Strict):
    """A schedule: when it fires, and the task that it enqueues. See `Schedules.set` in Python."""

    timing: Cron | Every | At
    task: NewTask = NewTask()
    overlap: Overlap = "skip"
    catch_up: Seconds = 3600.0
    jitter: Seconds = 0.0


@by_hand(
    router,
    "queue_schedules_set",
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
    put: SchedulePut = await access.found.schedules.set(
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


@by_hand(router, "queue_schedules_remove")
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

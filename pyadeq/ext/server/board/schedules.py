"""Schedules: when they fire, in words and as times, what became of it, and changes to them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, NamedTuple, get_args

from fastapi import Path, Request, Response

from pyadeq import tiers
from pyadeq.asyncio import At, Cron, Every, Schedule
from pyadeq.errors import AdeqError
from pyadeq.ext.server.api.queues import shown_schedule, shown_schedules
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.board.per_queue import Chosen, Page, of_queues
from pyadeq.ext.server.board.words import editable
from pyadeq.ext.server.gate import Access, access, missing
from pyadeq.ext.shared.schedule_words import cron_words, period_words
from pyadeq.models.base import flaw, flaw_of
from pyadeq.models.queue import Task
from pyadeq.models.schedule import Overlap

MOST: Final = 100
"""Schedules of a queue on a page: those that are due first."""
NEXT: Final = 5
OVERLAPS: Final = get_args(Overlap)

router = pages()


class Row(NamedTuple):
    """A schedule. words: when it fires; `once` for one time. times: its next times. problem: why these are unknown."""

    schedule: Schedule
    words: str
    times: list[float]
    problem: str = ""


class Plan(NamedTuple):
    """The schedules of a queue. now: the time of its server. is_all: whether these are all."""

    now: float
    rows: list[Row]
    is_all: bool


@router.get("/schedules")
async def schedules(request: Request, queue: Chosen = "", page: Page = 1) -> Response:
    """The schedules of a queue, or of all, those that are due first at the top."""
    found = await of_queues(request, "schedules", queue, page, _plan)
    return await render(request, "schedules.html", found=found, queue=queue, overlaps=OVERLAPS)


@router.get("/queues/{queue:adeq_segment}/schedules/{name:adeq_segment}")
async def schedule(
    request: Request, access: Annotated[Access, access("queue", "queue.observe")], name: Annotated[str, Path()]
) -> Response:
    """One schedule, the task that it enqueues, and a form to change it."""
    found = await access.found.schedules.get(name)
    if found is None:
        raise missing("schedule", name)
    shown = await shown_schedule(access, found)
    hidden = tiers.hidden(found.envelope.get("tier", (await access.found.settings()).tier))
    return await render(
        request,
        "schedule.html",
        queue=access.name,
        row=_row(access, shown),
        now=(await access.found.stats()).now,
        overlaps=OVERLAPS,
        timing=_fields(shown),
        hidden=hidden,
        payload="" if hidden else editable(shown.data),
        task=_task(shown) if not hidden else "",
    )


async def _plan(access: Access) -> Plan:
    found: list[Schedule] = []
    async for one in access.found.schedules.iterate():
        found.append(one)
        if len(found) > MOST:
            break
    shown = await shown_schedules(access, found[:MOST])
    return Plan((await access.found.stats()).now, [_row(access, one) for one in shown], len(found) <= MOST)


def _row(access: Access, schedule: Schedule) -> Row:
    try:
        return Row(schedule, _words(schedule), access.found.schedules.upcoming(schedule, NEXT))
    except AdeqError as error:  # a form of a newer release, or no package for cron expressions
        return Row(schedule, _words(schedule), [], str(error))


def _words(schedule: Schedule) -> str:
    match schedule.timing:
        case Cron(expression=expression, tz=tz):
            return f"{cron_words(expression)}, {tz}"
        case Every(period=period, offset=offset):
            return f"every {period_words(period)}" + (f", {period_words(offset)} past" if offset else "")
        case At():
            return "once"
        case _:
            return "in a form that this release does not know"


def _fields(schedule: Schedule) -> dict[str, Any]:
    """The fields of its timing that the form has; none if the form cannot hold it."""
    match schedule.timing:
        case Cron(expression=expression, tz=tz, start=None, until=None):
            return {"expression": expression, "tz": tz}
        case Every(period=period, offset=offset, start=None, until=None):
            return {"period:float": period, "offset:float": offset}
        case At(moment=moment):
            return {"moment:float": moment}
        case _:
            return {}


def _task(schedule: Schedule) -> str:
    """The task as JSON for the form; empty if it has options that the form would lose."""
    if schedule.unreadable or flaw(schedule.data) or flaw_of(schedule.envelope):
        return ""
    if not set(schedule.envelope) <= set(Task.model_fields):
        return ""
    return json.dumps({**schedule.envelope, "payload": schedule.payload}, ensure_ascii=False, indent=2)

"""The page of one queue."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, Literal, NamedTuple

from fastapi import Request, Response
from markupsafe import Markup

from pyadeq.asyncio import Annotation, EventGroup, HistoryPoint, PartitionedQueue, QueueOverview, Settings
from pyadeq.ext.server.board import charts
from pyadeq.ext.server.board.dead import counted
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.gate import Access, access
from pyadeq.models.settings import SETTINGS

STATES = ("ready", "running", "delayed", "blocked", "stalled", "finished", "dead")
Span = Literal["30m", "6h", "24h", "30d"]
SPANS: Final[dict[Span, tuple[str, int, int]]] = {
    "30m": ("30 minutes", 1800, 60),
    "6h": ("6 hours", 6 * 3600, 300),
    "24h": ("24 hours", 24 * 3600, 900),
    "30d": ("30 days", 30 * 86_400, 6 * 3600),
}
"""Spans of the past: each in words, in seconds, and the seconds of a step. None has more than 120 steps."""
DRAWN_FOR: Final = 30.0
"""Seconds for which the past is remembered. It has one snapshot in a minute."""
ASKED_FOR: Final = 5.0
"""Seconds for which the settings are remembered."""
MOST_LANES: Final = 50
MOST_MARKS: Final = 20
MOST_PARTITIONS: Final = 64
LATELY: Final = 180.0
"""Seconds of the past of a partition in which its newest snapshot is looked for."""

router = pages()


class Part(NamedTuple):
    """A partition. is_current: new tasks go there. rate: finished tasks in a second."""

    tag: str
    is_current: bool
    now: QueueOverview
    rate: float


@router.get("/queues/{queue:adeq_segment}")
async def queue(
    request: Request, access: Annotated[Access, access("queue", "queue.observe")], past: Span = "30m"
) -> Response:
    """How many tasks are in each state, what happened lately, and what one can do with the queue."""
    looks: Looks = request.app.state.looks
    now = await looks.overview(access.found)
    words, seconds, _ = SPANS[past]
    (points, marks, since), settings, groups, (partitions, others), readers = await asyncio.gather(
        _past(looks, access, past, now.now),
        looks.shared(("settings", access.name), ASKED_FOR, access.found.settings),
        _dead(looks, access, now),
        looks.shared(("partitions", access.name), ASKED_FOR, lambda: _partitions(access.found)),
        looks.shared(("readers", access.name), ASKED_FOR, lambda: _readers(access)),
    )
    label = f"In a second, the last {words}: {', '.join(charts.FLOWS)}"
    return await render(
        request,
        "queue.html",
        name=access.name,
        now=now,
        counts={name: getattr(now, name) for name in STATES},
        past=past,
        spans={span: of[0] for span, of in SPANS.items()},
        chart=Markup(charts.flow(points, marks, since, since + seconds, label)),
        keys={name: Markup(charts.key(name)) for name in charts.FLOWS},
        points=points[::-1],
        marks=marks,
        lanes=_lanes(now),
        groups=groups,
        settings=_facts(settings),
        stored=settings,
        known=SETTINGS["queue"],
        partitions=partitions,
        others=others,
        readers=readers,
    )


async def _past(
    looks: Looks, access: Access, past: Span, now: float
) -> tuple[list[HistoryPoint], list[Annotation], float]:
    """What happened, the newest annotations, and since when."""
    _, seconds, step = SPANS[past]

    async def read() -> tuple[list[HistoryPoint], list[Annotation], float]:
        since = now - seconds
        points, marks = await asyncio.gather(access.found.inspect.history(since, step), access.adeq.annotations(since))
        return [one for one in points if one.at > since], marks[-MOST_MARKS:], since

    found: tuple[list[HistoryPoint], list[Annotation], float] = await looks.shared(
        ("flow", access.name, past), DRAWN_FOR, read
    )
    return found


async def _dead(looks: Looks, access: Access, now: QueueOverview) -> list[object]:
    """The largest groups of dead tasks."""
    return list((await counted(looks, access)).groups[:5]) if now.dead else []


async def _partitions(queue: object) -> tuple[list[Part], int]:
    """The partitions, if there are several, and how many more there are."""
    if not isinstance(queue, PartitionedQueue):
        return [], 0
    known = await queue.partitions()
    found = []
    for one in known[:MOST_PARTITIONS]:
        part = queue.part(one.tag)
        now = await part.inspect.overview()
        past = await part.inspect.history(now.now - LATELY)
        found.append(Part(one.tag, one.current, now, past[-1].rate("completed") if past else 0.0))
    return found, len(known) - len(found)


async def _readers(access: Access) -> list[EventGroup]:
    """The groups that read the events."""
    queue = access.found
    events = queue.events if isinstance(queue, PartitionedQueue) else access.adeq.events("queue", access.name)
    return list((await events.groups()).groups)


def _lanes(now: QueueOverview) -> list[tuple[str, int, float | None]]:
    """The lanes with their ready tasks and for how long the oldest one waits: the longest first."""
    names = sorted(now.lanes, key=lambda lane: now.oldest.get(lane, now.now))[:MOST_LANES]
    return [(lane, now.lanes[lane], now.now - now.oldest[lane] if lane in now.oldest else None) for lane in names]


def _facts(settings: Settings) -> dict[str, object]:
    """The settings that are not as without any, and those that one often looks for."""
    usual = Settings()
    often = [one.name for one in SETTINGS["queue"] if one.label]
    return {
        name: getattr(settings, name)
        for name in Settings.model_fields
        if name not in ("clock", "layout", "mode", "digest")
        and (name in often or getattr(settings, name) != getattr(usual, name))
    }

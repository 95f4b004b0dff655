"""Groups of readers of events: each event goes to one reader of a group, at least once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from time import monotonic
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from pyadeq.asyncio import EventBatch, EventGap, EventGroup
from pyadeq.ext.server.api.event_access import WHOLE, Reading, reading
from pyadeq.ext.server.api.live import shown
from pyadeq.ext.server.api.routes import F, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.gate import missing
from pyadeq.ext.server.problems import Refused

LONGEST_WAIT: Final = 60.0
LOOK: Final = 2.0
"""Seconds after which a read that waits looks whether its client is still there."""
MOST: Final = 1000

router = APIRouter()


class NewGroup(Strict):
    """start: the first event to read: the oldest that there is, or the next one.

    create: add it even if the name is not used yet.
    """

    group: str
    start: Literal["oldest", "now"] = "oldest"
    create: bool = False


class ReadBody(Strict):
    """limit: how many events at most.

    hold: seconds after which an event is delivered again, unless it is acknowledged. wait: seconds to wait for events.
    """

    limit: int = Field(default=100, ge=1, le=MOST)
    hold: float = Field(default=60.0, ge=1, le=86400, allow_inf_nan=False)
    wait: float = Field(default=0.0, ge=0, le=LONGEST_WAIT, allow_inf_nan=False)


class AckBody(Strict):
    """ids: of events. gap: the number of a gap. partition: of the gap, as `read` has returned it."""

    ids: list[str] = Field([], max_length=MOST)
    gap: int | None = Field(None, ge=1)
    partition: str | None = Field(None, max_length=100)


class TrimBody(Strict):
    """before: delete events before this time; without, those that are older than the setting `keep`."""

    before: datetime | None = None


class Gap(BaseModel):
    """Events that were deleted before the group had read or acknowledged them; see Python's `EventGap`.

    partition: where they were, if the queue has partitions, as `ack` takes it.
    """

    number: int
    partition: str | None = None
    after: str
    before: str
    lost: int | None


class OneEvent(BaseModel):
    """An event; see Python's `Event`. timestamp: ISO 8601, in UTC."""

    id: str
    event: str
    timestamp: datetime
    ids: list[str] = []
    payload: dict[str, str] = {}
    source: str = ""
    trace: str = ""
    again: bool = False


class Batch(BaseModel):
    """What one read has delivered; see Python's `EventBatch`."""

    events: list[OneEvent]
    gap: Gap | None = None
    lag: int
    due: float | None = None


class Group(EventGroup):
    """A group; see Python's `EventGroup`. With partitions, its numbers are sums, and `partitions` has each of them."""

    gap: Gap | None  # type: ignore[assignment]  # an object, where Python has a tuple
    partitions: Mapping[str, Group] = {}


class EventGroups(BaseModel):
    """The groups of a stream. length: how many events it holds. first, last: the ids of its oldest and newest."""

    length: int
    first: str
    last: str
    groups: list[Group]


class Registered(BaseModel):
    """`exists`: the group was there already, and goes on where it is."""

    status: Literal["registered", "exists"]


class Acknowledged(BaseModel):
    """count: how many of the events were still pending."""

    count: int


class Trimmed(BaseModel):
    """removed: how many events were deleted. held_by: the group that keeps older ones; null: no group does."""

    removed: int
    held_by: str | None


def _at(id: str, **options: Any) -> Callable[[F], F]:
    """Add a handler to the router. Its argument `found` is for somebody who has the rights of the row."""

    def added(handler: F) -> F:
        handler.__annotations__["found"] = Annotated[Reading, reading(id, unused=id == "events_add")]
        return by_hand(router, id, **options)(handler)

    return added


@_at("events_groups")
async def groups(found: Reading) -> EventGroups:
    """Return the groups that read the events, with their lag. Those of a queue are in all of its partitions."""
    there = await found.events.groups()
    return EventGroups(length=there.length, first=there.first, last=there.last, groups=list(map(_group, there.groups)))


@_at("events_add")
async def add(found: Reading, body: NewGroup) -> Registered:
    """Register a group, of a queue in all of its partitions. From now on it holds events that it has not acknowledged.

    With partitions, the id of an event is `<partition>:<id>`, and a batch has events of one partition, in its order.
    """
    if not found.stored and not body.create:
        raise missing(found.noun, found.name)
    made = await found.events.add(body.group, start=body.start, create=True)
    return Registered(status="registered" if made else "exists")


@_at("events_remove", status_code=204, response_class=Response)
async def remove(found: Reading, group: str) -> Response:
    """Drop a group. It holds no events any more."""
    if not await found.events.remove(group):
        raise missing("group", group)
    return Response(status_code=204)


@_at("events_read")
async def read_group(request: Request, found: Reading, group: str, body: ReadBody | None = None) -> Batch:
    """Read events of a group: first those that were not acknowledged in time, then new ones, in order.

    Each event goes to one reader of the group, and again after `hold` seconds unless it is acknowledged. So an answer
    that is lost is read again.
    """
    body = body or ReadBody()
    until = monotonic() + body.wait
    while True:
        left = until - monotonic()
        batch = await found.events.read(group, limit=body.limit, hold=body.hold, wait=max(min(left, LOOK), 0))
        if batch.events or batch.gap or left <= LOOK or await request.is_disconnected():
            return _batch(batch, found.reveals)


@_at("events_ack")
async def ack(found: Reading, group: str, body: AckBody) -> Acknowledged:
    """Acknowledge events of a group, and its gap: they are not delivered again. May be repeated."""
    if body.partition is not None and body.partition not in found.streams:
        raise Refused(400, "BAD_REQUEST", f"partition: {body.partition!r} is not accepted; allowed: that of the gap")
    gap = None if body.gap is None else EventGap(body.gap, f"{body.partition or WHOLE}:0-0", "", None)
    return Acknowledged(count=await found.events.ack(group, body.ids, gap=gap))


@_at("events_trim")
async def trim(found: Reading, body: TrimBody | None = None) -> Trimmed:
    """Delete old events that all groups have acknowledged."""
    removed, held_by = await found.events.trim(body.before if body else None)
    return Trimmed(removed=removed, held_by=held_by)


def _group(one: EventGroup) -> Group:
    parts = {tag: _group(part) for tag, part in one.partitions.items()}
    return Group(**one.model_dump(exclude={"gap", "partitions"}), gap=_gap(one.gap), partitions=parts)


def _gap(gap: EventGap | None) -> Gap | None:
    if gap is None:
        return None
    return Gap(**gap._asdict(), partition=None if gap.partition == WHOLE else gap.partition)


def _batch(batch: EventBatch, reveals: bool) -> Batch:
    found = [OneEvent(**(event if reveals else shown(event)).as_json()) for event in batch.events]
    return Batch(events=found, gap=_gap(batch.gap), lag=batch.lag, due=batch.due)

"""Events: live, as server-sent events, and in groups, at least once.

Events say what has happened to which task, change, session and so on, and never their contents; see `pyadeq.tiers`.
They do not say whose a task is. So a scope of one user has none of these operations.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from time import monotonic
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import format_sse_event
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse
from starlette.types import Send

from pyadeq import library
from pyadeq.asyncio import Adeq, EventBatch, EventGap, EventGroup, Events, PartitionedQueue
from pyadeq.errors import AdeqError
from pyadeq.ext.server.api.live import PAGE, START, Entry, Live, at, newest, read, shown
from pyadeq.ext.server.api.operations import PROBLEMS, operation_id, path_of
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.gate import OWN, Gate, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.rights import REVEAL, Principal

log = logging.getLogger("pyadeq.server")
ASK: Final = 5.0
"""Seconds after which it is asked again whether the reader may still read."""
PING: Final = 15.0
"""Seconds without events after which a stream shows that it lives."""
SLOW: Final = 30.0
"""Seconds in which a client takes something. Otherwise its connection is cut."""
LONGEST_WAIT: Final = 60.0
LOOK: Final = 2.0
"""Seconds after which a read that waits looks whether its client is still there."""
MOST: Final = 1000
MOST_MERGED: Final = 32
"""Partitions whose events one stream may have. Each costs the process a connection to the server."""
PLACE: Final = (
    r"^([0-9]{1,16}(-[0-9]{1,19})?|[A-Za-z0-9._@+-]{1,100}:[0-9]{1,16}-[0-9]{1,19}"
    r"(,[A-Za-z0-9._@+-]{1,100}:[0-9]{1,16}-[0-9]{1,19}){0,511})$"
)
"""An id in a stream, or with partitions `tag:id,tag:id`."""
WHOLE: Final = "-"
"""The tag of the stream without partitions."""
AHEAD: Final = 100
"""Events of several partitions that wait for a client, besides those of each."""

router = APIRouter()


@dataclass(frozen=True)
class Reading:
    """Access to the events of one of a noun, or of one of its partitions. noun, name: as in the path.

    streams: by the tags of their partitions; several only where they may be merged.
    """

    gate: Gate
    noun: str
    name: str
    principal: Principal
    streams: dict[str, Events]

    @property
    def events(self) -> Events:
        """Those of the only stream."""
        (found,) = self.streams.values()
        return found

    @property
    def reveals(self) -> bool:
        """Whether what tiers hide may be shown."""
        own = self.name.partition("/")[0]
        return any(REVEAL in scope.rights and scope.user is None for scope in self.principal.scopes_of(own))


def reading(role: str = "", merged: bool = False) -> Any:
    """A dependency: the events that the path names, for somebody who may see them, and has this role in `events`.

    merged: a name without a partition means all partitions.
    """

    async def find(
        request: Request,
        noun: Annotated[str, Path(description="Such as `queue`.")],
        name: Annotated[
            str,
            Path(description="A name. With partitions `name%2Fpartition`; `name%2F` is the one before all partitions."),
        ],
    ) -> Reading:
        gate: Gate = request.app.state.gate
        principal = await gate.principal(request)
        own, slash, tag = name.partition("/")
        if noun == "events" or noun not in library().manifest["nouns"]:
            raise missing("noun", noun)
        check(principal, noun, own, role)
        there = await _streams(gate, noun, own)
        if not there:
            raise missing(noun, own)
        of = name if tag else own
        if slash or len(there) == 1:
            there = [of] if of in there else []
            if not there:
                raise missing(noun, name)
        elif not merged or len(there) > MOST_MERGED:
            each = ", ".join(one if "/" in one else f"{one}/" for one in sorted(there)[:10])
            raise Refused(400, "BAD_REQUEST", f"{noun} {own!r} has partitions; read the events of each: {each} …")
        streams = {one.partition("/")[2] or WHOLE: gate.adeq.events(noun, one) for one in there}
        return Reading(gate, noun, name, principal, streams)

    find.__annotations__ |= {"request": Request}
    return Depends(find)


def check(principal: Principal, noun: str, name: str, role: str) -> None:
    """Refuse somebody who may not see the events, or does not have the role."""
    scopes = [] if name.startswith(OWN) else principal.scopes_of(name)
    if not scopes:
        raise missing(noun, name)
    rights = {right for scope in scopes if scope.user is None for right in scope.rights}
    for right in (f"{noun}.observe", *([f"events.{role}"] if role else [])):
        if right not in rights:
            why = f"{principal.name} does not have the right {right} in {noun} {name!r}"
            raise Refused(403, "FORBIDDEN", f"{why}, or only for one user")


async def _streams(gate: Gate, noun: str, name: str) -> list[str]:
    """The names of the streams of an object: its own, or those of its partitions. [] if there is none."""
    found = await gate.find(noun, name, False)
    if found is None:
        return []
    if isinstance(found, PartitionedQueue):
        bases = [one.base for one in await found.partitions()]
    else:
        bases = list(getattr(found, "bases", (found.base,)))
    return [base.rpartition(":")[2].removesuffix("}") for base in bases]


# Live


class Filter:
    """What a reader wants. types: patterns; none: all. task: only events of this id."""

    def __init__(self, types: str, task: str | None) -> None:
        self._patterns = [word for word in types.split(",") if word]
        self._task = task
        self._wanted: dict[str, bool] = {}

    def has(self, entry: Entry) -> bool:
        """Whether the reader wants it."""
        wanted = self._wanted.get(entry.event)
        if wanted is None:
            every = not self._patterns
            wanted = every or any(fnmatchcase(entry.event, pattern) for pattern in self._patterns)
            self._wanted[entry.event] = wanted
        return wanted and (self._task is None or self._task in entry.ids)


class LiveResponse(StreamingResponse):
    """Events as they come. A client that takes nothing for a while is cut off."""

    media_type = "text/event-stream"

    async def stream_response(self, send: Send) -> None:
        """Send all of it."""

        async def in_time(message: Any) -> None:
            async with asyncio.timeout(SLOW):
                await send(message)

        body: Any = self.body_iterator
        try:
            await super().stream_response(in_time)
        except TimeoutError:
            return
        finally:
            await body.aclose()


@router.get(
    path_of("/events/{noun}/{name}"),
    response_class=LiveResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **PROBLEMS},
    operation_id=operation_id("events", "stream"),
    tags=["events"],
)
async def stream(
    request: Request,
    found: Annotated[Reading, reading(merged=True)],
    types: Annotated[
        str, Query(max_length=1000, description="Patterns of events, with commas: `task.*,worker.lost`.")
    ] = "",
    task: Annotated[str | None, Query(max_length=200, description="Only events of this id.")] = None,
    after: Annotated[str | None, Query(pattern=PLACE, description="As `Last-Event-ID`, for the first time.")] = None,
    last_event_id: Annotated[str | None, Header(pattern=PLACE)] = None,
) -> Response:
    """Send events as they happen, as server-sent events: `data` is a JSON object, `id` its place in the stream.

    With partitions, the events of all of them come in one stream, in order in each partition. With `Last-Event-ID`, or
    `?after=`, begin after that event; `0-0` is the oldest one. Without, begin with the next
    one. An event `gap` says that events are missing here: they were deleted already (`why` is `trimmed`), or you have
    read too slowly (`slow`): then the stream ends, and you can go on after the last event that you have. The stream
    ends within 10 seconds after your rights end.
    """
    state = request.app.state
    if not hasattr(state, "live"):
        state.live = Live(found.gate.adeq)
    live: Live = state.live
    lines = _lines(request, found, live, Filter(types, task), last_event_id or after)
    first = await anext(lines)  # so that a refusal is still an answer

    async def body() -> AsyncIterator[bytes]:
        try:
            yield first
            async for line in lines:
                yield line
        finally:
            await lines.aclose()

    return LiveResponse(body(), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def _lines(
    request: Request, found: Reading, live: Live, wanted: Filter, after: str | None
) -> AsyncGenerator[bytes]:
    asked = said = monotonic()
    keys = {tag: f"{events.base}:events" for tag, events in found.streams.items()}
    is_one = len(keys) == 1
    with live.place():
        if after:  # a partition that is not named there has come later
            known = _read_place(after, keys)
            last = {tag: known.get(tag, START) for tag in keys}
        else:
            last = {tag: await newest(found.gate.adeq, key) for tag, key in keys.items()}
        yield format_sse_event(comment="events follow", retry=1000, id=_place(last))
        async for tag, entry in _of_all(found.gate.adeq, live, keys, dict(last)):
            if monotonic() >= asked + ASK:
                if not await _may_still(request, found):
                    return
                asked = monotonic()
            if isinstance(entry, Entry):
                last[tag] = entry.id
                if not wanted.has(entry):
                    continue
                yield format_sse_event(data_str=entry.revealed if found.reveals else entry.data, id=_place(last))
            elif entry is not None:
                part = {} if is_one else {"partition": tag}
                yield format_sse_event(
                    event="gap", data_str=json.dumps({"why": entry, "after": last[tag], **part}, separators=(",", ":"))
                )
                if entry == "slow":
                    return
            elif monotonic() >= said + PING:
                yield format_sse_event(comment="ping", id=_place(last))
            else:
                continue
            said = monotonic()


Found = Entry | Literal["slow", "trimmed"] | None
"""An event, or a gap; None: there is none now."""


async def _of_all(
    adeq: Adeq, live: Live, keys: Mapping[str, str], last: Mapping[str, str]
) -> AsyncGenerator[tuple[str, Found]]:
    """The events of some streams, each with the tag of its stream. It ends when one of them ends."""
    if len(keys) == 1:
        ((tag, key),) = keys.items()
        async for entry in _entries(adeq, live, key, last[tag]):
            yield tag, entry
        return
    waiting: asyncio.Queue[tuple[str, Found] | None] = asyncio.Queue(AHEAD)

    async def read_one(tag: str, key: str) -> None:
        try:
            async with aclosing(_entries(adeq, live, key, last[tag])) as entries:
                async for entry in entries:
                    if entry is not None:
                        await waiting.put((tag, entry))
        except AdeqError as error:
            log.warning("the events of %s cannot be read now: %s", key, error)
        await waiting.put(None)

    readers = [asyncio.create_task(read_one(tag, key)) for tag, key in keys.items()]
    try:
        while True:
            try:
                async with asyncio.timeout(min(ASK, PING) / 2):
                    found = await waiting.get()
            except TimeoutError:
                found = "", None
            if found is None:
                return
            yield found
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


def _place(last: Mapping[str, str]) -> str:
    """Where a reader is: the id in the only stream, or that in each of them."""
    return ",".join(f"{tag}:{id}" for tag, id in last.items()) if len(last) > 1 else next(iter(last.values()))


def _read_place(place: str, tags: Collection[str]) -> dict[str, str]:
    """The ids by tag. A plain id is one of the stream without partitions, which may have got some meanwhile."""
    if ":" not in place:
        return {next(iter(tags)) if len(tags) == 1 else WHOLE: place}
    return dict(one.split(":") for one in place.split(","))


async def _entries(adeq: Adeq, live: Live, key: str, last: str) -> AsyncGenerator[Found]:
    """The events after an id: first those that are stored, then those that come."""
    is_behind = True
    while is_behind:
        entries, gap = await read(adeq, key, last)
        if gap:
            yield "trimmed"
        for entry in entries:
            last = entry.id
            yield entry
        is_behind = len(entries) == PAGE
    async with live.listen(key) as (listener, begins):
        while at(last) < at(begins):  # what came meanwhile
            entries, gap = await read(adeq, key, last)
            if gap:
                yield "trimmed"
            for entry in entries:
                last = entry.id
                yield entry
            if not entries:
                break
        while not listener.ended:
            if listener.lost:
                yield "slow"
                return
            if not listener.entries:
                yield None
                await listener.wait(min(ASK, PING) / 2)
                continue
            kept = listener.entries.popleft()
            if kept is None:
                yield "trimmed"
            elif at(kept.id) > at(last):
                last = kept.id
                yield kept


async def _may_still(request: Request, found: Reading) -> bool:
    """Whether the reader may still read these streams. With a new partition, it has to come again."""
    own, slash, _ = found.name.partition("/")
    try:
        check(await found.gate.principal(request), found.noun, own, "")
        there = [] if slash else await _streams(found.gate, found.noun, own)
    except Exception:  # also if nobody can tell: the reader comes again
        return False
    return bool(slash) or {one.partition("/")[2] or WHOLE for one in there} == set(found.streams)


# In groups


class NewGroup(Strict):
    """start: the first event to read: the oldest that there is, or the next one."""

    group: str
    start: Literal["oldest", "now"] = "oldest"


class ReadBody(Strict):
    """limit: how many events at most.

    hold: seconds after which an event is delivered again, unless it is acknowledged. wait: seconds to wait for events.
    """

    limit: int = Field(default=100, ge=1, le=MOST)
    hold: float = Field(default=60.0, ge=1, le=86400, allow_inf_nan=False)
    wait: float = Field(default=0.0, ge=0, le=LONGEST_WAIT, allow_inf_nan=False)


class AckBody(Strict):
    """ids: of events. gap: the number of a gap."""

    ids: list[str] = Field([], max_length=MOST)
    gap: int | None = Field(None, ge=1)


class TrimBody(Strict):
    """before: delete events before this time; without, those that are older than the setting `keep`."""

    before: datetime | None = None


class Gap(BaseModel):
    """Events that were deleted before the group had read or acknowledged them; see Python's `EventGap`."""

    number: int
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
    """A group; see Python's `EventGroup`."""

    gap: Gap | None  # type: ignore[assignment]  # an object, where Python has a tuple


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


Observed = Annotated[Reading, reading("observe")]
Followed = Annotated[Reading, reading("follow")]
Operated = Annotated[Reading, reading("operate")]
GROUPS: Final = "/events/{noun}/{name}/groups"


def _documented(word: str) -> dict[str, Any]:
    return {"responses": PROBLEMS, "operation_id": operation_id("events", word), "tags": ["events"]}


@router.get(path_of(GROUPS), **_documented("groups"))
async def groups(found: Observed) -> EventGroups:
    """Return the groups that read the stream, with their lag."""
    there = await found.events.groups()
    return EventGroups(length=there.length, first=there.first, last=there.last, groups=list(map(_group, there.groups)))


@router.post(path_of(GROUPS), **_documented("register"))
async def register(found: Operated, body: NewGroup) -> Registered:
    """Register a group. From now on it holds events that it has not acknowledged."""
    made = await found.events.register(body.group, start=body.start)
    return Registered(status="registered" if made else "exists")


@router.delete(path_of(GROUPS + "/{group}"), status_code=204, response_class=Response, **_documented("drop"))
async def drop(found: Operated, group: str) -> Response:
    """Drop a group. It holds no events any more."""
    if not await found.events.drop(group):
        raise missing("group", group)
    return Response(status_code=204)


@router.post(path_of(GROUPS + "/{group}") + ":read", **_documented("read"))
async def read_group(request: Request, found: Followed, group: str, body: ReadBody | None = None) -> Batch:
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


@router.post(path_of(GROUPS + "/{group}") + ":ack", **_documented("ack"))
async def ack(found: Followed, group: str, body: AckBody) -> Acknowledged:
    """Acknowledge events of a group, and its gap: they are not delivered again. May be repeated."""
    gap = None if body.gap is None else EventGap(body.gap, "", "", None)
    return Acknowledged(count=await found.events.ack(group, body.ids, gap=gap))


@router.post(path_of("/events/{noun}/{name}") + ":trim", **_documented("trim"))
async def trim(found: Operated, body: TrimBody | None = None) -> Trimmed:
    """Delete old events that all groups have acknowledged."""
    removed, held_by = await found.events.trim(body.before if body else None)
    return Trimmed(removed=removed, held_by=held_by)


def _group(one: EventGroup) -> Group:
    return Group(**one.model_dump(exclude={"gap"}), gap=_gap(one.gap))


def _gap(gap: EventGap | None) -> Gap | None:
    return gap and Gap(**gap._asdict())


def _batch(batch: EventBatch, reveals: bool) -> Batch:
    found = [OneEvent(**(event if reveals else shown(event)).as_json()) for event in batch.events]
    return Batch(events=found, gap=_gap(batch.gap), lag=batch.lag, due=batch.due)

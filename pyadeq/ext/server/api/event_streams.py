"""Events as they happen, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from fnmatch import fnmatchcase
from time import monotonic
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse
from starlette.types import Send

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError
from pyadeq.ext.server.api.event_access import WHOLE, Reading, check, reading, streams_of
from pyadeq.ext.server.api.live import PAGE, START, Entry, Live, at, newest, only, read
from pyadeq.ext.server.api.routes import PROBLEMS, by_hand
from pyadeq.ext.server.reads import ask

log = logging.getLogger("pyadeq.server")
ASK: Final = 5.0
"""Seconds after which it is asked again whether the reader may still read."""
PING: Final = 15.0
"""Seconds without events after which a stream shows that it lives."""
SLOW: Final = 30.0
"""Seconds in which a client takes something. Otherwise its connection is cut."""
PLACE: Final = (
    r"^([0-9]{1,16}(-[0-9]{1,19})?|[A-Za-z0-9._@+-]{1,100}:[0-9]{1,16}-[0-9]{1,19}"
    r"(,[A-Za-z0-9._@+-]{1,100}:[0-9]{1,16}-[0-9]{1,19}){0,511})$"
)
"""An id in a stream, or with partitions `tag:id,tag:id`."""
MOST_ASKED: Final = 1000
"""Ids of tasks in one question to the server, at most."""
AHEAD: Final = 100
"""Events of several partitions that wait for a client, besides those of each."""

STREAM: Final = "events_stream"

router = APIRouter()


class Filter:
    """What a reader wants. types: patterns; none: all. task: only events of this id."""

    def __init__(self, types: str, task: str | None) -> None:
        self._patterns = [word for word in types.split(",") if word]
        self._task = task
        self._wanted: dict[str, bool] = {}

    def has(self, entry: Entry) -> bool:
        """Whether the reader wants it."""
        if not entry.event:  # the reader may not see it
            return False
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


@by_hand(
    router,
    STREAM,
    response_class=LiveResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **PROBLEMS},
)
async def stream(
    request: Request,
    found: Annotated[Reading, reading(STREAM, merged=True)],
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

    With rights for one user only, you get the events of tasks of this user that still exist, and nothing else: an event
    of several tasks names only these, without its payload.
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
    with live.place(found.principal.name, found.principal.shared):
        if after:  # a partition that is not named there has come later
            known = _read_place(after, keys)
            last = {tag: known.get(tag, START) for tag in keys}
        else:
            last = {tag: await newest(found.gate.adeq, key) for tag, key in keys.items()}
        yield format_sse_event(comment="events follow", retry=1000, id=_place(last))
        async for tag, entry in _of_all(found, live, keys, dict(last)):
            if monotonic() >= asked + ASK:
                if not await _may_still(request, found):
                    return
                asked = monotonic()
            if isinstance(entry, Entry):
                last[tag] = entry.id
                if wanted.has(entry):
                    yield format_sse_event(data_str=entry.revealed if found.reveals else entry.data, id=_place(last))
                elif monotonic() >= said + PING:  # a busy stream of which the reader wants little
                    yield format_sse_event(comment="ping", id=_place(last))
                else:
                    continue
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
    reading: Reading, live: Live, keys: Mapping[str, str], last: Mapping[str, str]
) -> AsyncGenerator[tuple[str, Found]]:
    """The events of some streams, each with the tag of its stream. It ends when one of them ends."""
    if len(keys) == 1:
        ((tag, key),) = keys.items()
        async for entry in _entries(reading, live, key, last[tag]):
            yield tag, entry
        return
    waiting: asyncio.Queue[tuple[str, Found] | None] = asyncio.Queue(AHEAD)

    async def read_one(tag: str, key: str) -> None:
        try:
            async with aclosing(_entries(reading, live, key, last[tag])) as entries:
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
    """Return the place of a reader: the id in the only stream, or the id in each of several, with its tag."""
    return ",".join(f"{tag}:{id}" for tag, id in last.items()) if len(last) > 1 else next(iter(last.values()))


def _read_place(place: str, tags: Collection[str]) -> dict[str, str]:
    """The ids by tag. A plain id is one of the stream without partitions, which may have got some meanwhile."""
    if ":" not in place:
        return {next(iter(tags)) if len(tags) == 1 else WHOLE: place}
    return dict(one.split(":") for one in place.split(","))


class _View:
    """What one reader may see of a stream's events.

    The index of a user's tasks says in which millisecond each was created. Events before that are about an earlier task
    with the same id, perhaps of another user. In that millisecond, those from the last `task.enqueued` on are the
    task's. A deleted task is in no index, so its events are withheld.
    """

    def __init__(self, reading: Reading, key: str) -> None:
        self._reading = reading
        self._base = key.removesuffix(":events")
        self._first: dict[str, tuple[int, tuple[int, int]]] = {}  # by id: the millisecond, and the place in the stream

    async def of(self, entries: Sequence[Entry | None]) -> Sequence[Entry | None]:
        """The events that the reader may see; in place of each other one, one without any content."""
        if self._reading.users is None:
            return entries
        found = [entry for entry in entries if entry and entry.event.startswith("task.")]
        since = await self._created([*{id for entry in found for id in entry.ids}])
        for entry in found:
            if entry.event == "task.enqueued":
                at_ms = _at_ms(entry)
                self._first |= {id: (at_ms, at(entry.id)) for id in entry.ids if since.get(id) == at_ms}
        seen = [entry and self._part(entry, since) for entry in entries]
        last_ms = max(map(_at_ms, found), default=0)
        self._first = {id: first for id, first in self._first.items() if first[0] >= last_ms}
        return seen

    async def _created(self, ids: Sequence[str]) -> dict[str, float]:
        """When each of the users' tasks was created (ms)."""
        since: dict[str, float] = {}
        for user in self._reading.users or ():
            for first in range(0, len(ids), MOST_ASKED):
                part = ids[first : first + MOST_ASKED]
                scores = await ask(self._reading.gate.adeq, "zmscore", f"{self._base}:by:user:{user}", part)
                since |= {id: score for id, score in zip(part, scores, strict=True) if score is not None}
        return since

    def _part(self, entry: Entry, since: Mapping[str, float]) -> Entry:
        """The event as far as it is about these tasks."""
        at_ms = _at_ms(entry)

        def is_own(id: str) -> bool:
            if id in since and since[id] == at_ms:
                return id in self._first and self._first[id][1] <= at(entry.id)
            return id in since and since[id] < at_ms

        own = tuple(id for id in entry.ids if is_own(id)) if entry.event.startswith("task.") else ()
        if not own:
            return replace(entry, event="", ids=(), data="", revealed="")
        return entry if own == entry.ids else Entry.from_event(only(entry.whole, own))


def _at_ms(entry: Entry) -> int:
    return round(entry.whole.timestamp * 1000)


async def _stored(adeq: Adeq, view: _View, key: str, last: str) -> tuple[list[Found], int, str]:
    """A page of the events after an id. Returns also how many there were, and the id of the last one."""
    entries, gap = await read(adeq, key, last)
    found: list[Found] = ["trimmed"] if gap else []
    return [*found, *await view.of(entries)], len(entries), entries[-1].id if entries else last


async def _entries(reading: Reading, live: Live, key: str, last: str) -> AsyncGenerator[Found]:
    """The events after an id: first those that are stored, then those that come."""
    adeq = reading.gate.adeq
    view = _View(reading, key)
    count = PAGE
    while count == PAGE:
        found, count, last = await _stored(adeq, view, key, last)
        for one in found:
            yield one
    async with live.listen(key) as (listener, begins):
        while at(last) < at(begins):  # what came meanwhile
            found, count, last = await _stored(adeq, view, key, last)
            for one in found:
                yield one
            if not count:
                break
        while not listener.ended:
            if listener.lost:
                yield "slow"
                return
            if not listener.entries:
                yield None
                await listener.wait(min(ASK, PING) / 2)
                continue
            waiting = [*listener.entries]
            listener.entries.clear()
            for kept in await view.of(waiting):
                if kept is None:
                    yield "trimmed"
                elif at(kept.id) > at(last):
                    last = kept.id
                    yield kept


async def _may_still(request: Request, found: Reading) -> bool:
    """Whether the reader may still read these streams. With a new partition, it has to come again."""
    own, slash, _ = found.name.partition("/")
    try:
        if check(await found.gate.principal(request), found.noun, own, "", by_user=True) != found.users:
            return False
        there = [] if slash else await streams_of(found.gate, found.noun, own)
    except Exception:  # also if nobody can tell: the reader comes again
        return False
    return bool(slash) or {one.partition("/")[2] or WHOLE for one in there} == set(found.streams)

"""Live events: one reader a process for each stream, whatever the number of its listeners."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from redis.exceptions import RedisError

from pyadeq.asyncio import Adeq, Event
from pyadeq.errors import AdeqError, ClientClosed
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.reads import BLOCK, ask

log = logging.getLogger("pyadeq.server")
PAGE: Final = 500
"""Events of one read."""
PAUSE: Final = 0.05
"""Seconds between two reads of a busy stream. Its events come together then, which is cheaper for the server."""
REST: Final = 1.0
"""Seconds until a server is asked again that was away."""
MOST_KEPT: Final = 1000
"""Events that wait for a listener. With more it is slow, and dropped."""
MOST_LISTENERS: Final = 1000
"""Streams of events that one process sends at a time, at most."""
MOST_OF_ONE: Final = 200
"""Streams of events at one process for one owner of tokens, or one user of a proxy, at most."""
START: Final = "0-0"


def at(id: str) -> tuple[int, int]:
    """An id of a stream, to compare."""
    ms, _, number = id.partition("-")
    return int(ms), int(number or 0)


@dataclass(frozen=True)
class Entry:
    """An event of a stream, made into JSON once for all listeners.

    revealed: the same with what the tier of its task may hide.
    """

    id: str
    event: str
    ids: tuple[str, ...]
    data: str
    revealed: str
    whole: Event

    @classmethod
    def of(cls, id: Any, fields: Any) -> Entry:
        """Read an entry from the id and the fields that the server has stored."""
        return cls.from_event(Event.from_entry(id, fields))

    @classmethod
    def from_event(cls, event: Event) -> Entry:
        """Make an entry of an event."""
        return cls(event.id, event.event, event.ids, _json(shown(event)), _json(event), event)


def shown(event: Event) -> Event:
    """The event without what a tier may hide: the key of a limit may be the user of a restricted task."""
    if event.event != "task.limited":
        return event
    return event._replace(payload={name: text for name, text in event.payload.items() if name != "limit"})


def only(event: Event, ids: tuple[str, ...]) -> Event:
    """The event as far as it is about these of its tasks: what it says of several together may be about the others."""
    if ids == event.ids:
        return event
    traces = event.trace.split(" ")
    each = dict(zip(event.ids, traces, strict=True)) if len(traces) == len(event.ids) else {}
    own = {each.get(id, "") for id in ids}
    return event._replace(ids=ids, payload={}, trace=own.pop() if len(own) == 1 else "")


class Listener:
    """Takes the events of a stream, one after the other. It is `lost` if it was too slow."""

    def __init__(self) -> None:
        self.entries: deque[Entry | None] = deque()
        self.lost = self.ended = False
        self._bell = asyncio.Event()

    def put(self, entry: Entry | None) -> None:
        """Give it an event; None: events are missing here."""
        if len(self.entries) >= MOST_KEPT:
            self.lost = True
            self.entries.clear()
        if not self.lost:
            self.entries.append(entry)
        self._bell.set()

    def end(self) -> None:
        """There will be no more events."""
        self.ended = True
        self._bell.set()

    async def wait(self, seconds: float) -> None:
        """Wait until there is something, or this time is over."""
        if not self.entries and not self.lost and not self.ended:
            self._bell.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._bell.wait()


class Stream:
    """The one reader of a stream, while it has listeners."""

    def __init__(self, adeq: Adeq, key: str, last: str) -> None:
        self.key = key
        self.last = last
        self.listeners: set[Listener] = set()
        self._adeq = adeq
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        is_away = False
        try:
            while True:
                try:
                    entries, gap = await read(self._adeq, self.key, self.last)
                    if not entries:
                        await self._adeq.block_on(self.key, self.last, BLOCK)
                        continue
                except (RedisError, AdeqError, OSError) as error:
                    if isinstance(error, ClientClosed):
                        return
                    if not is_away:
                        log.warning("the events of %s cannot be read now: %s", self.key, error)
                    is_away = True
                    await asyncio.sleep(REST)
                    continue
                is_away = False
                self.last = entries[-1].id
                for entry in [None, *entries] if gap else entries:
                    for listener in self.listeners:
                        listener.put(entry)
                await asyncio.sleep(PAUSE)
        finally:
            for listener in self.listeners:
                listener.end()


class Live:
    """The streams that one process reads now."""

    def __init__(self, adeq: Adeq) -> None:
        self._adeq = adeq
        self._streams: dict[str, Stream] = {}
        self._opening = asyncio.Lock()
        self._places: Counter[str] = Counter()

    @property
    def keys(self) -> list[str]:
        """The keys of the streams that are read."""
        return list(self._streams)

    @contextmanager
    def place(self, who: str, shared: bool = False) -> Iterator[None]:
        """One of the streams of events that this process may send at a time. who: to whom. shared: to everybody."""
        if self._places[who] >= MOST_OF_ONE and not shared:
            how = f"{who} has {MOST_OF_ONE} streams of events open at this process, which is the most; close some first"
            raise Refused(429, "TOO_MANY_STREAMS", how, headers={"Retry-After": "10"}, retryable=True)
        if self._places.total() >= MOST_LISTENERS:
            how = f"this process sends {MOST_LISTENERS} streams of events, which is the most"
            raise Refused(503, "BUSY", how, headers={"Retry-After": "10"}, retryable=True)
        self._places[who] += 1
        try:
            yield
        finally:
            self._places[who] -= 1
            self._places += Counter()  # without those that have none

    @asynccontextmanager
    async def listen(self, key: str) -> AsyncIterator[tuple[Listener, str]]:
        """Get all events of a stream after the id that is returned, and perhaps some before it."""
        listener = Listener()
        stream: Stream | None = None
        try:
            async with self._opening:
                stream = self._streams.get(key)
                if stream is None or stream.reading.done():
                    stream = self._streams[key] = Stream(self._adeq, key, await newest(self._adeq, key))
                stream.listeners.add(listener)
            yield listener, stream.last
        finally:
            if stream is not None:
                stream.listeners.discard(listener)
                if not stream.listeners:
                    stream.reading.cancel()
                    if self._streams.get(key) is stream:
                        del self._streams[key]


async def read(adeq: Adeq, key: str, last: str) -> tuple[list[Entry], bool]:
    """Read a page of the events after an id. Returns also whether some before the page may be gone."""
    page = await ask(adeq, "xrange", key, f"({last}", "+", count=PAGE)
    oldest = await ask(adeq, "xrange", key, "-", "+", count=1)
    gap = bool(oldest) and last != START and at(_text(oldest[0][0])) > at(last)
    if not page and oldest and not gap and at(await newest(adeq, key)) < at(last):  # an older backup was restored
        page, gap = await ask(adeq, "xrange", key, "-", "+", count=PAGE), True
    return [Entry.of(id, fields) for id, fields in page], gap


async def newest(adeq: Adeq, key: str) -> str:
    """The id of the newest event of a stream."""
    found = await ask(adeq, "xrevrange", key, count=1)
    return _text(found[0][0]) if found else START


def _json(event: Event) -> str:
    found = event.as_json()
    del found["again"]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

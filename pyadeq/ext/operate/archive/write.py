"""Writes an archive: reads events from the server as a group, and acknowledges those that are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from pyadeq import Adeq, Change, Changes, Event, EventGap, Events, Queue
from pyadeq.errors import UnknownGroup
from pyadeq.ext.operate.archive.lines import (
    COMMENTED,
    ENDED,
    ENDS,
    Archived,
    Id,
    Key,
    Part,
    change_record,
    day_of,
    id_of,
    task_record,
)
from pyadeq.ext.operate.archive.store import Store
from pyadeq.models import TaskView

MOST: Final = 10_000
"""Events in a part. A group has at most this number of events that are delivered and not acknowledged."""
PAGE: Final = 1000
ROOM: Final = 16 * 2**20
"""Bytes of lines in a part, about. It bounds the memory of a run."""
RECORDS: Final = 100
"""Tasks that are read at once. Each may have a payload and a result of 1 MiB."""
LOG: Final = 1000
"""Entries of the log of a change: all that there may be."""


class Written(NamedTuple):
    """What was archived of a stream.

    events, tasks, changes, parts, bytes: how many of them, and the size of the files.
    gone: records of ended tasks and changes that were deleted before they could be archived.
    lost: events that the bound of memory has deleted before they could be archived; -1: an unknown number.
    left_out: events that are older than `since`, or that an earlier run has stored and not acknowledged.
    """

    stream: str
    events: int = 0
    tasks: int = 0
    changes: int = 0
    parts: int = 0
    bytes: int = 0
    gone: int = 0
    lost: int = 0
    left_out: int = 0

    def plus(self, other: Written) -> Written:
        """Return the sum."""
        lost = -1 if -1 in (self.lost, other.lost) else self.lost + other.lost
        sums = [one + more for one, more in zip(self[1:], other[1:], strict=True)]
        return Written(self.stream, *sums)._replace(lost=lost)


class Open:
    """A part that is not stored yet."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self._first = self._last = self.day = ""
        self._done = Written(stream)
        self.room = ROOM

    def add(self, one: Archived) -> None:
        """Add a line; an empty one only counts."""
        if one == Archived(self._stream, one.id):
            self._done = self._done._replace(gone=self._done.gone + 1)
            return
        self._first, self._last = self._first or one.id, one.id
        self.day = day_of(one.id)
        self._lines.append(one.as_line())
        self.room -= len(self._lines[-1])
        lost = (one.gap.lost or -1) if one.gap else 0
        self._done = self._done.plus(
            Written("", one.event is not None, one.task is not None, one.change is not None, lost=lost)
        )

    def put(self, store: Store) -> Written:
        """Store it, unless it is empty. Returns what is in it."""
        if not self._lines:
            return self._done
        part, content = Part.of(self._stream, self._first, self._last, b"".join(self._lines))
        store.put(part, content)
        return self._done._replace(parts=1, bytes=len(content))


class StreamWriter:
    """Archives the events of one stream.

    records: whether to archive the records of the tasks or changes that end.
    since: events before it are acknowledged, but not stored. None: all are stored.
    """

    def __init__(
        self, adeq: Adeq, store: Store, stream: str, group: str, hold: float, records: bool, since: float | None
    ) -> None:
        noun, _, name = stream.partition(":")
        self.stream = stream
        self.events: Events = adeq.events(noun, name)
        self._store = store
        self._group = group
        self._hold = hold
        self._since_ms = 0 if since is None else round(since * 1000)
        self._source: Queue | Changes | None = None
        if records and noun == "queue":
            self._source = _queue(adeq, name)
        elif records and noun == "change":
            self._source = adeq.changes(name)
        self._ends = ENDS[noun] | {COMMENTED} if self._source else frozenset()
        self._sealed = adeq.codec is not None

    def lag(self) -> int:
        """Return how many events are to be read."""
        found = self.events.groups()
        return next((one.lag + one.pending for one in found.groups if one.name == self._group), found.length)

    def write(self, limit: int | None = None, progress: Callable[[int], object] | None = None) -> Written:
        """Archive the events that there are, or about `limit` of them. progress: gets the number of events read.

        It ends when it has come to the end once. Otherwise it would go on with ever smaller parts where events never
        cease.
        """
        total, read, more = Written(self.stream), 0, True
        while more and (limit is None or read < limit):
            events, gap, more = self._gather(MOST if limit is None else min(MOST, limit - read))
            if not events and not gap:
                break
            total = total.plus(self._store_all(events, gap))
            self.events.ack(self._group, events, gap=gap)
            read += len(events)
            if progress:
                progress(read)
        return total

    def _gather(self, most: int) -> tuple[list[Event], EventGap | None, bool]:
        """Read events for about one part, each once, and whether there are more.

        If this takes longer than `hold`, some come again meanwhile.
        """
        events: dict[str, Event] = {}
        gap, room = None, ROOM
        while len(events) < most and room > 0:
            try:
                batch = self.events.read(self._group, limit=min(PAGE, most - len(events)), hold=self._hold)
            except UnknownGroup:
                self.events.add(self._group)
                continue
            gap = batch.gap or gap
            came_again = any(one.id in events for one in batch.events)
            events |= {one.id: one for one in batch.events if one.id not in events}
            room -= sum(len(word) for one in batch.events for word in (*one.ids, *one.payload.values(), one.trace))
            if not batch.events or not batch.lag:
                return list(events.values()), gap, False
            if came_again:
                break
        return list(events.values()), gap, True

    def _store_all(self, events: Sequence[Event], gap: EventGap | None) -> Written:
        gap_line = Archived(self.stream, gap.before, gap=gap) if gap else None
        known = self._known([*(one.id for one in events), *((gap_line.id,) if gap_line else ())])
        if gap_line and gap_line.key in known:
            gap_line = None
        new = [
            one
            for one in events
            if id_of(one.id)[0] >= self._since_ms and Archived(self.stream, one.id, event=one).key not in known
        ]
        done = Written(self.stream, left_out=len(events) - len(new))
        part = Open(self.stream)
        # An event is the last of its lines. So if a part has it, its records are stored, too.
        for line in self._lines(sorted(new, key=lambda one: id_of(one.id)), gap_line):
            if line.key in known:
                continue
            if part.room <= 0 or part.day not in ("", day_of(line.id)):
                done, part = done.plus(part.put(self._store)), Open(self.stream)
            part.add(line)
        return done.plus(part.put(self._store))

    def _lines(self, events: Sequence[Event], gap: Archived | None) -> Iterator[Archived]:
        """Yield the gap, and for each event the records of the tasks or changes that it ends, and the event.

        For a record that is gone, the line is empty.
        """
        steps = iter([(one, id) for one in events for id in self._ended(one)])
        while some := list(islice(steps, RECORDS)):
            ids = list(dict.fromkeys(id for _, id in some if id is not None))
            found = self._records(ids)
            for event, id in some:
                if gap and gap.key < (*id_of(event.id), 0):
                    yield gap
                    gap = None
                if id is None:
                    yield Archived(self.stream, event.id, event=event)
                elif line := self._line(event, found.get(id)):
                    yield line
        if gap:
            yield gap

    def _ended(self, event: Event) -> list[str | None]:
        return [*(event.ids if event.event in self._ends else ()), None]

    def _records(self, ids: Sequence[str]) -> dict[str, TaskView | Change | None]:
        if not ids or not self._source:
            return {}
        if isinstance(self._source, Changes):
            return dict(zip(ids, self._source.get_many(ids, requests=True, log=LOG, texts=True), strict=True))
        return dict(zip(ids, self._source.get_many(ids), strict=True))

    def _line(self, event: Event, record: TaskView | Change | None) -> Archived | None:
        """Return the line of a record: an empty one if it is gone. None if it belongs to a later event.

        A task may have been retried since the event, and a change reopened. It is archived when it ends again.
        """
        if record is None:
            return Archived(self.stream, event.id) if event.event != COMMENTED else None
        if isinstance(record, TaskView):
            if record.state not in ENDED["queue"]:
                return None
            return Archived(self.stream, event.id, task=task_record(record, self._sealed))
        if record.state not in ENDED["change"] or (record.ended or 0) > event.timestamp:
            return None
        return Archived(self.stream, event.id, change=change_record(record))

    def _known(self, ids: Sequence[str]) -> set[Key]:
        """Return the keys of all lines with these ids that are stored already.

        Usually there are none: new events are later than all parts. A killed run, another process or a group that was
        registered again leave some.
        """
        found: set[Key] = set()
        by_day: dict[str, set[Id]] = {}
        for id in ids:
            by_day.setdefault(day_of(id), set()).add(id_of(id))
        for day, wanted in by_day.items():
            first, last = min(wanted), max(wanted)
            for part in self._store.parts(self.stream, day):
                if id_of(part.first) <= last and first <= id_of(part.last):
                    try:
                        lines = part.read(self._store.read(part))
                    except ValueError:  # it is damaged, so what it should have is written again
                        continue
                    found.update(one.key for one in lines if id_of(one.id) in wanted)
        return found


def _queue(adeq: Adeq, name: str) -> Queue:
    own, _, tag = name.partition("/")
    return adeq.partitioned(own).part(tag) if tag else adeq.queue(own)

"""Checks an archive: its files by their digests, and its events against those that the server still has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pyadeq import Adeq, Event
from pyadeq.ext.operate.archive.lines import Archived, Id, Part, id_of
from pyadeq.ext.operate.archive.merge import merged
from pyadeq.ext.operate.archive.store import Store

PAGE: Final = 1000
SHOWN: Final = 20
"""Problems of which Verified has the texts."""


class Compared(NamedTuple):
    """The events that the server still has, beside those of the archive.

    events: how many the server has that were acknowledged, so that the archive must have them.
    missing: how many of them the archive does not have. different: how many differ there.
    server_digest, archive_digest: of these events, in each of the two places.
    """

    events: int
    missing: int
    different: int
    server_digest: str
    archive_digest: str


@dataclass(frozen=True)
class Verified:
    """What is in an archive, and what is wrong with it.

    parts, bytes: the files. lost: events that were lost before they could be archived, as its gaps say.
    twice: lines that are stored twice. That is no problem: `read` returns them once.
    digest: of all events, in order. Two archives of the same events have the same digest.
    problems: the first 20, as text. bad: how many there are.
    """

    parts: int
    bytes: int
    events: int
    tasks: int
    changes: int
    gaps: int
    lost: int
    twice: int
    digest: str
    bad: int
    problems: tuple[str, ...]
    compared: Compared | None = None


@dataclass
class Problems:
    """What is wrong."""

    texts: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> None:
        """Note a problem."""
        self.count += 1
        if len(self.texts) < SHOWN:
            self.texts.append(text)


class Verifier:
    """Reads parts. progress: called after each of them."""

    def __init__(self, store: Store, parts: Sequence[Part], progress: Callable[[], object] | None) -> None:
        self._store = store
        self._parts = parts
        self._progress = progress or (lambda: None)
        self.problems = Problems()
        self._wrong: set[Part] = set()
        self._bytes = self._twice = 0

    def verify(self) -> Verified:
        """Read all parts."""
        events = tasks = changes = gaps = lost = 0
        digest = hashlib.sha256()
        for one in merged(self._parts, self._lines, self._note_twice):
            if one.event:
                events += 1
                digest.update(one.as_line())
            elif one.task:
                tasks += 1
            elif one.change:
                changes += 1
            elif one.gap:
                gaps += 1
                lost += one.gap.lost or 0
        return Verified(
            parts=len(self._parts),
            bytes=self._bytes,
            events=events,
            tasks=tasks,
            changes=changes,
            gaps=gaps,
            lost=lost,
            twice=self._twice,
            digest=digest.hexdigest(),
            bad=self.problems.count,
            problems=tuple(self.problems.texts),
        )

    def compare(self, adeq: Adeq, streams: Sequence[str], group: str, since_ms: int) -> Compared:
        """Compare the events of the server that the group has acknowledged."""
        found = Compared(0, 0, 0, "", "")
        server, archive = hashlib.sha256(), hashlib.sha256()
        for stream in streams:
            stored: Iterator[Archived] | None = None
            here: Archived | None = None
            missing, first = 0, ""
            for event in self._acknowledged(adeq, stream, group, since_ms):
                there = Archived(stream, event.id, event=event)
                if stored is None:
                    stored = self._events(stream, id_of(event.id))
                    here = next(stored, None)
                while here and here.key < there.key:
                    here = next(stored, None)
                server.update(there.as_line())
                found = found._replace(events=found.events + 1)
                if not here or here.key != there.key:
                    missing, first = missing + 1, first or event.id
                    continue
                archive.update(here.as_line())
                if here != there:
                    found = found._replace(different=found.different + 1)
                    self.problems.add(f"{stream}: the event {event.id} is not what the server has")
            if missing:
                found = found._replace(missing=found.missing + missing)
                self.problems.add(f"{stream}: {missing:,} events are missing, the first is {first}")
        return found._replace(server_digest=server.hexdigest(), archive_digest=archive.hexdigest())

    def _acknowledged(self, adeq: Adeq, stream: str, group: str, since_ms: int) -> Iterator[Event]:
        noun, _, name = stream.partition(":")
        events = adeq.events(noun, name)
        mine = next((one for one in events.groups().groups if one.name == group), None)
        if mine is None:
            self.problems.add(f"{stream}: it has no group {group!r}, so none of its events were archived")
            return
        after, client = f"({since_ms}-0" if since_ms else "-", adeq.client
        while True:
            page: Any = client.xrange(f"{events.base}:events", after, mine.last, PAGE)
            for id, fields in page:
                event = Event.from_entry(id, fields)
                # Events from the oldest pending one on are left out: which of them are pending is not known.
                if mine.oldest is not None and id_of(event.id)[0] >= round(mine.oldest * 1000):
                    return
                yield event
                after = f"({event.id}"
            if len(page) < PAGE:
                return

    def _events(self, stream: str, first: Id) -> Iterator[Archived]:
        parts = [one for one in self._parts if one.stream == stream and id_of(one.last) >= first]
        return (one for one in merged(parts, self._lines, None) if one.event)

    def _lines(self, part: Part) -> list[Archived]:
        content = self._store.read(part)
        self._bytes += len(content)
        self._progress()
        try:
            lines = part.read(content)
        except ValueError as error:
            self._note(part, f"is damaged: {error}")
            return []
        first, last = id_of(part.first), id_of(part.last)
        if not all(one.stream == part.stream and first <= id_of(one.id) <= last for one in lines):
            self._note(part, "has lines that do not belong there")
        return lines

    def _note(self, part: Part, what: str) -> None:
        """Note what is wrong with a file, once: it is read again to be compared."""
        if part not in self._wrong:
            self._wrong.add(part)
            self.problems.add(f"{part.path} {what}")

    def _note_twice(self, one: Archived, other: Archived) -> None:
        self._twice += 1
        if one.event and one != other:
            self.problems.add(
                f"{one.stream}: two different events have the id {one.id}; does the archive hold two installations?"
            )

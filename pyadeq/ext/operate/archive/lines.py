"""What an archive holds: lines of JSON, and parts, which are files of lines. No I/O."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Self

from pyadeq import Change, Event, EventGap, tiers
from pyadeq.models import TaskView

Id = tuple[int, int]
"""The id of an event as numbers, which sort in the order of the stream."""

Key = tuple[int, int, int, str]

PATH: Final = re.compile(
    r"noun=(\w+)/name=([^/~]+)(?:~([^/]+))?/day=(\d{4}-\d\d-\d\d)/(\d+-\d+)_(\d+-\d+)_([0-9a-f]{32})\.jsonl\.gz"
)
ENDED: Final = {
    "queue": ("completed", "cancelled", "dead"),
    "change": ("completed", "failed", "rejected", "cancelled"),
}
"""The states in which a task or a change is archived."""
ENDS: Final = {
    "queue": frozenset(f"task.{state}" for state in (*ENDED["queue"], "expired")),
    "change": frozenset(f"change.{state}" for state in ENDED["change"]),
}
"""The events after which an archive looks for records."""
COMMENTED: Final = "change.commented"
"""The event that may come after the end of a change, and adds to its record."""


class Archived(NamedTuple):
    """A line of an archive: an event, the record of a task or of a change, or a gap.

    stream: such as `queue:default`.
    id: of the event; for a record, of the event after which it was read; for a gap, of the first event after it.
    event: as a group reads it. gap: events that were lost before they could be archived.
    task: the fields of a TaskView that its data tier allows. change: the fields of a Change, with its requests and log.
    """

    stream: str
    id: str
    event: Event | None = None
    task: dict[str, Any] | None = None
    gap: EventGap | None = None
    change: dict[str, Any] | None = None

    @property
    def key(self) -> Key:
        """What two lines have in common if they are the same one, written twice. It also sorts the lines."""
        if self.gap:
            return *id_of(self.id), 0, str(self.gap.number)
        record = self.task or self.change
        return *id_of(self.id), 1 if record else 2, record["id"] if record else ""

    def as_line(self) -> bytes:
        """Return the line as JSON, with its end."""
        value: dict[str, Any] = {"stream": self.stream}
        if self.event:
            value |= {"type": "event", **self.event.as_json()}
            del value["again"]  # says how it was read, not what it is
        elif self.task:
            value |= {"type": "task", "id": self.id, "task": self.task}
        elif self.change:
            value |= {"type": "change", "id": self.id, "change": self.change}
        elif self.gap:
            value |= {"type": "gap", "id": self.id, **self.gap._asdict()}
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """Return what a line says."""
        value = json.loads(line)
        stream, kind = value.pop("stream"), value.pop("type")
        if kind == "event":
            return cls(stream, value["id"], event=Event.from_json(value))
        id = value.pop("id")
        return cls(stream, id, gap=EventGap(**value)) if kind == "gap" else cls(stream, id, **value)


class Part(NamedTuple):
    """A file of lines of one stream and one day. Its name says which events are in it, and the digest of its lines.

    So the same lines have the same name, and other lines never have it.
    """

    noun: str
    name: str
    day: str
    first: str
    last: str
    digest: str

    @property
    def stream(self) -> str:
        """The stream whose events the file has, such as `queue:default`."""
        return f"{self.noun}:{self.name}"

    @property
    def place(self) -> tuple[str, str, Id, Id, str]:
        """Sorts parts by their stream and their first event."""
        return self.noun, self.name, id_of(self.first), id_of(self.last), self.digest

    @property
    def path(self) -> str:
        """The path of the file in the archive."""
        name = self.name.replace("/", "~")
        return f"noun={self.noun}/name={name}/day={self.day}/{self.first}_{self.last}_{self.digest}.jsonl.gz"

    @classmethod
    def from_path(cls, path: str) -> Self | None:
        """Return the part with this path; None if it is no part."""
        if not (match := PATH.fullmatch(path)):
            return None
        noun, name, tag, *rest = match.groups()
        return cls(noun, f"{name}/{tag}" if tag else name, *rest)

    @classmethod
    def of(cls, stream: str, first: str, last: str, text: bytes) -> tuple[Self, bytes]:
        """Return the part for these lines, and the content of its file. first, last: the ids of its lines."""
        noun, _, name = stream.partition(":")
        return cls(noun, name, day_of(first), first, last, _digest(text)), gzip.compress(text, 6, mtime=0)

    def read(self, content: bytes) -> list[Archived]:
        """Return the lines of its file. Raises ValueError if they are not those that were written."""
        try:
            text = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"it is no complete gzip file: {error}") from error
        if _digest(text) != self.digest:
            raise ValueError("its lines do not have the digest in its name")
        return [Archived.from_line(line) for line in text.splitlines()]


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:32]


def id_of(text: str) -> Id:
    """Return the id of an event as numbers."""
    ms, _, number = text.partition("-")
    return int(ms), int(number)


def day_of(id: str) -> str:
    """Return the day of an event, in UTC."""
    return datetime.fromtimestamp(id_of(id)[0] / 1000, UTC).date().isoformat()


def task_record(task: TaskView, sealed: bool) -> dict[str, Any]:
    """Return what an archive may keep of a task. sealed: a codec has opened it, so its content stays out."""
    task = tiers.shown(task)
    if sealed:
        task = task.model_copy(update={"data": None, "result_data": None, "error": None})
    return _record(task)


def change_record(change: Change) -> dict[str, Any]:
    """Return what an archive keeps of a change: all of it, because changes have no data tier."""
    return _record(change)


def _record(model: TaskView | Change) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)

"""Models of events: what groups read from event streams. Times are as in `models.base`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, Self
from urllib.parse import unquote

from pyadeq.models.base import Model, iso

ENCODED: Final = frozenset({"error"})
"""Details whose text is percent-encoded in the stream, because it may have spaces and anything else."""
WORD: Final = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)


class Event(NamedTuple):
    """An event of a stream, as a group reads it.

    id: of the event in its stream. A consumer can recognize by it what it has done already. From `queue.events` of a
    partitioned queue it is `<partition>:<id>`; in the partition `-` it is the id alone.
    event: such as `task.completed`.
    timestamp: when it happened.
    ids: of what: the task, for instance. Some calls write one event for several.
    payload: further details, by name.
    source: who made the call, if the client sets it. trace: a W3C traceparent, or several.
    again: whether it was delivered before, and not acknowledged in time.
    """

    id: str
    event: str
    timestamp: float
    ids: tuple[str, ...] = ()
    payload: Mapping[str, str] = {}
    source: str = ""
    trace: str = ""
    again: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what an API shows: the time in ISO 8601, in UTC."""
        at = iso(self.timestamp)
        return {**self._asdict(), "timestamp": at, "ids": list(self.ids), "payload": dict(self.payload)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the event of which `as_json` has returned this. `again` may be left out."""
        at = round(datetime.fromisoformat(value["timestamp"]).timestamp() * 1000) / 1000
        return cls(**{**value, "timestamp": at, "ids": tuple(value["ids"])})

    @classmethod
    def from_entry(cls, id: bytes | str, fields: Mapping[Any, Any]) -> Self:
        """Return an event as XRANGE and XREAD return it, for programs that read a stream without a group."""
        text = {_text(name): _text(value) for name, value in fields.items()}
        return cls(
            id=_text(id),
            event=text["event"],
            timestamp=int(text["timestamp"]) / 1000,
            ids=tuple(text.get("id", "").split()),
            payload=details(text.get("payload", "")),
            source=text.get("source", ""),
            trace=text.get("trace", ""),
        )


def split(id: str) -> tuple[str, str]:
    """Return the partition of an event, and its id there. An id without a partition is one of `-`."""
    tag, colon, own = id.rpartition(":")
    return (tag, own) if colon else ("-", id)


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")


def details(text: str) -> dict[str, str]:
    """Return details by name. A word without a name belongs to the one before it: a reason may have several words."""
    found: dict[str, str] = {}
    name = ""
    for word in text.split(" ") if text else ():
        if match := WORD.fullmatch(word):
            name = match[1]
            found[name] = f"{found[name]} {match[2]}" if name in found else match[2]
        else:
            found[name] = f"{found[name]} {word}" if name in found else word
    return {name: unquote(value, errors="replace") if name in ENCODED else value for name, value in found.items()}


class EventGap(NamedTuple):
    """Events that were trimmed before the group had read or acknowledged them.

    number: names this gap when it is acknowledged. It rises with each change of the gap.
    after: the id of the newest event before the gap, or of the first one in it.
    before: the id of the first event after the gap, or of the last one in it.
    lost: how many events; None if that is not known.
    """

    number: int
    after: str
    before: str
    lost: int | None

    @property
    def partition(self) -> str:
        """The tag of the partition of a partitioned queue; `-` without partitions."""
        return split(self.after)[0]


class EventBatch(NamedTuple):
    """What one read has delivered.

    gap: what the group has lost, until it is acknowledged; None: nothing.
    lag: how many events were not delivered yet. due: when the next event is delivered again; None: none is pending.
    """

    events: tuple[Event, ...]
    gap: EventGap | None
    lag: int
    due: float | None


class EventGroup(Model):
    """A registered group.

    read: when a reader came last, exact to a minute.
    last: the id of the newest event that was delivered. lag: how many were not delivered yet.
    pending: how many events were delivered and not acknowledged. oldest: the time of the oldest of these.
    lapsed: whether no reader came for so long that the group holds no events.
    lost: how many events the group has lost in all. missed: how many it will have lost when a reader comes.
    gap: what it has lost and not acknowledged; with partitions, the first one of a partition.
    partitions: with partitions, the same group in each. The other numbers are the sums then.
    """

    name: str
    registered: float
    read: float
    last: str
    lag: int
    pending: int
    oldest: float | None
    lapsed: bool
    lost: int
    missed: int
    gap: EventGap | None
    partitions: Mapping[str, EventGroup] = {}


class EventGroups(NamedTuple):
    """The groups of a stream.

    length: how many events it holds. first, last: the ids of its oldest and newest. now: the time of the stream.
    """

    length: int
    first: str
    last: str
    groups: tuple[EventGroup, ...]
    now: float


class EventsTrimmed(NamedTuple):
    """removed: how many events were deleted. held_by: the group that keeps older ones; None: no group does."""

    removed: int
    held_by: str | None

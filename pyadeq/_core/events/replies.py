"""The answers of an event stream, as the noun layer decodes them, into models."""

from __future__ import annotations

from typing import Any

from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.events import Event, EventBatch, EventGap, EventGroup, EventGroups, details


def batch(answer: Result) -> EventBatch:
    """What one read has delivered."""
    gap = next((_gap(one.number, one.fields["from"], one.to, one.lost) for one in answer.gaps), None)
    return EventBatch(tuple(event(one) for one in answer.items), gap, answer.lag, answer.due or None)


def event(item: Result) -> Event:
    """An event of a batch."""
    found = item.fields["fields"]
    return Event(
        id=item.id,
        event=found["event"],
        timestamp=found["timestamp"] / 1000,
        ids=tuple(found.get("id", "").split()),
        payload=details(_text(found.get("payload", b""))),
        source=_text(found.get("source", b"")),
        trace=_text(found.get("trace", b"")),
        again=item.status == "again",
    )


def groups(answer: Result) -> EventGroups:
    """The groups of a stream."""
    return EventGroups(answer.length, answer.first, answer.last, tuple(map(_group, answer.items)), answer.now)


def _group(item: Result) -> EventGroup:
    about: dict[str, Any] = dict(item.about)
    number, after, before, lost = (about.pop(name) for name in ("gap", "gap_from", "gap_to", "gap_lost"))
    gap = _gap(number, after, before, lost) if number else None
    return EventGroup(name=item.name, gap=gap, **{**about, "oldest": about["oldest"] or None})


def _gap(number: int, after: str, before: str, lost: int) -> EventGap:
    return EventGap(number, after, before, lost or None)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")

"""The calls of groups that read events, each recorded."""

from __future__ import annotations

from typing import Any

from pyadeq.asyncio import Events, Result
from pyadeq.ext.prove.chaos.noun_recorder import Recorded

BOUND = 100
"""The bound of the stream: how many events it keeps, about."""


def namespace_of(domain: str) -> str:
    """The config namespace whose events are read. No other client uses it."""
    return f"{domain}-events"


def stream_of(adeq: Any, domain: str) -> Any:
    """Return the events of the namespace, of either kind of client."""
    return adeq.events("config", namespace_of(domain))


def told(answer: Result) -> dict[str, Any]:
    """What rules need: ids without the content of events."""
    found: dict[str, Any] = {"status": answer.status}
    if "gaps" in answer.fields:
        found["ids"] = [one.id for one in answer.items]
        found["kinds"] = [one.status for one in answer.items]
        found["gaps"] = [[one.number, one.lost] for one in answer.gaps]
    for name in ("acked", "length"):
        if name in answer.fields:
            found[name] = answer.fields[name]
    return found


class RecordedEvents(Recorded, Events, of=stream_of, told=told, reads=frozenset({"groups"})):
    """The events of the run's own namespace, with recorded calls, also `groups`."""

"""Groups that read events: which of them lose events, hold old ones, or have no reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from pyadeq import Adeq, EventGroup
from pyadeq.ext.operate.doctor.report import Finding, ok, warn
from pyadeq.ext.shared.installation import event_streams

OLD: Final = 86_400.0  # seconds for which an event may wait for its acknowledgement


class Read(NamedTuple):
    """A group of a stream, `<noun>:<name>`. age: of its oldest event that is not acknowledged, in seconds."""

    stream: str
    group: EventGroup
    age: float


def look(adeq: Adeq, seconds: float) -> list[Read]:
    """The groups of all streams, as far as that takes no longer."""
    return [
        Read(stream.name, one, max(stream.now - one.oldest, 0) if one.oldest else 0)
        for stream in event_streams(adeq, seconds)
        for one in stream.groups
    ]


def check(reads: Sequence[Read]) -> Finding:
    """Does each group read what it holds?"""
    for stream, group, _ in reads:
        if group.missed or group.gap:
            lost = group.missed + (group.gap.lost or 0 if group.gap else 0)
            return warn(
                f"group {group.name} of {stream} has lost {f'{lost:,}' if lost else 'an unknown number of'} events",
                "They were deleted by the bound of memory before it had read or acknowledged them.",
                "start more readers, or raise events_max there",
                f"adeq events groups --stream {stream}",
            )
    for stream, group, _ in reads:
        if group.lapsed:
            return warn(
                f"group {group.name} of {stream} has no reader",
                "It holds no events any more, and loses those that are older than they are kept.",
                f"start a reader, or: adeq events rm {group.name} --stream {stream}",
            )
    for stream, group, age in reads:
        if age > OLD:
            return warn(
                f"group {group.name} of {stream} has not acknowledged an event for {age / 3600:,.0f} h",
                "It keeps all later events from being deleted by age.",
                f"adeq events groups --stream {stream}",
            )
    lag = max(one.group.lag for one in reads)
    return ok(f"{len(reads):,} group{'' if len(reads) == 1 else 's'}, the slowest has to read {lag:,} events")

"""Groups that read the events of several partitions: ids that say where an event is, and sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyadeq._core.queue.partitions import WHOLE
from pyadeq.models.events import Event, EventBatch, EventGap, EventGroup, EventGroups, split


def tagged(tag: str, id: str) -> str:
    """Return the id of an event of a partition. In the partition `-` it stays what it was before there were others."""
    return id if tag == WHOLE else f"{tag}:{id}"


def by_partition(ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the ids of events in each partition."""
    found: dict[str, list[str]] = {}
    for tag, own in map(split, ids):
        found.setdefault(tag, []).append(own)
    return found


def tagged_gap(tag: str, gap: EventGap | None) -> EventGap | None:
    """Return a gap of a partition as one of all."""
    return gap and gap._replace(after=tagged(tag, gap.after), before=tagged(tag, gap.before))


def tagged_batch(tag: str, batch: EventBatch) -> EventBatch:
    """Return what a partition has delivered as a batch of all."""
    events: tuple[Event, ...] = tuple(one._replace(id=tagged(tag, one.id)) for one in batch.events)
    return batch._replace(events=events, gap=tagged_gap(tag, batch.gap))


def no_events(looked: Sequence[EventBatch]) -> EventBatch:
    """Return the batch that says that no partition has events now."""
    due = min((one.due for one in looked if one.due is not None), default=None)
    return EventBatch((), None, sum(one.lag for one in looked), due)


def total(found: Mapping[str, EventGroups]) -> EventGroups:
    """Return each group once, with the sums of its partitions."""
    groups: dict[str, dict[str, EventGroup]] = {}
    for tag, stream in found.items():
        for one in stream.groups:
            groups.setdefault(one.name, {})[tag] = one
    filled = [(tag, stream) for tag, stream in found.items() if stream.length]
    return EventGroups(
        length=sum(stream.length for _, stream in filled),
        first=min((tagged(tag, stream.first) for tag, stream in filled), key=_at, default="0-0"),
        last=max((tagged(tag, stream.last) for tag, stream in filled), key=_at, default="0-0"),
        groups=tuple(_total(groups[name], len(found) > 1) for name in sorted(groups)),
        now=max(stream.now for stream in found.values()),
    )


def _total(parts: Mapping[str, EventGroup], are_several: bool) -> EventGroup:
    all = list(parts.values())
    gaps = [tagged_gap(tag, one.gap) for tag, one in parts.items() if one.gap]
    return EventGroup(
        name=all[0].name,
        registered=min(one.registered for one in all),
        read=min(one.read for one in all),
        last=max((tagged(tag, one.last) for tag, one in parts.items()), key=_at),
        lag=sum(one.lag for one in all),
        pending=sum(one.pending for one in all),
        oldest=min((one.oldest for one in all if one.oldest is not None), default=None),
        lapsed=any(one.lapsed for one in all),
        lost=sum(one.lost for one in all),
        missed=sum(one.missed for one in all),
        gap=gaps[0] if gaps else None,
        partitions=dict(parts) if are_several else {},
    )


def _at(id: str) -> tuple[int, int]:
    ms, _, number = split(id)[1].partition("-")
    return int(ms), int(number)

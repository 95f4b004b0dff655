"""Dead tasks by kind and reason: the counts of several calls, or of several partitions, together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyadeq.models.queue import DeadGroup, DeadSummary


def merged(parts: Iterable[Iterable[DeadGroup]]) -> list[DeadGroup]:
    """One group for each kind and reason, the largest first."""
    found: dict[tuple[str | None, str | None], DeadGroup] = {}
    for groups in parts:
        for one in groups:
            known = found.get((one.kind, one.reason), one)
            count = one.count if known is one else known.count + one.count
            first, last = min(known.first, one.first), max(known.last, one.last)
            found[one.kind, one.reason] = one.model_copy(update={"count": count, "first": first, "last": last})
    return sorted(found.values(), key=lambda one: (-one.count, one.kind or "", one.reason or ""))


def together(parts: Sequence[DeadSummary]) -> DeadSummary:
    """The summary of several partitions."""
    return DeadSummary(
        groups=merged(one.groups for one in parts),
        counted=sum(one.counted for one in parts),
        complete=all(one.complete for one in parts),
    )

"""The history of a queue: what happened between its snapshots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from pyadeq.models.queue import HistoryPoint

EVENTS = ("enqueued", "claimed", "completed", "retried", "dead", "cancelled", "stalled")
SUMS = {"waited": "wait_ms_sum", "ran": "run_ms_sum"}
STATES = ("ready", "delayed", "blocked", "running", "buried", "workers")
MINUTE = 60
Snapshot = tuple[float, Mapping[str, int]]
"""When it was taken, and its numbers."""


def points(snapshots: Sequence[Snapshot], step: float) -> list[HistoryPoint]:
    """What happened in each step, oldest first.

    The first snapshot is only the base of the next one, and so is the first one after a clock was set back.
    """
    found: dict[float, HistoryPoint] = {}
    for (since, before), (at, after) in pairwise(snapshots):
        if at <= since:
            continue
        grown = {name: _growth(before.get(name, 0), after.get(name, 0)) for name in (*EVENTS, *SUMS.values())}
        fields: dict[str, Any] = {name: grown[name] for name in EVENTS}
        fields |= {name: grown[total] / 1000 for name, total in SUMS.items()}
        fields |= {name: after.get(name, 0) for name in STATES}
        if after.get("ready", -1) < 0:
            fields["ready"] = None
        end = math.ceil(at / step) * step
        point = HistoryPoint(at=end, seconds=at - since, **fields)
        found[end] = _joined(found[end], point) if end in found else point
    return sorted(found.values(), key=lambda one: one.at)


def together(parts: Iterable[Sequence[HistoryPoint]]) -> list[HistoryPoint]:
    """The history of a queue in partitions. A partition without a snapshot in a step counts with its last states.

    A newest minute is left out while partitions that have the one before lack it: its rates would be too low.
    """
    histories = [{point.at: point for point in part} for part in parts]
    last: list[HistoryPoint | None] = [None] * len(histories)
    found: list[HistoryPoint] = []
    steps = sorted({at for history in histories for at in history})
    if len(steps) > 1 and steps[-1] - steps[-2] <= MINUTE and any(map(partial(_lags, steps), histories)):
        steps.pop()
    for at in steps:
        now = [history.get(at) for history in histories]
        last = [new or old for new, old in zip(now, last, strict=True)]
        events = [point for point in now if point]
        states = [point for point in last if point]
        fields: dict[str, Any] = {name: sum(getattr(point, name) for point in events) for name in (*EVENTS, *SUMS)}
        fields |= {name: _sum([getattr(point, name) for point in states]) for name in STATES}
        fields["workers"] = max(point.workers for point in states)  # a worker is known in each
        found.append(HistoryPoint(at=at, seconds=max(point.seconds for point in events), **fields))
    return found


def _lags(steps: Sequence[float], history: Mapping[float, HistoryPoint]) -> bool:
    return steps[-2] in history and steps[-1] not in history


def _joined(first: HistoryPoint, second: HistoryPoint) -> HistoryPoint:
    added = {name: getattr(first, name) + getattr(second, name) for name in (*EVENTS, *SUMS, "seconds")}
    return second.model_copy(update=added)


def _growth(before: int, after: int) -> int:
    """Return the growth of a total. If it has fallen, the queue was deleted and created again: it began at 0."""
    return after - before if after >= before else after


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count for count in counts if count is not None)

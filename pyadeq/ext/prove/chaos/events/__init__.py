"""Groups that read events in a chaos run: what their readers do, and the rules that they have to keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyadeq.ext.prove.chaos.case import Rule
from pyadeq.ext.prove.chaos.events import rules, workload
from pyadeq.ext.prove.chaos.events.read import read_groups
from pyadeq.ext.prove.chaos.events.recorder import stream_of
from pyadeq.ext.prove.chaos.history import History
from pyadeq.ext.prove.chaos.part import Part

RULES: tuple[Rule, ...] = (
    rules.events_delivered,
    rules.gaps_reported_once,
    rules.events_bounded,
)


def count(history: History) -> Mapping[str, int]:
    """The events that were delivered, first and again."""
    reads = [op for op in history.ops if op.verb == "events.read" and op.outcome == "ok"]
    return Counter(kind for op in reads for kind in op.answer.get("kinds", ()))


PART = Part(
    rules=RULES,
    play=workload.follow,
    roles={"reader": workload.follow},
    cast={"reader": 2},
    bases=lambda adeq, domain: [stream_of(adeq, domain).base],
    set_up=workload.set_up,
    read=read_groups,
    counts=count,
)

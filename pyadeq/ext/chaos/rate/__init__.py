"""Rates in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyadeq.ext.chaos.case import Rule
from pyadeq.ext.chaos.history import History
from pyadeq.ext.chaos.part import Part
from pyadeq.ext.chaos.rate import rules, workload

RULES: tuple[Rule, ...] = (
    rules.rules_found,
    rules.rates_kept,
    rules.leases_kept,
    rules.slots_freed,
    rules.hits_all_or_none,
    rules.hits_counted_once,
    rules.hits_answered_again,
)


def count(history: History) -> Mapping[str, int]:
    """The hits, by status."""
    return Counter(op.answer["status"] for op in history.ops if op.verb == "rate.hit" and op.outcome == "ok")


PART = Part(
    rules=RULES,
    play=workload.call,
    roles={"caller": workload.call},
    cast={"caller": 2},
    bases=lambda adeq, namespace: [adeq.rates(namespace).base],
    counts=count,
)

"""Rates in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from pyadeq.ext.prove.chaos.case import Rule
from pyadeq.ext.prove.chaos.part import Part, by_status
from pyadeq.ext.prove.chaos.rate import rules, workload

RULES: tuple[Rule, ...] = (
    rules.rules_found,
    rules.rates_kept,
    rules.leases_kept,
    rules.slots_freed,
    rules.hits_all_or_none,
    rules.hits_counted_once,
    rules.hits_answered_again,
)


PART = Part(
    rules=RULES,
    play=workload.call,
    roles={"caller": workload.call},
    cast={"caller": 2},
    bases=lambda adeq, namespace: [adeq.rates(namespace).base],
    counts=by_status("rate.hit"),
)

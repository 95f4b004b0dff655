"""Configs in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from pyadeq.ext.prove.chaos.case import Rule
from pyadeq.ext.prove.chaos.config import rules, workload
from pyadeq.ext.prove.chaos.config.read import read_config
from pyadeq.ext.prove.chaos.part import Part, by_status

RULES: tuple[Rule, ...] = (
    rules.expected_versions_replaced,
    rules.config_revs_rise,
    rules.config_writes_once,
    rules.config_reads_current,
    rules.config_values_kept,
    rules.snapshots_rise,
    rules.snapshots_whole,
    rules.snapshots_end_current,
    rules.config_history_listed,
)


PART = Part(
    rules=RULES,
    play=workload.edit,
    roles={"editor": workload.edit},
    cast={"editor": 2},
    bases=lambda adeq, namespace: [adeq.config(namespace).base],
    set_up=workload.set_up,
    read=read_config,
    counts=by_status("config.set"),
)

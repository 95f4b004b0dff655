"""Changes in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyadeq.ext.prove.chaos.case import Rule
from pyadeq.ext.prove.chaos.change import end_rules, follow_rules, rules, run_locks, workload
from pyadeq.ext.prove.chaos.change.read import read_changes
from pyadeq.ext.prove.chaos.history import History
from pyadeq.ext.prove.chaos.part import Part

RULES: tuple[Rule, ...] = (
    rules.approved_by_enough,
    rules.decided_once,
    rules.applied_as_approved,
    rules.runs_apart,
    rules.applied_once,
    run_locks.locked_while_applied,
    rules.fails_closed,
    rules.change_answers_kept,
    rules.one_effect,
    follow_rules.followed_by_tasks,
    end_rules.change_records_agree,
    end_rules.inboxes_exact,
    end_rules.changes_at_rest,
)


def count(history: History) -> Mapping[str, int]:
    """The changes, by the state in the end."""
    records = history.nouns.get("change")
    changes = records.final.get("changes", {}) if records else {}
    return Counter(record["state"] for record in changes.values())


PART = Part(
    rules=RULES,
    play=workload.take_part,
    roles=workload.ROLES,
    cast={"proposer": 1, "voter": 2, "applier": 2, "sweeper": 1},
    bases=lambda adeq, domain: [adeq.noun("change", domain).base],
    set_up=workload.set_up,
    left=workload.left,
    read=read_changes,
    counts=count,
)

"""Changes in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from pyadeq.ext.chaos.case import Rule
from pyadeq.ext.chaos.change import end_rules, follow_rules, rules, run_locks

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

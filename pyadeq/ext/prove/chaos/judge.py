"""The rules, and the verdict on a history."""

from __future__ import annotations

from collections.abc import Mapping

from pyadeq import library
from pyadeq.ext.prove.chaos import (
    lease_rules,
    leftover_rules,
    lock_rules,
    loss_rules,
    order_rules,
    told_rules,
    unique_rules,
)
from pyadeq.ext.prove.chaos.case import Case, Finding, Rule, Verdict, Violation
from pyadeq.ext.prove.chaos.free_locks import free_locks
from pyadeq.ext.prove.chaos.history import History
from pyadeq.ext.prove.chaos.lock_turns import locks_in_turn
from pyadeq.ext.prove.chaos.parts import PARTS

__all__ = ["RULES", "Verdict", "Violation", "judge"]

RULES: Mapping[str, Rule] = {
    rule.__name__: rule
    for rule in (
        loss_rules.acknowledged_kept,
        loss_rules.answers_kept,
        loss_rules.stream_agrees,
        lease_rules.settles_once,
        lease_rules.leases_apart,
        lease_rules.stale_tokens,
        lease_rules.task_fences_rise,
        told_rules.leases_told,
        told_rules.creators_told,
        unique_rules.one_per_id,
        unique_rules.one_per_key,
        unique_rules.one_per_unique,
        unique_rules.one_per_scope,
        order_rules.in_order,
        lock_rules.locks_exclude,
        lock_rules.lock_fences_rise,
        lock_rules.requests_end_once,
        free_locks,
        locks_in_turn,
        leftover_rules.nothing_left,
        *(rule for part in PARTS.values() for rule in part.rules),
    )
}


def judge(history: History, *, drained: bool = True) -> Verdict:
    """Hold a history against all rules.

    drained: the work was to be over in the end: workers had taken all that there was, and leases had had their time.
    Where that is not so, nothing is said of what is left.
    """
    case = Case(history, drained=drained)
    verdict = Verdict(problems=[*history.problems])
    for tale, name in ((case.tale, "queue"), (case.locks, "lock domain")):
        if tale.cut and not history.problems:
            verdict.problems.append(f"the stream of the {name} begins late: what came before was trimmed, or not read")
    for word, records in history.nouns.items():
        if records.trimmed and not history.problems:
            title = library().manifest["nouns"][word]["title"]
            verdict.problems.append(f"the stream of the {title} begins late: what came before was trimmed")
    for name, rule in RULES.items():
        finding = Finding(name, case)
        rule(case, finding)
        verdict.violations += finding.violations
        verdict.checks[name] = finding.checks
    for (durability, verb), count in case.lost.items():
        verdict.lost.setdefault(durability, {})[verb] = count
    return verdict

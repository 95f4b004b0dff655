"""Sessions in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyadeq.ext.chaos.case import Rule
from pyadeq.ext.chaos.history import History
from pyadeq.ext.chaos.part import Part
from pyadeq.ext.chaos.session import rules, workload

RULES: tuple[Rule, ...] = (
    rules.ended_sessions_stay,
    rules.created_sessions_found,
    rules.old_ids_only_read,
    rules.session_limit_kept,
    rules.updates_kept,
    rules.sessions_end_in_time,
)


def count(history: History) -> Mapping[str, int]:
    """The logins, by status."""
    return Counter(op.answer["status"] for op in history.ops if op.verb == "session.create" and op.outcome == "ok")


PART = Part(
    rules=RULES,
    play=workload.visit,
    roles={"visitor": workload.visit},
    cast={"visitor": 2},
    bases=workload.bases,
    counts=count,
)

"""Sessions in a chaos run: what its clients do with them, and the rules that they have to keep."""

from __future__ import annotations

from pyadeq.ext.prove.chaos.case import Rule
from pyadeq.ext.prove.chaos.part import Part, by_status
from pyadeq.ext.prove.chaos.session import rules, workload

RULES: tuple[Rule, ...] = (
    rules.ended_sessions_stay,
    rules.created_sessions_found,
    rules.old_ids_only_read,
    rules.session_limit_kept,
    rules.updates_kept,
    rules.sessions_end_in_time,
)


PART = Part(
    rules=RULES,
    play=workload.visit,
    roles={"visitor": workload.visit},
    cast={"visitor": 2},
    bases=workload.bases,
    counts=by_status("session.create"),
)

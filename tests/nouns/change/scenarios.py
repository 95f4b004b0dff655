"""Paths of the scripts of changes: the modules that have them."""

from __future__ import annotations

from tests.nouns.change import (
    scenarios_of_agents,
    scenarios_of_answers,
    scenarios_of_assess,
    scenarios_of_delegations,
    scenarios_of_due,
    scenarios_of_fences,
    scenarios_of_follows,
    scenarios_of_inboxes,
    scenarios_of_move,
    scenarios_of_names,
    scenarios_of_policies,
    scenarios_of_put,
    scenarios_of_reads,
    scenarios_of_requests,
    scenarios_of_runs,
    scenarios_of_submit,
    scenarios_of_two_nouns,
)

__all__ = [
    "scenarios_of_agents",
    "scenarios_of_answers",
    "scenarios_of_assess",
    "scenarios_of_delegations",
    "scenarios_of_due",
    "scenarios_of_fences",
    "scenarios_of_follows",
    "scenarios_of_inboxes",
    "scenarios_of_move",
    "scenarios_of_names",
    "scenarios_of_policies",
    "scenarios_of_put",
    "scenarios_of_reads",
    "scenarios_of_requests",
    "scenarios_of_runs",
    "scenarios_of_submit",
    "scenarios_of_two_nouns",
]

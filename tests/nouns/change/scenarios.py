"""Paths of the scripts of changes: the modules that have them."""

from __future__ import annotations

from tests.nouns.change import (
    scenarios_of_answers,
    scenarios_of_content,
    scenarios_of_due,
    scenarios_of_policies,
    scenarios_of_reads,
    scenarios_of_requests,
    scenarios_of_runs,
)

__all__ = [
    "scenarios_of_answers",
    "scenarios_of_content",
    "scenarios_of_due",
    "scenarios_of_policies",
    "scenarios_of_reads",
    "scenarios_of_requests",
    "scenarios_of_runs",
]

"""Paths of the scripts of rates: the modules that have them."""

from __future__ import annotations

from tests.nouns.rate import scenarios_of_hits, scenarios_of_leases, scenarios_of_rules

__all__ = ["scenarios_of_hits", "scenarios_of_leases", "scenarios_of_rules"]

"""Paths of the scripts of configs: see the modules of this folder."""

from __future__ import annotations

from tests.nouns.config import scenarios_of_reads, scenarios_of_sets

__all__ = ["scenarios_of_reads", "scenarios_of_sets"]

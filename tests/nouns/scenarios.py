"""Named paths through every script: each brings a queue or a lock domain into a state with calls on the server, and
returns the call.

The costs of all of them are recorded; the small ones are also sent twice, compared with the server's own Lua, and must
together run every line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.nouns.scenario import SCENARIOS, AnyCall, Prepare, Scenario, load

__all__ = ["SCENARIOS", "SMALL", "AnyCall", "Scenario", "is_damaged", "parameters", "small", "undamaged"]

load("scenarios_of_*.py", "*/scenarios*.py", "*/verb_*.py")

SMALL = 100
# What these take away, somebody else took: the base is not sound afterwards, and the scripts cannot clean up all of it.
# Or they put another noun below the base of theirs.
DAMAGED = (
    *("without record", "without payload", "without state", "damaged"),
    *("evicted", "in no set", "in one slot", "on another clock"),
)


def small(clock: str | None = None, noun: str | None = None) -> list[Scenario]:
    """Those of few items, with one kind of clock and of one noun, or with any."""
    found = [one for one in SCENARIOS if one.items <= SMALL and clock in (None, one.clock)]
    return [one for one in found if noun in (None, one.noun)]


def undamaged() -> list[Scenario]:
    return [one for one in small("test") if not is_damaged(one)]


def is_damaged(scenario: Scenario) -> bool:
    return any(word in scenario.name for word in DAMAGED)


def parameters(scenarios: Iterable[Scenario]) -> list[Any]:
    """Each for a test. Slow are those of many items, and those of which a smaller one goes the same path."""
    least: dict[Prepare, int] = {}
    for one in SCENARIOS:
        least[one.prepare] = min(one.items, least.get(one.prepare, one.items))
    return [
        pytest.param(one, id=one.name, marks=[pytest.mark.slow] * (one.items > min(SMALL, least[one.prepare])))
        for one in scenarios
    ]

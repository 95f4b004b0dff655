"""Named paths through every script: each brings a queue into a state with calls on the server, and returns the call.

The costs of all of them are recorded; the small ones are also sent twice, compared with the server's own Lua, and must
together run every line.
"""

from __future__ import annotations

from tests.lua import scenarios_of_care, scenarios_of_confirm, scenarios_of_ends, scenarios_of_ties, scenarios_of_work
from tests.lua.scenario import SCENARIOS, AnyCall, Scenario

__all__ = [
    "SCENARIOS",
    "AnyCall",
    "Scenario",
    "scenarios_of_care",
    "scenarios_of_confirm",
    "scenarios_of_ends",
    "scenarios_of_ties",
    "scenarios_of_work",
    "small",
]

SMALL = 100


def small(clock: str | None = None) -> list[Scenario]:
    """Those of few items, with one kind of clock or with any."""
    return [one for one in SCENARIOS if one.items <= SMALL and clock in (None, one.clock)]

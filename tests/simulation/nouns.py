"""The nouns of stories with a role each: what sets them up, what their actors do, and what is looked at in the end."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from tests.simulation import config_actors, event_actors, rate_actors, session_actors

NOUNS: Mapping[str, ModuleType] = {
    "visitor": session_actors,
    "caller": rate_actors,
    "editor": config_actors,
    "reader": event_actors,
}
"""By role. Each has `set_up(recorder, adeq)`, which returns bases, `play(clients, step)` and `look(clients)`."""

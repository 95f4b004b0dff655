"""The calls of a session realm that the rules need, each recorded."""

from __future__ import annotations

from pyadeq.asyncio import Adeq, Sessions
from pyadeq.ext.prove.chaos.noun_recorder import Recorded


class RecordedSessions(Recorded, Sessions, of=Adeq.sessions):
    """A session realm whose calls are recorded, also `get`. Ids are recorded as their hashes."""

"""The calls of a session realm that the rules need, each recorded."""

from __future__ import annotations

from pyadeq.asyncio import Adeq, Sessions
from pyadeq.ext.chaos.noun_recorder import RecordingRunner
from pyadeq.ext.chaos.recorder import Recorder


class RecordedSessions(Sessions):
    """A session realm whose calls are recorded, also `get`: see RecordingRunner. Ids are recorded as their hashes."""

    def __init__(self, recorder: Recorder, adeq: Adeq, realm: str, client: str, durability: str = "memory") -> None:
        plain = adeq.sessions(realm)
        super().__init__(RecordingRunner(recorder, adeq, client, durability), plain.name, plain.base)

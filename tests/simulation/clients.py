"""The clients of one process in a story."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pyadeq.asyncio import Adeq
from pyadeq.ext.prove.chaos.recorder import RecordedLocks, RecordedQueue, Recorder

T = TypeVar("T")
QUEUE, DOMAIN, POOL = "q", "d", "pool"
LANES = ("any", "group/g")


@dataclass(frozen=True)
class Clients:
    """Those of one process, made when they are needed.

    id: of the process. own: what it keeps. shared: what all processes know.
    """

    recorder: Recorder
    adeq: Adeq
    name: str
    id: str
    shared: dict[str, Any]
    own: dict[str, Any] = field(default_factory=dict)
    _nouns: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def queue(self) -> RecordedQueue:
        return self.recorder.queue(self.adeq.queue(QUEUE), self.name)

    @cached_property
    def locks(self) -> RecordedLocks:
        return self.recorder.locks(self.adeq.locks(DOMAIN), self.name)

    def noun(self, kind: Callable[[Recorder, Adeq, str, str], T]) -> T:
        """The object of another noun, such as RecordedRates; the same each time."""
        if kind not in self._nouns:
            self._nouns[kind] = kind(self.recorder, self.adeq, DOMAIN, self.name)
        found: T = self._nouns[kind]
        return found

    async def aclose(self) -> None:
        for noun in self._nouns.values():
            if hasattr(noun, "aclose"):
                await noun.aclose()

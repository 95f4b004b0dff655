"""The identity in a worker's claims, by which the server distinguishes a repeated claim from a new one.

A claim is number n of a slot of an incarnation of a worker. A slot has one call in flight; n rises by one with every
new call. Concurrent claims of one worker take different slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pyadeq.errors import AdeqError

MOST_SLOTS = 256


@dataclass(slots=True)
class Slot:
    """A sequence of claims; n is the number of the current call. A call that is re-sent keeps its number.

    answered: whether the last call was answered. If it was given up, the next call uses the same number, and gets what
    the server gave that call.
    """

    index: int
    n: int = 0
    answered: bool = True


@dataclass(slots=True)
class WorkerIdentity:
    """A worker's name and incarnation, its registration data, and its free slots."""

    worker: str
    incarnation: str
    about: Mapping[str, Any] = field(default_factory=dict)
    _indexes: count[int] = field(default_factory=count)
    _free: list[Slot] = field(default_factory=list)

    @contextmanager
    def slot(self, resumes: bool = False) -> Iterator[Slot]:
        """Yield a slot for one new call, with its number. The caller sets `answered` when the answer has come.

        resumes: a slot without an answer is taken first, and keeps its number.
        """
        try:
            slot = self._free.pop(-1 if resumes else 0)
        except IndexError:
            index = next(self._indexes)
            if index >= MOST_SLOTS:
                raise AdeqError(
                    f"worker {self.worker!r} has {MOST_SLOTS} claims in flight, which is the most; use more workers"
                ) from None
            slot = Slot(index)
        if slot.answered or not resumes:
            slot.n += 1
        slot.answered = False
        try:
            yield slot
        finally:
            self._free.insert(len(self._free) if not slot.answered else 0, slot)  # what is unanswered is taken first

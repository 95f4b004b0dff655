"""The identity that a worker's claims carry, so that a re-sent claim is known from a new one.

A claim is number n of a slot of an incarnation of a worker. A slot has one call in flight; n rises by one with every
new call. Concurrent claims of one worker take different slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from pyadeq.errors import AdeqError

MOST_SLOTS = 256


@dataclass(slots=True)
class Slot:
    """One line of claims; n is the number of the call that it is taken for. A call that is re-sent keeps its number."""

    index: int
    n: int = 0


@dataclass(slots=True)
class WorkerIdentity:
    """A worker's name under one incarnation, with the slots that are not in use."""

    worker: str
    incarnation: str
    capacity: int | None = None
    _indexes: count[int] = field(default_factory=count)
    _free: list[Slot] = field(default_factory=list)

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """A slot for one new call, numbered. A call given up is `stale` once the slot's next one has arrived."""
        try:
            slot = self._free.pop()
        except IndexError:
            index = next(self._indexes)
            if index >= MOST_SLOTS:
                raise AdeqError(
                    f"worker {self.worker!r} has {MOST_SLOTS} claims in flight, which is the most; use more workers"
                ) from None
            slot = Slot(index)
        slot.n += 1
        try:
            yield slot
        finally:
            self._free.append(slot)

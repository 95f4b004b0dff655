"""Fair shares as they have to be: start-time fair queueing, for each lane and priority on its own.

A task starts, in virtual time, where the one ended that its user has enqueued before, or where the lane is by now, if
that is later; it lasts for the longer, the less weight its user has. The line goes by these starts. It shares no code
with pyadeq.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LASTS = 1000  # a task of weight 1
Line = tuple[str, int]  # a lane and a priority


class Item(NamedTuple):
    id: str
    user: str = ""
    lane: str = "any"
    priority: int = 5


class Place(NamedTuple):
    """Where a task stands in its line. Who comes after a switch of fair shares stands behind all who came before it."""

    era: int
    start: int


class Shares:
    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self.places: dict[str, Place] = {}  # of those in line, or leased
        self.line: set[str] = set()
        self.weights: dict[str, int] = {}  # percents
        self.fair, self.era, self._last = True, 0, 0
        self._virtual: dict[Line, int] = {}  # in this era
        self._ends: dict[tuple[Line, str], int] = {}

    def weigh(self, user: str, percent: int) -> None:
        self.weights[user] = percent

    def switch(self, fair: bool) -> None:
        if fair != self.fair:
            self.fair = fair
            self.era += 1
            self._virtual, self._ends = {}, {}

    def come(self, *items: Item) -> None:
        """They have come, though they may wait for their time, or for others."""
        for item in items:
            self._last += 1
            self.items[item.id], self.places[item.id] = item, Place(self.era, self._last)

    def line_up(self, *ids: str) -> None:
        """At the end, in this order."""
        for id in ids:
            self._last += 1
            self.places[id] = Place(self.era, self._start(self.items[id]) if self.fair else self._last)
        self.put_back(*ids)

    def set_free(self, *ids: str) -> None:
        """Those that have waited for others; without fair shares their places are of the time when they came."""
        (self.line_up if self.fair else self.put_back)(*ids)

    def _start(self, item: Item) -> int:
        line = item.lane, item.priority
        start = max(self._virtual.get(line, 0), self._ends.get((line, item.user), 0))
        self._ends[line, item.user] = start + lasts(self.weights.get(item.user, 100))
        return start

    def put_back(self, *ids: str) -> None:
        """Where they were."""
        self.line |= {*ids}

    def drop(self, id: str) -> None:
        """Out of the line; the end stays where it is."""
        self.line.discard(id)

    def claim(self, lanes: Sequence[str], limit: int) -> list[str]:
        def order(id: str) -> tuple[int, int, Place, str]:
            item = self.items[id]
            return item.priority, lanes.index(item.lane), self.places[id], id

        taken = sorted([id for id in self.line if self.items[id].lane in lanes], key=order)[:limit]
        self.line -= {*taken}
        for id in taken:
            item, (era, start) = self.items[id], self.places[id]
            line = item.lane, item.priority
            if self.fair and era == self.era:
                self._virtual[line] = max(self._virtual.get(line, 0), start)
        return taken


def lasts(percent: int) -> int:
    return -(-LASTS * 100 // percent)

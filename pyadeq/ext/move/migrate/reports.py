"""What the commands of a migration answer. Reports have ids and counts, and no payloads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from pyadeq.ext.move.migrate.escrow import State
from pyadeq.ext.move.migrate.source import Place

IDS: Final = 100
"""Ids that a report names for each reason."""


@dataclass
class Reasons:
    """Messages by the reason why they were left: how many, and the first ids."""

    counts: Counter[str] = field(default_factory=Counter)
    ids: dict[str, list[str]] = field(default_factory=dict)

    def add(self, why: str, id: str) -> None:
        """Count a message."""
        self.counts[why] += 1
        if id and len(known := self.ids.setdefault(why, [])) < IDS:
            known.append(id)

    def as_json(self) -> list[dict[str, Any]]:
        """Return them, the most frequent first."""
        return [{"why": why, "count": n, "ids": self.ids.get(why, [])} for why, n in self.counts.most_common()]


@dataclass
class Planned:
    """What a move would do with the messages of one place.

    to: "" if its queue needs another name in pyadeq. delayed: of those that move, how many start later.
    """

    place: Place
    to: str
    moves: int = 0
    delayed: int = 0
    left: int = 0


@dataclass
class Plan:
    """What a move would do. digest: of all waiting messages and their order.

    empty: queues that were asked for and have no waiting task. elsewhere: then the queues that have any.
    """

    places: list[Planned]
    left: Reasons
    others: dict[str, int]
    digest: str
    empty: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


@dataclass
class Moved:
    """What a move did. again: messages of tasks that were moved before. unsure: see `Migration.move`.

    delivered: tasks that the old system has delivered twice, or before, so that they may have run there.
    """

    moved: int = 0
    again: int = 0
    delivered: Reasons = field(default_factory=Reasons)
    unsure: int = 0
    left: Reasons = field(default_factory=Reasons)
    seconds: float = 0.0


@dataclass
class Mirrored:
    """What a mirror or a shadow found. equal: tasks with the same copy on both sides. copied: copies made now.

    differences: waiting tasks without an equal copy. ended: copies of tasks that no longer wait on the old server.
    """

    equal: int = 0
    copied: int = 0
    differences: Reasons = field(default_factory=Reasons)
    ended: int = 0


@dataclass
class RolledBack:
    """What a rollback did. stayed: tasks that had begun in pyadeq, by their state there. digest: as in a Plan."""

    back: int = 0
    stayed: Reasons = field(default_factory=Reasons)
    unsure: int = 0
    digest: str = ""


@dataclass
class Status:
    """How far a migration is.

    phase: "" (a move), `mirror`, `shadow`, `cutover`, `rollback` (begun), `back` (rolled back) or `done` (cleaned up
    after a cutover).

    places: each with its queue in pyadeq, the number of messages in its list, and the number of messages in the escrow
    by state.
    """

    to: str
    phase: str
    places: list[tuple[Place, str, int, Counter[State]]]
    others: dict[str, int]

    def count(self, *states: State) -> int:
        """Return the number of messages in these states."""
        return sum(counts[state] for _, _, _, counts in self.places for state in states)

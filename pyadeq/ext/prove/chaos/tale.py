"""What the event stream of a queue tells, task by task.

It is told as it is: what cannot have happened is noted as odd, and the rules say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from pyadeq.ext.prove.chaos.history import Entry

WAITING, HELD, COMPLETED, CANCELLED, DEAD, GONE = "waiting", "held", "completed", "cancelled", "dead", "gone"
ENDED = {COMPLETED, CANCELLED, DEAD, GONE}
# What an event makes of a task, and in which states it can happen to one.
STEPS: dict[str, tuple[str, frozenset[str]]] = {
    "task.enqueued": (WAITING, frozenset({COMPLETED, CANCELLED, GONE})),  # those that ended well go without an event
    "task.claimed": (HELD, frozenset({WAITING})),
    "task.completed": (COMPLETED, frozenset({HELD})),
    "task.retried": (WAITING, frozenset({HELD})),
    "task.released": (WAITING, frozenset({HELD})),
    "task.snoozed": (WAITING, frozenset({HELD})),
    "task.suspended": (WAITING, frozenset({HELD})),
    "task.stalled": (WAITING, frozenset({HELD})),
    "task.dead": (DEAD, frozenset({WAITING, HELD})),
    "task.expired": (DEAD, frozenset({WAITING})),
    "task.cancelled": (CANCELLED, frozenset({WAITING, HELD})),
    "task.removed": (GONE, frozenset({WAITING, COMPLETED, CANCELLED, DEAD})),
}
REVIVED = (WAITING, frozenset({DEAD}))
TAKEN_OUT = (CANCELLED, frozenset({DEAD}))


@dataclass(slots=True)
class Lease:
    """A lease as the stream tells of it. end: what ended it.

    fence, last: the lowest and the highest that it can have. Of the tasks of one claim the first one's is told, and
    those after it rise.
    """

    id: str
    fence: int
    claim: Entry
    end: Entry | None = None
    last: float = inf

    @property
    def deadline_ms(self) -> int:
        """When it was to end, had nobody prolonged it."""
        return int(self.claim.words["deadline_ms"])


@dataclass(slots=True)
class Life:
    """A task from its enqueue until its record is gone. An id may have several, one after the other.

    spans: from where to where in the stream it waited or ran, as indexes of entries; more than one where it was taken
    out of the dead set. first_claim: the index of the claim that began each of them, if any did. purged: somebody
    deleted it, and its keys with it.
    """

    id: str
    state: str = WAITING
    spans: list[list[float]] = field(default_factory=list)
    first_claims: list[float] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    born: Entry | None = None
    last: Entry | None = None
    purged: bool = False


class Odd(NamedTuple):
    """An event that cannot happen to a task in that state. before: the task's event before it."""

    id: str
    entry: Entry
    state: str
    before: Entry | None

    def __str__(self) -> str:
        before = f", after {self.before.event} at {self.before.position}" if self.before else ""
        return f"{self.entry.event} at {self.entry.position} while it was {self.state}{before}"


class Tale:
    """All tasks. cut: the stream begins late; None: it does if it tells of a task that it has not told of before.

    stepped: its times go back: nothing follows from them.
    """

    def __init__(self, entries: Iterable[Entry], *, cut: bool | None = None) -> None:
        self.lives: dict[str, list[Life]] = {}
        self.leases: dict[str, list[Lease]] = {}
        self.claims: list[Entry] = []
        self.odd: list[Odd] = []
        self.unknown: list[Odd] = []
        self.index: dict[str, int] = {}
        self.paused = False
        self.stepped = False
        latest_ms = 0
        now: dict[str, Life] = {}
        step = self._step
        for index, entry in enumerate(entries):
            event = entry.event
            if entry.ms < latest_ms:
                self.stepped = True
            latest_ms = entry.ms
            if event in STEPS:
                if event == "task.claimed":
                    self._claimed(entry)
                to, allowed = STEPS[event]
                if event == "task.retried" and "reason" in entry.words:
                    to, allowed = REVIVED
                elif event == "task.cancelled" and entry.words.get("from") == DEAD:
                    to, allowed = TAKEN_OUT
                for at, id in enumerate(entry.ids):
                    step(now, id, at, index, entry, to, allowed)
            elif event == "task.alert" and entry.words.get("reason") == "record_missing":
                for id in entry.ids:
                    if id in now:
                        self._end(now[id], GONE, index, entry)
                        now[id].purged = True
            elif event == "queue.paused":
                self.paused = True
            elif event == "queue.resumed":
                self.paused = False
        self.cut = bool(self.unknown) if cut is None else cut

    def state(self, id: str) -> str | None:
        """Return the last state of a task; None if no event has named it."""
        lives = self.lives.get(id)
        return lives[-1].state if lives else None

    def lease(self, id: str, fence: int) -> Lease | None:
        """The lease of a task that had this fence."""
        for lease in self.leases.get(id, ()):
            if lease.fence <= fence <= lease.last:
                return lease
        return None

    def _claimed(self, entry: Entry) -> None:
        """Note a claim; no fence of the one before is as high as its first."""
        if self.claims:
            before = self.claims[-1]
            first, count = int(entry.words["fence"]), len(before.ids)
            for at, id in enumerate(before.ids[1:], 1):
                lease = self.leases[id][-1]
                lease.last = max(lease.fence, first - count + at)
        self.claims.append(entry)

    def _step(
        self, now: dict[str, Life], id: str, at: int, index: int, entry: Entry, to: str, allowed: frozenset[str]
    ) -> None:
        event = entry.event
        life = now.get(id)
        if event == "task.enqueued":
            if life is not None and life.state not in allowed:
                self.odd.append(Odd(id, entry, life.state, life.last))
                self._end(life, GONE, index, entry)
            life = now[id] = Life(id, born=entry, last=entry, spans=[[index, inf]], first_claims=[inf])
            self.lives.setdefault(id, []).append(life)
            return
        if life is None:
            life = now[id] = Life(id, spans=[[-1, inf]], first_claims=[-1])
            self.lives.setdefault(id, []).append(life)
            self.unknown.append(Odd(id, entry, "unknown", None))
        elif life.state not in allowed:
            self.odd.append(Odd(id, entry, life.state, life.last))
        if event == "task.claimed":
            fence = int(entry.words["fence"])
            lease = Lease(id, fence + at, entry, last=inf if at else fence)
            life.leases.append(lease)
            self.leases.setdefault(id, []).append(lease)
            life.state, life.last = HELD, entry
            if life.first_claims[-1] == inf:
                life.first_claims[-1] = index
            return
        if life.state == HELD and life.leases:
            life.leases[-1].end = entry
        if to == WAITING:
            if life.state == DEAD:
                life.spans.append([index, inf])
                life.first_claims.append(inf)
            life.state, life.last = WAITING, entry
        else:
            self._end(life, to, index, entry)
            life.purged |= to == GONE

    def _end(self, life: Life, state: str, index: int, entry: Entry) -> None:
        if life.state not in ENDED:
            life.spans[-1][1] = index
        life.state, life.last = state, entry

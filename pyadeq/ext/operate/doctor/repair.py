"""Tasks that are in no set, and other damage of a call that failed half-way: finding it, and putting it right.

One pass over the keys of a server finds the tasks of all queues. A script checks them, 1,000 in a call. Each check is
atomic, so workers and producers may go on meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from pydantic import BaseModel
from redis.exceptions import ResponseError

from pyadeq import Adeq, AdeqError, Queue, TaskRepair
from pyadeq.ext.operate.doctor.nouns import is_damage
from pyadeq.ext.shared.installation import primaries
from pyadeq.keys import PATTERNS, queue_base

SCAN_COUNT = 1000  # keys looked at in one command
CHECKED = 1000  # tasks in a call that only looks
MENDED = 100  # tasks in a call that writes
PAGE = 1000  # members of a limit's sets in a call
MOST_KEPT = 200_000  # damaged tasks of a queue that are sorted before they are put back
Progress = Callable[[int], object] | None


class Damage(BaseModel):
    """What was found in a queue, or in a partition of one, and what of it was repaired.

    lost: tasks in no set. twice: tasks in several. leases: tasks of whose lease a part was missing. lines: entries of
    limits that belonged to no task, or were missing. lanes: wrong entries in the list of lanes. runs: deleted tasks of
    which the runs were left. now: where repaired
    tasks are, by state. error: why the queue could not be looked at to the end.
    """

    queue: str
    error: str = ""
    tasks: int = 0
    lost: int = 0
    twice: int = 0
    leases: int = 0
    lines: int = 0
    lanes: int = 0
    runs: int = 0
    repaired: int = 0
    now: dict[str, int] = {}

    @property
    def found(self) -> int:
        """The number of all faults that were found."""
        return self.lost + self.twice + self.leases + self.lines + self.lanes + self.runs


@dataclass
class Inspection:
    """What was found so far. complete: whether all keys were looked at."""

    damages: list[Damage]
    complete: bool = True


@dataclass
class _Base:
    """What the pass over the keys has found of one base."""

    queue: Queue
    damage: Damage
    ids: list[str] = field(default_factory=list)
    damaged: dict[str, TaskRepair] = field(default_factory=dict)
    lanes: dict[str, None] = field(default_factory=dict)
    limits: dict[str, None] = field(default_factory=dict)

    def attempt(self, act: Callable[[], None]) -> None:
        """Note an error, and do nothing more about this queue: it must not keep the others from their repair."""
        if not self.damage.error:
            try:
                act()
            except AdeqError as error:
                self.damage.error = str(error)
            except ResponseError as error:
                if not is_damage(error):
                    raise
                self.damage.error = str(error)

    def note(self, name: str, repair: bool) -> None:
        kind, _, rest = name.partition(":")
        if kind in ("task", "ended_runs") and PATTERNS["id"].fullmatch(rest):
            self.ids.append(rest)
            self.damage.tasks += kind == "task"
            if len(self.ids) == CHECKED:
                self.attempt(partial(self.check, repair))
                self.ids.clear()
        elif kind == "ready" and PATTERNS["lane"].fullmatch(rest):
            self.lanes[rest] = None
        elif kind in ("holding", "waiting") and PATTERNS["limit"].fullmatch(rest):
            self.limits[rest] = None

    def check(self, repair: bool) -> None:
        """Ask which of the noted tasks are damaged."""
        if self.ids:
            answer = self.queue.admin.repair(self.ids, dry_run=True)
            self.damaged |= {one.id: one for one in answer.tasks if one.status == "damaged"}
            self.ids.clear()
        if len(self.damaged) >= MOST_KEPT:
            self.settle(repair)

    def settle(self, repair: bool) -> None:
        """Count the damaged tasks, and put them back, the oldest first."""
        counted = {"lost": "lost", "twice": "twice", "lease": "leases", "line": "lines", "runs": "runs"}
        for one in self.damaged.values():
            name = counted[one.kind or "lost"]
            setattr(self.damage, name, getattr(self.damage, name) + 1)
        oldest_first = sorted(self.damaged.values(), key=lambda one: (one.created, one.rid, one.index, one.id))
        self.damaged.clear()
        for start in range(0, len(oldest_first), MENDED) if repair else ():
            some = [one.id for one in oldest_first[start : start + MENDED]]
            for one in self.queue.admin.repair(some).tasks:
                if one.status == "repaired":
                    self.damage.repaired += 1
                    state = one.state or "gone"
                    self.damage.now[state] = self.damage.now.get(state, 0) + 1

    def finish(self, running: Iterable[str], repair: bool) -> None:
        """Look at all that remains: leases without a task's set, the sets of limits, and the list of lanes."""
        for id in running:
            self.ids.append(id)
            if len(self.ids) == CHECKED:
                self.check(repair)
        self.check(repair)
        self.settle(repair)
        for key in self.limits:
            self._look_at_limit(key, repair)
        self.lanes |= dict.fromkeys(self.queue.stats().lanes)
        lanes = list(self.lanes)
        for start in range(0, len(lanes), CHECKED):
            statuses = self.queue.admin.repair(lanes=lanes[start : start + CHECKED], dry_run=not repair).lanes
            self.damage.lanes += sum(status != "sound" for status in statuses)
            self.damage.repaired += statuses.count("repaired")

    def _look_at_limit(self, key: str, repair: bool) -> None:
        start, seen = 0, PAGE
        while seen == PAGE:
            page = self.queue.admin.repair(limit=key, start=start, dry_run=not repair)
            self.damage.lines += page.damaged
            self.damage.repaired += page.damaged if repair else 0
            seen, start = page.seen, start + PAGE - (min(page.damaged, page.seen) if repair else 0)


def inspect(
    adeq: Adeq,
    names: Sequence[str] = (),
    *,
    repair: bool = False,
    seconds: float | None = None,
    progress: Progress = None,
) -> Inspection:
    """Look for damage in the queues of a server with their partitions, all unless some are named; repair: put it right.

    seconds: stop looking for more keys after so long. progress: told how many keys were looked at. Only the nodes
    of the client are looked at: all primaries of a cluster, or the one server.
    """
    bases: dict[str, _Base] = {}
    running: dict[str, Any] = {}
    until = None if seconds is None else monotonic() + seconds
    whose = _splitter(adeq)
    looked, complete = 0, True
    for _, node in primaries(adeq.client):
        cursor = -1
        while cursor:
            if cursor > 0 and until is not None and monotonic() > until:
                complete = False
                break
            cursor, keys = node.scan(max(cursor, 0), count=SCAN_COUNT)
            looked += len(keys)
            for key in keys:
                match = whose.fullmatch(key.decode(errors="replace") if isinstance(key, bytes) else str(key))
                if match is None or (names and match["name"] not in names):
                    continue
                base = bases.get(match["base"]) or _base(adeq, match["name"], match["tag"])
                bases[base.queue.base] = base
                if match["rest"] == "running":
                    running[base.queue.base] = node
                base.note(match["rest"], repair)
            if progress:
                progress(looked)
    for name, base in bases.items():
        ids = _running(running[name], name) if name in running else iter(())
        base.attempt(partial(base.finish, ids, repair))
    return Inspection(sorted((base.damage for base in bases.values()), key=lambda damage: damage.queue), complete)


def _base(adeq: Adeq, name: str, tag: str | None) -> _Base:
    queue = adeq.queue(name) if tag is None else adeq.partitioned(name).part(tag)
    return _Base(queue, Damage(queue=queue.name))


def _splitter(adeq: Adeq) -> re.Pattern[str]:
    """A key of a queue: its base, and the rest."""
    word = r"[A-Za-z0-9._@+-]{1,100}"
    part = "" if adeq.slot else f"(?:/(?P<tag>{word}))?"
    named = re.escape(queue_base("NAME", adeq.prefix, adeq.slot)).replace("NAME", f"(?P<name>{word}){part}")
    pattern = f"(?P<base>{named}):(?P<rest>.*)"
    return re.compile(pattern if "(?P<tag>" in pattern else f"{pattern}(?P<tag>(?!))?", re.DOTALL)


def _running(node: Any, base: str) -> Iterator[str]:
    """The tasks that have an entry of a lease."""
    for id, _ in node.hscan_iter(f"{base}:running", count=SCAN_COUNT):
        yield id.decode() if isinstance(id, bytes) else id

"""What clients saw: their calls, sorted by what was asked and what the answers promise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pyadeq.ext.prove.chaos.history import Mark, Op

KEPT: dict[str, frozenset[str]] = {
    "memory": frozenset({"clock_back"}),
    "aof": frozenset({"clock_back", "restart", "power_cut"}),
    "replica": frozenset({"clock_back", "failover"}),
}
"""What an answer survives that was confirmed so."""
TOLD_BY = {
    "completed": "task.completed",
    "result_dropped": "task.completed",
    "retried": "task.retried",
    "dead": "task.dead",
    "cancelled": "task.cancelled",
    "released": "task.released",
    "snoozed": "task.snoozed",
    "suspended": "task.suspended",
}
"""The event of each answer with which a lease ends."""
SETTLING = {"ack", "fail", "release", "snooze"}


class Created(NamedTuple):
    """A task that a call has made."""

    op: Op
    id: str
    options: dict[str, Any]


class Named(NamedTuple):
    """A task that an answer said was there already."""

    op: Op
    id: str
    status: str


class Leased(NamedTuple):
    """A lease that a client was given."""

    op: Op
    id: str
    token: str
    fence: int


class Settlement(NamedTuple):
    """A lease that a client has ended. fence: None where nobody knows it."""

    op: Op
    id: str
    token: str
    fence: int | None
    status: str


class Calls:
    """All calls of a history.

    options: of each task, None where it is not sure which call has made it. tokens: by task and fence; twofold: those
    that were given out under two. stretched: the leases (task, fence) to which a heartbeat has given a length of its
    own. first_asked: when somebody asked first to end the lease of a task and token; what asks again may be a replay.
    unsure: the tasks that a call without an answer may have made.
    """

    def __init__(self, ops: Iterable[Op], marks: Iterable[Mark]) -> None:
        self.marked = {mark.kind: mark.at for mark in sorted(marks, key=lambda mark: mark.at)}
        self.created: list[Created] = []
        self.named: list[Named] = []
        self.claims: list[Op] = []
        self.leased: list[Leased] = []
        self.settled: list[Settlement] = []
        self.renewals: list[Settlement] = []
        self.first_asked: dict[tuple[str, str], float] = {}
        self.takes: list[Op] = []
        self.owners: set[str] = set()
        self.prioritised = False
        self.lock_ends: list[Op] = []
        self.stretched: set[tuple[str, int | None]] = set()
        self.options: dict[str, dict[str, Any] | None] = {}
        self.tokens: dict[tuple[str, int], str] = {}
        self.twofold: set[tuple[str, int]] = set()
        guessed: dict[str, dict[str, Any] | None] = {}
        for op in ops:
            verb = op.verb
            if verb == "enqueue":
                self._enqueue(op, guessed)
            elif verb == "claim":
                self._claim(op)
            elif verb == "settle":
                self._settle(op)
                self._claim(op)
            elif verb in SETTLING:
                self._settle(op)
            elif verb == "heartbeat":
                self._heartbeat(op)
            elif verb == "take":
                self.owners.add(op.asked["owner"])
                self.prioritised |= op.asked.get("priority", 5) != 5
                if op.outcome == "ok":
                    self.takes.append(op)
            elif verb in ("release_lock", "downgrade"):
                self.lock_ends.append(op)
        self.unsure = guessed.keys()
        self.options = guessed | self.options
        self._find_fences(self.settled)
        self._find_fences(self.renewals)

    def is_exposed(self, op: Op) -> bool:
        """Whether something has happened since that an answer of this durability need not survive."""
        if not self.marked:
            return False
        kept = KEPT[op.durability]
        return any(at >= op.began for kind, at in self.marked.items() if kind not in kept)

    def is_unsure(self, op: Op) -> bool:
        """Whether the server may have lost something since that an answer shows: another call has made it."""
        return any(at >= op.began for kind, at in self.marked.items() if kind != "clock_back")

    def came_before(self, one: Op, other: Op) -> bool:
        """Whether a call was answered before another began, and the server has lost nothing since."""
        if one.ended is None or one.ended >= other.began:
            return False
        return not any(one.began <= at for kind, at in self.marked.items() if kind != "clock_back")

    def is_another(self, id: str, fence: int | None, token: str) -> bool:
        """Whether the lease of this fence was given out under another token, and under no second one."""
        key = (id, fence or 0)
        return self.tokens.get(key, token) != token and key not in self.twofold

    def _find_fences(self, found: list[Settlement]) -> None:
        if any(one.fence is None for one in found):
            fences = {(one.id, one.token): one.fence for one in self.leased}
            found[:] = [one if one.fence else one._replace(fence=fences.get((one.id, one.token))) for one in found]

    def _enqueue(self, op: Op, guessed: dict[str, dict[str, Any] | None]) -> None:
        tasks = op.asked["tasks"]
        for at, (status, id) in enumerate(op.answer.get("receipts", ())):
            if status == "created":
                options = tasks[at]
                self.created.append(Created(op, id, options))
                self.options[id] = options if id not in self.options or _same(self.options[id], options) else None
            elif status != "refused":
                self.named.append(Named(op, id, status))
        if op.outcome == "unknown":
            for at, options in enumerate(tasks):
                id = options.get("id") or _id_of(options, op, at)
                if id:
                    guessed[id] = options if _same(guessed.get(id, options), options) else None

    def _claim(self, op: Op) -> None:
        self.claims.append(op)
        for id, token, fence, _ in op.answer.get("leases", ()):
            self.leased.append(Leased(op, id, token, fence))
            if self.tokens.setdefault((id, fence), token) != token:
                self.twofold.add((id, fence))

    def _settle(self, op: Op) -> None:
        for id, token, *_ in op.asked["held"]:
            if self.first_asked.setdefault((id, token), op.began) > op.began:
                self.first_asked[id, token] = op.began
        for (id, token, fence, _), status in _answered(op):
            if status in TOLD_BY:
                self.settled.append(Settlement(op, id, token, fence, status))

    def _heartbeat(self, op: Op) -> None:
        if op.asked.get("extend"):
            self.stretched |= {(held[0], held[2]) for held in op.asked["held"]}
        for (id, token, fence, _), status in _answered(op):
            if status != "lease_lost":
                self.renewals.append(Settlement(op, id, token, fence, status))


def _answered(op: Op) -> Iterator[tuple[list[Any], str]]:
    return zip(op.asked["held"], op.answer.get("statuses", ()), strict=False)


def _id_of(options: dict[str, Any], op: Op, at: int) -> str | None:
    """The id that a task without one has from the rid of its call."""
    if rid := options.get("rid"):
        return str(rid)
    rid = op.asked.get("rid")
    return f"{rid}.{at}" if rid else None


def _same(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    return one is not None and {**one, "rid": None} == {**other, "rid": None}

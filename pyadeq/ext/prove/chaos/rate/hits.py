"""What clients saw of rates: their hits, rule by rule and subject by subject, in the order of the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import NamedTuple

from pyadeq.ext.prove.chaos.calls import KEPT
from pyadeq.ext.prove.chaos.case import Case
from pyadeq.ext.prove.chaos.history import Mark, Op
from pyadeq.ext.prove.chaos.server_times import ServerTimes, now_of

VERBS = "rate."
REMEMBERED = 50.0  # seconds in which a hit that is sent again gets the same answer; the server remembers it longer
LEASE_MS = 60_000  # of a rule that does not say it
Key = tuple[str, str]
"""A rule and a subject."""


class Variant(NamedTuple):
    """What a rule says, as far as answers do not tell it."""

    algorithm: str
    burst: int


class Hit(NamedTuple):
    """What one rule has answered to a call. since, until: between which times of the server (ms) it ran the call.

    took: what was counted: 0 if nothing was. left: how much the rule allowed before. several: other rules were asked.
    """

    op: Op
    since: int
    until: int
    took: int
    left: int
    limit: int
    period_ms: int
    reset_ms: int
    several: bool

    @property
    def rid(self) -> str:
        """The request id; of concurrency, the lease."""
        return str(self.op.asked.get("rid", ""))


class Unanswered(NamedTuple):
    """A hit that may have counted. until: the latest time at which the server can have run it."""

    op: Op
    since: int
    until: float
    cost: int


@dataclass(slots=True)
class Subject:
    """All hits of a rule for a subject, in the order of `until`.

    given_back: when refunds and resets may have been done, from and until. plain: some hits had no rid, so a hit that
    was sent again may have counted twice.
    """

    hits: list[Hit] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    given_back: list[tuple[int, float]] = field(default_factory=list)
    plain: bool = False


class Hits:
    """All calls of a rate namespace in a history.

    variants: of rule, limit and period (ms), all that were stored. lease_ms: of each rule the longest. again: calls by
    rid, where there are several. releases, renewals: by rule, subject and lease.
    """

    def __init__(self, case: Case) -> None:
        own = [op for op in case.history.ops if op.verb.startswith(VERBS) and op.may_be_done]
        self.subjects: defaultdict[Key, Subject] = defaultdict(Subject)
        self.variants: defaultdict[tuple[str, int, int], set[Variant]] = defaultdict(set)
        self.lease_ms: dict[str, int] = {}
        self.again: defaultdict[str, list[Op]] = defaultdict(list)
        self.releases: defaultdict[tuple[str, str, str], list[Op]] = defaultdict(list)
        self.renewals: defaultdict[tuple[str, str, str], list[Op]] = defaultdict(list)
        self.marks = [mark for mark in case.history.marks if mark.kind != "clock_back"]
        self.times = ServerTimes(own)
        self.stepped = self.times.stepped or "clock_back" in case.calls.marked
        for op in own:
            match op.verb.removeprefix(VERBS):
                case "set_rules":
                    self._note_rules(op)
                case "hit":
                    self._note_hit(op)
                case "adjust":
                    self._note_adjust(op)
                case "release":
                    for item in op.asked["item"]:
                        self.releases[item["rule"], item["subject"], item["lease"]].append(op)
                case "renew":
                    for item in op.asked["item"]:
                        self.renewals[item["rule"], item["subject"], item["lease"]].append(op)
        for rid, ops in self.again.items():
            self._note_answers(rid, ops)
        for subject in self.subjects.values():
            subject.hits.sort(key=lambda hit: hit.until)

    def _note_rules(self, op: Op) -> None:
        for item in op.asked["item"]:
            name, algorithm = item["name"], item.get("algorithm", "gcra")
            if "limit" not in item:
                continue
            burst = item.get("burst", item["limit"]) if algorithm == "gcra" else 0
            self.variants[name, item["limit"], item.get("period_ms", 0)].add(Variant(algorithm, burst))
            if algorithm == "concurrency":
                self.lease_ms[name] = max(item.get("lease_ms", LEASE_MS), self.lease_ms.get(name, 0))

    def _note_hit(self, op: Op) -> None:
        rid = op.asked.get("rid")
        if any(item.get("cost", 1) for item in op.asked["item"]) and not rid:
            for item in op.asked["item"]:
                self.subjects[item["rule"], item["subject"]].plain = True
        if rid:
            self.again[rid].append(op)
        elif op.outcome == "ok":
            self._answered(op, now_of(op) or 0, now_of(op) or 0)
        else:
            self._note_unanswered(op)

    def _note_answers(self, rid: str, ops: Sequence[Op]) -> None:
        """The calls of one rid: all are the first one, as long as it is remembered."""
        answered = [op for op in ops if op.outcome == "ok" and now_of(op) is not None]
        if not answered:
            self._note_unanswered(*ops)
            return
        first = min(answered, key=lambda op: now_of(op) or 0)
        self._answered(first, min(self.times.since(op) for op in ops), now_of(first) or 0)

    def _note_unanswered(self, *ops: Op) -> None:
        since, until = min(self.times.since(op) for op in ops), max(self.times.latest(op) for op in ops)
        for item in ops[0].asked["item"]:
            if cost := item.get("cost", 1):
                found = Unanswered(ops[0], since, until, cost)
                self.subjects[item["rule"], item["subject"]].unanswered.append(found)

    def latest(self, hit: Hit) -> float:
        """The latest time at which a hit with a rid can have counted.

        If the server may have forgotten the hit, it has forgotten the rid, and a second copy may have counted.
        """
        return self.times.latest(hit.op) if self.is_unsure(hit.op) else hit.until

    def is_unsure(self, op: Op) -> bool:
        """Whether the server may have lost what a call has done."""
        return any(loses(mark, op) for mark in self.marks)

    def _answered(self, op: Op, since: int, until: int) -> None:
        is_allowed, items = op.answer["status"] == "allowed", op.asked["item"]
        for item, told in zip(items, op.answer.get("items", ()), strict=False):
            cost = item.get("cost", 1)
            took = cost if is_allowed and told["status"] == "allowed" else 0
            hit = Hit(
                op, since, until, took, told["remaining"] + took, told["limit"], _ms(told["period"]),
                _ms(told["reset"]), len(items) > 1,
            )  # fmt: skip
            self.subjects[item["rule"], item["subject"]].hits.append(hit)

    def _note_adjust(self, op: Op) -> None:
        is_sure = op.outcome == "ok" and not self.is_unsure(op)
        until = now_of(op) or inf if is_sure else self.times.latest(op)
        for item in op.asked["item"]:
            self.subjects[item["rule"], item["subject"]].given_back.append((self.times.since(op), until))

    def variant(self, rule: str, hit: Hit) -> Iterable[Variant]:
        """What the rule may say that has answered: several if a number was changed that answers do not have."""
        return self.variants.get((rule, hit.limit, hit.period_ms), ())

    def algorithm(self, rule: str, hit: Hit) -> str:
        """Return the algorithm of the rule that has answered; empty if it is not known."""
        found = {one.algorithm for one in self.variant(rule, hit)}
        return found.pop() if len(found) == 1 else ""


class Kept:
    """The hits that a later one still knows: no refund, reset or loss has come between."""

    def __init__(self, hits: Hits, subject: Subject) -> None:
        self._back = sorted(subject.given_back)
        self._marks = sorted(hits.marks, key=lambda mark: mark.since or 0.0)
        self._passed: list[Mark] = []
        self.from_ms: float = -1
        """Hits that may be older were given back."""

    def passed(self, hit: Hit) -> tuple[bool, list[Mark]]:
        """Whether something was given back before a hit, and what else the server may have lost before it.

        Each is told once.
        """
        is_back = False
        while self._back and self._back[0][0] <= hit.until:
            self.from_ms = max(self.from_ms, self._back.pop(0)[1])
            is_back = True
        lost: list[Mark] = []
        while self._marks and (self._marks[0].since or 0.0) <= (hit.op.ended or inf):
            lost.append(self._marks.pop(0))
        self._passed += lost
        return is_back, lost

    def stays(self, hit: Hit) -> bool:
        """Whether all later hits know this one, as far as can be said now."""
        return hit.since > self.from_ms and not any(loses(mark, hit.op) for mark in self._passed)


def loses(mark: Mark, op: Op) -> bool:
    """Whether a server may have lost at this mark what a call has done."""
    return mark.at >= op.began and mark.kind not in KEPT[op.durability]


def pace_us(hit: Hit) -> int:
    """Return the microseconds between two hits of gcra, rounded up."""
    return ceil(hit.period_ms * 1000 / hit.limit)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)

"""Rules about rates: what they allow, by the server's order and times, and that each hit counts once or not at all."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import Mark, Op
from pyadeq.ext.prove.chaos.rate.hits import REMEMBERED, Hit, Hits, Kept, Key, Subject, pace_us

MS = 1000  # µs
LOG, GCRA, CONCURRENCY = "log", "gcra", "concurrency"


def rules_found(case: Case, found: Finding) -> None:
    """A rule that was stored is found: no hit is refused because there is none, unless the server may have lost it."""
    stored: dict[str, list[Op]] = {}
    for op in case.history.ops:
        if op.verb == "rate.set_rules" and op.outcome == "ok":
            for item in op.asked["item"]:
                stored.setdefault(item["name"], []).append(op)
    for op in case.history.ops:
        if op.verb != "rate.hit" or not (op.answer or op.outcome == "ok"):
            continue
        names = [item["rule"] for item in op.asked["item"]]
        before = {name: [one for one in stored.get(name, ()) if (one.ended or inf) < op.began] for name in names}
        if not all(before.values()):
            continue
        found.checks += 1
        if op.answer.get("error") == "BadArgument":
            # The rule that is missing may be any of them, so that one is blamed that may be lost.
            surest = {name: min(ops, key=case.calls.is_exposed) for name, ops in before.items()}
            name, by = max(surest.items(), key=lambda one: case.calls.is_exposed(one[1]))
            found.lose(by, name, f"{op.client} was told at {op.began:.3f} that there is no such rule")


def rates_kept(case: Case, found: Finding) -> None:
    """No rule allows more than it promises, by the server's times: a log not more than its limit in any period.

    A rule of gcra allows its burst, and what flows in since, so burst and limit in a period. A rule whose numbers
    change goes on counting. What was refunded or lost does not count, unless it was confirmed so that it survives.
    """
    for key, subject, hits in _timed(case):
        counted = _Window(hits, subject)
        level = _Level(hits, subject)
        for hit in subject.hits:
            match hits.algorithm(key[0], hit) if hit.took else "":
                case "log":
                    found.checks += 1
                    taken, limit = counted.add(hit)
                    if taken > limit:
                        text = f"{hit.op.client} was allowed the hit {taken} of a period at {hit.until}"
                        found.convict(_name(key), f"{text}, and the limit is {limit}")
                case "gcra":
                    found.checks += 1
                    bursts = [one.burst for one in hits.variant(key[0], hit)]
                    over = level.add(hit, min(bursts), max(bursts))
                    if over > 0:
                        text = f"{hit.op.client} was allowed a hit at {hit.until}, which the rule allows"
                        found.convict(_name(key), f"{text} {over / 1000:.0f} ms later at the earliest")


def leases_kept(case: Case, found: Finding) -> None:
    """A rule of concurrency never has more than `limit` leases, and gives no place away before the lease ends."""
    for key, subject, hits in _timed(case):
        held = _Held(hits, subject, key)
        for hit in subject.hits:
            if hit.took and hits.algorithm(key[0], hit) == CONCURRENCY:
                found.checks += 1
                count, limit = held.add(hit)
                if count > limit:
                    text = f"{hit.op.client} was given a lease at {hit.until}, and {count - 1} others had not ended"
                    found.convict(_name(key), f"{text}; the limit is {limit}")


def slots_freed(case: Case, found: Finding) -> None:
    """A lease counts until it ends, and not longer: the place of a holder that was killed is free at its deadline."""
    for key, subject, hits in _timed(case):
        asked = [hit for hit in subject.hits if hits.algorithm(key[0], hit) == CONCURRENCY]
        if not asked:
            continue
        leases = _possible_leases(case, hits, key, subject)
        earliest = _suffix_minima([hit.since for hit in asked])
        active: list[tuple[float, int, str]] = []
        for hit, oldest in zip(asked, earliest, strict=True):
            while leases and leases[-1][1] <= hit.until:
                active.append(leases.pop())
            active = [one for one in active if one[0] > oldest]
            found.checks += 1
            counted = hit.limit - hit.left
            others = [one for one in active if one[0] > hit.since and one[1] <= hit.until and one[2] != hit.rid]
            if counted > len(others):
                text = f"{hit.op.client} was told of {counted} leases at {hit.until}"
                found.convict(_name(key), f"{text}, and not more than {len(others)} can have lasted until then")


def hits_all_or_none(case: Case, found: Finding) -> None:
    """An allowed call has counted in all of its rules, as later answers of each show; and says the same as they do."""
    for key, subject, hits in _timed(case):
        counted, held = _Window(hits, subject), _Held(hits, subject, key)
        for hit in subject.hits:
            algorithm = hits.algorithm(key[0], hit)
            if algorithm not in (LOG, CONCURRENCY):
                continue
            found.checks += 1
            sure = counted.before(hit) if algorithm == LOG else held.before(hit)
            if hit.left > max(0, hit.limit - sure):
                text = f"{hit.op.client} was told at {hit.until} that {hit.left} of {hit.limit} are left"
                found.convict(_name(key), f"{text}, and {sure} had been allowed before")
            if hit.took:
                (counted if algorithm == LOG else held).add(hit)
    for op in case.history.ops:
        if op.verb == "rate.hit" and op.outcome == "ok" and "items" in op.answer:
            found.checks += 1
            words = {item["status"] for item in op.answer["items"]}
            status = op.answer["status"]
            if not (words <= {"allowed", "shadowed"} if status == "allowed" else status in words):
                text = f"{op.client} was told {status!r}, and its rules say {', '.join(sorted(words))}"
                found.convict(" ".join(item["rule"] for item in op.asked["item"]), text)


def hits_counted_once(case: Case, found: Finding) -> None:
    """A log counts no hit that was refused, and none with a rid twice: it never has more than was allowed."""
    for key, subject, hits in _timed(case):
        asked = [hit for hit in subject.hits if hits.algorithm(key[0], hit) == LOG]
        if subject.plain or not asked:
            continue
        possible: list[tuple[float, int, int, Hit | None]]
        possible = [(hits.latest(hit), hit.since, hit.took, hit) for hit in asked if hit.took]
        possible += [(one.until, one.since, one.cost, None) for one in subject.unanswered]
        possible.sort(key=lambda one: -one[1])
        earliest = _suffix_minima([hit.since - hit.period_ms - 1 for hit in asked])
        active: list[tuple[float, int, int, Hit | None]] = []
        for hit, oldest in zip(asked, earliest, strict=True):
            while possible and possible[-1][1] <= hit.until:
                active.append(possible.pop())
            active = [one for one in active if one[0] >= oldest]
            found.checks += 1
            since = hit.since - hit.period_ms - 1
            most = sum(cost for until, _, cost, one in active if until >= since and one is not hit)
            if hit.limit - hit.left > most:
                text = f"{hit.op.client} was told at {hit.until} that {hit.limit - hit.left} were counted"
                found.convict(_name(key), f"{text}, and not more than {most} can have been allowed in the period")


def hits_answered_again(case: Case, found: Finding) -> None:
    """A hit with a rid that is sent again is answered as the first time."""
    for ops in case.view(Hits).again.values():
        answered = [op for op in ops if op.outcome == "ok"]
        for op in answered[1:]:
            first = answered[0]
            if case.calls.is_exposed(first) or (op.ended or inf) - min(one.began for one in ops) > REMEMBERED:
                continue
            found.checks += 1
            if _lasting(first.answer) != _lasting(op.answer):
                text = f"{first.client} was answered {first.answer['status']!r}, and {op.client}, with the same rid,"
                found.convict(op.asked["rid"], f"{text} {op.answer['status']!r}, or with other fields")


def _lasting(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "now"}


def _timed(case: Case) -> Iterator[tuple[Key, Subject, Hits]]:
    """All rules and subjects; none if the server's clock went back, so that times say nothing."""
    hits = case.view(Hits)
    if not hits.stepped:
        for key, subject in hits.subjects.items():
            yield key, subject, hits


def _name(key: Key) -> str:
    return f"{key[0]} of {key[1]}"


def _suffix_minima(values: list[int]) -> list[int]:
    """Return for each place, from 0, the least value from there on."""
    found = list(values)
    for at in range(len(found) - 2, -1, -1):
        found[at] = min(found[at], found[at + 1])
    return found


# What a log has counted


class _Window:
    """The hits that a log has certainly counted, in the period that ends with the latest one."""

    def __init__(self, hits: Hits, subject: Subject) -> None:
        self._kept = Kept(hits, subject)
        self._hits: list[tuple[int, int, Hit]] = []  # by `since`
        self._number = 0
        self._period_ms = 0

    def add(self, hit: Hit) -> tuple[int, int]:
        """Add a hit; how much its period has now, and the limit, of the rules by which the last of them was allowed."""
        self._forget(hit)
        if not self._kept.stays(hit):
            return 0, hit.limit
        self._number += 1
        heapq.heappush(self._hits, (hit.since, self._number, hit))
        limits = [one.limit for *_, one in self._hits if one.until >= hit.since]
        return sum(one.took for *_, one in self._hits), max(hit.limit, *limits)

    def before(self, hit: Hit) -> int:
        """How much was counted before a hit, at least."""
        self._forget(hit)
        return sum(one.took for *_, one in self._hits if one.until < hit.since)

    def _forget(self, hit: Hit) -> None:
        is_back, lost = self._kept.passed(hit)
        if hit.period_ms != self._period_ms:  # the hits of a shorter period may be forgotten
            self._hits, self._period_ms = [], hit.period_ms
        if is_back or lost:
            self._hits = [one for one in self._hits if self._kept.stays(one[2])]
            heapq.heapify(self._hits)
        while self._hits and self._hits[0][0] < hit.until - hit.period_ms + 1:
            heapq.heappop(self._hits)


# What flows in to a rule of gcra


@dataclass(slots=True)
class _Sum:
    """Hits of gcra that came after a time, and how long they need at the rule's rate (µs)."""

    us: float = 0.0
    since: int = 0
    last: int = 0

    def height(self, at: int) -> float:
        return self.us - (at - self.since) * MS

    def add(self, since: int, until: int, us: float) -> None:
        """Add a hit; forget those before if they do not matter any more."""
        self.last = max(self.last, until)
        if self.us - (since - min(self.since, since)) * MS >= 0 and self.us > 0:
            self.us, self.since = self.us + us, min(self.since, since)
        else:
            self.us, self.since = us, since


class _Level:
    """How much of a rule of gcra is certainly used up: of all hits, and of those of one durability."""

    def __init__(self, hits: Hits, subject: Subject) -> None:
        self._kept = Kept(hits, subject)
        self._sums = {"all": _Sum(), "aof": _Sum(), "replica": _Sum()}
        self._rule: tuple[int, int, int] = (0, 0, 0)
        self._whole: tuple[int, int] = (0, 0)  # of the rule, the least and the most
        self._former: tuple[int, int] = (0, -1)  # the most of the rule before, and until when it was in use

    def add(self, hit: Hit, least: int, most: int) -> float:
        """Add a hit; how much more than allowed that is (µs). least, most: the burst of the rule."""
        is_back, lost = self._kept.passed(hit)
        if is_back:
            self._sums = {name: _Sum() for name in self._sums}
        for mark in lost:
            self._lose(mark)
        pace = pace_us(hit)
        whole = least * pace, most * pace
        if self._rule != (pace, least, most):
            self._change(whole)
            self._rule = pace, least, most
        if not self._kept.stays(hit):
            return 0.0
        for name in ("all", hit.op.durability):
            if name in self._sums:
                self._sums[name].add(hit.since, hit.until, hit.took * pace)
        allowed = max(whole[1], self._former[0] if hit.since <= self._former[1] else 0)
        every = self._sums["all"]
        return every.height(every.last) - allowed - MS  # a ms, because times are cut off

    def _lose(self, mark: Mark) -> None:
        survives = "replica" if mark.kind == "failover" else "aof"
        one = self._sums[survives]
        self._sums = {"all": _Sum(one.us, one.since, one.last), "aof": _Sum(), "replica": _Sum(), survives: one}

    def _change(self, whole: tuple[int, int]) -> None:
        """A rule with a lower burst cuts off what is above it."""
        lowest = min(self._whole[0], whole[0])
        for one in self._sums.values():
            one.us, one.since = max(0.0, min(one.height(one.last), lowest)), one.last
        self._former = self._whole[1], self._sums["all"].last
        self._whole = whole


# Leases


class _Held:
    """The leases that have certainly not ended."""

    def __init__(self, hits: Hits, subject: Subject, key: Key) -> None:
        self._hits = hits
        self._key = key
        self._kept = Kept(hits, subject)
        self._leases: list[tuple[float, int, Hit]] = []  # by their ends
        self._number = 0

    def add(self, hit: Hit) -> tuple[int, int]:
        """Add a lease; how many there are, and the limit, of the rules by which the last of them was given."""
        self._forget(hit)
        ends = self._ends(hit)
        if not self._kept.stays(hit) or ends <= hit.until:
            return 0, hit.limit
        self._number += 1
        heapq.heappush(self._leases, (ends, self._number, hit))
        limits = [one.limit for *_, one in self._leases if one.until >= hit.since]
        return len(self._leases), max(hit.limit, *limits)

    def before(self, hit: Hit) -> int:
        """How many leases had been given before a hit, and did not end before it."""
        self._forget(hit)
        return sum(one.until < hit.since for *_, one in self._leases)

    def _ends(self, hit: Hit) -> float:
        """When a lease ends at the earliest (ms)."""
        name = *self._key, hit.rid
        ends = hit.since + hit.reset_ms
        for op in self._hits.renewals.get(name, ()):
            if (deadline := _deadline(op, hit.rid)) and not self._hits.is_unsure(op):
                ends = max(ends, deadline)
        released = [self._hits.times.since(op) for op in self._hits.releases.get(name, ())]
        return min([ends, *released])

    def _forget(self, hit: Hit) -> None:
        is_back, lost = self._kept.passed(hit)
        if is_back or lost:
            self._leases = [one for one in self._leases if self._kept.stays(one[2])]
            heapq.heapify(self._leases)
        while self._leases and self._leases[0][0] <= hit.until:
            heapq.heappop(self._leases)


def _possible_leases(case: Case, hits: Hits, key: Key, subject: Subject) -> list[tuple[float, int, str]]:
    """All leases that may have been given: when each ended at the latest, when it began at the earliest, and its rid.

    The last of the list began first.
    """
    found = [
        (_latest_end(case, hits, key, hit.rid, hits.latest(hit) + hit.reset_ms), hit.since, hit.rid)
        for hit in subject.hits
        if hit.took
    ]
    longest = hits.lease_ms.get(key[0], 0)
    for one in subject.unanswered:
        rid = str(one.op.asked.get("rid", ""))
        found.append((_latest_end(case, hits, key, rid, one.until + longest), one.since, rid))
    return sorted(found, key=lambda one: -one[1])


def _latest_end(case: Case, hits: Hits, key: Key, rid: str, ends: float) -> float:
    name = *key, rid
    longest = hits.lease_ms.get(key[0], 0)
    for op in hits.renewals.get(name, ()):
        ends = max(ends, hits.times.latest(op) + longest)
    for op in hits.releases.get(name, ()):
        if op.outcome == "ok" and not case.calls.is_exposed(op):
            ends = min(ends, round(op.answer["now"] * 1000))
    return ends


def _deadline(op: Op, rid: str) -> int | None:
    """Return until when a lease was renewed, in ms since the epoch; None if it was not."""
    for item, told in zip(op.asked["item"], op.answer.get("items", ()), strict=False):
        if item["lease"] == rid and told["status"] == "renewed":
            return round(float(told["deadline"]) * 1000)
    return None

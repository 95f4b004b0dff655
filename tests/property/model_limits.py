"""Limits as they have to be: which tasks count, who may start, and what a claim makes of those that may not.

Times are milliseconds; rates are counted in fractions, by the generic cell rate algorithm. It shares no code with
pyadeq.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from tests.property.link import Key

BAND = 2**48
BEYOND = 100  # how many more than it may lease a claim looks at
NONE = Key({}, -1)
SETS = ("delayed", "blocked", "leases", "finished", "dead")
Line = dict[str, int]  # ids with their scores


class Rule(NamedTuple):
    most: int | None = None
    starts: int | None = None
    period: int = 1000
    burst: int = 1
    policy: str = "queue"

    @property
    def interval(self) -> Fraction:
        return Fraction(self.period, self.starts or 1)

    @property
    def text(self) -> str:
        """As the queue stores it."""
        interval, burst = (f"{float(self.interval):.6f}", self.burst) if self.starts else ("0", 1)
        return f"{self.most or 0} {self.policy} {interval} {burst}"


class Job(NamedTuple):
    id: str
    user: str | None = None
    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    delay: int = 0
    lane: str = "any"
    priority: int = 5
    parent: str | None = None
    expires: int | None = None  # ms

    @property
    def keys(self) -> list[str]:
        """What it counts for, in the order in which a claim asks."""
        users = [f"user:{self.user}"] if self.user else []
        keys = ["all", *users, *(f"tag:{tag}" for tag in self.tags), *(f"key:{word}" for word in self.words)]
        return list(dict.fromkeys(keys))


class Limits:
    """The rules, and what counts for them."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.held: dict[str, dict[str, int]] = {}  # by key: ids with their fences
        self.arrivals: dict[str, Fraction] = {}  # by key: when the next one would be even
        self.starts: dict[str, list[int]] = {}  # by key, since its rule came
        self.now = 0

    def rule(self, key: str) -> Rule | None:
        return self.rules.get(key) or self.rules.get(f"{key.partition(':')[0]}:*")

    def set(self, key: str, rule: Rule | None) -> str:
        """It counts from then on."""
        if self.rules.get(key) == rule:
            return "unchanged"
        if rule:
            self.rules[key] = rule
        else:
            del self.rules[key]
        for other in [other for other in self.starts if self._of(other, key)]:
            del self.starts[other]
        return "set" if rule else "removed"

    def _of(self, key: str, other: str) -> bool:
        return other in (key, f"{key.partition(':')[0]}:*")

    def room(self, key: str) -> int:
        """How many of a key may start now; a thousand stands for any number."""
        rule, room = self.rule(key), 1000
        if rule and rule.most:
            room = max(0, rule.most - len(self.held.get(key, ())))
        if rule and rule.starts:
            late = self.now + (rule.burst - 1) * rule.interval - self.arrival(key, rule)
            room = min(room, max(0, late // rule.interval + 1))
        return room

    def arrival(self, key: str, rule: Rule) -> Fraction:
        """When the next one would be even. A time that this rule cannot have led to is that of another: forgotten."""
        noted = self.arrivals.get(key, Fraction(0))
        return max(noted, Fraction(self.now)) if noted <= self.now + rule.burst * rule.interval else Fraction(self.now)

    def full(self, job: Job) -> str | None:
        """The first of its keys that lets nobody start."""
        return next((key for key in job.keys if self.room(key) == 0), None)

    def start(self, job: Job, fence: int) -> None:
        for key in job.keys:
            if rule := self.rule(key):
                assert self.room(key) > 0, f"{job.id} starts although {key} is full: {rule}"
                if rule.most:
                    self.held.setdefault(key, {})[job.id] = fence
                if rule.starts:
                    self.arrivals[key] = self.arrival(key, rule) + rule.interval
                    self._conforms(key, rule)

    def _conforms(self, key: str, rule: Rule) -> None:
        """In no stretch of time more than a burst and what is even."""
        times = self.starts.setdefault(key, [])
        times.append(self.now)
        for at, time in enumerate(times):
            assert (len(times) - at - rule.burst) * rule.interval <= self.now - time, f"{key}: {times}, {rule}"

    def end(self, ids: Iterable[str]) -> None:
        for id in ids:
            for key in [key for key, held in self.held.items() if id in held]:
                del self.held[key][id]
                if not self.held[key]:
                    del self.held[key]


class Picture:
    """Where the tasks of a queue are, by its keys."""

    def __init__(self, found: Mapping[str, Key]) -> None:
        self.found = found
        self.ready = {name.removeprefix("ready:"): self.zset(name) for name in found if name.startswith("ready:")}
        self.blocked = self.zset("blocked")
        self.limited = {id: key for id in self.blocked if (key := self.record(id).get("limited_by"))}
        self.lines: dict[str, Line] = {}  # of those that do wait there
        for id, key in self.limited.items():
            self.lines.setdefault(key, {})[id] = self.blocked[id]
        self.awaiting = self.blocked.keys() - self.limited.keys()
        self.leases = self.zset("leases")
        self.running = {id: lease.decode() for id, lease in found.get("running", NONE).value.items()}
        self.due_lines = self.zset("limit:lines")

    def zset(self, name: str) -> Line:
        return {id: int(float(score)) for id, score in self.found.get(name, NONE).value.items()}

    def record(self, id: str) -> dict[str, str]:
        return {name: value.decode() for name, value in self.found[f"task:{id}"].value.items()}

    def looked_at(self, now: int) -> list[str]:
        """What the next claim looks at: it is time, or a limit of all of a kind has changed since the line was full."""
        changed = int(self.found.get("config", NONE).value.get("limits", 0))
        return [key for key, at in self.due_lines.items() if at <= now or BAND <= at <= BAND + changed]

    def places(self) -> dict[str, list[str]]:
        """The sets that each is in."""
        places: dict[str, list[str]] = {}
        for name in (*SETS, *(f"ready:{lane}" for lane in self.ready)):
            for id in self.found.get(name, NONE).value:
                places.setdefault(id, []).append(name)
        return places

    def all_ready(self) -> set[str]:
        return {id for line in self.ready.values() for id in line}

    def cancelling(self, id: str) -> bool:
        return " cancel" in self.running[id].partition("|")[0]


def by_score(line: Line) -> list[str]:
    return sorted(line, key=lambda id: (line[id], id))


def next_in_line(picture: Picture, lanes: Sequence[str], lane_first: bool) -> Iterator[str]:
    """Who is ready in these lanes, in the order in which a claim takes them."""
    lines = [(at, id, score) for at, lane in enumerate(lanes) for id, score in picture.ready.get(lane, {}).items()]
    for _, id, _ in sorted(lines, key=lambda x: (not lane_first and x[2] // BAND, x[0], x[2], x[1])):
        yield id


@dataclass
class Forecast:
    """What a claim is going to do, where nothing else is due."""

    limits: Limits  # it may change them
    jobs: Mapping[str, Job]
    picture: Picture
    leased: list[str] = field(default_factory=list)
    fates: dict[str, str] = field(default_factory=dict)  # of others: dead, cancelled, cancelling, or a limit's key

    def claim(self, lanes: Sequence[str], limit: int, lane_first: bool = False) -> Forecast:
        after = max([0, *(fence for held in self.limits.held.values() for fence in held.values())])
        for at, id in enumerate(next_in_line(self.picture, lanes, lane_first)):
            if len(self.leased) == limit or at == limit + BEYOND:
                break
            job = self.jobs[id]
            if key := self.limits.full(job):
                self._hold_back(id, key)
            else:
                self.limits.start(job, after + 1 + at)
                self.leased.append(id)
        return self

    def _hold_back(self, id: str, key: str) -> None:
        rule = self.limits.rule(key)
        assert rule
        if rule.policy in ("reject", "cancel_newest"):
            self.fates[id] = "dead" if rule.policy == "reject" else "cancelled"
            return
        if rule.policy == "cancel_oldest" and len(self.limits.held.get(key, ())) >= (rule.most or 0):
            self._make_way(key, rule)
        self.fates[id] = key

    def _make_way(self, key: str, rule: Rule) -> None:
        """Of those that run, one goes for each in line; where there is one for each, the first in line goes."""
        lined = self._line(key)
        held = self.limits.held.get(key, {})
        if len(lined) >= (rule.most or 0):
            self.fates[lined[0]] = "cancelled"
        elif len(lined) < len(held):
            self.fates[sorted(held, key=lambda id: held[id])[len(lined)]] = "cancelling"

    def _line(self, key: str) -> list[str]:
        before = {id: score for id, score in self.picture.lines.get(key, {}).items() if id not in self.fates}
        ready = {id: score for line in self.picture.ready.values() for id, score in line.items()}
        return by_score(before | {id: ready[id] for id, fate in self.fates.items() if fate == key})


def check_openings(limits: Limits, before: Picture, after: Picture, looked_at: Collection[str]) -> None:
    """Those that have left a line for their lanes were the first; of one that was looked at, as many as may start."""
    ready = after.all_ready()
    for key, line in before.lines.items():
        left = [id for id in line if id in ready]
        stay = [id for id in line if after.limited.get(id) == key]
        first = by_score({id: line[id] for id in (*left, *stay)})[: len(left)]
        assert set(first) == set(left), f"line of {key}: {left} go before {stay}"
        if key in looked_at:
            wanted = min(limits.room(key), len(left) + len(stay), 100)
            assert len(left) >= wanted, f"line of {key}: {left} go, {stay} stay, {wanted} may start"

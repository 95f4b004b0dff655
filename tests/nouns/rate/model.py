"""What a rate namespace does, in few words; and what must hold of all that is stored. Times are whole µs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyadeq._core.kernel.nouncalls import Result
from tests.nouns.audit import NounAudit
from tests.nouns.rate.bench import RULES

Told = tuple[str, dict[str, Any]]
Rule = dict[str, Any]
REFUSED: Told = ("ADEQ_ARG", {})
DEFAULTS: dict[str, list[Any]] = {"remove": [False], "algorithm": ["gcra"], "shadow": [False], "on_error": ["closed"]}
RULES_MS = {
    name: {**rule, **{f"{field}_ms": rule[field] * 1000 for field in ("period", "lease") if field in rule}}
    for name, rule in RULES.items()
}
MOST_RULES = 1000
KNOWN_MS = 60_000
LONGEST_US = 31 * 86_400_000_000
RULE = re.compile(r"(gcra|log|concurrency) \d+ \d+ \d+ \d+ (closed|open) (enforced|shadow) \d+")


class Say(NamedTuple):
    """What a rule says before a hit counts: what is left, µs to wait, µs until it is as new, and how to record it."""

    left: int
    wait: int
    reset: int
    record: Callable[[], int]


class Model:
    def __init__(self) -> None:
        self.now = 0.0
        self.rules_of: dict[str, Rule] = {}
        self.version = 0
        self.due: dict[tuple[str, str], int] = {}
        self.times: dict[tuple[str, str], list[int]] = {}
        self.leases: dict[tuple[str, str], dict[str, int]] = {}
        self.rids = 0
        self.known: dict[str, int] = {}
        """Rids that the server remembers, and when it forgets them (ms); below 0: the lease was given back first."""
        self.events: list[str] = []
        self.set_rules([{"name": name, **rule} for name, rule in RULES_MS.items()])  # as the bench has them

    @property
    def us(self) -> int:
        return round(self.now * 1000) * 1000

    # rules

    def set_rules(self, item: list[dict[str, Any]]) -> Told:
        item = [
            {name: value for name, value in one.items() if value not in (None, *DEFAULTS.get(name, []))} for one in item
        ]
        rules = [None if "remove" in one else rule_of(one) for one in item]
        if any("remove" in one and len(one) > 2 for one in item):
            return REFUSED
        if any(rule is not None and not fits(rule, one) for rule, one in zip(rules, item, strict=True)):
            return REFUSED
        return "ok", {"items": [self._set(one["name"], rule) for one, rule in zip(item, rules, strict=True)]}

    def _set(self, name: str, rule: Rule | None) -> Result:
        old = self.rules_of.get(name)
        if rule is None:
            if old is None:
                return Result("unknown", {})
            del self.rules_of[name]
            self.events.append("rule.removed")
            return Result("removed", {})
        if old is not None and {**rule, "version": old["version"]} == old:
            return Result("same", {"version": old["version"]})
        self.version += 1
        self.rules_of[name] = {**rule, "version": self.version}
        self.events.append("rule.stored")
        return Result("stored", {"version": self.version})

    def rules(self, item: list[dict[str, str]]) -> Told:
        names = [one["name"] for one in item] or list(self.rules_of)
        found = [(name, self.rules_of.get(name)) for name in names]
        return "ok", {
            "items": [
                Result("found", {"name": name, "rule": shown(rule)}) if rule else Result("unknown", {"name": name})
                for name, rule in found
            ]
        }

    # hits

    def hit(self, item: list[dict[str, Any]], rid: str = "") -> Told:
        self.rids += 1
        lease, now = rid or f"lease {self.rids}", self.us // 1000
        if -self.known.get(lease, 0) > now:
            return "returned", {}
        hits = [(one["rule"], one["subject"], 1 if one.get("cost") is None else one["cost"]) for one in item]
        rules = self.all_rules(item)
        if rules is None or len({hit[:2] for hit in hits}) < len(hits):
            return REFUSED
        if any(rule["algorithm"] == "concurrency" and cost > 1 for rule, (_, _, cost) in zip(rules, hits, strict=True)):
            return REFUSED
        says = [self.say(*hit, lease) for hit in hits]
        words = [word(rule, hit[2], say) for rule, hit, say in zip(rules, hits, says, strict=True)]
        against = [one for one, rule in zip(words, rules, strict=True) if not rule["shadow"] and one != "allowed"]
        status = "never" if "never" in against else against[0] if against else "allowed"
        entries = []
        for rule, hit, say, one in zip(rules, hits, says, words, strict=True):
            left, reset = say.left, say.reset
            if status == one == "allowed" and hit[2]:
                left, reset = left - hit[2], say.record()
            shown = "shadowed" if rule["shadow"] and one != "allowed" else one
            wait = say.wait if one == "refused" else 0
            entries.append(Result(shown, {"remaining": left, "retry": ms(wait), "reset": ms(reset), **policy(rule)}))
        if any(cost for _, _, cost in hits):
            self.known[lease] = now + KNOWN_MS
        refusing = [
            say.wait
            for say, one, rule in zip(says, words, rules, strict=True)
            if one == "refused" and not rule["shadow"]
        ]
        return status, {"items": entries, **({"retry": ms(max(refusing))} if status == "refused" else {})}

    def say(self, name: str, subject: str, cost: int, lease: str) -> Say:
        rule, key = self.rules_of[name], (name, subject)
        kinds = {"gcra": self._gcra, "log": self._log, "concurrency": self._concurrency}
        return kinds[rule["algorithm"]](rule, key, cost, lease)

    def all_rules(self, item: list[dict[str, Any]]) -> list[Rule] | None:
        """The rules that the items name; None if there is not each of them."""
        found = [self.rules_of[one["rule"]] for one in item if one["rule"] in self.rules_of]
        return found if len(found) == len(item) else None

    def _gcra(self, rule: Rule, key: tuple[str, str], cost: int, lease: str) -> Say:
        now, pace, whole = self.us, rule["pace"], rule["pace"] * rule["burst"]
        due = max(now, min(self.due.get(key, 0), now + whole))

        def record() -> int:
            self.due[key] = due + cost * pace
            return int(due + cost * pace - now)

        return Say((now + whole - due) // pace, max(0, due + cost * pace - now - whole), due - now, record)

    def _log(self, rule: Rule, key: tuple[str, str], cost: int, lease: str) -> Say:
        times, period = self.times.get(key, []), rule["period_ms"] * 1000
        now = max([self.us, *times])
        fresh = [one for one in times if one >= now - period]

        def record() -> int:
            self.times[key] = [*fresh, *[now] * cost]
            return int(period) + 1

        wait, excess = 0, len(fresh) + cost - rule["limit"]
        if excess > 0 and cost <= rule["limit"] and cost:
            wait = fresh[excess - 1] + period + 1 - now
        return Say(max(0, rule["limit"] - len(fresh)), wait, fresh[-1] + period + 1 - now if fresh else 0, record)

    def _concurrency(self, rule: Rule, key: tuple[str, str], cost: int, lease: str) -> Say:
        now = self.us // 1000
        live = {one: until for one, until in self.leases.get(key, {}).items() if until > now}

        def record() -> int:
            self.leases[key] = {**live, lease: now + rule["lease_ms"]}
            return int(rule["lease_ms"]) * 1000

        wait, excess = 0, len(live) + cost - rule["limit"]
        if excess > 0 and cost:
            wait = (sorted(live.values())[excess - 1] - now) * 1000
        return Say(max(0, rule["limit"] - len(live)), wait, 0, record)

    # what takes back

    def release(self, item: list[dict[str, str]]) -> Told:
        now, found = self.us // 1000, []
        for one in item:
            until = self.leases.get((one["rule"], one["subject"]), {}).pop(one["lease"], 0)
            if not until:  # with a test clock, a rid that is forgotten is still in the place of another
                self.known.setdefault(one["lease"], -(now + KNOWN_MS))
            found.append(Result("released" if until > now else "gone", {}))
        return "ok", {"items": found}

    def renew(self, item: list[dict[str, str]]) -> Told:
        rules = self.all_rules(item)
        if rules is None or any(rule["algorithm"] != "concurrency" for rule in rules):
            return REFUSED
        now, found = self.us // 1000, []
        for one, rule in zip(item, rules, strict=True):
            live = self.leases.get((one["rule"], one["subject"]), {})
            if live.get(one["lease"], 0) > now:
                live[one["lease"]] = now + rule["lease_ms"]
                found.append(Result("renewed", {"deadline": (now + rule["lease_ms"]) / 1000}))
            else:
                found.append(Result("gone", {}))
        return "ok", {"items": found}

    def adjust(self, item: list[dict[str, Any]]) -> Told:
        rules = self.all_rules(item)
        if rules is None:
            return REFUSED
        for rule, one in zip(rules, item, strict=True):
            if rule["algorithm"] == "concurrency" and one.get("action") != "reset":
                return REFUSED
        return "ok", {"items": [Result("adjusted", {"remaining": self._adjust(one)}) for one in item]}

    def _adjust(self, one: dict[str, Any]) -> int:
        key, rule, cost = (one["rule"], one["subject"]), self.rules_of[one["rule"]], one.get("cost") or 1
        if one.get("action") == "reset":
            for kept in (self.due, self.times, self.leases):
                kept.pop(key, None)
        elif rule["algorithm"] == "gcra":
            say = self._gcra(rule, key, 0, "")
            self.due[key] = self.us + say.reset - cost * rule["pace"]
        else:
            now = max([self.us, *self.times.get(key, [])])
            fresh = [one for one in self.times.get(key, []) if one >= now - rule["period_ms"] * 1000]
            self.times[key] = fresh[cost:]
        return self.say(*key, 0, "").left


def rule_of(one: dict[str, Any]) -> Rule:
    """A rule with all its fields, whether they fit together or not."""
    algorithm = one.get("algorithm", "gcra")
    limit, period_ms = one.get("limit", 0), one.get("period_ms", 0)
    gcra = algorithm == "gcra"
    return {
        "algorithm": algorithm,
        "limit": limit,
        "period_ms": period_ms,
        "burst": one.get("burst", limit) if gcra else one.get("burst", 0),
        "lease_ms": one.get("lease_ms", 60_000) if algorithm == "concurrency" else 0,
        "on_error": one.get("on_error", "closed"),
        "shadow": one.get("shadow", False),
        "pace": -(-period_ms * 1000 // limit) if gcra and limit else 0,
    }


def fits(rule: Rule, given: dict[str, Any]) -> bool:
    match rule["algorithm"]:
        case "gcra":
            fast = rule["limit"] > 100 * rule["period_ms"]
            own = "lease_ms" not in given and not fast and rule["burst"] * rule["pace"] <= LONGEST_US
        case "log":
            own = "lease_ms" not in given and not rule["burst"] and rule["limit"] <= 5000
        case _:
            own = not rule["burst"]
    return bool(own) and rule["limit"] > 0 and (rule["period_ms"] > 0) == (rule["algorithm"] != "concurrency")


def word(rule: Rule, cost: int, say: Say) -> str:
    most = rule["burst"] if rule["algorithm"] == "gcra" else rule["limit"]
    return "never" if cost > most else "refused" if say.wait else "allowed"


def ms(us: int) -> float:
    """In seconds, rounded up to whole ms."""
    return -(-us // 1000) / 1000


def policy(rule: Rule) -> dict[str, Any]:
    return {"limit": rule["limit"], "period": rule["period_ms"] / 1000, "on_error": rule["on_error"]}


def shown(rule: Rule) -> dict[str, Any]:
    """A rule as the script answers it."""
    own = {name: value for name, value in rule.items() if name != "pace"}
    return {name.removesuffix("_ms"): value / 1000 if name.endswith("_ms") else value for name, value in own.items()}


class Audit(NounAudit):
    noun = "rate"

    def rules(self) -> Iterator[str]:
        rules = self.hash("rules")
        if len(rules) > MOST_RULES:
            yield f"{len(rules)} rules"
        yield from (f"{name}: {rule}" for name, rule in rules.items() if not RULE.fullmatch(rule))
        for pair in self.suffixes("l"):
            times = [int(one) for one in self.stored.entries(f"l:{pair}")]
            if times != sorted(times, reverse=True):
                yield f"l:{pair}: not newest first"

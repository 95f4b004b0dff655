"""Random histories of a lock domain: few resources and owners, time that jumps, calls that come late or twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from tests.property.locks.oracle import START, Rules

# Names that begin alike, with all that may stand in a name. Mostly k has a capacity, and the others have none.
RESOURCES = ("a", "a+", "a/b:1", "k")
OWNERS = ("o", "o+", "o1", "o10", "p@o/1", "h", "q")
AGENTS = {"o": "g1", "o+": "g1", "o1": "g2", "o10": "g2"}
PURPOSES = ("", "", "to see", "x/9=a s/9=a+")
WAITS = (0, 1_000, 20_000, 60_000, 600_000, 600_000)
TTLS = (0, 1, 1_000, 10_000, 60_000, 600_000, 600_000)
JUMPS = (1, 1, 50, 500, 2_000, 5_000, 5_001, 15_000, 31_000, 61_000, 121_000)
VERBS = {
    "acquire": 30, "acquire_many": 8, "poll": 16, "renew": 5, "release": 12, "cancel": 5, "downgrade": 3, "reap": 1,
    "force_release": 1, "offline": 1, "capacity": 3, "configure": 1, "detect": 1, "abort": 1, "edges": 8, "clock": 14,
}  # fmt: skip
CALM = VERBS | {
    "acquire": 45,
    "acquire_many": 15,
    "poll": 12,
    "release": 5,
    "cancel": 1,
    "abort": 0,
    "force_release": 0,
    "offline": 0,
}


class Step(NamedTuple):
    verb: str  # `clock`: the server's clock moves by `ms`
    args: dict[str, Any]
    again: bool = False  # the very call before this one, once more: nothing may change

    def __str__(self) -> str:
        return f"{self.verb} {self.args}{' again' if self.again else ''}"


@dataclass
class Style:
    """What a history is like."""

    policy: str = "requester"
    rated: bool = False
    visits: int = 1000
    calm: bool = False  # long leases, hardly any time passes, few give back: lines and deadlocks form
    permits: tuple[str, ...] = ("k",)
    owners: tuple[str, ...] = OWNERS

    @classmethod
    def draw(cls, random: Random) -> Style:
        return cls(
            policy=random.choice(("requester", "requester", "requester", "priority", "youngest")),
            rated=random.random() < 0.15,
            visits=random.choice((1000, 1000, 1000, 16, 30)),
            calm=random.random() < 0.6,
            permits=random.choice((("k",), ("k",), (), ("k", "a"), RESOURCES)),
            owners=OWNERS[: random.choice((3, 5, 5, 5, 7))],
        )


class Author:
    """Writes a history step by step, looking at the domain as it is."""

    def __init__(self, seed: int, rules: Rules) -> None:
        self.random, self.rules = Random(seed), rules
        self.style = Style.draw(self.random)
        self.names = 0
        self.rids: list[str] = []
        self.sent: list[Step] = []
        self.kept_back: list[Step] = []

    def opening(self) -> list[Step]:
        style, random = self.style, self.random
        settings: dict[str, Any] = {"policy": style.policy, "detect_visits": style.visits}
        if style.rated:
            settings |= {"rate_per_minute": random.choice((6, 60, 7)), "rate_burst": random.choice((1, 3))}
        if random.random() < 0.3:
            settings |= {"priority_step_ms": random.choice((0, 100, 60_000))}
        steps = [Step("configure", {"clock": "test", "settings": [(settings,)]})]
        return steps + [self._set_capacity(resource) for resource in style.permits]

    def next(self) -> Step:
        random = self.random
        if self.sent and random.random() < 0.12:
            return self.sent[-1]._replace(again=True)
        if self.sent and random.random() < 0.06:
            return random.choice(self.sent[-30:])
        if self.kept_back and random.random() < 0.15:
            return self._send(self.kept_back.pop(random.randrange(len(self.kept_back))))
        if self.rules.store.unchecked and random.random() < 0.1:
            return self._send(self._detect())
        weights = CALM if self.style.calm else VERBS
        verb = random.choices(list(weights), list(weights.values()))[0]
        step: Step = getattr(self, f"_{verb}")()
        if verb in ("clock", "edges"):
            return step
        if verb.startswith("acquire") and random.random() < 0.05:
            self.kept_back.append(step)
            return self.next()
        return self._send(step)

    def _send(self, step: Step) -> Step:
        self.sent.append(step)
        return step

    def _clock(self) -> Step:
        random = self.random
        if self.style.calm and random.random() < 0.9:
            return Step("clock", {"ms": random.randint(1, 20)})
        if random.random() < 0.1:
            return Step("clock", {"ms": -random.choice((1, 1_000, 100_000))})
        if self.rules.live and random.random() < 0.4:  # to the very moment that something ends
            moment = random.choice(list(self.rules.live.values())).deadline + random.choice((-1, 0, 1))
            if moment > self.rules.now:
                return Step("clock", {"ms": moment - self.rules.clock - self.rules.offset})
        return Step("clock", {"ms": random.choice(JUMPS)})

    # Asking

    def _acquire(self) -> Step:
        resource = self.random.choice(RESOURCES)
        mode, permits = self._mode(resource)
        return Step("acquire", self._request() | {"resource": resource, "mode": mode, "permits": permits})

    def _acquire_many(self) -> Step:
        resources = self.random.sample(RESOURCES, self.random.choice((1, 2, 2, 2, 3)))
        return Step("acquire_many", self._request() | {"item": [(one, *self._mode(one)) for one in resources]})

    def _mode(self, resource: str) -> tuple[str, int]:
        random = self.random
        if random.random() < (0.85 if resource in self.style.permits else 0.02):
            return "permit", random.choice((1, 1, 1, 2, 3))
        return random.choice(("exclusive", "exclusive", "exclusive", "shared", "shared")), 1

    def _request(self) -> dict[str, Any]:
        random, rules = self.random, self.rules
        owners = self.style.owners
        owner = random.choice(owners)
        if random.random() < 0.8:
            owner = random.choice([one for one in owners if not rules.waits_of(one)] or owners)
        now = max(rules.now, rules.clock + rules.offset)
        request: dict[str, Any] = {"rid": self._new_rid(), "owner": owner, "issued_ms": now}
        if random.random() < 0.02:
            request["issued_ms"] = now + random.choice((-100_000, -60_001, -60_000, 59_999, 60_000, 60_001))
        extras = {
            "agent": AGENTS.get(owner),
            "ttl_ms": 600_000 if self.style.calm else random.choice(TTLS),
            "wait_ms": 600_000 if self.style.calm and random.random() < 0.9 else random.choice(WAITS),
            "priority": random.choice((5, 5, 5, 0, 4, 9)),
            "born_ms": random.choice((0, 0, START, now)),
            "purpose": random.choice(PURPOSES),
        }
        return request | {name: value for name, value in extras.items() if value} | {"priority": extras["priority"]}

    def _new_rid(self) -> str:
        self.names += 1
        self.rids.append(f"r{self.names}")
        return self.rids[-1]

    def _rid(self) -> str:
        """Mostly one that is there, sometimes one of the past, the future or of nobody."""
        random, live = self.random, list(self.rules.live)
        if self.kept_back and random.random() < 0.2:
            return str(random.choice(self.kept_back).args["rid"])
        if live and random.random() < 0.9:
            return random.choice(live)
        return random.choice([*self.rids[-10:], "nobody"])

    def _rids(self) -> list[tuple[str]]:
        return [(self._rid(),) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]

    # Of requests that are there

    def _poll(self) -> Step:
        if self.random.random() < 0.3 and (waiting := self.rules.line()):
            return Step("poll", {"item": [(one.rid,) for one in waiting]})
        return Step("poll", {"item": self._rids()})

    def _renew(self) -> Step:
        return Step("renew", {"item": self._rids()})

    def _release(self) -> Step:
        return Step("release", {"item": self._rids()})

    def _cancel(self) -> Step:
        return Step("cancel", {"item": self._rids()})

    def _downgrade(self) -> Step:
        return Step("downgrade", {"rid": self._rid()})

    def _edges(self) -> Step:
        return Step("edges", {"cursor": "", "limit": 1000})

    # Operators

    def _reap(self) -> Step:
        return Step("reap", {"limit": self.random.choice((1, 100))})

    def _force_release(self) -> Step:
        random = self.random
        args = {"rid": self._new_rid(), "resource": random.choice(RESOURCES), "reason": "stuck"}
        return Step(
            "force_release", args | ({"owner": random.choice(self.style.owners)} if random.random() < 0.5 else {})
        )

    def _offline(self) -> Step:
        random = self.random
        by = random.choice(("owner", "agent"))
        who = random.choice(list(AGENTS.values()) if by == "agent" else self.style.owners)
        return Step("offline", {"rid": self._new_rid(), "who": who, "by": by})

    def _capacity(self) -> Step:
        random = self.random
        resources: Sequence[str] = self.style.permits or RESOURCES
        resource = random.choice(resources)
        match random.choice(("set", "set", "heartbeat", "heartbeat", "drain", "remove")):
            case "set":
                return self._set_capacity(resource)
            case "heartbeat":
                return Step("heartbeat", {"item": [(one,) for one in random.sample(RESOURCES, 2)]})
            case verb:
                return Step(verb, {"resource": resource})

    def _set_capacity(self, resource: str) -> Step:
        random = self.random
        silent = random.choice((0, 0, 0, 30_000))
        return Step("set_capacity", {"resource": resource, "max": random.choice((1, 2, 3, 3, 4)), "silent_ms": silent})

    def _configure(self) -> Step:
        settings = self.random.choice(({"waiter_ms": 20_000}, {"claim_ms": 6_000}, {"lease_ms": 7_000}, {}))
        return Step("configure", {"clock": "keep", "settings": [(settings,)] if settings else []})

    def _detect(self) -> Step:
        return Step("detect", {"limit": self.random.choice((1, 16)), "visits": 10_000})

    def _abort(self) -> Step:
        return Step("abort", {"item": self._rids(), "circle": "o1>x>a o10>x>a+"})

"""Stories of rates: hits, leases, and rules that change meanwhile. What the actors do then, rate_actors.py has."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.steps import Actor, Step, pause

# Each rule in its forms, of which no two have the same limit and period.
RULES: dict[str, list[dict[str, Any]]] = {
    "flow": [{"limit": 2, "period": 1, "burst": 1}, {"limit": 4, "period": 1, "burst": 3}],
    "log": [{"limit": limit, "period": period, "algorithm": "log"} for limit, period in ((2, 1), (4, 1), (3, 4))],
    "slots": [{"limit": limit, "lease": lease, "algorithm": "concurrency"} for limit, lease in ((1, 2), (2, 2))],
}
SUBJECTS = ("red", "red", "blue")
LEASE = 2.0  # seconds


def actors(random: Random) -> list[Actor]:
    """Those of one story."""
    return [_caller(random, number) for number in range(random.randint(2, 4))]


def _caller(random: Random, number: int) -> Actor:
    steps: list[Step] = []
    for _ in range(random.randint(4, 12)):
        kind = random.choices(("hit", "several", "hold", "change", "refund", "peek"), (10, 6, 8, 3, 1, 1))[0]
        options: dict[str, Any] = {"subject": random.choice(SUBJECTS)}
        if kind == "hit":
            options |= {"rule": random.choice(("flow", "log")), "cost": random.choice((1, 1, 2))}
            # How often with one rid; 0: without. The log of red has only hits with rids, so that they can be counted.
            is_counted = (options["rule"], options["subject"]) == ("log", "red")
            options["times"] = random.choice((1, 1, 2) if is_counted else (0, 0, 0, 1, 2))
        elif kind == "several":
            options |= {"rules": random.sample(list(RULES), 2), "times": random.choice((1, 1, 2))}
        elif kind == "hold":
            options |= {"takes": pause(random), "ends": random.choice(("release", "release", "forget", "renew"))}
        elif kind == "change":
            name = random.choice(list(RULES))
            options = {"rule": name, "to": random.randrange(len(RULES[name]))}
        elif kind == "refund":
            options |= {"rule": random.choice(("flow", "log"))}
        else:
            options |= {"rule": random.choice(list(RULES))}
        steps.append((kind, options))
        if random.random() < 0.6:
            steps.append(("sleep", {"seconds": round(pause(random) / 2, 4)}))
    return Actor(f"caller{number}", "caller", tuple(steps))

"""Stories of configs: programs write the same names and watch them. What the actors do then, config_actors.py has."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.steps import Actor, Step, pause

NAMES = ("red", "red", "blue", "green")
TOGETHER = ("left", "right")  # which are written by one call


def actors(random: Random) -> list[Actor]:
    """Those of one story."""
    return [_editor(random, number) for number in range(random.randint(2, 4))]


def _editor(random: Random, number: int) -> Actor:
    steps: list[Step] = []
    for _ in range(random.randint(4, 12)):
        kind = random.choices(
            ("replace", "set", "set together", "remove", "revert", "read", "see"), (8, 3, 4, 4, 1, 4, 5)
        )[0]
        # `who`: the actor of the call, of no other.
        options: dict[str, Any] = {"name": random.choice(NAMES), "who": f"e{number}.{len(steps)}"}
        if kind == "replace":
            options |= {"thinks": pause(random), "times": random.choice((1, 1, 2))}
        elif kind == "set together":
            options |= {"expects": random.random() < 0.4, "removes": random.random() < 0.3}
            del options["name"]
        elif kind == "remove":
            options["expects"] = random.random() < 0.5
        elif kind in ("read", "see"):
            options = {}
        steps.append((kind, options))
        if random.random() < 0.6:
            steps.append(("sleep", {"seconds": round(pause(random) / 2, 4)}))
    return Actor(f"editor{number}", "editor", (*steps, ("catch up", {})))

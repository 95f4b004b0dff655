"""Stories of groups that read events: write, read, acknowledge, take over. event_actors.py has what the actors do."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.steps import Actor, Step, pause


def actors(random: Random) -> list[Actor]:
    """Those of one story."""
    return [_reader(random, number) for number in range(random.randint(2, 4))]


def _reader(random: Random, number: int) -> Actor:
    steps: list[Step] = []
    for _ in range(random.randint(4, 12)):
        kind = random.choices(("write", "read", "look", "trim"), (6, 12, 1, 1))[0]
        options: dict[str, Any] = {}
        if kind == "write":
            options = {"events": random.choice((1, 5, 90)), "who": f"r{number}.{len(steps)}"}
        elif kind == "read":
            # Often longer than the event is held: then another reader takes it over.
            options = {
                "group": random.choice(("quick", "quick", "slow")),
                "limit": random.choice((1, 10, 100)),
                "takes": pause(random),
                "does": random.choice(("ack", "ack", "ack", "ack twice", "forget")),
            }
        steps.append((kind, options))
        if random.random() < 0.6:
            steps.append(("sleep", {"seconds": round(pause(random) / 2, 4)}))
    return Actor(f"reader{number}", "reader", tuple(steps))

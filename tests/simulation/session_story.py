"""Stories of sessions: several programs use the same cookies. What the actors do then, session_actors.py has."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.steps import Actor, Step, pause

USERS = ("ann", "bob")
LIMITED = "bob"  # who has as many sessions as allowed
LIMIT = 2
COOKIES = ("c0", "c0", "c1")


def actors(random: Random) -> list[Actor]:
    """Those of one story."""
    return [_visitor(random, number) for number in range(random.randint(2, 4))]


def _visitor(random: Random, number: int) -> Actor:
    steps: list[Step] = [("log in", _login(random))]
    for _ in range(random.randint(4, 12)):
        kind = random.choices(
            ("use", "update", "rotate", "use older", "log in", "revoke", "revoke all", "revoke by handle"),
            (12, 6, 4, 3, 3, 2, 1, 1),
        )[0]
        options: dict[str, Any] = {"cookie": random.choice(COOKIES)}
        if kind == "use":
            options["touch"] = random.random() < 0.7
        elif kind == "update":
            options |= {"data": f"{number}.{len(steps)}", "thinks": pause(random)}
        elif kind == "rotate":
            options["grace"] = random.choice((0, 0.5, 3))
        elif kind == "use older":
            options["by"] = random.choice(("get", "update", "rotate"))
        elif kind == "log in":
            options = _login(random)
        elif kind == "revoke all":
            options |= {"user": random.choice(USERS), "keeps": random.choice((None, None, "newest", "older"))}
        steps.append((kind, options))
        if random.random() < 0.5:
            steps.append(("sleep", {"seconds": pause(random)}))
    return Actor(f"visitor{number}", "visitor", tuple(steps))


def _login(random: Random) -> dict[str, Any]:
    user = random.choice(USERS)
    options = {"user": user, "idle": random.choice((1, 3, 60)), "lifetime": random.choice((2, 5, 600))}
    if user == LIMITED:
        options |= {"limit": LIMIT, "when_full": random.choice(("end_oldest", "end_oldest", "refuse"))}
        options |= {"idle": random.choice((3, 60, 60)), "lifetime": 600}
    return {"cookie": random.choice(COOKIES), "expects": random.random() < 0.3, "login": options}

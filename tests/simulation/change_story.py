"""Stories of changes: who writes, votes, applies and sweeps. What the actors do then, change_actors.py has."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.steps import Actor, Step, pause

PEOPLE = ("ann", "bob", "cid", "dora")
AGENTS = {"bot": "ann", "robot": "bob"}  # with the people who answer for them
GROUP = "oncall"
ASKED = ["user:ann", "user:bob", "user:cid", "user:bot"]
POLICIES: dict[str, dict[str, Any]] = {
    "one": {"required": 1, "reviewers": ASKED, "agents_may_vote": True, "max_attempts": 2},
    "two": {"required": 2, "rejections": 2, "reviewers": [*ASKED, f"group:{GROUP}"]},
    "risky": {"required": 1, "reviewers": ASKED[:2], "needs": "risk", "auto_below": 30, "deny_tags": ["frozen"]},
    "short": {"required": 2, "reviewers": [ASKED[0], f"group:{GROUP}"], "remind": 1, "escalate": 2,
              "escalate_to": ["user:dora", "user:cid"], "timeout": 4, "approval": 3},
    "lenient": {"required": 3, "reviewers": ASKED, "timeout": 2, "on_timeout": "approve", "timeout_approve_below": 20},
}  # fmt: skip
VOTES = (*["approve"] * 12, "reject", "request_changes", "abstain", "comment", "retract")
RESULTS = ("success", "success", "success", "failure", "released", "timeout", "cancelled", "forget", "late", "twice")


def actors(random: Random) -> list[Actor]:
    """Those of one story."""
    ids = [f"c{number}" for number in range(random.choice((1, 1, 2)))]
    made = [_proposer(random, number, ids) for number in range(random.randint(1, 2))]
    made += [_voter(random, number, ids) for number in range(random.randint(1, 3))]
    made += [_applier(random, number, ids) for number in range(random.randint(1, 2))]
    if random.random() < 0.4:
        made.append(_sweeper(random))
    return made


def settings(random: Random) -> dict[str, Any]:
    """Those of the domain."""
    return {"lease": random.choice((1, 2, 5)), "auto_approve_low_risk": random.random() < 0.5}


def _proposer(random: Random, number: int, ids: list[str]) -> Actor:
    steps: list[Step] = []
    for _ in range(random.randint(1, 4)):
        id, who = random.choice(ids), {"who": {"actor": "dora"}} if random.random() < 0.5 else _who(random)
        content = {"what": random.randrange(3), "tag": random.choice(("", "", "frozen"))}
        steps.append(("write", {"id": id, **content, **who}))
        if random.random() < 0.8:
            steps.append(("submit", {"id": id, "policy": random.choice(list(POLICIES)), **who}))
        steps.append(("sleep", {"seconds": pause(random)}))
        if random.random() < 0.25:
            verb = random.choice(("withdraw", "cancel", "reopen"))
            steps.append((verb, {"id": id, **(who if random.random() < 0.8 else _who(random))}))
    return Actor(f"proposer{number}", "proposer", tuple(steps))


def _voter(random: Random, number: int, ids: list[str]) -> Actor:
    steps: list[Step] = [("sleep", {"seconds": round(random.uniform(0.01, 1), 4)})]
    for _ in range(random.randint(4, 12)):
        kind = random.choices(("vote", "assess", "delegate", "take back", "add", "dismiss", "override", "away"),
                              (30, 4, 2, 1, 1, 1, 1, 1))[0]  # fmt: skip
        options: dict[str, Any] = {"id": random.choice(ids), **_who(random, agents=0.2)}
        if kind == "vote":
            options |= {"votes": random.choice(VOTES), "groups": random.choice(([], [GROUP])), "thinks": pause(random)}
        elif kind == "assess":
            options["score"] = random.choice((5, 25, 60))
        elif kind in ("delegate", "away"):
            options["to"] = random.choice(PEOPLE)
        steps.append((kind, options))
        if random.random() < 0.5:
            steps.append(("sleep", {"seconds": pause(random)}))
    return Actor(f"voter{number}", "voter", tuple(steps))


def _applier(random: Random, number: int, ids: list[str]) -> Actor:
    steps: list[Step] = [("sleep", {"seconds": round(random.uniform(0.1, 2), 4)})]
    for _ in range(random.randint(2, 7)):
        options = {"id": random.choice(ids), "takes": pause(random), "ends": random.choice(RESULTS),
                   "retry": random.random() < 0.5, "thinks": pause(random)}  # fmt: skip
        steps.append((random.choice(("apply", "block")), options))
        steps.append(("sleep", {"seconds": pause(random)}))
    return Actor(f"applier{number}", "applier", tuple(steps))


def _sweeper(random: Random) -> Actor:
    steps: list[Step] = []
    for _ in range(random.randint(1, 5)):
        steps += [("sleep", {"seconds": pause(random)}), ("sweep", {"limit": random.choice((1, 100))})]
    return Actor("sweeper", "sweeper", tuple(steps))


def _who(random: Random, agents: float = 0.3) -> dict[str, Any]:
    if random.random() < agents:
        agent = random.choice(list(AGENTS))
        return {"who": {"actor": agent, "principal": AGENTS[agent]}}
    return {"who": {"actor": random.choice(PEOPLE)}}

"""Random histories of changes, on a real server with a clock of its own, and a model beside them.

    python -m tests.property.change_histories --histories 10000 [--steps 500000] [--seed 1]

Each step is one call. Before it, somebody looks at an inbox and a list. After it, its answer and each change are
compared with the model, the rules of change_rules.py are checked, and the audit reads the whole domain. Calls are sent
again. Half of the histories never sweep.

ADEQ_TEST_SERVER names the server's binary.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Any, Protocol, TypeVar

import redis

from pyadeq.embedded import EmbeddedServer
from pyadeq.models.lock import LockMode
from tests.conftest import server_binary
from tests.property.change_driver import REFUSED, Driver, load_scripts
from tests.property.change_records import DAY_MS, FOLLOWED, NEVER, Answer, Change

T = TypeVar("T")

IDS = ("c1", "c2", "c3", "c4")
AUTHORS = ("ann", "ben")
REVIEWERS = ("rob", "sue", "tom", "uma")
AGENTS = ("bot1", "bot2")
GROUPS = ("ops", "sec")
POLICIES = ("fast", "safe", "slow")
TAGS = ((), ("db",), ("db", "prod"))
RESOURCES = ((), ("database:orders",), ("host:b", "database:orders", "host:a"))
SPANS = (1000, 60_000, 3_600_000, DAY_MS)
PAUSES = (0, 0, 1, 1000, 30_000, 60_000, 3_600_000, DAY_MS, 8 * DAY_MS, 40 * DAY_MS)
RESULTS = ("success", "failure", "timeout", "cancelled", "released", "released", "released")
ACTIONS = (*("approve",) * 6, "reject", *("request_changes",) * 2, "comment", "abstain", *("retract",) * 2)
ALWAYS = (
    "put",
    "set_policies",
    "configure",
    "set_delegations",
    "again",
    "again",
    "outbox",
    "sweep",
    "respond",
    "begin",
    "unlock",
)
FITTING = {  # what is likely to be done next with a change
    "draft": ("submit",) * 5,
    "submitted": ("assess", "assess", "assess", "put", "override", "reassign", "move"),
    "reviewing": (
        *("respond",) * 10,
        *("delegate", "delegate", "reassign", "reassign", "assess", "put", "move"),
        *("set_delegations", "set_delegations"),
    ),
    "approved": (*("begin",) * 5, "put", "respond", "respond", "move"),
    "applying": ("heartbeat", "heartbeat", "finish", "finish", "finish", "move", "unlock"),
    "rejected": ("move", "move"),
    "failed": ("move", "move"),
}
MOST_STEPS = 40


class Chance(Protocol):
    """Where choices come from: `random.Random`, or Hypothesis."""

    def choice(self, seq: Sequence[T], /) -> T: ...
    def randint(self, a: int, b: int, /) -> int: ...


class History:
    def __init__(self, driver: Driver, chance: Chance, *, sweeps: bool) -> None:
        self.driver, self.chance = driver, chance
        self.sweeps = sweeps
        self.sent: list[tuple[int, str, Answer, dict[str, Any]]] = []
        self.model = driver.model

    def play(self, steps: int) -> None:
        self.configure()
        for name in POLICIES:
            self._send("set_policies", item=[self.policy(name)])
        for _ in range(self.chance.choice((0, 0, 2, 4))):
            self.set_delegations()
        for _ in range(steps):
            self.pass_time()
            self.look()
            getattr(self, self.verb())()
            self.driver.check()
        self.driver.check_events()

    # chances

    def reviews(self) -> list[Change]:
        return [one for one in self.model.changes.values() if one.state == "reviewing"]

    def moving(self) -> list[tuple[Change, list[str]]]:
        """The changes in which a delegation has begun or ended, and the persons that it concerns."""
        return [(one, movers) for one in self.reviews() if (movers := self.model.movers(one))]

    def verb(self) -> str:
        if self.one_in(2) and self.moving():
            return "respond"
        fitting = [verb for one in self.model.changes.values() for verb in FITTING.get(one.state, ())]
        verbs = fitting if fitting and not self.one_in(4) else ALWAYS
        return self.chance.choice([one for one in verbs if self.sweeps or one != "sweep"])

    def one_in(self, number: int) -> bool:
        return self.chance.randint(1, number) == number

    def some(self, values: Sequence[T], most: int) -> list[T]:
        """A few different ones."""
        found = [self.chance.choice(values) for _ in range(self.chance.randint(0, most))]
        return list(dict.fromkeys(found))

    def person(self, people: Sequence[str]) -> dict[str, Any]:
        """Who makes a call: a person, or an agent of it."""
        person = self.chance.choice(people)
        if self.one_in(50):
            return {"actor": person, "principal": self.chance.choice(REVIEWERS), "kind": "person"}
        if self.one_in(6):
            return {"actor": self.chance.choice(AGENTS), "principal": person, "kind": "agent"}
        return {"actor": person}

    def as_named(self, name: str) -> dict[str, Any]:
        """A person of this name; if it is an agent's, mostly an agent of somebody."""
        if name in AGENTS and not self.one_in(3):
            return {"actor": name, "principal": self.chance.choice((*REVIEWERS, *AUTHORS)), "kind": "agent"}
        return {"actor": name}

    def change(self, *states: str) -> Change | None:
        """A change, mostly in one of these states."""
        found = list(self.model.changes.values())
        fitting = [one for one in found if one.state in states]
        chosen = fitting if fitting and not self.one_in(8) else found
        return self.chance.choice(chosen) if chosen else None

    def version(self, change: Change) -> dict[str, Any]:
        """Its revision and digest, or now and then what they are not."""
        if self.one_in(25):
            return {"rev": change.rev + 1, "digest": change.digest}
        if self.one_in(25):
            return {"rev": change.rev, "digest": "0" * 40}
        return {"rev": change.rev, "digest": change.digest}

    def reviewer(self) -> str:
        if self.one_in(3):
            return f"group:{self.chance.choice(GROUPS)}"
        return f"user:{self.chance.choice((*REVIEWERS, *REVIEWERS, *AUTHORS, *AGENTS))}"

    # time, and what people see

    def pass_time(self) -> None:
        """A pause, or up to the next deadline, or a little past or before it. In reviews often that of a delegation."""
        asked = {one for change in self.reviews() for slot in change.slots for one in slot.people}
        soon = [at for person, at in self.model.delegating.items() if person in asked and at > self.model.now]
        if soon and self.one_in(3):
            self.model.now = max(self.model.now, min(soon) + self.chance.choice((0, 0, -1, 1)))
            return
        times = [*(one.due for one in self.model.changes.values()), *self.model.delegating.values()]
        due = min((one for one in times if one > self.model.now), default=NEVER)
        if self.one_in(8) and due < NEVER:
            self.model.now = max(self.model.now, due + self.chance.choice((0, -1, 1)))
        else:
            self.model.now += self.chance.choice(PAUSES) if self.one_in(12) else self.chance.choice((0, 1, 100))

    def look(self) -> None:
        who = self.person((*REVIEWERS, *AUTHORS))
        by, values = self.chance.choice(
            (
                ("state", ("reviewing", "approved", "draft")), ("author", AUTHORS), ("team", ("core",)),
                ("tag", ("db", "prod")), ("resource", ("database:orders", "host:a")),
                ("reviewer", ("user:rob", "user:sue", "group:ops")),
            )
        )  # fmt: skip
        self.driver.look(
            who["actor"], who.get("principal", ""), self.some(GROUPS, 2), by, self.chance.choice(values),
            self.chance.randint(1, 3),
        )  # fmt: skip

    # calls

    def _send(self, verb: str, **arguments: Any) -> Answer:
        arguments["rid"] = self.driver.new_rid()
        answer = self.driver.do(verb, **arguments)
        if answer != REFUSED:
            self.sent.append((self.model.now, verb, answer, arguments))
        return answer

    def again(self) -> None:
        """One of the last calls comes once more."""
        recent = [one for one in self.sent if one[0] > self.model.now - 60_000]
        if not self.one_in(3):
            recent = recent[-4:]
        if recent:
            _, verb, answer, arguments = self.chance.choice(recent)
            self.driver.again(verb, answer, **arguments)

    def configure(self) -> None:
        settings: dict[str, Any] = {
            "auto_approve_low_risk": self.one_in(2), "batch_approvals": not self.one_in(4), "risk_high": 40,
            "keep_ms": self.chance.choice((3_600_000, 90 * DAY_MS)), "keep_max": self.chance.choice((100, 1)),
            "follow_queue": self.chance.choice(("q", "q", "elsewhere")),
            "lock_domain": self.chance.choice(("none", "l", "l", "l", "l", "elsewhere")),
            "lease_ms": self.chance.choice((30_000, 1000)), "default_timeout_ms": self.chance.choice(SPANS),
        }  # fmt: skip
        self.driver.do("configure", settings=settings)
        drains = self.one_in(4)
        self.driver.ask(self.driver.queue.drain() if drains else self.driver.queue.resume())
        self.model.takes_tasks = settings["follow_queue"] == "q" and not drains

    def set_policies(self) -> None:
        if self.one_in(8):
            self._send("set_policies", item=[{"name": self.chance.choice(POLICIES), "remove": True}])
        else:
            self._send("set_policies", item=[self.policy(self.chance.choice(POLICIES))])

    def policy(self, name: str) -> dict[str, Any]:
        choice = self.chance.choice
        found: dict[str, Any] = {"name": name, "required": choice((1, 2, 2, 3)), "rejections": choice((1, 0, 2))}
        found |= {"contributors_may_vote": self.one_in(8), "agents_may_vote": self.one_in(2)}
        found |= {"needs": choice(("none", "none", "risk", "preview", "both")), "approval_ms": choice(SPANS)}
        for step in self.some(FOLLOWED, 3):
            found[f"{step}_kind"] = "notify"
        found |= {"max_attempts": choice((3, 1, 2)), "delegation_depth": choice((3, 0, 1))}
        for one, values in (("reviewers", self.some([self.reviewer() for _ in range(4)], 4)), ("deny_tags", ["prod"])):
            if values and self.one_in(2):
                found[one] = values
        if self.one_in(2):
            found |= {"escalate_ms": choice(SPANS), "escalate_to": [self.reviewer() for _ in range(choice((1, 2, 3)))]}
        if self.one_in(2):
            found["remind_ms"] = choice(SPANS)
        if self.one_in(2):
            found["timeout_ms"] = choice(SPANS)
        if self.one_in(2):
            found |= {"on_timeout": "approve", "timeout_approve_below": choice((50, 101))}
        elif self.one_in(8):
            found["on_timeout"] = "reject"
        if self.one_in(2):
            found["auto_below"] = choice((30, 101))
        return found

    def put(self) -> None:
        id = self.chance.choice(IDS)
        known = self.model.changes.get(id)
        rev = 0 if known is None else known.rev
        people = AUTHORS if self.one_in(2) or not known else (*AUTHORS, *REVIEWERS)
        who = self.person(people)
        voters = sorted({slot.reviewed_by for slot in known.slots} - {""}) if known else []
        if voters and self.one_in(3):
            who = self.as_named(self.chance.choice(voters))
        variant, team = self.chance.randint(0, 2), self.chance.choice(("", "core"))
        self._send(
            "put", id=id, expect_rev=rev + 1 if self.one_in(15) else rev,
            change_type="drop" if self.one_in(6) else "deploy",
            description=f"variant {variant}", parameters=f"p{variant}", resources=list(RESOURCES[variant]),
            priority=variant, timeout_ms=self.chance.choice((0, 1000)), tags=list(self.chance.choice(TAGS)), team=team,
            **who,
        )  # fmt: skip

    def submit(self) -> None:
        if change := self.change("draft"):
            writers = sorted(change.contributors)
            who = self.person(AUTHORS) if self.one_in(5) else {"actor": self.chance.choice(writers)}
            named = [{"reviewer": self.reviewer()} for _ in range(self.chance.randint(1, 4))]
            givers = sorted(name for name, own in self.model.delegations.items() if own)
            if givers and not self.one_in(3):
                named[0]["reviewer"] = f"user:{self.chance.choice(givers)}"
            if self.one_in(4):
                named[0]["name"] = "Somebody"
            self._send(
                "submit", id=change.id, rev=change.rev, policy=self.chance.choice(POLICIES), item=named,
                priority=self.chance.choice(("normal", "low", "high", "urgent")),
                timeout_ms=self.chance.choice((0, 0, 60_000, DAY_MS)), **who,
            )  # fmt: skip

    def assess(self) -> None:
        if change := self.change("submitted", "reviewing"):
            what: dict[str, Any] = {"score": self.chance.choice((20, 40, 100)), "auto_approvable": not self.one_in(3)}
            if self.one_in(2):
                what = {"preview": "a preview", **(what if self.one_in(2) else {})}
            people = ("risk", "risk", *AUTHORS)
            self._send("assess", id=change.id, **self.version(change), **what, **self.person(people))

    def respond(self) -> None:
        items: list[dict[str, Any]] = []
        who = self.person((*REVIEWERS, *REVIEWERS, *AUTHORS))
        moving = [] if self.one_in(8) else self.moving()
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            if change := self.change("reviewing", "approved"):
                asked = sorted(slot.reviewer for slot in change.slots if slot.reviewer.startswith("user:"))
                if asked and not items and not self.one_in(3):
                    who = self.as_named(self.chance.choice(asked).removeprefix("user:"))
                if moving and not items:
                    change, movers = self.chance.choice(moving)
                    who = self.as_named(self.chance.choice(movers))
                action = self.chance.choice(ACTIONS)
                slot = self.chance.randint(1, 4) if self.one_in(6) else 0
                items.append({"id": change.id, **self.version(change), "action": action, "slot": slot, "reason": "so"})
        if items:
            groups = self.some(GROUPS, 2)
            shown = self.model.inbox(who["actor"], who.get("principal", ""), groups)
            first = self.model.changes[items[0]["id"]]
            requests = len(first.slots)
            _, told = self._send("respond", item=items, groups=groups, proof="p", **who)
            # A call that escalates a change may delegate a request, and so change who may answer the others.
            if len(first.slots) == requests:
                self._check_inbox(items, who, shown, told)

    def _check_inbox(
        self, items: Sequence[Any], who: dict[str, Any], shown: Sequence[Any], told: dict[str, Any]
    ) -> None:
        """What an inbox shows can be answered, and what can be answered for the first time is shown."""
        first = items[0]
        change = self.model.changes.get(first["id"])
        if len(items) > 1 or not told or first["slot"] or first["action"] in ("comment", "retract") or change is None:
            return
        status, _ = told["items"][0]
        listed = first["id"] in [one["id"] for _, one in shown]
        if listed:
            assert status in ("recorded", "approved", "rejected", "outdated"), f"{first} is in the inbox, and {status}"

    def move(self) -> None:
        to = self.chance.choice(("withdraw", "reopen", "reopen", "cancel"))
        states = {"reopen": ("rejected", "failed"), "withdraw": ("reviewing", "approved"), "cancel": ("applying",)}
        if change := self.change(*states[to]):
            who = self.person(AUTHORS) if self.one_in(3) else {"actor": self.chance.choice(sorted(change.contributors))}
            self._send("move", id=change.id, to=to, reason="so", **who)

    def delegate(self) -> None:
        if change := self.change("reviewing"):
            asked = sorted({one for s in change.slots for one in (s.reviewer.removeprefix("user:"), *s.chain)})
            who = self.as_named(self.chance.choice(asked)) if asked and not self.one_in(4) else self.person(REVIEWERS)
            to = "" if self.one_in(3) else self.chance.choice((*REVIEWERS, *REVIEWERS, *AUTHORS, *AGENTS))
            self._send("delegate", id=change.id, to=to, reason="away", slot=int(self.one_in(6)), **who)

    def reassign(self) -> None:
        if change := self.change("reviewing", "submitted"):
            operation = self.chance.choice(("add", "remove", "move", "dismiss"))
            slot = 0 if operation == "add" else self.chance.randint(1, max(1, len(change.slots)))
            reviewer = self.reviewer() if operation in ("add", "move") else ""
            self._send(
                "reassign", id=change.id, operation=operation, actor="op", reason="so", slot=slot, reviewer=reviewer
            )

    def set_delegations(self) -> None:
        choice, now = self.chance.choice, self.model.now
        one: dict[str, Any] = {"name": choice("aab")}
        if self.one_in(5):
            one["remove"] = True
        else:
            one |= {"to": choice((*REVIEWERS, *REVIEWERS, *AUTHORS, *AGENTS)), "cascade": self.one_in(2)}
            begins = now + choice((100, 300, *SPANS)) if self.one_in(4) else now
            one |= {"from_ms": begins} if begins > now else {}
            one |= {"until_ms": begins + choice((200, 500, *SPANS))} if self.one_in(2) else {}
            conditions = {"tags": ["db"], "types": ["deploy", "other"], "resources": ["host:a"], "risk_below": 40}
            conditions |= {"risk_above": 20, "inactive": True}
            if self.one_in(2):
                one |= {name: conditions[name] for name in self.some(tuple(conditions), 2)}
        if self.one_in(4):
            who = self.as_named(choice(AGENTS))
            self._send("set_delegations", user=who["actor"], item=[one], **who)
        else:
            asked = {name for change in self.reviews() for slot in change.slots for name in slot.people}
            people = [name for name in REVIEWERS if name in asked and not self.one_in(4)] or REVIEWERS
            self._send("set_delegations", user=choice(REVIEWERS[:2] if self.one_in(3) else people), item=[one])

    def override(self) -> None:
        if change := self.change("reviewing", "submitted"):
            self._send(
                "override", id=change.id, **self.version(change), reason="fire", proof="p", **self.person(REVIEWERS)
            )

    def begin(self) -> None:
        if change := self.change("approved"):
            lease = self.chance.choice((0, 0, 1000))
            locks = self.take_locks(change)
            version = self.version(change)
            _, told = self._send("begin", id=change.id, **version, agent="bot", lease_ms=lease, **locks)
            if "fence" in told:
                assert told["fence"] > self.driver.fence, "fences rise"
                self.driver.fence = told["fence"]

    def take_locks(self, change: Change) -> dict[str, str]:
        """Take the locks of a change: mostly those that its applier needs."""
        resources, choice = change.content["resources"], self.chance.choice
        if not resources or self.one_in(8):
            return {}
        locks = self.driver.locks
        known = [rid for rid, one in locks.held.by_rid.items() if one.owner == f"d/{change.id}"]
        if known and self.one_in(4):
            return self.with_locks({"lock_rid": choice(known)})
        if known and self.one_in(2):
            locks.release(choice(known))
        wanted = list(resources[:-1] if len(resources) > 1 and self.one_in(6) else resources)
        owner = "d/other" if self.one_in(10) else f"d/{change.id}"
        modes: dict[str, LockMode] = {one: "shared" if self.one_in(12) else "exclusive" for one in wanted}
        rid = self.driver.new_rid()
        locks.take(rid, owner, modes, choice((3600, 60, 60, 1)))
        if not self.one_in(4):
            self.model.now += choice((0, 1, 100, 1000, 30_000))
        return self.with_locks({"lock_rid": rid})

    def with_locks(self, arguments: dict[str, str]) -> dict[str, str]:
        """Mostly the call names the lock domain, too."""
        return arguments if self.one_in(10) else {**arguments, "lock": self.driver.locks.base}

    def unlock(self) -> None:
        """Locks are renewed, released, or taken away by an operator."""
        locks = self.driver.locks
        if locks.held.by_rid:
            rid = self.chance.choice(sorted(locks.held.by_rid))
            match self.chance.choice(("renew", "renew", "release", "force_release")):
                case "renew":
                    locks.renew(rid)
                case "release":
                    locks.release(rid)
                case _:
                    locks.force_release(self.driver.new_rid(), self.chance.choice(sorted(locks.held.by_rid[rid].modes)))

    def heartbeat(self) -> None:
        if change := self.change("applying"):
            token = "no" if self.one_in(8) else change.token or "no"
            self.driver.do("heartbeat", **self.with_locks({"id": change.id, "token": token}))

    def finish(self) -> None:
        if change := self.change("applying", "applying", "approved"):
            token = "no" if self.one_in(10) else change.token or "no"
            result = self.chance.choice(RESULTS)
            self._send("finish", id=change.id, token=token, result=result, retry=not self.one_in(3), printed="done")

    def outbox(self) -> None:
        """Deliver some of what is there."""
        delivered = [{"id": id, "seq": seq} for id, seq in self.model.outbox if self.one_in(3)]
        self.driver.do("outbox", item=delivered, limit=self.chance.choice((100, 1)))

    def sweep(self) -> None:
        moving = any(at <= self.model.now for at in self.model.delegating.values())
        self.driver.do("sweep", limit=100 if moving else self.chance.choice((20, 1)))


# long runs


class Run:
    """Histories on one server, one after the other."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.client = redis.Redis.from_url(server.url)
        self.scripts = load_scripts(self.client)
        self.steps = self.histories = 0

    def one(self, seed: int) -> None:
        chance = Random(seed)
        driver = Driver(self.client, f"history-{seed}", self.scripts)
        try:
            History(driver, chance, sweeps=seed % 2 == 0).play(chance.randint(5, MOST_STEPS))
        except BaseException:
            print(f"the history of seed {seed} failed, after {self.steps + driver.steps:,} steps", file=sys.stderr)
            raise
        driver.close()
        self.steps += driver.steps
        self.histories += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=sys.maxsize, help="at least so many, and then no further history")
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    with EmbeddedServer(binary=server_binary(), appendfsync="no").start() as server:
        run = Run(server)
        for seed in count(arguments.seed * 1_000_000):
            if run.histories >= arguments.histories or run.steps >= arguments.steps:
                break
            run.one(seed)
            if run.histories % 500 == 0:
                print(f"{run.histories:,} histories, {time.monotonic() - began:.0f} s", flush=True)
    print(
        f"{run.steps:,} steps in {run.histories:,} histories without a violation, in {time.monotonic() - began:.0f} s;"
        f" seed {arguments.seed}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

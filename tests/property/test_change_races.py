"""Votes at the same time as each other, and as a revision, a timeout, a cancellation: real connections and threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import redis

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.kernel.nouncalls import NounCalls, script_of
from tests.nouns.change.model import Audit
from tests.property import change_rules
from tests.property.change_driver import load_scripts, plain
from tests.property.change_records import Answer
from tests.quick import examples

VOTERS = tuple(f"voter{number}" for number in range(8))
ROUNDS = examples(200, 200)
QUORUM = 2


class Domain:
    """A change domain on the server's clock, and a connection for each of those who race."""

    def __init__(self, url: str, base: str) -> None:
        self.calls = NounCalls(base, noun="change")
        self.clients: list[Any] = [redis.Redis.from_url(url) for _ in range(len(VOTERS) + 1)]
        load_scripts(self.clients[0])
        self.pool, self.barrier = ThreadPoolExecutor(len(self.clients)), Barrier(len(self.clients))
        self.rids = iter(range(10**9))
        self.send(
            "set_policies", item=[{"name": "p", "required": QUORUM, "reviewers": [f"user:{one}" for one in VOTERS]}]
        )

    def send(self, verb: str, client: Any = None, **arguments: Any) -> Answer:
        script = script_of("change", verb)
        if script.replay == "rid":
            arguments.setdefault("rid", f"r{next(self.rids)}")
        reply = (client or self.clients[0]).execute_command(*self.calls.build(verb, **arguments).command())
        answer: Answer = plain(parse_reply(script, reply))
        return answer

    def propose(self, id: str, rev: int = 0, **arguments: Any) -> dict[str, Any]:
        """Write a revision of a change. Returns what a vote for it names."""
        told = self.send("put", id=id, expect_rev=rev, actor="ann", change_type="deploy", description=f"rev {rev}")[1]
        if not rev:
            self.send("submit", id=id, rev=1, actor="ann", policy="p", **arguments)
        return {"id": id, "rev": told["rev"], "digest": told["digest"]}

    def race(self, *racers: tuple[str, dict[str, Any]]) -> list[Answer]:
        """Make these calls at the same time."""
        racers = (*racers, *[("stats", {})] * (len(self.clients) - len(racers)))

        def run(client: Any, verb: str, arguments: dict[str, Any]) -> Answer:
            self.barrier.wait(30)
            return self.send(verb, client, **arguments)

        tasks = [self.pool.submit(run, one, *racer) for one, racer in zip(self.clients, racers, strict=True)]
        return [task.result() for task in tasks]

    def votes(self, version: dict[str, Any], number: int = len(VOTERS)) -> list[tuple[str, dict[str, Any]]]:
        item = [{**version, "action": "approve"}]
        return [("respond", {"actor": one, "item": item}) for one in VOTERS[:number]]

    def check(self, id: str) -> dict[str, Any]:
        """No rule is broken. Returns what `get` answers."""
        told = self.send("get", item=[id], with_requests=True, with_log=1000)[1]
        found: dict[str, Any] = told["items"][0][1]
        writers = {one.decode() for one in self.clients[0].smembers(f"{self.calls.base}:contributors:{id}")}
        change_rules.check_change(None, found, writers)
        return found

    def close(self) -> None:
        problems = list(Audit(self.clients[0], self.calls.base).problems())
        self.pool.shutdown()
        for one in self.clients:
            one.close()
        assert not problems, "\n".join(problems)


@pytest.fixture
def domain(url: str, base_name: str) -> Iterator[Domain]:
    domain = Domain(url, f"ade:{{change:{base_name}}}")
    yield domain
    domain.close()


def events(found: dict[str, Any]) -> Counter[str]:
    return Counter(entry["entry"]["event"] for _, entry in found["log"])


def statuses(answers: list[Answer]) -> Counter[str]:
    """Of votes."""
    return Counter(told["items"][0][0] for _, told in answers if "items" in told)


def test_eight_voters_approve_once(domain: Domain) -> None:
    for number in range(ROUNDS):
        version = domain.propose(f"c{number}")
        found = statuses(domain.race(*domain.votes(version)))
        assert found == {"recorded": QUORUM - 1, "approved": 1, "closed": len(VOTERS) - QUORUM}
        change = domain.check(version["id"])
        assert (change["change"]["state"], change["approved"]) == ("approved", QUORUM)
        assert events(change)["change.approved"] == 1


def test_votes_and_a_revision(domain: Domain) -> None:
    """No vote for the revision before counts for the new one."""
    for number in range(ROUNDS // 4):
        version = domain.propose(f"c{number}")
        revise = {"id": version["id"], "expect_rev": 1, "actor": "ann", "change_type": "deploy", "description": "new"}
        *votes, put = domain.race(*domain.votes(version), ("put", revise))
        assert put[0] == "revised"
        change = domain.check(version["id"])
        assert (change["change"]["state"], change["change"]["rev"], change["approved"]) == ("reviewing", "2", 0)
        assert statuses(votes)["approved"] == events(change)["change.approved"] <= 1
        assert set(statuses(votes)) <= {"recorded", "approved", "closed", "outdated"}


def test_votes_and_a_cancellation(domain: Domain) -> None:
    for number in range(ROUNDS // 4):
        version = domain.propose(f"c{number}")
        *votes, move = domain.race(
            *domain.votes(version), ("move", {"id": version["id"], "to": "cancel", "actor": "ann"})
        )
        assert move[0] == "cancelled"
        change = domain.check(version["id"])
        assert change["change"]["state"] == "cancelled"
        assert statuses(votes)["approved"] == events(change)["change.approved"] <= 1
        assert change["approved"] == statuses(votes)["approved"] + statuses(votes)["recorded"]


def test_votes_and_a_timeout(domain: Domain) -> None:
    """It is approved or rejected by time, and only one of both."""
    ends: Counter[str] = Counter()
    for number in range(ROUNDS // 4):
        version = domain.propose(f"c{number}", timeout_ms=1 + number % 3)
        votes = domain.race(*domain.votes(version), ("sweep", {}))
        domain.send("sweep")
        change = domain.check(version["id"])
        if change["change"]["state"] == "reviewing":  # one has voted, and its time is not over
            continue
        ends[change["change"]["state"]] += 1
        decided = statuses(votes)["approved"]
        assert change["change"]["state"] == ("approved" if decided else "rejected")
        assert (events(change)["change.approved"], events(change)["change.rejected"]) == (decided, 1 - decided)
    assert ends.keys() <= {"approved", "rejected"}


def test_appliers_and_a_revision(domain: Domain) -> None:
    """One applier begins at most, and not if the content is another by then."""
    for number in range(ROUNDS // 4):
        version = domain.propose(f"c{number}")
        for verb, arguments in domain.votes(version, QUORUM):
            domain.send(verb, **arguments)
        begin = [("begin", {**version, "agent": f"bot{one}"}) for one in range(4)]
        revise = {"id": version["id"], "expect_rev": 1, "actor": "ann", "change_type": "deploy", "description": "new"}
        found = domain.race(*begin[: number % 4 + 1], ("put", revise))
        begun = sum(status == "begun" for status, _ in found)
        revised = sum(status == "revised" for status, _ in found)
        assert begun + revised == 1
        state = domain.check(version["id"])["change"]["state"]
        assert state == ("applying" if begun else "reviewing")

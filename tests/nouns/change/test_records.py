"""What is stored of a change after each step of its life: all of it, and nothing else."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import DAY, policy, watched
from tests.nouns.script_bench import START, MakeAny, pairs

CONTENT: dict[str, Any] = {
    "change_type": "deploy",
    "version": "2",
    "description": "Version 2 for all",
    "parameters": "{}",
    "resources": ["table:b", "database:a"],
    "rollback_strategy": "manual",
    "timeout": 120,
    "priority": 90,
    "author_name": "Ann",
    "team": "shop",
    "ticket_ref": "T-1",
    "tags": ["x", "y"],
}


class Watch:
    """`changed` says what is different in the record of the change since it was asked before."""

    def __init__(self, bench: NounBench, key: str) -> None:
        self.bench, self.key, self.before = bench, key, dict[str, bytes]()

    def changed(self) -> dict[str, str]:
        now = pairs(self.bench.ask("HGETALL", self.key))
        found = {name: value.decode() for name, value in now.items() if self.before.get(name) != value}
        self.before = now
        return found


def ms(offset: int = 0) -> str:
    return str(START + offset)


def test_a_change_is_stored_as_each_step_leaves_it(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    record = Watch(bench, ":change:c")
    bench.put("put", id="c", actor="bot", principal="ann", kind="agent", **CONTENT)
    digest = bench.ask("HGET", ":change:c", "digest").decode()
    seen = {"id": "c", "rev": 1, "digest": digest}
    assert record.changed() == {
        "state": "draft",
        "author": "bot",
        "principal": "ann",
        "created_ms": ms(),
        "updated_ms": ms(),
        "rev": "1",
        "seq": "1",
        "digest": digest,
        "type": "deploy",
        "version": "2",
        "description": "Version 2 for all",
        "resources": "database:a,table:b",
        "rollback_strategy": "manual",
        "timeout_ms": "120000",
        "priority": "90",
        "author_name": "Ann",
        "team": "shop",
        "ticket_ref": "T-1",
        "tags": "x,y",
    }
    assert bench.ask("GET", ":params:c") == b"{}"
    assert bench.ask("SMEMBERS", ":contributors:c") in ([b"ann", b"bot"], [b"bot", b"ann"])

    bench.pass_time(1000)
    told = {"factors": "size", "auto_approvable": True, "assessed_by": "v7"}
    assert bench.put("assess", **seen, actor="meter", score=60, preview="+1 -1", **told).level == "high"
    assert record.changed() == {
        "updated_ms": ms(1000),
        "seq": "2",
        "preview_rev": "1",
        "preview_until_ms": str(bench.now + 7 * 86_400_000),
        "risk_score": "60",
        "risk_level": "high",
        "risk_factors": "size",
        "auto_approvable": "1",
        "assessed_ms": ms(1000),
        "assessed_by": "v7",
        "risk_rev": "1",
    }
    assert bench.ask("GET", ":preview:c") == b"+1 -1"

    bench.pass_time(1000)
    policy(bench, "team", required=2, remind=3600, escalate=7200, escalate_to=["user:eve"], reviewers=["group:dbas"])
    submitted = {"rev": 1, "actor": "ann", "policy": "team", "priority": "high", "timeout": 86_400}
    bench.put("submit", id="c", item=[{"reviewer": "user:bob", "name": "Bob"}], **submitted)
    found = record.changed()
    copied = {name: found.pop(name) for name in list(found) if name.startswith("p_")}
    assert found == {
        "updated_ms": ms(2000),
        "state": "reviewing",
        "round": "1",
        "seq": "4",
        "submitted_ms": ms(2000),
        "policy": "team@1",
        "review_priority": "high",
        "weight": "500",
        "slots": "1 pending group:dbas ,2 pending user:bob ",
        "level": "0",
        "asked_ms": ms(2000),
        "denied": "0",
        "decided_by": "",
        "why": "",
        "timeout_at_ms": ms(2000 + DAY),
        "remind_at_ms": ms(2000 + 3_600_000),
        "escalate_at_ms": ms(2000 + 7_200_000),
    }
    assert (copied["p_required"], copied["p_timeout_ms"], copied["p_reviewers"]) == ("2", "86400000", "group:dbas")
    assert (copied["p_escalate_ms"], copied["p_needs"], copied["p_version"]) == ("7200000", "none", "1")
    request = Watch(bench, ":request:c/2")
    opened = request.changed()
    assert opened == {
        "reviewer": "user:bob",
        "reviewer_name": "Bob",
        "priority": "high",
        "status": "pending",
        "round": "1",
        "rev": "1",
        "digest": digest,
        "created_ms": ms(2000),
        "assigned_ms": ms(2000),
        "due_ms": ms(2000 + DAY),
        **dict.fromkeys(("responded_ms", "response_action", "response_reason", "reviewed_by", "principal"), ""),
    }

    bench.pass_time(1000)
    item = [{**seen, "action": "approve", "reason": "fine"}]
    bench.put("respond", actor="bob", item=item)
    assert request.changed() == {
        "status": "approved",
        "responded_ms": ms(3000),
        "response_action": "approve",
        "response_reason": "fine",
        "reviewed_by": "bob",
        "principal": "bob",
    }
    assert record.changed() == {
        "updated_ms": ms(3000),
        "seq": "5",
        "slots": "1 pending group:dbas ,2 approved user:bob bob",
    }
    bench.put("respond", actor="zoe", groups=["dbas"], item=item)
    assert record.changed() == {
        "seq": "7",
        "slots": "1 approved group:dbas zoe,2 approved user:bob bob",
        "state": "approved",
        "approved_ms": ms(3000),
        "decided_by": "zoe",
        "until_ms": ms(3000 + 7 * DAY),
        "attempts": "0",
        "token": "",
    }

    bench.pass_time(1000)
    bench.put("begin", rid="run", agent="bot", lease=20, **seen)
    assert record.changed() == {
        "updated_ms": ms(4000),
        "state": "applying",
        "seq": "8",
        "token": "run",
        "agent": "bot",
        "fence": "1",
        "started_ms": ms(4000),
        "applying_ms": ms(4000),
        "run_ms": "120000",
        "lease_ms": "20000",
        "lock_rid": "",
        "locks": "",
        "deadline_ms": ms(24_000),
    }
    bench.pass_time(1000)
    bench.put("heartbeat", id="c", token="run")
    assert record.changed() == {"updated_ms": ms(5000), "deadline_ms": ms(25_000)}
    bench.put("move", id="c", to="cancel", actor="ann")
    assert record.changed() == {"seq": "9", "cancelling": "1"}

    bench.pass_time(1000)
    said = {"printed": "out", "output_cut": True, "output_key": "s3/1", "error": "no space", "error_details": "{}"}
    bench.put("finish", id="c", token="run", result="failure", **said)
    assert record.changed() == {
        "updated_ms": ms(6000),
        "state": "failed",
        "seq": "10",
        "token": "",
        "attempts": "1",
        "cancelling": "0",
        "result": "failure",
        "output_cut": "1",
        "output_key": "s3/1",
        "error": "no space",
        "error_details": "{}",
        "why": "failure",
        "ended_ms": ms(6000),
        "completed_ms": ms(6000),
    }
    assert bench.ask("GET", ":output:c") == b"out"
    assert bench.ask("ZRANGE", ":ended", 0, -1, "WITHSCORES") == [b"c", ms(6000).encode()]
    assert bench.ask("PTTL", ":request:c/2") > 29 * DAY

    bench.put("move", id="c", to="reopen", actor="ann")
    assert record.changed() == {"state": "draft", "seq": "11"}
    bench.check()


def test_an_emergency_leaves_a_mark_and_a_cancel_its_reason(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    record = Watch(bench, ":change:c")
    digest = bench.put("put", id="c", actor="ann", change_type="deploy", description="d").digest
    policy(bench)
    bench.put("submit", id="c", rev=1, actor="ann", policy="p", item=["user:bob"])
    record.changed()
    own = {
        "rev": 1,
        "digest": digest,
        "actor": "bot",
        "principal": "olga",
        "kind": "agent",
        "reason": "the shop is down",
    }
    bench.put("override", id="c", **own)
    assert record.changed() == {
        "state": "approved",
        "seq": "5",
        "slots": "1 cancelled user:bob ",
        "approved_ms": ms(),
        "until_ms": ms(7 * DAY),
        "decided_by": "override:bot",
        "overridden_rev": "1",
        "overridden_by": "olga",
        "attempts": "0",
        "token": "",
    }
    bench.put("move", id="c", to="cancel", actor="ann")
    assert record.changed() == {"state": "cancelled", "seq": "6", "why": "cancelled", "completed_ms": ms()}

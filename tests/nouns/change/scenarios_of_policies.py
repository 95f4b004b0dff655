"""Paths of `set_policies`, `get_policies` and `submit`."""

from __future__ import annotations

from typing import Any

from tests.lua.scenario import AnyCall, scenario
from tests.nouns.bench import NounBench
from tests.nouns.change.states import assess, draft, in_review, policy, revised

ALL: dict[str, Any] = {
    "required": 2,
    "rejections": 2,
    "reviewers": ["user:bob", "group:dbas"],
    "contributors_may_vote": True,
    "agents_may_vote": True,
    "needs": "both",
    "remind": 60,
    "escalate": 3600,
    "escalate_to": ["user:eve"],
    "timeout": 86_400,
    "on_timeout": "approve",
    "timeout_approve_below": 10,
    "auto_below": 20,
    "deny_tags": ["x"],
    "approval": 60,
    "max_attempts": 2,
}


@scenario(1, 100)
def set_policies_that_are_new(bench: NounBench, n: int) -> AnyCall:
    return bench.call("set_policies", item=[{"name": f"p{number}", "required": 1} for number in range(n)])


@scenario(0)
def set_policies_with_all_fields(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", actor="olga", item=[{"name": "p", **ALL}])


@scenario(0)
def set_policies_as_they_are(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("set_policies", item=[{"name": "p", "required": 1}])


@scenario(0)
def set_policies_away(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("set_policies", actor="olga", item=[{"name": name, "remove": True} for name in ("p", "q")])


@scenario(0)
def get_policies_by_name(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("get_policies", item=["p", "q"])


@scenario(0)
def submit_for_review(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    asked = [{"reviewer": "user:bob", "name": "Bob"}, "group:dbas"]
    return bench.call("submit", **_of(draft(bench)), policy="p", priority="urgent", timeout=60, item=asked)


@scenario(0)
def submit_for_an_assessment(bench: NounBench, _: int) -> AnyCall:
    policy(bench, needs="risk", reviewers=["user:bob"])
    return bench.call("submit", **_of(draft(bench)), policy="p")


@scenario(0)
def submit_what_the_policy_approves(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, reviewers=["user:bob"], auto_below=20)
    one = draft(bench)
    assess(bench, one, 10, auto_approvable=True)
    return bench.call("submit", **_of(one), policy="p")


@scenario(0)
def submit_to_too_few(bench: NounBench, _: int) -> AnyCall:
    policy(bench, required=2)
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:ann", "user:bob"])


@scenario(0)
def submit_by_no_policy(bench: NounBench, _: int) -> AnyCall:
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:bob"])


@scenario(0)
def submit_by_somebody_else(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("submit", **{**_of(draft(bench)), "actor": "bob"}, policy="p", item=["user:bob"])


@scenario(0)
def submit_an_older_revision(bench: NounBench, _: int) -> AnyCall:
    one = draft(bench)
    revised(bench, one)
    return bench.call("submit", **_of(one), policy="p", item=["user:bob"])


@scenario(0)
def submit_again(bench: NounBench, _: int) -> AnyCall:
    return bench.call("submit", **_of(in_review(bench)), policy="p", item=["user:bob"])


@scenario(0)
def submit_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("submit", id="c", rev=1, actor="ann", policy="p", item=["user:bob"])


def _of(one: dict[str, Any]) -> dict[str, Any]:
    return {"id": one["id"], "rev": one["rev"], "actor": "ann"}

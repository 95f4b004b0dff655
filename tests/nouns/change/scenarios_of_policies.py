"""Paths of `set_policies` and `get_policies`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import people, policy
from tests.nouns.scenario import AnyCall, scenario, sent

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
    "delegation_depth": 2,
}

LARGEST: dict[str, Any] = {
    **ALL,
    "reviewers": people(16),
    "escalate_to": people(3, 16),
    "deny_tags": [f"{number:02}".ljust(200, "x") for number in range(16)],
}


@scenario(1, 100)
def set_policies_that_are_new(bench: NounBench, n: int) -> AnyCall:
    return bench.call("set_policies", item=[{"name": f"p{number}", "required": 1} for number in range(n)])


@scenario(0)
def set_policies_with_all_fields(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", actor="olga", caller="web", item=[{"name": "p", **ALL}])


@scenario(0)
def set_policies_as_they_are(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("set_policies", item=[{"name": "p", "required": 1}])


@scenario(0)
def set_policies_away(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    item = [{"name": name, "remove": True} for name in ("p", "q")]
    return bench.call("set_policies", actor="olga", caller="web", item=item)


@scenario(0)
def get_policies_by_name(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("get_policies", item=["p", "q"])


@scenario(0, clock="server")
def set_policies_first_of_all(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", item=[{"name": "p", "required": 1}])


@scenario(0)
def set_policies_again(bench: NounBench, _: int) -> AnyCall:
    items = [{"name": "p", "required": 1}, {"name": "q", "remove": True}]
    return sent(bench, bench.call("set_policies", item=items))


@scenario(0)
def set_policies_to_another_version(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("set_policies", item=[{"name": "p", "required": 2}])


@scenario(0)
def set_policies_twice_in_a_call(bench: NounBench, _: int) -> AnyCall:
    items = [{"name": "p", "required": 1}, {"name": "p", "remove": True}, {"name": "p", "required": 1}]
    return bench.call("set_policies", item=items)


@scenario(0)
def set_policies_with_all_at_their_defaults(bench: NounBench, _: int) -> AnyCall:
    """It is the same as one that leaves them out."""
    policy(bench)
    own = {"rejections": 1, "contributors_may_vote": False, "agents_may_vote": False, "needs": "none"}
    own |= {"on_timeout": "reject", "auto_below": 0, "approval": 604_800, "max_attempts": 3, "delegation_depth": 3}
    return bench.call("set_policies", item=[{"name": "p", "required": 1, **own}])


@scenario(0)
def set_policies_away_with_other_fields(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, remove=True)


@scenario(0)
def set_policies_without_a_quorum(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", item=[{"name": "p", "rejections": 2}])


@scenario(0)
def set_policies_to_escalate_to_nobody(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, escalate=60)


@scenario(0)
def set_policies_to_escalate_at_no_time(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, escalate_to=["user:eve"])


@scenario(0)
def set_policies_to_approve_any_risk_by_time(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, on_timeout="approve")


@scenario(0)
def set_policies_that_take_longer_than_the_settings_allow(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, timeout=2_592_000.001)


@scenario(0)
def set_policies_that_take_as_long_as_the_settings_allow(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, timeout=2_592_000)


@scenario(0)
def set_policies_with_a_strange_reviewer(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, reviewers=["user:bob", "bob"])


@scenario(0)
def set_policies_with_a_reviewer_without_a_name(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, reviewers=["user:"])


@scenario(0)
def set_policies_with_a_group_without_a_name(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, reviewers=["group:"])


@scenario(0)
def set_policies_that_escalate_to_a_strange_reviewer(bench: NounBench, _: int) -> AnyCall:
    return _refused(bench, escalate=60, escalate_to=["a:user:bob"])


def _refused(bench: NounBench, **fields: Any) -> AnyCall:
    """The second of two, so that nothing may be written."""
    return bench.call("set_policies", item=[{"name": "q", "required": 1}, {"name": "p", "required": 1, **fields}])


@scenario(1, 100)
def set_policies_of_the_greatest_size(bench: NounBench, n: int) -> AnyCall:
    return bench.call("set_policies", actor="a" * 200, item=[{"name": f"p{number}", **LARGEST} for number in range(n)])


@scenario(1, 100)
def get_policies_of_the_greatest_size(bench: NounBench, n: int) -> AnyCall:
    bench.put("set_policies", item=[{"name": f"p{number}", **LARGEST} for number in range(n)])
    return bench.call("get_policies", item=[f"p{number}" for number in reversed(range(n))])


@scenario(0)
def get_policies_all(bench: NounBench, _: int) -> AnyCall:
    for name in ("b", "a", "ab"):
        policy(bench, name)
    return bench.call("get_policies")


@scenario(0)
def get_policies_where_there_are_none(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get_policies")


@scenario(0)
def set_policies_where_there_are_as_many_as_there_may_be(bench: NounBench, _: int) -> AnyCall:
    """Those that are there may still change."""
    for start in range(0, 1000, 100):
        bench.put("set_policies", item=[{"name": f"p{start + at}", "required": 1} for at in range(100)])
    return bench.call("set_policies", item=[{"name": name, "required": 2} for name in ("p", "p1")])


@scenario(0)
def set_policies_in_place_of_others_where_there_are_as_many_as_there_may_be(bench: NounBench, _: int) -> AnyCall:
    for start in range(0, 1000, 100):
        bench.put("set_policies", item=[{"name": f"p{start + at}", "required": 1} for at in range(100)])
    return bench.call("set_policies", item=[{"name": "p1", "required": 2}, {"name": "p2", "remove": True}])

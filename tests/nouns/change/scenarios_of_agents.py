"""Paths of agents that delegate and answer, of requests that are led on from where a call has put them, and of calls
that have compared enough."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.scenarios_of_delegations import misfits
from tests.nouns.change.states import (
    CONTENT,
    Seen,
    answer,
    delegate,
    draft,
    in_review,
    instead,
    name_of,
    policy,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario

FOR_KIM: dict[str, Any] = {"kind": "agent", "principal": "kim"}
FOR_ZOE: dict[str, Any] = {"kind": "agent", "principal": "zoe"}


def own_delegation(bench: NounBench, to: str = "eve", by: dict[str, Any] = FOR_KIM, **fields: Any) -> None:
    """Of the agent `bot`, stored by itself."""
    bench.put("set_delegations", user="bot", actor="bot", item=[{"name": "d", "to": to, **fields}], **by)


def set_own(bench: NounBench, by: dict[str, Any] = FOR_KIM, **fields: Any) -> AnyCall:
    return bench.call("set_delegations", user="bot", item=[{"name": "d", "to": "eve"}], **by, **fields)


def for_kim(bench: NounBench, *reviewers: str, **fields: Any) -> Seen:
    """An agent may answer, and one has answered."""
    one = in_review(bench, "c", "group:g", *reviewers, required=2, agents_may_vote=True, **fields)
    answer(bench, one, "bot", **FOR_KIM, groups=["g"])
    return one


# Who stores a delegation


@scenario(0)
def set_delegations_of_an_agent(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bot")
    return set_own(bench, actor="bot")


@scenario(0)
def set_delegations_of_an_agent_without_an_actor(bench: NounBench, _: int) -> AnyCall:
    return set_own(bench)


@scenario(0)
def set_delegations_by_another_agent(bench: NounBench, _: int) -> AnyCall:
    return set_own(bench, actor="bot2")


@scenario(0)
def set_delegations_of_an_agent_as_they_are(bench: NounBench, _: int) -> AnyCall:
    own_delegation(bench)
    return set_own(bench, actor="bot")


@scenario(0)
def set_delegations_of_an_agent_for_another_person(bench: NounBench, _: int) -> AnyCall:
    """The request goes back, and the same way again."""
    own_delegation(bench)
    in_review(bench, "c", "user:bot")
    return set_own(bench, FOR_ZOE, actor="bot")


@scenario(0)
def set_delegations_by_a_person_for_another(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_delegations", user="bob", actor="bob", principal="zoe", item=[{"name": "d", "to": "eve"}])


@scenario(0)
def set_delegations_of_an_agent_for_who_has_answered(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:g", "user:bot", required=2)
    answer(bench, one, "kim", groups=["g"])
    return set_own(bench, actor="bot")


@scenario(0)
def set_delegations_of_an_agent_that_has_answered(bench: NounBench, _: int) -> AnyCall:
    for_kim(bench, "user:bot")
    return set_own(bench, FOR_ZOE, actor="bot")


# What such a delegation does with requests


def _submitted(bench: NounBench, *reviewers: str, **fields: Any) -> AnyCall:
    policy(bench, **fields)
    draft(bench)
    return bench.call("submit", id="c", rev=1, actor="ann", policy="p", item=list(reviewers))


@scenario(0)
def submit_to_an_agent_that_has_delegated(bench: NounBench, _: int) -> AnyCall:
    own_delegation(bench)
    return _submitted(bench, "user:bot")


@scenario(0)
def submit_to_an_agent_that_has_delegated_for_a_contributor(bench: NounBench, _: int) -> AnyCall:
    own_delegation(bench, by={**FOR_KIM, "principal": "ann"})
    return _submitted(bench, "user:bot")


@scenario(0)
def submit_to_an_agent_that_has_delegated_for_a_contributor_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    own_delegation(bench, by={**FOR_KIM, "principal": "ann"})
    return _submitted(bench, "user:bot", contributors_may_vote=True)


@scenario(0)
def submit_to_a_policy_that_approves_in_the_end(bench: NounBench, _: int) -> AnyCall:
    return _submitted(bench, "user:bob", on_timeout="approve", timeout_approve_below=10)


@scenario(0)
def put_by_a_person_whose_agent_has_a_delegation(bench: NounBench, _: int) -> AnyCall:
    own_delegation(bench)
    one = in_review(bench, "c", "user:bot")
    return bench.call("put", id="c", expect_rev=one["rev"], actor="kim", **CONTENT)


@scenario(0)
def respond_by_a_person_whose_agent_has_a_delegation(bench: NounBench, _: int) -> AnyCall:
    own_delegation(bench)
    one = in_review(bench, "c", "user:bot", "group:g", required=2)
    return bench.call("respond", actor="kim", item=[{**one, "action": "approve"}], groups=["g"])


# Who has sent an answer


@scenario(0)
def respond_otherwise_by_an_agent_that_has_answered_for_another(bench: NounBench, _: int) -> AnyCall:
    one = for_kim(bench, "group:g")
    answer(bench, one, "bot2", "request_changes", **FOR_ZOE, groups=["g"])
    return bench.call("respond", actor="bot2", item=[{**one, "action": "reject"}], **FOR_KIM, groups=["g"])


@scenario(0)
def delegate_to_an_agent_that_has_answered(bench: NounBench, _: int) -> AnyCall:
    for_kim(bench, "user:bob")
    return bench.call("delegate", id="c", actor="bob", to="bot")


# Requests that are led on from where a call has put them


@scenario(0)
def delegate_to_who_has_delegated(bench: NounBench, _: int) -> AnyCall:
    instead(bench, "eve", "zoe")
    in_review(bench)
    return bench.call("delegate", id="c", actor="bob", to="eve")


@scenario(0)
def delegate_before_the_review_where_there_are_delegations(bench: NounBench, _: int) -> AnyCall:
    instead(bench, "eve", "zoe")
    submitted(bench)
    return bench.call("delegate", id="c", actor="bob", to="dan")


@scenario(0)
def delegate_by_an_agent_behind_two_persons(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "eve")
    delegate(bench, "eve", "bot")
    return bench.call("delegate", id="c", actor="bot", to="dan", **FOR_KIM)


@scenario(0)
def reassign_to_who_has_delegated(bench: NounBench, _: int) -> AnyCall:
    instead(bench, "eve", "zoe")
    in_review(bench)
    return bench.call("reassign", id="c", operation="move", slot=1, reviewer="user:eve", actor="op", reason="so")


def _on_by_an_agent(bench: NounBench) -> None:
    """A delegation of bob has led it to an agent, which has delegated it by hand."""
    instead(bench, to="bot", cascade=True)
    in_review(bench)
    delegate(bench, "bot", "eve", **FOR_KIM)


@scenario(0)
def set_delegations_under_another_name_before_an_agent(bench: NounBench, _: int) -> AnyCall:
    """The request goes to the agent once more."""
    _on_by_an_agent(bench)
    return bench.call("set_delegations", user="bob", item=[{"name": "d", "remove": True}, {"name": "e", "to": "bot"}])


@scenario(0)
def delegate_where_an_agent_had_delegated_behind(bench: NounBench, _: int) -> AnyCall:
    """Then it had a delegation to the same person; and after that, the request went another way."""
    _on_by_an_agent(bench)
    own_delegation(bench)
    items = [{"name": "d", "remove": True}, {"name": "e", "to": "bot", "cascade": True}]
    bench.put("set_delegations", user="bob", item=items)
    bench.put("set_delegations", user="bob", item=[{"name": "e", "remove": True}])
    delegate(bench, "bob", "dan")
    return bench.call("delegate", id="c", actor="dan", to="lee")


# Inboxes of who has many givers


@scenario(0)
def inbox_of_the_delegate_of_64(bench: NounBench, _: int) -> AnyCall:
    """Of the two delegations that begin, one leads to another."""
    for at in range(64):
        instead(bench, f"p{at}", "bob")
    for user, to in ("p0", "bob"), ("kim", "zoe"):
        instead(bench, user, to, from_ms=bench.now + 1000)
    in_review(bench, "c", "user:p0")
    bench.pass_time(1000)
    return bench.call("inbox", user="bob")


# Calls that have compared enough


TYPES = [*(f"t{at:02}" for at in range(15)), CONTENT["change_type"]]


@scenario(0)
def inbox_with_more_than_a_call_compares(bench: NounBench, _: int) -> AnyCall:
    reviewers = misfits(bench, 2, types=TYPES)[0]
    return bench.call("inbox", user=name_of(reviewers[-1]))


@scenario(0)
def sweep_with_more_than_a_call_compares(bench: NounBench, _: int) -> AnyCall:
    """An earlier one has looked at what these persons have delegated, of 20 of them."""
    misfits(bench, 2, types=TYPES)
    bench.put("sweep")
    return bench.call("sweep")


@scenario(0)
def respond_to_more_than_a_call_compares_while_another_review_ends(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "d", timeout=2)
    reviewers, (one,) = misfits(bench, 1, types=TYPES)
    return bench.call("respond", actor=name_of(reviewers[-1]), item=[{**one, "action": "approve"}])


@scenario(0)
def sweep_escalations_along_delegations_that_are_long_to_compare(bench: NounBench, _: int) -> AnyCall:
    """Of each of 8 changes, the next request goes on along 4 persons, who all have the most to compare."""
    words = [f"o:{at:02}" for at in range(16)]
    own = {"types": TYPES, "tags": words, "resources": words, "cascade": True}
    for chain in range(8):
        way = [f"p{chain}-{step}" for step in range(5)]
        for user, to in pairwise(way):
            bench.put("set_delegations", user=user, item=[{"name": f"d{at:02}", "to": to, **own} for at in range(16)])
        content = {"tags": words, "resources": words}
        escalate_to = [f"user:{way[0]}"]
        in_review(bench, f"c{chain}", content=content, escalate=60, escalate_to=escalate_to, delegation_depth=4)
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def delegate_where_an_older_version_had_noted_more_persons(bench: NounBench, _: int) -> AnyCall:
    """It did not note the places of the agents."""
    in_review(bench)
    delegate(bench, "bob", "eve")
    bench.ask("HSET", ":request:c/1", "delegated_for", "kim,max")
    return bench.call("delegate", id="c", actor="eve", to="dan")

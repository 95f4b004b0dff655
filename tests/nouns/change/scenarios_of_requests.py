"""Paths of `delegate`, `reassign` and `override`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    about_to_be_over,
    answer,
    approved,
    delegate,
    draft,
    in_review,
    let_them_be_over,
    name_of,
    people,
    policy,
    revised,
    submit,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent

BREAK: dict[str, Any] = {"actor": "olga", "reason": "the shop is down"}


def hand_on(bench: NounBench, actor: str, to: str | None, **fields: Any) -> AnyCall:
    return bench.call("delegate", id="c", actor=actor, to=to, **fields)


def reassign(bench: NounBench, operation: str, **fields: Any) -> AnyCall:
    return bench.call("reassign", id="c", operation=operation, actor="olga", reason="on leave", **fields)


@scenario(0)
def delegate_to_another(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return hand_on(bench, "bob", "eve", slot=1, reason="on leave")


@scenario(0)
def delegate_again(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return sent(bench, hand_on(bench, "bob", "eve"))


@scenario(0)
def delegate_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return hand_on(bench, "bob", "eve")


@scenario(0)
def delegate_by_an_agent(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return hand_on(bench, "bob", "eve", principal="zoe", kind="agent", caller="web")


@scenario(0)
def delegate_back(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "eve")
    return hand_on(bench, "eve", None)


@scenario(0)
def delegate_back_to_the_first(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "eve")
    delegate(bench, "eve", "zoe")
    return hand_on(bench, "bob", None)


@scenario(0)
def delegate_back_what_was_not_delegated(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return hand_on(bench, "bob", None)


@scenario(0)
def delegate_what_another_has_by_now(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "eve")
    return hand_on(bench, "bob", "zoe")


@scenario(0)
def delegate_to_who_had_it(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "eve")
    return hand_on(bench, "eve", "bob")


@scenario(0)
def delegate_as_often_as_allowed(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, delegation_depth=4)
    for actor, to in ("bob", "eve"), ("eve", "zoe"), ("zoe", "dan"):
        delegate(bench, actor, to)
    return hand_on(bench, "dan", "kim")


@scenario(0)
def delegate_too_often(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, delegation_depth=1)
    delegate(bench, "bob", "eve")
    return hand_on(bench, "eve", "zoe")


@scenario(0)
def delegate_to_a_contributor(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return hand_on(bench, "bob", "ann")


@scenario(0)
def delegate_to_a_contributor_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, contributors_may_vote=True)
    return hand_on(bench, "bob", "ann")


@scenario(0)
def delegate_to_who_has_another_request(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "user:eve")
    return hand_on(bench, "bob", "eve")


@scenario(0)
def delegate_the_request_of_another(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "user:eve")
    return hand_on(bench, "zoe", "dan", slot=2)


@scenario(0)
def delegate_what_is_answered(bench: NounBench, _: int) -> AnyCall:
    approved(bench)
    return hand_on(bench, "bob", "eve")


@scenario(0)
def delegate_no_request(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return hand_on(bench, "bob", "eve")


@scenario(0)
def delegate_nothing(bench: NounBench, _: int) -> AnyCall:
    return hand_on(bench, "bob", "eve")


@scenario(0)
def reassign_one_more(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return reassign(bench, "add", reviewer="user:eve", name="Eve", caller="web")


@scenario(0)
def reassign_one_more_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return reassign(bench, "add", reviewer="group:dbas")


@scenario(0)
def reassign_one_more_where_there_are_32(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", *people(32))
    return reassign(bench, "add", reviewer="user:eve")


@scenario(0)
def reassign_one_more_for_who_has_one(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return reassign(bench, "add", reviewer="user:bob")


@scenario(0)
def reassign_one_more_for_a_contributor(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return reassign(bench, "add", reviewer="user:ann")


@scenario(0)
def reassign_one_more_for_a_contributor_who_may_vote_and_has_one(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:ann", contributors_may_vote=True)
    return reassign(bench, "add", reviewer="user:ann")


@scenario(0)
def reassign_one_away(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "group:dbas", "group:dbas")
    return reassign(bench, "remove", slot=2)


@scenario(0)
def reassign_one_away_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench, "c", "user:bob", "user:eve")
    return reassign(bench, "remove", slot=2)


@scenario(0)
def reassign_one_away_that_was_delegated(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "user:eve")
    delegate(bench, "bob", "zoe")
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_one_away_that_is_needed(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_one_away_that_has_abstained(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:eve"), "bob", "abstain")
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_one_away_that_has_rejected(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:eve", rejections=0), "bob", "reject")
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_one_away_that_wants_another_revision(bench: NounBench, _: int) -> AnyCall:
    """The change is approved then."""
    one = in_review(bench, "c", "user:bob", "user:eve")
    answer(bench, one, "bob", "request_changes")
    answer(bench, one, "eve")
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_one_to_another(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "group:dbas", "group:dbas")
    return reassign(bench, "move", slot=1, reviewer="user:eve", name="Eve")


@scenario(0)
def reassign_one_to_another_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return reassign(bench, "move", slot=1, reviewer="user:eve")


@scenario(0)
def reassign_one_to_another_though_it_was_delegated(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "zoe")
    return reassign(bench, "move", slot=1, reviewer="user:eve")


@scenario(0)
def reassign_one_to_another_though_it_is_answered(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:eve", required=2), "bob")
    return reassign(bench, "move", slot=1, reviewer="user:zoe")


@scenario(0)
def reassign_an_answer_away(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:eve"), "bob", "request_changes")
    return reassign(bench, "dismiss", slot=1)


@scenario(0)
def reassign_an_answer_away_that_is_none(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return reassign(bench, "dismiss", slot=1)


@scenario(0)
def reassign_an_answer_away_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return reassign(bench, "dismiss", slot=1)


@scenario(0)
def reassign_where_there_is_no_request(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return reassign(bench, "remove", slot=2)


@scenario(0)
def reassign_an_approved_change(bench: NounBench, _: int) -> AnyCall:
    approved(bench)
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_nothing(bench: NounBench, _: int) -> AnyCall:
    return reassign(bench, "remove", slot=1)


@scenario(0)
def reassign_again(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return sent(bench, reassign(bench, "add", reviewer="user:eve"))


@scenario(0)
def reassign_away_with_a_reviewer(bench: NounBench, _: int) -> AnyCall:
    return reassign(bench, "remove", slot=1, reviewer="user:eve")


@scenario(0)
def reassign_to_no_reviewer(bench: NounBench, _: int) -> AnyCall:
    return reassign(bench, "move", slot=1)


@scenario(0)
def reassign_to_a_strange_reviewer(bench: NounBench, _: int) -> AnyCall:
    return reassign(bench, "move", slot=1, reviewer="eve")


@scenario(0)
def reassign_one_more_with_a_slot(bench: NounBench, _: int) -> AnyCall:
    return reassign(bench, "add", slot=1, reviewer="user:eve")


@scenario(0)
def reassign_one_away_without_a_slot(bench: NounBench, _: int) -> AnyCall:
    return reassign(bench, "remove")


@scenario(1, 32)
def override_a_review(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    one = in_review(bench, "c", *people(n))
    let_them_be_over(bench)
    return bench.call("override", **one, proof="sso", **BREAK)


@scenario(0)
def override_what_waits_for_its_risk(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **submitted(bench), **BREAK)


@scenario(0)
def override_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("override", **in_review(bench), **BREAK))


@scenario(0)
def override_by_a_contributor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **in_review(bench), **{**BREAK, "actor": "ann"})


@scenario(0)
def override_by_an_agent_of_a_contributor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **in_review(bench), principal="ann", kind="agent", **BREAK)


@scenario(0)
def override_by_a_contributor_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **in_review(bench, contributors_may_vote=True), **{**BREAK, "actor": "ann"})


@scenario(0)
def override_by_an_agent(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **in_review(bench), principal="zoe", kind="agent", caller="web", **BREAK)


@scenario(0)
def override_by_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **in_review(bench), kind="agent", **BREAK)


@scenario(0)
def override_another_revision(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    revised(bench, one)
    return bench.call("override", **one, **BREAK)


@scenario(0)
def override_other_content(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **{**in_review(bench), "digest": "0" * 40}, **BREAK)


@scenario(0)
def override_a_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", **draft(bench), **BREAK)


@scenario(0)
def override_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("override", id="c", rev=1, digest="0" * 40, **BREAK)


@scenario(0)
def delegate_to_somebody_whose_name_is_too_long(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return hand_on(bench, "bob", "u" * 196)


@scenario(0)
def delegate_for_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return hand_on(bench, "bob", "eve", kind="agent")


@scenario(0)
def delegate_the_second_request(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:eve", "user:bob")
    return hand_on(bench, "bob", "zoe")


@scenario(0)
def delegate_back_to_who_had_it_before(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "eve")
    delegate(bench, "eve", "zoe")
    return hand_on(bench, "zoe", None)


@scenario(1, 32)
def delegate_while_others_are_over(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    in_review(bench, "c", *people(n), delegation_depth=4)
    names = [name_of(reviewer) for reviewer in [*people(1), *people(4, 100)]]
    for actor, to in pairwise(names[:4]):
        delegate(bench, actor, to)
    let_them_be_over(bench)
    return hand_on(bench, names[3], names[4], reason="r" * 4096)


@scenario(2, 32)
def reassign_one_of_many_away(bench: NounBench, n: int) -> AnyCall:
    """All others have approved, so the change is approved then."""
    about_to_be_over(bench, n)
    policy(bench, required=1, delegation_depth=4)
    one = draft(bench)
    submit(bench, one, *people(n))
    first, second, *_ = map(name_of, people(n))
    answer(bench, one, first, "request_changes")
    answer(bench, one, second)
    let_them_be_over(bench)
    return reassign(bench, "remove", slot=1)


@scenario(1, 31)
def reassign_one_more_of_many(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    in_review(bench, "c", *people(n))
    let_them_be_over(bench)
    return reassign(bench, "add", reviewer="user:eve")

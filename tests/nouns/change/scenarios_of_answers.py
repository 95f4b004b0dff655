"""Paths of `respond`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    DAY,
    Seen,
    about_to_be_over,
    answer,
    applying,
    approved,
    assess,
    delegate,
    draft,
    in_review,
    instead,
    let_them_be_over,
    name_of,
    people,
    policy,
    revised,
    submit,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent


def respond(bench: NounBench, one: Seen, actor: str, action: str = "approve", **fields: Any) -> AnyCall:
    own = {name: fields.pop(name) for name in ("slot", "reason") if name in fields}
    return bench.call("respond", actor=actor, item=[{**one, "action": action, **own}], **fields)


@scenario(0)
def respond_that_it_may_be_applied(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "bob", slot=1, reason="fine", proof="sso", caller="web")


@scenario(0)
def respond_and_more_are_needed(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bob", "user:eve", required=2), "bob")


@scenario(0)
def respond_that_it_may_not_be_applied(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "bob", "reject", reason="no")


@scenario(0)
def respond_with_a_comment(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, draft(bench), "zoe", "comment", reason="why?")


@scenario(0)
def respond_with_a_comment_to_a_full_log(bench: NounBench, _: int) -> AnyCall:
    one = draft(bench)
    fill_log(bench, 900)
    return respond(bench, one, "zoe", "comment", reason="why?")


@scenario(0)
def respond_the_same(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", required=2)
    answer(bench, one, "bob")
    return respond(bench, one, "bob")


@scenario(0)
def respond_to_a_closed_review(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, approved(bench), "eve")


@scenario(0)
def respond_by_a_stranger(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "zoe")


@scenario(0)
def respond_to_an_older_revision(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    revised(bench, one)
    return respond(bench, one, "bob")


@scenario(0)
def respond_to_a_draft(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, draft(bench), "bob")


@scenario(0)
def respond_to_nothing(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, {"id": "c", "rev": 1, "digest": "0" * 40}, "bob")


@scenario(0)
def respond_for_an_agent_with_groups(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:dbas", agents_may_vote=True)
    return respond(bench, one, "bot", "abstain", principal="bob", kind="agent", groups=["dbas", "devs"])


@scenario(0)
def respond_again(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", required=2)
    items = [{**one, "action": "approve"}, {**one, "action": "approve"}, {**one, "id": "d", "action": "approve"}]
    return sent(bench, bench.call("respond", actor="bob", item=items))


@scenario(0)
def respond_to_a_closed_review_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, respond(bench, approved(bench), "eve"))


@scenario(0)
def respond_after_a_rejection(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve")
    answer(bench, one, "bob", "reject")
    return respond(bench, one, "eve")


@scenario(0)
def respond_after_the_review(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    bench.pass_time(2 * DAY)
    return respond(bench, one, "bob")


@scenario(0)
def respond_just_before_the_end_of_the_review(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    bench.pass_time(2 * DAY - 1)
    return respond(bench, one, "bob")


@scenario(0)
def respond_to_what_waits_for_its_risk(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, submitted(bench), "bob")


@scenario(0)
def respond_to_what_is_applied(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, applying(bench), "bob", "retract")


@scenario(0)
def respond_to_other_content(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, {**in_review(bench), "digest": "0" * 40}, "bob")


@scenario(0)
def respond_with_a_comment_to_other_content(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, {**in_review(bench), "digest": "0" * 40}, "zoe", "comment", reason="why?")


@scenario(0)
def respond_with_a_comment_without_a_text(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    items = [{**one, "action": "approve"}, {**one, "action": "comment"}]
    return bench.call("respond", actor="bob", item=items)


@scenario(0)
def respond_with_a_comment_to_an_almost_full_log(bench: NounBench, _: int) -> AnyCall:
    one = draft(bench)
    fill_log(bench, 898)
    return respond(bench, one, "zoe", "comment", reason="why?")


# Who answers


@scenario(0)
def respond_by_a_contributor(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bob", "group:dbas"), "ann", groups=["dbas"])


@scenario(0)
def respond_by_a_contributor_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:ann", contributors_may_vote=True), "ann")


@scenario(0)
def respond_by_an_agent_of_a_contributor(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bot", agents_may_vote=True)
    return respond(bench, one, "bot", principal="ann", kind="agent")


@scenario(0)
def respond_by_an_agent_who_may_not(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bot"), "bot", principal="bob", kind="agent")


@scenario(0)
def respond_by_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bot"), "bot", kind="agent")


@scenario(0)
def respond_for_a_group_and_then_for_oneself(bench: NounBench, _: int) -> AnyCall:
    """One person, one slot."""
    one = in_review(bench, "c", "group:dbas", "user:bob", required=2)
    answer(bench, one, "bob", slot=1, groups=["dbas"])
    return respond(bench, one, "bob", slot=2)


@scenario(0)
def respond_as_oneself_before_a_group(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:dbas", "user:bob", "group:dbas", required=3)
    return respond(bench, one, "bob", groups=["dbas"])


@scenario(0)
def respond_for_the_first_request_of_a_group(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:eve", "group:dbas", "group:dbas", required=3)
    return respond(bench, one, "bob", groups=["dbas"])


@scenario(0)
def respond_for_the_second_request_of_a_group(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:dbas", "group:dbas", required=2)
    answer(bench, one, "eve", groups=["dbas"])
    return respond(bench, one, "bob", groups=["dbas"])


@scenario(0)
def respond_to_the_request_of_another(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bob", "user:eve", required=2), "bob", slot=2)


@scenario(0)
def respond_by_who_is_no_longer_in_the_group(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:dbas", "user:eve", required=2)
    answer(bench, one, "bob", groups=["dbas"])
    return respond(bench, one, "bob", "reject")


@scenario(0)
def respond_by_the_delegate(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    bench.pass_time(1000)
    delegate(bench, "bob", "eve")
    bench.pass_time(1000)
    return respond(bench, one, "eve")


@scenario(0)
def respond_by_who_has_delegated_it(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    delegate(bench, "bob", "eve")
    return respond(bench, one, "bob")


# What the answer is


@scenario(0)
def respond_otherwise_than_before(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", required=2)
    answer(bench, one, "bob")
    bench.pass_time(1000)
    return respond(bench, one, "bob", "reject")


@scenario(0)
def respond_and_the_rejections_are_enough(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", "user:zoe", rejections=2)
    answer(bench, one, "bob", "reject")
    return respond(bench, one, "eve", "reject")


@scenario(0)
def respond_and_the_rejections_are_not_enough(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bob", "user:eve", rejections=2), "bob", "reject")


@scenario(0)
def respond_and_the_quorum_cannot_be_reached(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, "c", "user:bob", "user:eve", required=2, rejections=0), "bob", "reject")


@scenario(0)
def respond_with_an_abstention_and_the_quorum_cannot_be_reached(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "bob", "abstain")


@scenario(0)
def respond_with_an_abstention_and_another_is_asked(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, escalate=60, escalate_to=["user:eve"]), "bob", "abstain")


@scenario(0)
def respond_with_an_abstention_and_nobody_else_can_be_asked(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench, escalate=60, escalate_to=["user:bob", "user:ann"]), "bob", "abstain")


@scenario(0)
def respond_that_another_revision_is_wanted(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "bob", "request_changes", reason="not on Friday")


@scenario(0)
def respond_though_another_revision_is_wanted(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve")
    answer(bench, one, "bob", "request_changes")
    return respond(bench, one, "eve")


@scenario(0)
def respond_that_no_other_revision_is_wanted_any_more(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve")
    answer(bench, one, "bob", "request_changes")
    answer(bench, one, "eve")
    return respond(bench, one, "bob", "abstain")


@scenario(0)
def respond_by_taking_an_answer_back(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", required=2)
    answer(bench, one, "bob")
    bench.pass_time(1000)
    return respond(bench, one, "bob", "retract", reason="wait")


@scenario(0)
def respond_by_taking_back_what_was_not_given(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "bob", "retract")


@scenario(1, 32)
def respond_by_taking_back_what_has_approved(bench: NounBench, n: int) -> AnyCall:
    one = in_review(bench, "c", *people(n))
    answer(bench, one, name_of(people(1)[0]))
    return respond(bench, one, name_of(people(1)[0]), "retract")


@scenario(0)
def respond_by_taking_back_an_approval_and_the_risk_is_needed_no_more(bench: NounBench, _: int) -> AnyCall:
    one = submitted(bench)
    assess(bench, one, 10)
    answer(bench, one, "bob")
    return respond(bench, one, "bob", "retract")


@scenario(0)
def respond_by_taking_back_what_has_not_approved(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve")
    answer(bench, one, "bob", "abstain")
    answer(bench, one, "eve")
    return respond(bench, one, "bob", "retract")


# Statistics


@scenario(0)
def respond_on_the_same_day(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "d"), "bob")
    return respond(bench, in_review(bench), "bob")


@scenario(0)
def respond_on_another_day(bench: NounBench, _: int) -> AnyCall:
    for number, days in enumerate((0, 1, 30)):
        bench.pass_time(days * DAY)
        answer(bench, in_review(bench, f"d{number}", "user:bob", "user:eve"), "bob", ("approve", "reject")[number % 2])
    one = in_review(bench)
    bench.pass_time(DAY)
    return respond(bench, one, "bob")


@scenario(0, 1, 2, 3, 1025, 86_400_000)
def respond_after_so_many_ms(bench: NounBench, n: int) -> AnyCall:
    one = in_review(bench)
    bench.pass_time(n)
    return respond(bench, one, "bob")


@scenario(0)
def respond_after_the_greatest_time(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"max_timeout": 31_536_000})
    one = in_review(bench, timeout=31_536_000)
    bench.pass_time(2**32 + 1)
    return respond(bench, one, "bob")


# Several answers


@scenario(0)
def respond_to_several_where_only_one_is_allowed(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"batch_approvals": False})
    one = in_review(bench)
    return bench.call("respond", actor="bob", item=[{**one, "action": "approve"}] * 2)


@scenario(0)
def respond_to_one_where_only_one_is_allowed(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"batch_approvals": False})
    return respond(bench, in_review(bench), "bob")


@scenario(1, 100)
def respond_to_many_that_go_on(bench: NounBench, n: int) -> AnyCall:
    """Nothing is due."""
    seen = [in_review(bench, f"c{number}", "user:bob", "user:eve", required=2) for number in range(n)]
    return bench.call("respond", actor="bob", item=[{**one, "action": "approve"} for one in seen])


@scenario(1, 100)
def respond_to_many_with_32_reviewers_who_decide(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    first, *others = people(32)
    seen = [in_review(bench, f"c{number:03}".ljust(64, "c"), *others, first) for number in range(n)]
    let_them_be_over(bench)
    items = [{**one, "action": "reject", "reason": "r" * 4096} for one in seen]
    return bench.call("respond", actor=name_of(first), groups=[f"{at}".ljust(194, "g") for at in range(32)], item=items)


@scenario(1, 100)
def respond_to_many_with_32_reviewers_by_taking_it_back(bench: NounBench, n: int) -> AnyCall:
    """All of them begin a new round."""
    first, *others = people(32)
    policy(bench)
    seen = [draft(bench, f"c{number:03}") for number in range(n)]
    for one in seen:
        submit(bench, one, *others, first)
        answer(bench, one, name_of(first))
    return bench.call("respond", actor=name_of(first), item=[{**one, "action": "retract"} for one in seen])


def fill_log(bench: NounBench, n: int) -> None:
    """Comments that are shorter than any."""
    for _ in range(n):
        bench.ask("XADD", ":log:c", "*", "event", "change.commented")
    bench.ask("HINCRBY", ":change:c", "seq", n)


@scenario(0)
def respond_to_another_slot_than_the_one_that_is_answered(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:dbas", "user:bob", required=2)
    answer(bench, one, "bob", slot=1, groups=["dbas"])
    return respond(bench, one, "bob", slot=2, groups=["dbas"])


@scenario(0)
def respond_and_a_wish_that_is_taken_back_decides(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:carl")
    answer(bench, one, "bob", "request_changes")
    answer(bench, one, "carl")
    return bench.call("respond", actor="bob", item=[{**one, "action": "retract"}])


@scenario(0)
def respond_that_it_is_rejected_once_more(bench: NounBench, _: int) -> AnyCall:
    """With other content."""
    one = in_review(bench, "c", "user:bob", "user:eve", rejections=2)
    answer(bench, one, "bob", "reject")
    one = revised(bench, one)
    answer(bench, one, "eve", "reject")
    return respond(bench, one, "bob", "reject")


@scenario(0)
def respond_otherwise_by_the_delegate(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    answer(bench, one, "eve")
    return respond(bench, one, "eve", "abstain")


@scenario(0)
def respond_by_the_delegate_of_an_older_version(bench: NounBench, _: int) -> AnyCall:
    """Version 0.2.0 wrote the names of delegations into the record of the request alone."""
    instead(bench)
    one = in_review(bench)
    bench.ask("HSET", ":change:c", "slots", "1 pending user:eve>bob ")
    return respond(bench, one, "eve")


@scenario(0)
def respond_by_the_delegate_of_an_older_version_whose_record_is_damaged(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    delegate(bench, "bob", "eve")
    bench.ask("HDEL", ":request:c/1", "via")
    bench.ask("HSET", ":change:c", "slots", "1 pending user:eve>bob ")
    return respond(bench, one, "eve")

"""Paths of `put`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    CONTENT,
    DAY,
    LARGE,
    about_to_be_over,
    answer,
    applying,
    approved,
    assess,
    delegate,
    draft,
    finish,
    in_review,
    let_them_be_over,
    move,
    people,
    policy,
    revised,
    submit,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent


@scenario(0)
def put_a_new_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", **CONTENT)


@scenario(0)
def put_a_draft_with_all_fields(bench: NounBench, _: int) -> AnyCall:
    fields = {"version": "2", "parameters": "{}", "resources": ["table:b", "database:a"], "priority": 90}
    fields |= {"rollback_strategy": "manual", "timeout": 60, "author_name": "Ann", "team": "t", "ticket_ref": "T-1"}
    fields |= {"principal": "ann", "kind": "agent", "caller": "web", "tags": ["x", "y"]}
    return bench.call("put", id="c", actor="bot", **{**CONTENT, **fields})


@scenario(0, clock="server")
def put_the_first_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", **CONTENT)


@scenario(0)
def put_a_draft_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("put", id="c", actor="ann", **CONTENT))


@scenario(0)
def put_a_revision(bench: NounBench, _: int) -> AnyCall:
    draft(bench, resources=["a:b"], tags=["x"], team="t")
    return bench.call("put", id="c", expect_rev=1, actor="bob", resources=["a:c"], tags=["y"], **CONTENT)


@scenario(1, 11)
def put_one_more_revision(bench: NounBench, n: int) -> AnyCall:
    one = draft(bench)
    for number in range(n - 1):
        one = revised(bench, one, version=str(number))
    return bench.call("put", id="c", expect_rev=n, actor="ann", **CONTENT, version="last")


@scenario(0)
def put_metadata(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", team="t", **CONTENT)


@scenario(0)
def put_the_same(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **CONTENT)


@scenario(0)
def put_an_id_that_is_taken(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("put", id="c", actor="bob", **CONTENT)


@scenario(0)
def put_over_a_newer_revision(bench: NounBench, _: int) -> AnyCall:
    revised(bench, draft(bench))
    return bench.call("put", id="c", expect_rev=1, actor="bob", **CONTENT)


@scenario(0)
def put_a_revision_of_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", expect_rev=1, actor="bob", **CONTENT)


@scenario(0)
def put_while_it_is_applied(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **CONTENT)


@scenario(0)
def put_by_a_reviewer(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("put", id="c", expect_rev=1, actor="bob", **{**CONTENT, "version": "3"})


@scenario(0)
def put_by_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="bot", kind="agent", **CONTENT)


@scenario(0)
def put_by_an_agent_of_itself(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="bot", kind="agent", principal="bot", **CONTENT)


@scenario(0)
def put_by_a_person_who_answers_for_itself(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", principal="ann", **CONTENT)


@scenario(0)
def put_by_a_person_for_whom_another_answers(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", principal="bob", **CONTENT)


@scenario(0)
def put_by_an_agent_of_a_reviewer(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("put", id="c", expect_rev=1, actor="bot", principal="bob", kind="agent", **CONTENT)


@scenario(0)
def put_by_a_reviewer_who_may_vote_nevertheless(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, contributors_may_vote=True)
    return bench.call("put", id="c", expect_rev=1, actor="bob", **{**CONTENT, "version": "3"})


@scenario(0)
def put_by_somebody_who_has_answered_for_a_group(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:eve", "group:dbas", required=2)
    answer(bench, one, "bob", groups=["dbas"])
    return bench.call("put", id="c", expect_rev=1, actor="bob", **{**CONTENT, "version": "3"})


@scenario(0)
def put_by_somebody_who_has_delegated_a_request(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:eve", "user:bob")
    delegate(bench, "bob", "zoe")
    return bench.call("put", id="c", expect_rev=1, actor="bob", **{**CONTENT, "version": "3"})


@scenario(0)
def put_a_draft_that_was_withdrawn_by_a_reviewer(bench: NounBench, _: int) -> AnyCall:
    move(bench, in_review(bench), "withdraw")
    return bench.call("put", id="c", expect_rev=1, actor="bob", **{**CONTENT, "version": "3"})


@scenario(0)
def put_with_an_id_that_is_too_long(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c" * 65, actor="ann", **CONTENT)


@scenario(0)
def put_with_a_resource_without_a_type(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", resources=["a:b", "orders"], **CONTENT)


@scenario(0)
def put_with_a_resource_without_an_id(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", resources=["database:"], **CONTENT)


@scenario(0)
def put_with_a_resource_of_a_strange_type(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", resources=["a/b:c"], **CONTENT)


@scenario(0)
def put_with_a_resource_twice(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", resources=["a:b", "a:c", "a:b"], **CONTENT)


@scenario(0)
def put_with_resources_of_which_one_begins_like_another(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", resources=["a:bc", "B:a", "a:b", "a:bb"], **CONTENT)


@scenario(0)
def put_the_same_resources_in_another_order(bench: NounBench, _: int) -> AnyCall:
    draft(bench, resources=["a:b", "a:c"])
    return bench.call("put", id="c", expect_rev=1, actor="ann", resources=["a:c", "a:b"], **CONTENT)


@scenario(0)
def put_other_resources_and_tags(bench: NounBench, _: int) -> AnyCall:
    """One of each stays."""
    draft(bench, resources=["a:1", "a:2"], tags=["x", "y"], team="t")
    own = {"resources": ["a:2", "a:3"], "tags": ["y", "z"]}
    return bench.call("put", id="c", expect_rev=1, actor="bob", team="u", **own, **CONTENT)


@scenario(0)
def put_another_name_of_the_author(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", author_name="Ann", **CONTENT)


@scenario(0)
def put_another_ticket(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", ticket_ref="T-1", **CONTENT)


@scenario(0)
def put_other_tags(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", tags=["x"], **CONTENT)


@scenario(0)
def put_metadata_in_review(bench: NounBench, _: int) -> AnyCall:
    """The revision, its round and its answers stay."""
    answer(bench, in_review(bench, "c", "user:bob", "user:eve", required=2), "bob")
    return bench.call("put", id="c", expect_rev=1, actor="ann", team="t", **CONTENT)


@scenario(0)
def put_a_revision_of_what_waits_for_its_risk(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def put_a_revision_in_review(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:eve", required=2), "bob")
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def put_a_revision_in_review_that_needs_its_risk_again(bench: NounBench, _: int) -> AnyCall:
    one = submitted(bench)
    assess(bench, one, 10)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def put_a_revision_of_an_approved_change(bench: NounBench, _: int) -> AnyCall:
    approved(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def put_a_revision_of_a_change_that_has_ended(bench: NounBench, _: int) -> AnyCall:
    finish(bench, applying(bench))
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def put_a_revision_after_the_review(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    bench.pass_time(2 * DAY)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def put_an_id_that_is_taken_again(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return sent(bench, bench.call("put", id="c", actor="bob", **CONTENT))


@scenario(1, 32)
def put_as_much_as_there_may_be(bench: NounBench, n: int) -> AnyCall:
    """Other resources and tags than before, a new round of a review, and ten others are over."""
    about_to_be_over(bench, n)
    policy(bench, remind=60, escalate=60, escalate_to=["user:u"])
    submit(bench, draft(bench, **LARGE), *people(n))
    let_them_be_over(bench)
    resources = [f"table:{number:03}".ljust(200, "y") for number in range(n)]
    tags = [f"{number:02}".ljust(200, "y") for number in range(min(n, 16))]
    own = {**LARGE, "resources": resources, "tags": tags, "team": "u" * 200}
    return bench.call("put", id="c", expect_rev=1, actor="ann", change_type="deploy", **own)


@scenario(0)
def put_other_fields_of_the_content(bench: NounBench, _: int) -> AnyCall:
    """The event names them all."""
    draft(bench)
    own: dict[str, Any] = {
        "change_type": "drop",
        "version": "2",
        "description": "x",
        "parameters": "{}",
        "resources": ["a:b"],
    }
    own |= {"rollback_strategy": "manual", "timeout": 60, "priority": 1}
    return bench.call("put", id="c", expect_rev=1, actor="ann", **own)


@scenario(0)
def put_metadata_without_the_tag_that_is_denied(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, content={"tags": ["x"]}, deny_tags=["x"])
    return bench.call("put", id="c", expect_rev=one["rev"], actor="ann", **CONTENT)

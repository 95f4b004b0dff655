"""Paths of `respond`."""

from __future__ import annotations

from typing import Any

from tests.lua.scenario import AnyCall, scenario
from tests.nouns.bench import NounBench
from tests.nouns.change.states import Seen, answer, approved, draft, in_review, revised


def respond(bench: NounBench, one: Seen, actor: str, action: str = "approve", **fields: Any) -> AnyCall:
    own = {name: fields.pop(name) for name in ("slot", "reason") if name in fields}
    return bench.call("respond", actor=actor, item=[{**one, "action": action, **own}], **fields)


@scenario(0)
def respond_that_it_may_be_applied(bench: NounBench, _: int) -> AnyCall:
    return respond(bench, in_review(bench), "bob", slot=1, reason="fine", proof="sso")


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
    for _ in range(900):
        bench.ask("XADD", ":log:c", "*", "event", "change.commented")
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

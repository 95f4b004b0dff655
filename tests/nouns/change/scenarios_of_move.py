"""Paths of `move`."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    DAY,
    about_to_be_over,
    answer,
    applying,
    approved,
    draft,
    finish,
    in_review,
    let_them_be_over,
    move,
    people,
    revised,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent


@scenario(0)
def move_back_from_review(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("move", id="c", to="withdraw", actor="ann", caller="web", reason="not yet")


@scenario(0)
def move_to_cancelled(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def move_a_running_change_to_cancelled(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def move_a_failed_change_back(bench: NounBench, _: int) -> AnyCall:
    finish(bench, applying(bench), "failure")
    return bench.call("move", id="c", to="reopen", actor="ann")


@scenario(0)
def move_a_draft_back(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("move", id="c", to="withdraw", actor="ann")


@scenario(0)
def move_by_somebody_else(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("move", id="c", to="cancel", actor="bob")


@scenario(0)
def move_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(1, 32)
def move_back_from_a_review_of_many(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    in_review(bench, "c", *people(n))
    let_them_be_over(bench)
    return bench.call("move", id="c", to="withdraw", actor="ann", reason="r" * 4096)


@scenario(1, 32)
def move_a_review_of_many_to_cancelled(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    in_review(bench, "c", *people(n))
    let_them_be_over(bench)
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def move_back_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return bench.call("move", id="c", to="withdraw", actor="ann")


@scenario(0)
def move_back_after_the_approval(bench: NounBench, _: int) -> AnyCall:
    approved(bench, "c", "user:bob", "user:eve")
    return bench.call("move", id="c", to="withdraw", actor="ann")


@scenario(0)
def move_back_when_the_review_is_over(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    bench.pass_time(2 * DAY)
    return bench.call("move", id="c", to="withdraw", actor="ann")


@scenario(0)
def move_to_cancelled_before_the_review(bench: NounBench, _: int) -> AnyCall:
    submitted(bench)
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def move_to_cancelled_after_the_approval(bench: NounBench, _: int) -> AnyCall:
    approved(bench)
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def move_to_cancelled_what_is(bench: NounBench, _: int) -> AnyCall:
    move(bench, draft(bench), "cancel")
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def move_to_cancelled_again(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return sent(bench, bench.call("move", id="c", to="cancel", actor="ann"))


@scenario(0)
def move_by_an_agent_of_the_author(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("move", id="c", to="cancel", actor="bot", principal="ann", kind="agent")


@scenario(0)
def move_by_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("move", id="c", to="cancel", actor="ann", kind="agent")


@scenario(0)
def move_by_another_contributor(bench: NounBench, _: int) -> AnyCall:
    revised(bench, draft(bench), "bob")
    return bench.call("move", id="c", to="cancel", actor="bob")


@scenario(0)
def move_a_rejected_change_back(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:eve"), "bob", "reject")
    return bench.call("move", id="c", to="reopen", actor="ann")


@scenario(0)
def move_a_completed_change_back(bench: NounBench, _: int) -> AnyCall:
    finish(bench, applying(bench))
    return bench.call("move", id="c", to="reopen", actor="ann")


@scenario(0)
def move_a_cancelled_change_back(bench: NounBench, _: int) -> AnyCall:
    move(bench, draft(bench), "cancel")
    return bench.call("move", id="c", to="reopen", actor="ann")


@scenario(0)
def move_back_what_is_applied(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return bench.call("move", id="c", to="withdraw", actor="ann")


@scenario(0, clock="server")
def move_where_nothing_is_stored(bench: NounBench, _: int) -> AnyCall:
    return bench.call("move", id="c", to="cancel", actor="ann")

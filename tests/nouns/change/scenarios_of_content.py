"""Paths of `put`, `assess` and `move`."""

from __future__ import annotations

from tests.lua.scenario import AnyCall, scenario, sent
from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    CONTENT,
    applying,
    approved,
    draft,
    finish,
    in_review,
    revised,
    submitted,
)


@scenario(0)
def put_a_new_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", id="c", actor="ann", **CONTENT)


@scenario(0)
def put_a_draft_with_all_fields(bench: NounBench, _: int) -> AnyCall:
    fields = {"version": "2", "parameters": "{}", "resources": ["table:b", "database:a"], "priority": 90}
    fields |= {"rollback_strategy": "manual", "timeout": 60, "author_name": "Ann", "team": "t", "ticket_ref": "T-1"}
    return bench.call(
        "put", id="c", actor="bot", principal="ann", kind="agent", tags=["x", "y"], **{**CONTENT, **fields}
    )


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
def assess_a_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", score=10, factors="size", assessed_by="v1")


@scenario(0)
def assess_a_change_that_waits_for_it(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **submitted(bench), actor="meter", score=80)


@scenario(0)
def assess_by_a_contributor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="ann", score=1)


@scenario(0)
def assess_an_older_revision(bench: NounBench, _: int) -> AnyCall:
    one = draft(bench)
    revised(bench, one)
    return bench.call("assess", **one, actor="meter", score=1)


@scenario(0)
def assess_an_approved_change(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **approved(bench), actor="meter", score=1)


@scenario(0)
def assess_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", id="c", rev=1, digest="0" * 40, actor="meter", preview="p")


@scenario(0)
def assess_without_a_score_or_a_preview(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter")


@scenario(0)
def move_back_from_review(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("move", id="c", to="withdraw", actor="ann", reason="not yet")


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

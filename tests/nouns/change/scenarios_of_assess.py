"""Paths of `assess`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    CONTENT,
    about_to_be_over,
    answer,
    approved,
    assess,
    draft,
    in_review,
    let_them_be_over,
    move,
    name_of,
    people,
    policy,
    revised,
    seen,
    submit,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent


@scenario(0)
def assess_a_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", caller="ci", score=10, factors="size", assessed_by="v1")


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
def assess_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("assess", **draft(bench), actor="meter", score=10, preview="+1 -1"))


@scenario(0)
def assess_with_a_preview_alone(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", preview="+1 -1")


@scenario(0)
def assess_with_a_score_of_0(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", score=0, auto_approvable=True)


@scenario(24, 25, 49, 50, 74, 75, 100)
def assess_with_a_score(bench: NounBench, n: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", score=n)


@scenario(0)
def assess_by_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", kind="agent", score=1)


@scenario(0)
def assess_by_an_agent_of_a_contributor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **draft(bench), actor="meter", principal="ann", kind="agent", score=1)


@scenario(0)
def assess_other_content(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **{**draft(bench), "digest": "0" * 40}, actor="meter", score=1)


@scenario(0)
def assess_what_needs_a_preview(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_needs(bench, "preview"), actor="meter", preview="+1 -1")


@scenario(0)
def assess_what_needs_a_preview_without_one(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_needs(bench, "preview"), actor="meter", score=1)


@scenario(0)
def assess_what_needs_both_with_one(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_needs(bench, "both"), actor="meter", score=1)


@scenario(0)
def assess_what_needs_both_with_the_other(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_needs(bench, "both"), actor="meter", preview="+1 -1")


@scenario(0)
def assess_what_needs_both(bench: NounBench, _: int) -> AnyCall:
    one = _needs(bench, "both")
    assess(bench, one, 1)
    return bench.call("assess", **one, actor="meter", preview="+1 -1")


def _needs(bench: NounBench, what: str) -> dict[str, object]:
    policy(bench, needs=what)
    one = draft(bench)
    submit(bench, one, "user:bob")
    return one


@scenario(0)
def assess_so_low_that_the_policy_approves(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_low(bench), actor="meter", score=19, auto_approvable=True)


@scenario(0)
def assess_too_high_for_the_policy(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_low(bench), actor="meter", score=20, auto_approvable=True)


@scenario(0)
def assess_low_but_people_are_to_decide(bench: NounBench, _: int) -> AnyCall:
    return bench.call("assess", **_low(bench), actor="meter", score=1)


@scenario(0)
def assess_low_with_a_tag_that_forbids_it(bench: NounBench, _: int) -> AnyCall:
    return bench.call(
        "assess", **_low(bench, deny_tags=["b", "c"], tags=["a", "b"]), actor="meter", score=1, auto_approvable=True
    )


@scenario(0)
def assess_low_with_a_tag_that_is_part_of_one_that_forbids_it(bench: NounBench, _: int) -> AnyCall:
    return bench.call(
        "assess", **_low(bench, deny_tags=["abc"], tags=["b", "a"]), actor="meter", score=1, auto_approvable=True
    )


@scenario(0)
def assess_low_where_nothing_is_approved_automatically(bench: NounBench, _: int) -> AnyCall:
    one = _low(bench)
    bench.put("configure", settings={"auto_approve_low_risk": False})
    return bench.call("assess", **one, actor="meter", score=1, auto_approvable=True)


@scenario(0)
def assess_low_after_people_were_asked(bench: NounBench, _: int) -> AnyCall:
    """The new revision is of low risk, but only people decide."""
    one = _low(bench)
    bench.put("assess", **one, actor="meter", score=90)
    new = revised(bench, one)
    return bench.call("assess", **new, actor="meter", score=1, auto_approvable=True)


@scenario(0)
def assess_low_without_a_tag_that_has_forbidden_it(bench: NounBench, _: int) -> AnyCall:
    one = _low(bench, deny_tags=["b"], tags=["a", "b"])
    bench.put("put", id="c", expect_rev=1, actor="ann", tags=["a"], **CONTENT)
    return bench.call("assess", **one, actor="meter", score=1, auto_approvable=True)


@scenario(0)
def assess_low_what_people_have_rejected_before(bench: NounBench, _: int) -> AnyCall:
    one = _low(bench)
    assess(bench, one, 90)
    answer(bench, one, "bob", "reject")
    move(bench, one, "reopen")
    bench.put("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "2"})
    bench.put("submit", id="c", rev=2, actor="ann", policy="p", item=["user:bob"])
    back = bench.put("put", id="c", expect_rev=2, actor="ann", **CONTENT)
    return bench.call("assess", **seen("c", back), actor="meter", score=1, auto_approvable=True)


def _low(bench: NounBench, tags: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, needs="risk", auto_below=20, **fields)
    one = draft(bench, tags=tags)
    submit(bench, one, "user:bob")
    return one


@scenario(1, 32)
def assess_a_change_in_review(bench: NounBench, n: int) -> AnyCall:
    """All requests get another place, and ten other reviews are over."""
    about_to_be_over(bench, n)
    one = in_review(bench, "c", *people(n))
    answer(bench, one, name_of(people(1)[0]), "abstain") if n > 1 else None
    let_them_be_over(bench)
    fields = {"factors": "f" * 8192, "preview": "p" * 65_536, "assessed_by": "v" * 200}
    return bench.call("assess", **one, actor="meter", score=100, auto_approvable=True, **fields)


@scenario(1, 32)
def assess_what_waits_for_it_and_has_many_reviewers(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    one = submitted(bench, "c", *people(n))
    let_them_be_over(bench)
    return bench.call("assess", **one, actor="meter", score=100)

"""Paths of `submit`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    DAY,
    LARGE,
    about_to_be_over,
    answer,
    assess,
    delegate,
    draft,
    in_review,
    let_them_be_over,
    move,
    people,
    policy,
    revised,
)
from tests.nouns.scenario import AnyCall, scenario, sent


@scenario(0)
def submit_for_review(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    asked = [{"reviewer": "user:bob", "name": "Bob"}, "group:dbas"]
    own = {**_of(draft(bench)), "caller": "web"}
    return bench.call("submit", **own, policy="p", priority="urgent", timeout=60, item=asked)


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


@scenario(0)
def submit_for_review_again(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return sent(bench, bench.call("submit", **_of(draft(bench)), policy="p", item=["user:bob"]))


@scenario(0)
def submit_by_an_agent_of_the_author(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    own = {**_of(draft(bench)), "actor": "bot", "principal": "ann", "kind": "agent"}
    return bench.call("submit", **own, policy="p", item=["user:bob"])


@scenario(0)
def submit_by_an_agent_of_nobody(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("submit", **_of(draft(bench)), kind="agent", policy="p", item=["user:bob"])


@scenario(0)
def submit_to_a_strange_reviewer(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:bob", "bob"])


@scenario(0)
def submit_for_longer_than_the_settings_allow(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("submit", **_of(draft(bench)), policy="p", timeout=2_592_000.001, item=["user:bob"])


@scenario(0)
def submit_for_as_long_as_the_settings_allow(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("submit", **_of(draft(bench)), policy="p", timeout=2_592_000, item=["user:bob"])


@scenario(0)
def submit_by_a_policy_that_takes_longer_than_the_settings_allow_by_now(bench: NounBench, _: int) -> AnyCall:
    policy(bench, timeout=3600)
    bench.put("configure", settings={"max_timeout": 60})
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:bob"])


@scenario(0)
def submit_for_as_long_as_the_policy_says(bench: NounBench, _: int) -> AnyCall:
    policy(bench, timeout=3600)
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:bob"])


@scenario(0)
def submit_for_another_time_than_the_policy_says(bench: NounBench, _: int) -> AnyCall:
    policy(bench, timeout=3600)
    return bench.call("submit", **_of(draft(bench)), policy="p", timeout=1800, item=["user:bob"])


@scenario(0)
def submit_to_33_with_those_of_the_policy(bench: NounBench, _: int) -> AnyCall:
    policy(bench, reviewers=["user:bob"])
    return bench.call("submit", **_of(draft(bench)), policy="p", item=people(32))


@scenario(0)
def submit_to_each_person_once(bench: NounBench, _: int) -> AnyCall:
    """No contributor, and a group as often as it is named."""
    policy(bench, reviewers=["user:bob", "user:ann", "group:dbas", "user:eve"])
    asked = [
        "user:eve",
        {"reviewer": "group:dbas", "name": "All of them"},
        "user:ann",
        {"reviewer": "user:zoe", "name": "Zoe"},
    ]
    return bench.call("submit", **_of(draft(bench)), policy="p", item=asked)


@scenario(0)
def submit_to_a_contributor_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    policy(bench, contributors_may_vote=True)
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:ann"])


@scenario(0)
def submit_to_nobody(bench: NounBench, _: int) -> AnyCall:
    policy(bench)
    return bench.call("submit", **_of(draft(bench)), policy="p")


@scenario(0)
def submit_to_as_many_as_are_needed(bench: NounBench, _: int) -> AnyCall:
    policy(bench, required=2)
    return bench.call("submit", **_of(draft(bench)), policy="p", item=["user:bob", "user:eve"])


@scenario(0)
def submit_what_is_assessed(bench: NounBench, _: int) -> AnyCall:
    policy(bench, needs="both", remind=60, escalate=3600, escalate_to=["user:eve"])
    one = draft(bench)
    assess(bench, one, 10, preview="+1 -1")
    return bench.call("submit", **_of(one), policy="p", priority="high", item=["user:bob"])


@scenario(0)
def submit_what_was_assessed_before_it_was_revised(bench: NounBench, _: int) -> AnyCall:
    policy(bench, needs="both")
    one = draft(bench)
    assess(bench, one, 10, preview="+1 -1")
    return bench.call("submit", **_of(revised(bench, one)), policy="p", priority="low", item=["user:bob"])


@scenario(0)
def submit_a_draft_that_was_withdrawn(bench: NounBench, _: int) -> AnyCall:
    """Its former requests are gone."""
    one = in_review(bench, "c", "user:bob", "user:eve", "group:dbas")
    delegate(bench, "eve", "zoe")
    answer(bench, one, "bob", "abstain")
    move(bench, one, "withdraw")
    return bench.call("submit", **_of(one), policy="p", item=["user:dan", "user:bob"])


@scenario(0)
def submit_a_change_that_was_reopened(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    answer(bench, one, "bob", "reject")
    move(bench, one, "reopen")
    return bench.call("submit", **_of(one), policy="p", item=["user:bob"])


@scenario(1, 32)
def submit_to_as_many_as_there_may_be(bench: NounBench, n: int) -> AnyCall:
    """In place of as many others, and ten other reviews are over."""
    about_to_be_over(bench, n)
    one = in_review(bench, "c", *people(n))
    move(bench, one, "withdraw")
    policy(bench, reviewers=people(16, 100), escalate=60, escalate_to=people(3, 200), deny_tags=LARGE["tags"])
    let_them_be_over(bench)
    return bench.call(
        "submit", **_of(one), policy="p", item=[{"reviewer": one, "name": "n" * 200} for one in people(16, 50)]
    )


@scenario(0)
def submit_what_was_of_low_risk_before_it_was_revised(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, auto_below=20)
    one = draft(bench)
    assess(bench, one, 10, auto_approvable=True)
    return bench.call("submit", **_of(revised(bench, one)), policy="p", item=["user:bob"])


@scenario(0)
def submit_with_a_preview_that_is_gone(bench: NounBench, _: int) -> AnyCall:
    policy(bench, needs="preview")
    one = draft(bench)
    assess(bench, one, preview="p")
    bench.pass_time(7 * DAY)
    return bench.call("submit", id="c", rev=1, actor="ann", policy="p", item=["user:bob"])

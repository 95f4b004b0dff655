"""Paths of `begin`, `heartbeat` and `finish`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    LARGE,
    about_to_be_over,
    answer,
    applying,
    approved,
    draft,
    finish,
    in_review,
    let_them_be_over,
    move,
    name_of,
    people,
    revised,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent


def end(bench: NounBench, result: str = "success", token: str = "token", **fields: Any) -> AnyCall:
    return bench.call("finish", id="c", token=token, result=result, **fields)


@scenario(0)
def begin_to_apply(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", lease=60, **approved(bench))


@scenario(0)
def begin_what_another_applies(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bat", **applying(bench))


@scenario(0)
def begin_an_older_revision(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", **{**approved(bench), "rev": 2})


@scenario(0)
def begin_a_draft(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", **draft(bench))


@scenario(0)
def begin_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", id="c", rev=1, digest="0" * 40)


@scenario(0)
def heartbeat_of_a_run(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    bench.pass_time(10_000)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_after_a_cancel(bench: NounBench, _: int) -> AnyCall:
    move(bench, applying(bench), "cancel")
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_after_the_time_of_the_run(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"default_run": 20})
    applying(bench)
    bench.pass_time(20_000)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_of_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def finish_with_success(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, printed="done", output_cut=True, output_key="s3/1")


@scenario(0)
def finish_with_a_failure(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "failure", error="no space", error_details="{}")


@scenario(0)
def finish_with_a_failure_and_retry(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "failure", retry=True)


@scenario(0)
def finish_as_cancelled(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "cancelled")


@scenario(0)
def finish_with_another_token(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, token="other")


@scenario(0)
def finish_after_the_end_of_the_approval(bench: NounBench, _: int) -> AnyCall:
    applying(bench, approval=10)
    bench.pass_time(20_000)
    return end(bench, "released")


@scenario(0)
def finish_after_the_end_of_the_approval_with_a_new_risk_to_come(bench: NounBench, _: int) -> AnyCall:
    one = submitted(bench, approval=10)
    bench.put("assess", **one, actor="meter", score=10)
    bench.put("respond", actor="bob", item=[{**one, "action": "approve"}])
    bench.put("begin", rid="token", agent="bot", **one)
    bench.pass_time(20_000)
    return end(bench, "released")


@scenario(0)
def begin_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("begin", agent="bot", **approved(bench)))


@scenario(0)
def begin_what_another_applies_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("begin", agent="bat", **applying(bench)))


@scenario(0)
def begin_other_content(bench: NounBench, _: int) -> AnyCall:
    return bench.call("begin", agent="bot", **{**approved(bench), "digest": "0" * 40})


@scenario(0)
def begin_what_says_how_long_it_takes(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", timeout=3600, content={"timeout": 120})
    answer(bench, one, "bob")
    return bench.call("begin", agent="bot", **one)


@scenario(0)
def begin_what_takes_less_than_a_lease(bench: NounBench, _: int) -> AnyCall:
    """The lease ends with the run, and a time of grace."""
    one = in_review(bench, "c", content={"timeout": 1})
    answer(bench, one, "bob")
    return bench.call("begin", agent="bot", lease=3600, **one)


@scenario(0)
def begin_after_the_lease_of_another(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench)
    bench.pass_time(30_000)
    return bench.call("begin", agent="bat", **one)


@scenario(0)
def begin_just_before_the_end_of_the_lease_of_another(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench)
    bench.pass_time(29_999)
    return bench.call("begin", agent="bat", **one)


@scenario(0)
def begin_after_the_lease_of_the_last_attempt(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench, max_attempts=1)
    bench.pass_time(30_000)
    return bench.call("begin", agent="bat", **one)


@scenario(0)
def begin_after_a_cancel_and_the_end_of_the_lease(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench)
    move(bench, one, "cancel")
    bench.pass_time(30_000)
    return bench.call("begin", agent="bat", **one)


@scenario(0)
def begin_after_the_time_of_the_run_of_another(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"default_run": 20})
    one = applying(bench)
    bench.pass_time(20_000)
    bench.put("heartbeat", id="c", token="token")
    bench.pass_time(30_000)
    return bench.call("begin", agent="bat", **one)


@scenario(0)
def begin_after_the_end_of_the_approval(bench: NounBench, _: int) -> AnyCall:
    one = approved(bench, approval=10)
    bench.pass_time(10_000)
    return bench.call("begin", agent="bot", **one)


@scenario(0)
def begin_after_the_ends_of_a_lease_and_of_the_approval(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench, approval=10)
    bench.pass_time(30_000)
    return bench.call("begin", agent="bot", **one)


@scenario(1, 32)
def begin_the_largest_change(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    one = in_review(bench, "c", "user:bob", content=LARGE)
    answer(bench, one, "bob")
    let_them_be_over(bench)
    return bench.call("begin", agent="a" * 200, **one)


@scenario(0)
def heartbeat_again(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    bench.pass_time(10_000)
    return sent(bench, bench.call("heartbeat", id="c", token="token"))


@scenario(0)
def heartbeat_with_another_token(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return bench.call("heartbeat", id="c", token="other")


@scenario(0)
def heartbeat_after_the_lease(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    bench.pass_time(30_000)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_after_the_run(bench: NounBench, _: int) -> AnyCall:
    finish(bench, applying(bench), "failure", retry=True)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_just_before_the_time_of_the_run(bench: NounBench, _: int) -> AnyCall:
    """The lease ends no later than the time of the run, and a time of grace."""
    bench.put("configure", settings={"default_run": 20, "lease": 3600})
    applying(bench)
    bench.pass_time(19_999)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def heartbeat_of_a_lease_of_its_own(bench: NounBench, _: int) -> AnyCall:
    bench.put("begin", rid="token", agent="bot", lease=7, **approved(bench))
    bench.pass_time(5_000)
    return bench.call("heartbeat", id="c", token="token")


@scenario(1, 32)
def heartbeat_while_others_are_over(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    bench.put("begin", rid="token", agent="bot", lease=3600, **approved(bench))
    let_them_be_over(bench)
    return bench.call("heartbeat", id="c", token="token")


@scenario(0)
def finish_again(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return sent(bench, end(bench, printed="done"))


@scenario(0)
def finish_with_another_token_again(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return sent(bench, end(bench, token="other"))


@scenario(0)
def finish_nothing(bench: NounBench, _: int) -> AnyCall:
    return end(bench)


@scenario(0)
def finish_what_is_finished(bench: NounBench, _: int) -> AnyCall:
    finish(bench, applying(bench))
    return end(bench)


@scenario(0)
def finish_what_was_withdrawn(bench: NounBench, _: int) -> AnyCall:
    """The token of the lost run is still known, but the approval is gone."""
    one = applying(bench)
    bench.pass_time(30_000)
    move(bench, one, "withdraw")
    return end(bench)


@scenario(0)
def finish_by_time(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "timeout")


@scenario(0)
def finish_by_time_and_retry(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, "timeout", retry=True)


@scenario(0)
def finish_the_last_attempt_and_retry(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench, max_attempts=2)
    finish(bench, one, "failure", retry=True)
    bench.put("begin", rid="second", agent="bot", **one)
    return end(bench, "failure", "second", retry=True)


@scenario(0)
def finish_with_success_and_retry(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return end(bench, retry=True)


@scenario(0)
def finish_as_released(bench: NounBench, _: int) -> AnyCall:
    applying(bench, max_attempts=1)
    return end(bench, "released")


@scenario(0)
def finish_as_released_after_a_cancel(bench: NounBench, _: int) -> AnyCall:
    move(bench, applying(bench), "cancel")
    return end(bench, "released")


@scenario(0)
def finish_with_a_failure_after_a_cancel(bench: NounBench, _: int) -> AnyCall:
    move(bench, applying(bench), "cancel")
    return end(bench, "failure", retry=True)


@scenario(0)
def finish_with_success_after_a_cancel(bench: NounBench, _: int) -> AnyCall:
    move(bench, applying(bench), "cancel")
    return end(bench)


@scenario(0)
def finish_after_the_lease(bench: NounBench, _: int) -> AnyCall:
    """What has happened counts more than the clock."""
    applying(bench)
    bench.pass_time(30_000)
    return end(bench)


@scenario(0)
def finish_with_a_failure_after_the_lease(bench: NounBench, _: int) -> AnyCall:
    """The attempt is counted once."""
    applying(bench)
    bench.pass_time(30_000)
    return end(bench, "failure", retry=True)


@scenario(0)
def finish_as_released_after_the_lease(bench: NounBench, _: int) -> AnyCall:
    applying(bench, max_attempts=2)
    bench.pass_time(30_000)
    return end(bench, "released")


@scenario(0)
def finish_after_another_has_begun(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench)
    bench.pass_time(30_000)
    bench.put("begin", rid="other", agent="bat", **one)
    return end(bench)


@scenario(0)
def finish_after_a_new_approval(bench: NounBench, _: int) -> AnyCall:
    """The run was one of another round."""
    one = applying(bench)
    bench.pass_time(30_000)
    answer(bench, one, "bob", "retract")
    answer(bench, one, "bob")
    return end(bench)


@scenario(0)
def finish_a_little_before_the_end_of_the_approval(bench: NounBench, _: int) -> AnyCall:
    applying(bench, approval=10)
    bench.pass_time(9_999)
    return end(bench, "released")


@scenario(1, 32)
def finish_with_all_that_there_may_be(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    one = in_review(bench, "c", *people(n), delegation_depth=0)
    answer(bench, one, name_of(people(1)[0]))
    bench.put("begin", rid="token", agent="bot", lease=3600, **one)
    let_them_be_over(bench)
    own = {"output_key": "k" * 1024, "error": "e" * 1024, "error_details": "d" * 4096}
    return end(bench, "failure", printed="p" * 16_384, output_cut=True, **own)


@scenario(1, 32)
def finish_after_the_end_of_the_approval_by_many(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, n)
    one = in_review(bench, "c", *people(n), approval=60)
    answer(bench, one, name_of(people(1)[0]))
    bench.put("begin", rid="token", agent="bot", lease=3600, **one)
    let_them_be_over(bench)
    return end(bench, "released")


@scenario(0)
def begin_a_change_that_is_damaged(bench: NounBench, _: int) -> AnyCall:
    one = approved(bench)
    bench.ask("DEL", ":params:c")
    return bench.call("begin", agent="bot", **one)


@scenario(0)
def begin_with_the_rid_of_another_change(bench: NounBench, _: int) -> AnyCall:
    """A mistake of the caller, which gets the answer of the other call."""
    bench.put("begin", rid="r", agent="bot", **approved(bench, "d"))
    return bench.call("begin", rid="r", agent="bot", id="c", rev=1, digest="0" * 40)


@scenario(0)
def begin_again_after_other_content(bench: NounBench, _: int) -> AnyCall:
    one = approved(bench)
    call = sent(bench, bench.call("begin", rid="token", agent="bot", **one))
    finish(bench, one, "released")
    revised(bench, one)
    return call


@scenario(0)
def begin_where_no_lock_domain_is_set_any_more(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"lock_domain": "none"})
    one = approved(bench, content={"resources": ["a:1"]})
    return bench.call("begin", rid="token", agent="bot", **one)

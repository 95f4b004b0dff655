"""Paths of `sweep`, and what any call does of what is due."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    DAY,
    LARGE,
    about_to_be_over,
    answer,
    applying,
    approved,
    assess,
    delegate,
    draft,
    in_review,
    let_them_be_over,
    move,
    name_of,
    people,
    policy,
    submit,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario


@scenario(1, 100)
def sweep_reviews_that_are_over(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        in_review(bench, f"c{number}")
    bench.pass_time(2 * DAY)
    return bench.call("sweep", limit=100)


@scenario(1, 100)
def sweep_old_changes(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        move(bench, draft(bench, f"c{number}"), "cancel")
    bench.pass_time(90 * DAY)
    return bench.call("sweep", limit=100)


@scenario(0)
def sweep_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("sweep")


@scenario(0)
def sweep_reminders(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, remind=60)
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_a_reminder_that_comes_late(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, remind=60, escalate=7200, escalate_to=["user:eve"])
    bench.pass_time(3_600_000)
    return bench.call("sweep")


@scenario(0)
def sweep_a_moment_too_early(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, remind=60)
    bench.pass_time(59_999)
    return bench.call("sweep")


@scenario(0)
def sweep_escalations(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, remind=60, escalate=60, escalate_to=["user:eve", "group:dbas"])
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_the_last_escalation(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, escalate=60, escalate_to=["user:eve", "group:dbas"])
    bench.pass_time(60_000)
    bench.put("sweep")
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_that_comes_after_the_timeout(bench: NounBench, _: int) -> AnyCall:
    """It was due before, so it comes first, and there is a full interval again."""
    in_review(bench, timeout=3600, escalate=60, escalate_to=["user:eve"])
    bench.pass_time(DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_a_timeout_before_an_escalation(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60, escalate=3600, escalate_to=["user:eve"])
    bench.pass_time(DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_at_the_timeout(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60, escalate=60, escalate_to=["user:eve"])
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_to_somebody_who_is_asked(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, escalate=60, escalate_to=["user:bob", "user:ann", "user:eve"])
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_to_the_author_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, escalate=60, escalate_to=["user:ann"], contributors_may_vote=True)
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_to_nobody_who_can_be_asked(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, escalate=60, escalate_to=["user:bob", "user:ann"])
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_where_there_are_32(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", *people(32), escalate=60, escalate_to=["user:eve", "group:dbas", "user:zoe"])
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_an_escalation_and_a_timeout_and_the_former_answers_stay(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2, timeout=60, escalate=30, escalate_to=["user:eve"])
    answer(bench, one, "bob")
    bench.pass_time(30_000)
    bench.put("sweep")
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_what_waited_for_its_risk_too_long(bench: NounBench, _: int) -> AnyCall:
    submitted(bench, on_timeout="approve", timeout_approve_below=10)
    bench.pass_time(2 * DAY)
    return bench.call("sweep")


def _of_risk(bench: NounBench, score: int | None) -> AnyCall:
    """A timeout approves what is below 10."""
    one = in_review(bench, "c", "user:bob", "user:eve", on_timeout="approve", timeout_approve_below=10)
    assess(bench, one, score, preview="+1 -1")
    bench.pass_time(2 * DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_what_time_approves(bench: NounBench, _: int) -> AnyCall:
    return _of_risk(bench, 9)


@scenario(0)
def sweep_what_time_does_not_approve(bench: NounBench, _: int) -> AnyCall:
    return _of_risk(bench, 10)


@scenario(0)
def sweep_what_time_would_approve_if_it_knew_the_risk(bench: NounBench, _: int) -> AnyCall:
    return _of_risk(bench, None)


@scenario(0)
def sweep_the_end_of_an_approval(bench: NounBench, _: int) -> AnyCall:
    approved(bench, "c", "user:bob", "user:eve", approval=60, remind=60)
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_the_end_of_an_approval_that_needs_a_risk(bench: NounBench, _: int) -> AnyCall:
    """A new one: the risk may have changed."""
    one = submitted(bench, approval=60)
    assess(bench, one, 10, preview="+1 -1")
    answer(bench, one, "bob")
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_the_end_of_an_approval_that_needs_a_preview(bench: NounBench, _: int) -> AnyCall:
    policy(bench, needs="preview", approval=60)
    one = draft(bench)
    submit(bench, one, "user:bob")
    assess(bench, one, 10, preview="+1 -1")
    answer(bench, one, "bob")
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(0)
def sweep_the_end_of_a_lease(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    bench.pass_time(30_000)
    return bench.call("sweep")


@scenario(0)
def sweep_fewer_than_are_due(bench: NounBench, _: int) -> AnyCall:
    for number in range(3):
        in_review(bench, f"c{number}", timeout=60)
    bench.pass_time(60_000)
    return bench.call("sweep", limit=2)


@scenario(0)
def sweep_fewer_than_are_old(bench: NounBench, _: int) -> AnyCall:
    for number in range(3):
        move(bench, draft(bench, f"c{number}"), "cancel")
        bench.pass_time(1000)
    bench.pass_time(90 * DAY)
    return bench.call("sweep", limit=2)


@scenario(0)
def sweep_more_than_are_kept(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"keep_max": 1})
    for number in range(3):
        move(bench, draft(bench, f"c{number}"), "cancel")
    return bench.call("sweep")


@scenario(0)
def sweep_a_moment_before_they_are_too_old(bench: NounBench, _: int) -> AnyCall:
    move(bench, draft(bench), "cancel")
    bench.pass_time(90 * DAY - 1)
    return bench.call("sweep")


@scenario(0)
def sweep_an_old_change_with_requests(bench: NounBench, _: int) -> AnyCall:
    content: dict[str, Any] = {"resources": ["a:b"], "tags": ["x"], "team": "t"}
    in_review(bench, "c", "user:bob", "group:dbas", "group:dbas", content=content)
    delegate(bench, "bob", "eve")
    answer(bench, draft(bench, "d", **content), "zoe", "comment", reason="stays")
    move(bench, {"id": "c"}, "cancel")
    bench.pass_time(90 * DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_what_is_due_too_early(bench: NounBench, _: int) -> AnyCall:
    """Damage: the record of one change says another time, and that of a draft says none."""
    in_review(bench, "c")
    draft(bench, "d")
    bench.ask("ZADD", ":due", bench.now, "c", bench.now, "d")
    return bench.call("sweep")


@scenario(0)
def sweep_what_is_due_without_record(bench: NounBench, _: int) -> AnyCall:
    bench.ask("ZADD", ":due", bench.now, "gone")
    return bench.call("sweep")


@scenario(0)
def sweep_answers_that_are_no_longer_known(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    bench.pass_time(60_000)
    return bench.call("sweep")


@scenario(1, 3200)
def sweep_as_much_as_there_may_be(bench: NounBench, n: int) -> AnyCall:
    """So many requests, 32 of each change: a hundred reviews are over, and a hundred old changes are deleted."""
    bench.put("configure", settings={"keep_max": 0})
    slots, changes = min(n, 32), -(-n // 32)
    content = {name: LARGE[name] for name in ("resources", "tags", "team")}
    for number in range(changes):
        move(bench, in_review(bench, f"old{number}", *people(slots), content=content), "cancel")
    about_to_be_over(bench, slots, changes)
    let_them_be_over(bench)
    return bench.call("sweep", limit=100)


@scenario(1, 3200)
def sweep_as_many_ends_of_approvals_as_there_may_be(bench: NounBench, n: int) -> AnyCall:
    """So many requests, 32 of each change: a hundred new rounds begin."""
    slots, changes = min(n, 32), -(-n // 32)
    for number in range(changes):
        one = in_review(bench, f"c{number}", *people(slots), approval=60)
        answer(bench, one, name_of(people(1)[0]))
        bench.put("begin", agent="bot", lease=60, **one)
    bench.pass_time(60_000)
    return bench.call("sweep", limit=100)


@scenario(0)
def sweep_what_time_does_not_approve_because_another_revision_is_wanted(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", on_timeout="approve", timeout_approve_below=10)
    assess(bench, one, 1)
    answer(bench, one, "bob", "request_changes")
    bench.pass_time(2 * DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_what_time_does_not_approve_because_it_was_rejected_before(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, on_timeout="approve", timeout_approve_below=10)
    assess(bench, one, 1)
    answer(bench, one, "bob", "reject")
    move(bench, one, "reopen")
    submit(bench, one, "user:bob")
    bench.pass_time(2 * DAY)
    return bench.call("sweep")

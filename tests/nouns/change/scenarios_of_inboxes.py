"""Paths of `inbox`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import DAY, answer, assess, draft, in_review, instead
from tests.nouns.scenario import AnyCall, scenario


@scenario(0)
def inbox_of_a_user_and_its_groups(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "group:dbas")
    in_review(bench, "d", "group:dbas")
    return bench.call("inbox", user="bob", principal="bob", groups=["dbas"])


@scenario(0)
def inbox_on_the_next_page(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c")
    in_review(bench, "d")
    return bench.call("inbox", user="bob", limit=1, cursor=bench.put("inbox", user="bob", limit=1).cursor)


def inbox(bench: NounBench, user: str = "bob", **fields: Any) -> AnyCall:
    return bench.call("inbox", user=user, **fields)


@scenario(0)
def inbox_that_is_empty(bench: NounBench, _: int) -> AnyCall:
    return inbox(bench)


@scenario(0)
def inbox_in_the_order_of_urgency(bench: NounBench, _: int) -> AnyCall:
    """The risk counts, the priority, and then the time."""
    for number, priority in enumerate(("low", "normal", "high", "urgent")):
        one = in_review(bench, f"c{number}", priority=priority)
        in_review(bench, f"d{number}", priority=priority, timeout=3600)
        if priority == "low":
            assess(bench, one, 100)
    return inbox(bench)


@scenario(0)
def inbox_of_several_groups_on_the_next_page(bench: NounBench, _: int) -> AnyCall:
    """With equal scores in all of them."""
    for number, reviewer in enumerate(("user:bob", "group:a", "group:b", "user:bob", "group:a")):
        in_review(bench, f"c{number}", reviewer)
    groups = ["a", "b", "a"]
    return inbox(bench, groups=groups, limit=2, cursor=bench.put("inbox", user="bob", groups=groups, limit=2).cursor)


@scenario(0)
def inbox_as_long_as_the_page(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c")
    in_review(bench, "d")
    return inbox(bench, limit=2)


@scenario(0)
def inbox_from_a_bad_cursor(bench: NounBench, _: int) -> AnyCall:
    return inbox(bench, cursor="x")


@scenario(0)
def inbox_of_a_user_whose_name_is_too_long(bench: NounBench, _: int) -> AnyCall:
    return inbox(bench, "u" * 196)


@scenario(0)
def inbox_of_a_group_whose_name_is_too_long(bench: NounBench, _: int) -> AnyCall:
    return inbox(bench, groups=["g" * 195])


@scenario(0)
def inbox_of_a_contributor(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "group:dbas")
    return inbox(bench, "ann", groups=["dbas"])


@scenario(0)
def inbox_of_a_contributor_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "group:dbas", contributors_may_vote=True)
    return inbox(bench, "ann", groups=["dbas"])


@scenario(0)
def inbox_of_an_agent_of_a_contributor(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "group:dbas")
    return inbox(bench, "bot", principal="ann", groups=["dbas"])


@scenario(0)
def inbox_of_who_has_answered(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:dbas", "group:dbas", required=2)
    answer(bench, one, "bob", groups=["dbas"])
    return inbox(bench, groups=["dbas"])


@scenario(0)
def inbox_with_statistics(bench: NounBench, _: int) -> AnyCall:
    for number in range(3):
        answer(bench, in_review(bench, f"c{number}"), "bob", ("approve", "reject", "abstain")[number])
    return inbox(bench)


@scenario(0)
def inbox_of_a_review_that_is_over(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60)
    bench.pass_time(60_000)
    return inbox(bench)


@scenario(0)
def inbox_with_a_request_without_record(bench: NounBench, _: int) -> AnyCall:
    bench.ask("ZADD", ":inbox:user:bob", 1, "gone/1")
    return inbox(bench)


@scenario(0)
def inbox_with_a_request_of_a_draft_that_is_damaged(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    bench.ask("ZADD", ":inbox:user:bob", 1, "c/1")
    return inbox(bench)


@scenario(1, 250)
def inbox_with_nothing_that_can_be_answered(bench: NounBench, n: int) -> AnyCall:
    """A call looks at 200, and the page is empty then, with a cursor."""
    for number in range(n):
        in_review(bench, f"c{number}", "group:dbas")
    return inbox(bench, "ann", groups=["dbas"], limit=100)


@scenario(1, 250)
def inbox_with_32_groups(bench: NounBench, n: int) -> AnyCall:
    """Of which one has more than the part of it that is read."""
    groups = [f"{number:02}".ljust(194, "g") for number in range(32)]
    for number in range(n):
        in_review(
            bench, f"c{number}", *[f"group:{groups[(number + at) % 32 if number % 2 else 0]}" for at in range(32)]
        )
    return inbox(bench, "bob", groups=groups, limit=100)


@scenario(0)
def inbox_of_groups_with_other_priorities(bench: NounBench, _: int) -> AnyCall:
    for number, (reviewer, priority) in enumerate(
        (("user:bob", "normal"), ("group:a", "urgent"), ("group:b", "high"), ("group:b", "low"), ("group:a", "low"))
    ):
        in_review(bench, f"c{number}", reviewer, priority=priority)
    return inbox(bench, groups=["a", "b"])


@scenario(1, 250)
def inbox_with_32_groups_on_the_next_page(bench: NounBench, n: int) -> AnyCall:
    """All scores are equal, so that the place of the cursor is looked for in each inbox."""
    groups = [f"{number:02}".ljust(194, "g") for number in range(32)]
    for number in range(n):
        in_review(bench, f"c{number}", *[f"group:{group}" for group in groups])
    cursor = bench.put("inbox", user="bob", groups=groups, limit=100).cursor
    return inbox(bench, "bob", groups=groups, limit=100, cursor=cursor)


@scenario(0)
def inbox_of_an_agent_who_may_vote(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bot", agents_may_vote=True)
    in_review(bench, "d", "user:bot")
    return inbox(bench, "bot", principal="bob")


@scenario(0)
def inbox_with_a_request_that_is_damaged(bench: NounBench, _: int) -> AnyCall:
    """One is not there, and one has been answered."""
    one = in_review(bench, "c", "user:bob", "user:eve", required=2)
    answer(bench, one, "bob")
    bench.ask("ZADD", ":inbox:user:bob", 1, "c/1", 2, "c/9")
    return inbox(bench)


@scenario(0)
def inbox_before_a_delegation_begins(bench: NounBench, _: int) -> AnyCall:
    instead(bench, from_ms=bench.now + DAY)
    in_review(bench)
    return inbox(bench)


@scenario(1, 20)
def inbox_of_one_to_whom_delegations_lead_from_now(bench: NounBench, n: int) -> AnyCall:
    """A call looks at 16 inboxes."""
    for number in range(n):
        instead(bench, f"u{number:02}", from_ms=bench.now + 60_000)
        in_review(bench, f"c{number}", f"user:u{number:02}")
    bench.pass_time(60_000)
    return inbox(bench, "eve")

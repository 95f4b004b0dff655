"""Paths of `get`, `list` and `stats`."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    LARGE,
    answer,
    applying,
    assess,
    draft,
    finish,
    in_review,
    largest,
    move,
    people,
    revised,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario


@scenario(0)
def get_some_with_everything(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("get", with_texts=True, with_requests=True, with_log=10, item=["c", "d"])


@scenario(1, 100)
def list_drafts(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        draft(bench, f"c{number}")
    return bench.call("list", by="state", value="draft", limit=100)


@scenario(0)
def list_the_next_page(bench: NounBench, _: int) -> AnyCall:
    for number in range(3):
        draft(bench, f"c{number}")
    cursor = bench.put("list", by="author", value="ann", limit=2).cursor
    return bench.call("list", by="author", value="ann", limit=2, cursor=cursor)


@scenario(0)
def stats_of_a_domain(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    in_review(bench, "d", timeout=1)
    bench.pass_time(1000)
    return bench.call("stats")


@scenario(0)
def get_without_anything_more(bench: NounBench, _: int) -> AnyCall:
    finish(bench, applying(bench), printed="done")
    return bench.call("get", item=["c"])


@scenario(0)
def get_with_texts(bench: NounBench, _: int) -> AnyCall:
    one = applying(bench, content={"parameters": "{}"})
    finish(bench, one, "failure", printed="done", retry=True)
    move(bench, one, "withdraw")
    assess(bench, one, 1, preview="+1 -1")
    return bench.call("get", with_texts=True, item=["c"])


@scenario(0)
def get_a_draft_without_texts(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("get", with_texts=True, with_requests=True, with_log=1000, item=["c"])


@scenario(0)
def get_with_all_requests(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "user:eve", "group:dbas", "user:zoe", required=2)
    answer(bench, one, "bob", "request_changes")
    answer(bench, one, "eve", "abstain")
    return bench.call("get", with_requests=True, item=["c"])


@scenario(0)
def get_the_last_of_the_log(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("get", with_log=2, item=["c"])


@scenario(0)
def get_what_is_overdue(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60)
    bench.pass_time(60_000)
    return bench.call("get", item=["c"])


@scenario(0)
def get_what_is_not_yet_overdue(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60)
    bench.pass_time(59_999)
    return bench.call("get", item=["c"])


@scenario(0)
def get_what_waits_for_its_risk_and_is_overdue(bench: NounBench, _: int) -> AnyCall:
    submitted(bench, escalate=30, escalate_to=["user:eve"], timeout=60)
    bench.pass_time(60_000)
    return bench.call("get", item=["c"])


@scenario(0)
def get_what_will_be_escalated_first(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60, escalate=60, escalate_to=["user:eve"])
    bench.pass_time(60_000)
    return bench.call("get", item=["c"])


@scenario(0)
def get_what_would_be_escalated_later(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60, escalate=61, escalate_to=["user:eve"])
    bench.pass_time(60_000)
    return bench.call("get", item=["c"])


@scenario(1, 32)
def get_the_largest(bench: NounBench, n: int) -> AnyCall:
    largest(bench, n)
    return bench.call("get", with_texts=True, with_requests=True, with_log=1000, item=["c"])


@scenario(1, 100)
def get_many(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        in_review(bench, f"c{number}", *people(2))
    return bench.call("get", item=[f"c{number}" for number in range(n)])


@scenario(1, 20)
def get_many_with_all(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        in_review(bench, f"c{number}", *people(32))
    items = [f"c{number}" for number in range(n)]
    return bench.call("get", with_texts=True, with_requests=True, with_log=1000 // n, item=items)


@scenario(0)
def get_too_many_with_texts(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get", with_texts=True, item=["c"] * 21)


@scenario(0)
def get_too_many_with_requests(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get", with_requests=True, item=["c"] * 21)


@scenario(0)
def get_too_many_with_their_log(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get", with_log=1, item=["c"] * 21)


@scenario(0)
def get_too_much_of_the_logs(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get", with_log=501, item=["c", "c"])


@scenario(0)
def list_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", by="state", value="draft")


@scenario(0)
def list_from_a_bad_cursor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", by="state", value="draft", cursor="x")


@scenario(0)
def list_from_a_cursor_with_more_behind_it(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", by="state", value="draft", cursor="1 c d")


@scenario(0)
def list_behind_one_that_is_gone(bench: NounBench, _: int) -> AnyCall:
    """The place of one that left the state after the page before."""
    for number in range(4):
        draft(bench, f"c{number}")
    cursor = bench.put("list", by="state", value="draft", limit=2).cursor
    move(bench, {"id": "c2"}, "cancel")
    return bench.call("list", by="state", value="draft", limit=2, cursor=cursor)


@scenario(0)
def list_the_last_page(bench: NounBench, _: int) -> AnyCall:
    for number in range(3):
        draft(bench, f"c{number}")
        bench.pass_time(1)
    cursor = bench.put("list", by="author", value="ann", limit=2).cursor
    return bench.call("list", by="author", value="ann", limit=1, cursor=cursor)


@scenario(0)
def list_what_is_overdue(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, timeout=60)
    bench.pass_time(60_000)
    return bench.call("list", by="reviewer", value="user:bob")


@scenario(0)
def list_by_resource(bench: NounBench, _: int) -> AnyCall:
    one = draft(bench, resources=["a:b"])
    assess(bench, one, 30)
    return bench.call("list", by="resource", value="a:b")


@scenario(0)
def list_by_team(bench: NounBench, _: int) -> AnyCall:
    draft(bench, team="t")
    return bench.call("list", by="team", value="t")


@scenario(0)
def list_by_tag(bench: NounBench, _: int) -> AnyCall:
    draft(bench, tags=["s", "t"])
    return bench.call("list", by="tag", value="t")


@scenario(1, 100)
def list_the_largest(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        in_review(bench, f"c{number}", *people(min(n, 32)), content=LARGE)
    return bench.call("list", by="state", value="reviewing", limit=100)


@scenario(0)
def stats_of_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("stats")


@scenario(0)
def stats_where_nothing_is_due(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("stats")


@scenario(0)
def get_a_change_that_is_damaged(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    bench.ask("DEL", ":params:c")
    return bench.call("get", item=["c"])


@scenario(0)
def list_where_an_index_is_damaged(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    bench.ask("ZADD", ":by:author:ann", 1, "gone")
    return bench.call("list", by="author", value="ann")


@scenario(0)
def get_revision_that_was_replaced(bench: NounBench, _: int) -> AnyCall:
    fields: dict[str, Any] = {
        "version": "2",
        "parameters": "{}",
        "resources": ["table:b", "database:a"],
        "priority": 90,
    }
    revised(bench, draft(bench, rollback_strategy="manual", timeout=60, **fields))
    return bench.call("get_revision", id="c", rev=1)


@scenario(0)
def get_revision_that_is_current(bench: NounBench, _: int) -> AnyCall:
    draft(bench, **LARGE)
    return bench.call("get_revision", id="c", rev=1)


@scenario(0)
def get_revision_before_the_last_ten(bench: NounBench, _: int) -> AnyCall:
    one = draft(bench)
    for number in range(11):
        one = revised(bench, one, version=str(number))
    return bench.call("get_revision", id="c", rev=1)


@scenario(0)
def get_revision_that_does_not_exist(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    return bench.call("get_revision", id="c", rev=2)


@scenario(0)
def get_revision_of_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get_revision", id="c", rev=1)

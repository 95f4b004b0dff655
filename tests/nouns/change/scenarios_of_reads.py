"""Paths of `get`, `list`, `inbox` and `stats`."""

from __future__ import annotations

from tests.lua.scenario import AnyCall, scenario
from tests.nouns.bench import NounBench
from tests.nouns.change.states import draft, in_review


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
def inbox_of_a_user_and_its_groups(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "group:dbas")
    in_review(bench, "d", "group:dbas")
    return bench.call("inbox", user="bob", principal="bob", groups=["dbas"])


@scenario(0)
def inbox_on_the_next_page(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c")
    in_review(bench, "d")
    return bench.call("inbox", user="bob", limit=1, cursor=bench.put("inbox", user="bob", limit=1).cursor)


@scenario(0)
def stats_of_a_domain(bench: NounBench, _: int) -> AnyCall:
    draft(bench)
    in_review(bench, "d", timeout=1)
    bench.pass_time(1000)
    return bench.call("stats")

"""Paths of `sweep`, and what any call does of what is due."""

from __future__ import annotations

from tests.lua.scenario import AnyCall, scenario
from tests.nouns.bench import NounBench
from tests.nouns.change.states import DAY, draft, in_review, move


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

"""Tasks that wait in several lanes in turn, and fail where nobody came to the last."""

from __future__ import annotations

import pytest

from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench

CHAIN = ["group/b", "group/c", "any"]


def expire(bench: Workbench) -> int:
    return bench.run(bench.calls.expire())


def due(bench: Workbench, id: str) -> int | None:
    score = bench.ask("ZSCORE", ":deadlines", id)
    return None if score is None else int(score) - START


def test_a_task_that_nobody_took_from_its_last_lane_fails(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/a", fallback=["any", "fail"], fallback_after=60)
    bench.pass_time(60_000)
    assert expire(bench) == 1
    assert (bench.ready(), due(bench, id)) == ([id], 120_000)
    check_queue(bench)
    bench.pass_time(60_000)
    assert expire(bench) == 1
    view = bench.view(id)
    assert view
    assert (view.state, view.reason, view.lane, view.attempts) == ("dead", "nobody_came", "any", 0)
    assert [(event["id"], event["payload"]) for event in bench.events("task.dead")] == [
        (id.encode(), b"reason=nobody_came")
    ]
    assert bench.ask("EXISTS", ":ready:any", ":lanes", ":wake:any", ":deadlines") == 0
    assert bench.counters()["dead"] == 1
    check_queue(bench)


@pytest.mark.parametrize(("after", "tokens"), [(9.999, 1), (10, 0)])
def test_all_next_lanes_are_told_of_a_time_within_the_longest_block(
    bench: Workbench, after: float, tokens: int
) -> None:
    bench.fill(1, lane="group/a", fallback=CHAIN, fallback_after=after)
    assert [bench.tokens(lane) for lane in CHAIN] == [tokens, tokens, tokens]
    bench.pass_time(10_000)
    for lane in CHAIN:
        bench.ask("DEL", f":wake:{lane}")
    expire(bench)
    assert [bench.tokens(lane) for lane in CHAIN] == [1, tokens, tokens]

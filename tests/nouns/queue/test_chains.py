"""Tasks that wait in several lanes in turn, and fail where nobody came to the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import BAND, START, Workbench

CHAIN = ["group/b", "group/c", "any"]


def expire(bench: Workbench) -> int:
    return bench.run(bench.calls.expire())


def due(bench: Workbench, id: str) -> int | None:
    score = bench.ask("ZSCORE", ":deadlines", id)
    return None if score is None else int(score) - START


def moves(bench: Workbench) -> list[bytes]:
    return [event["payload"].removeprefix(b"lane=") for event in bench.events("task.moved")]


def test_a_task_waits_in_each_lane_for_its_time_and_then_in_the_last(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/a", fallback=CHAIN, fallback_after=60)
    for at, lane in enumerate(["group/a", *CHAIN]):
        assert bench.ready(lane) == [id]
        assert int(bench.ask("ZSCORE", f":ready:{lane}", id)) == 5 * BAND + 1
        assert due(bench, id) == (None if lane == "any" else 60_000 * (at + 1))
        check_queue(bench)
        bench.pass_time(59_999)
        assert expire(bench) == 0
        bench.pass_time(1)
        assert expire(bench) == (lane != "any")
    assert moves(bench) == [b"group/b", b"group/c", b"any"]
    assert {"fallback", "fallback_after_ms", "unclaimed"} & bench.record(id).keys() == set()


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


def test_a_task_without_another_lane_fails_where_it_waits(bench: Workbench) -> None:
    (id,) = bench.fill(1, fallback="fail", fallback_after=60)
    assert due(bench, id) == 60_000
    bench.pass_time(60_000)
    assert [lease.id for lease in bench.claim(1)] == []
    assert bench.state(id) == "dead"
    check_queue(bench)


def test_no_time_at_all_is_a_lane_at_each_sweep(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/a", fallback=[*CHAIN[:2], "fail"], fallback_after=0)
    for lane in ("group/b", "group/c"):
        expire(bench)
        assert bench.ready(lane) == [id]
    expire(bench)
    assert bench.state(id) == "dead"


Back = Callable[[Workbench, Lease], Any]
WAYS_BACK: dict[str, Back] = {
    "released": lambda bench, lease: bench.run(bench.calls.release([lease])),
    "retried": lambda bench, lease: bench.run(bench.calls.fail([Failure(lease, delay=0)], [0])),
    "snoozed": lambda bench, lease: bench.run(bench.calls.snooze([(lease, 0)])),
    "given up": lambda bench, lease: bench.run(bench.calls.deregister("w", "i", leases=[lease])),
}


@pytest.mark.parametrize("way", WAYS_BACK)
def test_a_task_that_comes_back_goes_on_from_the_lane_it_was_in(bench: Workbench, way: str) -> None:
    (id,) = bench.fill(1, lane="group/a", fallback=CHAIN, fallback_after=60)
    bench.pass_time(60_000)
    (lease,) = bench.claim(1, lanes=["group/b"])
    assert (lease.id, due(bench, id)) == (id, None)
    bench.pass_time(10_000)
    WAYS_BACK[way](bench, lease)
    bench.run(bench.calls.promote())
    assert bench.ready("group/b") == [id]
    assert due(bench, id) == 130_000
    assert bench.record(id)["fallback"] == b"group/c,any"
    check_queue(bench)
    bench.pass_time(60_000)
    expire(bench)
    assert bench.ready("group/c") == [id]
    check_queue(bench)


@pytest.mark.parametrize("way", WAYS_BACK)
def test_a_task_that_somebody_had_and_gave_back_can_still_be_one_that_nobody_takes(bench: Workbench, way: str) -> None:
    (lease,) = bench.lease(1, fallback="fail", fallback_after=60)
    WAYS_BACK[way](bench, lease)
    bench.run(bench.calls.promote())
    check_queue(bench)
    bench.pass_time(60_000)
    expire(bench)
    view = bench.view(lease.id)
    assert view
    assert (view.state, view.reason) == ("dead", "nobody_came")
    check_queue(bench)


def test_a_task_that_runs_is_not_one_that_nobody_takes(bench: Workbench) -> None:
    (lease,) = bench.lease(1, fallback="fail", fallback_after=5)
    bench.pass_time(14_000)
    assert expire(bench) == 0
    assert bench.run(bench.calls.ack([(lease, None)])) == ["completed"]


def test_a_task_that_was_retried_by_hand_waits_in_its_last_lane_for_its_time(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/a", fallback=["any", "fail"], fallback_after=60)
    for _ in range(2):
        bench.pass_time(60_000)
        expire(bench)
    bench.run(bench.calls.retry([id]))
    assert (bench.ready(), due(bench, id)) == ([id], 180_000)
    check_queue(bench)
    bench.pass_time(60_000)
    expire(bench)
    assert bench.state(id) == "dead"


def test_it_expires_before_somebody_must_come(bench: Workbench) -> None:
    (id,) = bench.fill(1, fallback="fail", fallback_after=60, expires_at=START / 1000 + 60)
    bench.pass_time(60_000)
    expire(bench)
    view = bench.view(id)
    assert view
    assert view.reason == "expired"
    assert bench.events("task.dead") == []


def test_nobody_can_come_in_a_pause(bench: Workbench) -> None:
    (id,) = bench.fill(1, fallback="fail", fallback_after=5)
    bench.run(bench.calls.pause())
    for _ in range(3):
        bench.pass_time(60_000)
        assert expire(bench) == 1
        assert expire(bench) == 0  # it is not due again at once
        assert bench.ready() == [id]
        check_queue(bench)
    bench.run(bench.calls.resume())
    assert due(bench, id) == 186_000
    bench.pass_time(6_000)
    expire(bench)
    assert bench.state(id) == "dead"


def test_a_pause_is_no_endless_loop_for_those_who_wait_no_time(bench: Workbench) -> None:
    bench.fill(1, fallback="fail", fallback_after=0)
    bench.run(bench.calls.pause())
    assert (expire(bench), expire(bench)) == (1, 0)
    bench.worker()
    assert bench.run(bench.calls.claim("w", "i", 0, 1)).next_due == (START + 1_000) / 1000


def test_a_delayed_task_waits_for_somebody_from_when_it_is_due(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=60, fallback="fail", fallback_after=30)
    assert due(bench, id) == 90_000
    bench.pass_time(90_000)
    assert expire(bench) == 1
    assert (bench.state(id), bench.ask("EXISTS", ":delayed")) == ("dead", 0)
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


def test_nobody_is_told_of_a_time_at_which_a_task_fails(bench: Workbench) -> None:
    bench.fill(1, lane="group/a", fallback="fail", fallback_after=5)
    assert [key for key in bench.dump() if key.startswith(":wake:")] == [":wake:group/a"]


def test_those_who_look_see_what_is_left_of_the_chain(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/a/inst/i", fallback="wider", fallback_after=60)
    view = bench.view(id)
    assert view
    assert view.fallback == ("group/a", "any")
    (other,) = bench.fill(1, fallback=["group/b", "fail"], fallback_after=60)
    bench.pass_time(60_000)
    expire(bench)
    view, its = bench.view(id), bench.view(other)
    assert view
    assert its
    assert (view.lane, view.fallback) == ("group/a", ("any",))
    assert (its.lane, its.fallback) == ("group/b", ("fail",))

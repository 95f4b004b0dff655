"""Paths of what is done with one lane: claims that wait for company, its length, and purging it alone."""

from __future__ import annotations

from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import TIES, AnyCall, scenario, sent

LANE = "group/s"
WINDOW = 0.05


def claim_in_window(bench: Workbench, limit: int, *lanes: str) -> AnyCall:
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=limit, lanes=lanes or (LANE,), window=WINDOW)


# claim


@scenario(1, 100)
def claim_in_an_open_window(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    return claim_in_window(bench, n + 1)


@scenario(1, 100)
def claim_in_an_open_window_as_many_as_there_are(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    return claim_in_window(bench, n)


@scenario(1, 100, 1000)
def claim_after_the_window(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    bench.pass_time(50)
    return claim_in_window(bench, n)


def claim_alone(bench: Workbench, limit: int) -> AnyCall:
    """The kind of each tenth task is leased alone."""
    bench.worker()
    kinds = ["message"] * 15 + ["note"]
    return bench.calls.claim("w", "i", 0, 10**6, limit=limit, lanes=(LANE,), window=WINDOW, alone_kinds=kinds)


@scenario(1, 100)
def claim_alone_before_others(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, lane=LANE, kind="note")
    bench.fill(n, lane=LANE, kind="note")
    return claim_alone(bench, n + 1)


@scenario(1)
def claim_alone_a_task_without_record(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n, lane=LANE):
        bench.ask("DEL", f":task:{id}")
    return claim_alone(bench, 10)


@scenario(1, 100)
def claim_what_stands_before_one_that_is_leased_alone(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE, kind="other")
    bench.fill(1, lane=LANE)
    bench.fill(1, lane=LANE, kind="note")
    bench.pass_time(50)
    return claim_alone(bench, n + 10)


@scenario(0)
def claim_in_a_window_from_an_empty_queue(bench: Workbench, _: int) -> AnyCall:
    return claim_in_window(bench, 10)


@scenario(10)
def claim_in_a_window_of_as_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes = [f"group/g{at}" for at in range(n)]
    for lane in lanes:
        bench.fill(1, lane=lane)
        bench.pass_time(10)
    return claim_in_window(bench, n, *lanes)


@scenario(10)
def claim_in_an_open_window_of_as_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes = [f"group/g{at}" for at in range(n)]
    for lane in lanes:
        bench.fill(1, lane=lane)
        bench.ask("DEL", f":wake:{lane}")
    return claim_in_window(bench, n, *lanes)


@scenario(1)
def claim_in_an_open_window_before_something_else_is_due(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE, delay=0.02)
    bench.fill(n, lane=LANE)
    return claim_in_window(bench, 10)


@scenario(1)
def claim_again_in_an_open_window(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    return sent(bench, claim_in_window(bench, 10))


@scenario(1)
def claim_in_a_window_a_task_without_record(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n, lane=LANE):
        bench.ask("DEL", f":task:{id}")
    return claim_in_window(bench, 10)


# purge


@scenario(1, 100, 1000)
def purge_a_lane(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    bench.fill(1)
    return bench.calls.purge("r", lane=LANE)


@scenario(1, 100)
def purge_a_lane_of_tied_tasks(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE, **TIES)
    return bench.calls.purge("r", lane=LANE)


@scenario(1)
def purge_a_part_of_a_lane(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n + 1, lane=LANE)
    return bench.calls.purge("r", lane=LANE, limit=n)


@scenario(0)
def purge_a_lane_that_is_empty(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    return bench.calls.purge("r", lane=LANE)


@scenario(1)
def purge_a_lane_again(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    call = sent(bench, bench.calls.purge("r", lane=LANE))
    bench.fill(n, lane=LANE)
    return call


# length


@scenario(1, 100, 1000)
def length_of_lanes(bench: Workbench, n: int) -> AnyCall:
    bench.fill(3)
    return bench.calls.length(["any", *(f"group/g{at}" for at in range(n - 1))])


@scenario(0, clock="server")
def length_of_a_lane_of_a_queue_that_does_not_exist(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.length(["any"])

"""Limits that keep a turn for a task that has lost its own too often."""

from __future__ import annotations

from pyadeq.models import Lease
from tests.lua.scenario import AnyCall, acks, claim, scenario
from tests.lua.scenarios_of_limits import LOOK
from tests.lua.workbench import Workbench

GRACE = 30_000  # ms: so long a turn is kept for a task that no worker takes


def starve(bench: Workbench, id: str, passed: int = 7) -> None:
    bench.ask("HSET", f":task:{id}", "passed", passed)


def kept(bench: Workbench, width: int = 1) -> tuple[str, Lease]:
    """The last turn of `a` is kept for a task that waits for `b`; and the lease of the task that holds `b`."""
    bench.limit("key:a", concurrency=width)
    bench.limit("key:b", concurrency=1)
    if width > 1:
        bench.lease(width - 1, limits=["a"])
    (holder,) = bench.lease(1, limits=["b"])
    (both,) = bench.fill(1, limits=["a", "b"])
    starve(bench, both)
    assert bench.claim(1) == []
    assert bench.ask("HGET", ":config", "reserved")
    return both, holder


def let_go(bench: Workbench) -> str:
    both, holder = kept(bench)
    bench.real(bench.calls.ack(acks([holder])))
    assert bench.ready() == [both]
    return both


@scenario(1)
def claim_of_a_task_that_loses_its_first_turn(bench: Workbench, n: int) -> AnyCall:
    bench.limit("key:*", concurrency=1)
    bench.lease(1, limits=["b"])
    bench.fill(n, limits=["a", "b"])
    return claim(bench, n)


@scenario(1)
def claim_of_a_task_that_has_lost_its_turn_too_often(bench: Workbench, n: int) -> AnyCall:
    for key in "ad":
        bench.limit(f"key:{key}", starts=1, period_ms=1)
    for key in "bc":
        bench.limit(f"key:{key}", concurrency=1)
    bench.lease(1, limits=["b"])
    for id in bench.fill(n, limits=["a", "b", "c", "d"]):
        starve(bench, id)
    return claim(bench, n)


@scenario(1)
def claim_of_tasks_whose_limits_cancel_the_oldest(bench: Workbench, n: int) -> AnyCall:
    bench.limit("key:*", concurrency=1, policy="cancel_oldest")
    bench.lease(1, limits=["b"])
    for id in bench.fill(n, limits=["a", "b"]):
        starve(bench, id)
    return claim(bench, n)


@scenario(1)
def claim_of_tasks_that_come_after_one_with_a_kept_turn(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.fill(n, limits=["a"])
    return claim(bench, n)


@scenario(1)
def claim_of_an_urgent_task_where_a_turn_is_kept(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.fill(n, limits=["a"], priority=1)
    return claim(bench, n)


@scenario(1)
def claim_of_another_that_has_lost_its_turn_too_often(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.limit("key:c", concurrency=5)
    bench.limit("key:d", concurrency=1)
    bench.lease(1, limits=["d"])
    for priority in (9, 1):
        for id in bench.fill(n, limits=["c", "d"], priority=priority):
            starve(bench, id)
    return claim(bench, 2 * n)


@scenario(1)
def claim_of_another_that_comes_after_the_one_with_a_kept_turn(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.limit("key:c", concurrency=5)
    bench.limit("key:d", concurrency=1)
    bench.lease(1, limits=["d"])
    for id in bench.fill(n, limits=["c", "d"]):
        starve(bench, id)
    return claim(bench, n)


@scenario(1)
def ack_opens_a_line_that_keeps_the_last_of_two_turns(bench: Workbench, n: int) -> AnyCall:
    bench.limit("key:*", concurrency=2)
    bench.lease(2, limits=["b"])
    (both,) = bench.fill(1, limits=["a", "b"])
    starve(bench, both)
    bench.fill(3, limits=["a"])
    (runs,) = bench.claim(5)
    return bench.calls.ack(acks([runs][:n]))


@scenario(1)
def claim_of_the_task_that_its_turns_are_kept_for(bench: Workbench, n: int) -> AnyCall:
    let_go(bench)
    return claim(bench, n)


@scenario(1)
def claim_of_the_task_that_its_turns_are_kept_for_and_that_loses_one_more(bench: Workbench, n: int) -> AnyCall:
    let_go(bench)
    bench.fill(n, limits=["b"], lane="group/g", priority=0)
    assert len(bench.claim(1, lanes=["group/g"])) == 1
    return claim(bench, n)


@scenario(1)
def ack_opens_a_line_for_the_task_that_its_turns_are_kept_for(bench: Workbench, n: int) -> AnyCall:
    _, holder = kept(bench)
    return bench.calls.ack(acks([holder][:n]))


@scenario(1)
def claim_looks_at_a_line_whose_turn_is_kept(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.fill(n, limits=["a"])
    assert bench.claim(n) == []
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1)
def claim_looks_at_a_line_with_an_urgent_task_whose_turn_is_kept(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.fill(n, limits=["a"])
    assert bench.claim(n) == []
    bench.fill(1, limits=["a"], priority=1)
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1)
def claim_where_a_narrower_limit_is_full(bench: Workbench, n: int) -> AnyCall:
    kept(bench, width=2)
    bench.fill(n, limits=["a"])
    return claim(bench, n)


@scenario(1)
def ack_where_a_narrower_limit_was_removed(bench: Workbench, n: int) -> AnyCall:
    bench.limit("key:a", concurrency=2)
    bench.limit("key:b", concurrency=1)
    holders = bench.lease(2, limits=["a"])
    (both,) = bench.fill(1, limits=["a", "b"])
    starve(bench, both)
    assert bench.claim(1) == []
    bench.limit("key:b")
    return bench.calls.ack(acks(holders[:n]))


@scenario(1)
def claim_where_a_narrower_limit_has_room(bench: Workbench, n: int) -> AnyCall:
    _, holder = kept(bench, width=2)
    bench.limit("key:b", concurrency=2)
    bench.fill(n, limits=["a"], lane="group/g")
    assert holder
    return claim(bench, n, "group/g")


@scenario(1)
def claim_where_a_limit_that_keeps_a_turn_rejects(bench: Workbench, n: int) -> AnyCall:
    kept(bench)
    bench.limit("key:a", concurrency=1, policy="reject")
    bench.fill(n, limits=["a"])
    return claim(bench, n)


@scenario(1)
def claim_where_the_task_that_a_turn_was_kept_for_is_gone(bench: Workbench, n: int) -> AnyCall:
    both, _ = kept(bench)
    bench.real(bench.calls.cancel([both]))
    bench.fill(n, limits=["a"])
    return claim(bench, n)


@scenario(1)
def claim_where_nobody_took_the_task_that_a_turn_was_kept_for(bench: Workbench, n: int) -> AnyCall:
    let_go(bench)
    bench.pass_time(GRACE + 1)
    bench.fill(n, limits=["a"], lane="group/g")
    return claim(bench, n, "group/g")


@scenario(1)
def claim_of_others_where_the_task_that_a_turn_is_kept_for_is_ready(bench: Workbench, n: int) -> AnyCall:
    let_go(bench)
    bench.fill(n, limits=["a"], lane="group/g")
    return claim(bench, n, "group/g")

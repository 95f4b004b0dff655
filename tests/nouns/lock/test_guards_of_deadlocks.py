"""When a waiter whose search was too long is searched for again."""

from __future__ import annotations

import pytest

from tests.nouns.lock.test_deadlocks import ring
from tests.nouns.lock.workbench import LockBench


@pytest.mark.parametrize(("ahead_us", "found"), [(1, 0), (0, 1)])
def test_an_agent_has_its_turn_when_it_has_come_and_not_before(
    lock_bench: LockBench, ahead_us: int, found: int
) -> None:
    lock_bench.real(lock_bench.calls.configure(detect_visits=16))
    ring(lock_bench, 40)
    assert not lock_bench.run(lock_bench.acquire("q", "r0", "o40", wait=60, agent="g")).checked
    for rid in lock_bench.ask("ZRANGE", ":unchecked", 0, -1):
        if rid != b"q":
            lock_bench.ask("ZREM", ":unchecked", rid)
    lock_bench.ask("ZADD", ":rates", lock_bench.now * 1000 + ahead_us, "detect g")
    assert len(lock_bench.run(lock_bench.calls.detect()).deadlocks) == found


@pytest.mark.slow
def test_a_long_circle_is_told_in_part(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.configure(detect_visits=5_000))
    ring(lock_bench, 300)
    state = lock_bench.run(lock_bench.acquire("q", "r0", "o300", wait=60))
    assert state.status == "deadlock"
    assert [edge.owner for edge in state.cycle][:3] == ["o300", "o0", "o1"]
    assert (len(state.cycle), state.cycle_cut) == (256, 45)


def waiters(lock_bench: LockBench, number: int, agent: str | None = None) -> list[str]:
    """So many that wait for one lock, and are to be checked."""
    lock_bench.hold("r", "holder")
    rids = [lock_bench.wait("r", f"w{at}", agent=agent) for at in range(number)]
    for rid in rids:
        lock_bench.ask("ZADD", ":unchecked", lock_bench.now, rid)
    return rids


@pytest.mark.parametrize(("number", "limit", "more"), [(1, 1, 0), (2, 1, 1), (2, 2, 0), (3, 2, 1)])
def test_a_detection_says_whether_there_is_more_to_check(
    lock_bench: LockBench, number: int, limit: int, more: int
) -> None:
    waiters(lock_bench, number)
    found = lock_bench.run(lock_bench.calls.detect(limit))
    assert (found.checked, found.more) == (limit, more)
    while lock_bench.run(lock_bench.calls.detect(limit)).checked:
        pass


@pytest.mark.parametrize(("number", "more"), [(64, 0), (65, 1)])
def test_a_detection_looks_at_so_many_whose_agent_has_had_its_turn(
    lock_bench: LockBench, number: int, more: int
) -> None:
    waiters(lock_bench, number, agent="a")
    found = lock_bench.run(lock_bench.calls.detect(16))
    assert (found.checked, found.more) == (1, more)
    lock_bench.ask("DEL", ":unchecked")


def test_who_has_had_its_turn_is_no_more_to_check(lock_bench: LockBench) -> None:
    waiters(lock_bench, 3, agent="a")
    assert lock_bench.run(lock_bench.calls.detect(2)).checked == 1
    for rid in lock_bench.line("r")[1:]:
        lock_bench.ask("ZADD", ":unchecked", lock_bench.now, rid)
    found = lock_bench.run(lock_bench.calls.detect(1))
    assert (found.checked, found.more) == (0, 0)
    lock_bench.pass_time(30_000)
    lock_bench.settle()
    lock_bench.ask("DEL", ":unchecked")


def test_a_detection_ends_what_is_overdue(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "o", ttl=1)
    lock_bench.pass_time(1_000)
    lock_bench.run(lock_bench.calls.detect())
    assert lock_bench.state(held) == "expired"

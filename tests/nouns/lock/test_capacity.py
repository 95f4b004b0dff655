"""Permits of agents: how many there are, who is silent, what drains; several locks at once."""

from __future__ import annotations

import pytest

from tests.nouns.lock.workbench import LockBench
from tests.nouns.watched import Refused


def test_who_stood_behind_one_that_is_refused_at_its_poll_has_its_turn(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 1))
    lock_bench.hold("p", "holder", "permit")
    lock_bench.hold("r", "h", "shared")
    assert lock_bench.real(lock_bench.acquire_many("q", "o", ["p=1", "r"], wait=60)).status == "queued"
    behind = lock_bench.wait("r", "s", "shared")
    lock_bench.real(lock_bench.calls.drain("p"))
    assert lock_bench.run(lock_bench.calls.poll(["q"]))[0].status == "unavailable"
    assert lock_bench.state(behind) == "granted"


def test_waiters_get_what_comes_back_in_order(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 3))
    held = lock_bench.hold("p", "a", "permit", permits=3)
    large, small = lock_bench.wait("p", "b", "permit", permits=2), lock_bench.wait("p", "c", "permit")
    more = lock_bench.wait("p", "d", "permit")
    lock_bench.run(lock_bench.calls.release([held]))
    assert lock_bench.holders("p") == {large, small}
    assert lock_bench.line("p") == [more]


def test_more_capacity_is_handed_out_at_once(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 1))
    lock_bench.hold("p", "a", "permit")
    waits = [lock_bench.wait("p", f"w{at}", "permit") for at in range(3)]
    lock_bench.run(lock_bench.calls.set_capacity("p", 3))
    assert lock_bench.line("p") == waits[2:]


def test_less_capacity_takes_nothing_away(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 3))
    held = lock_bench.hold("p", "a", "permit", permits=3)
    lock_bench.run(lock_bench.calls.set_capacity("p", 1))
    assert lock_bench.holders("p") == {held}
    assert lock_bench.run(lock_bench.acquire("q", "p", "o", "permit")).status == "busy"


def test_less_capacity_has_a_second_look_only_at_those_who_wait_for_permits(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 3))
    lock_bench.hold("p", "a", "permit", permits=3)
    permit = lock_bench.wait("p", "b", "permit")
    lock_bench.wait("p", "c", "shared")
    lock_bench.run(lock_bench.calls.set_capacity("p", 2))
    assert lock_bench.ask("ZRANGE", ":unchecked", 0, -1) == [permit.encode()]


def almost_stuck(lock_bench: LockBench, permits: int, waiters: int = 0) -> tuple[str, str]:
    """a has a permit and waits for b, who waits for permits that c has. The rids of these waits."""
    lock_bench.real(lock_bench.calls.configure(waiter=3600, detect_visits=20_000))
    lock_bench.real(lock_bench.calls.set_capacity("p", 4))
    lock_bench.hold("p", "a", "permit", ttl=3600)
    lock_bench.hold("p", "c", "permit", permits=3, ttl=3600)
    lock_bench.hold("m", "b", ttl=3600)
    for at in range(waiters):
        lock_bench.wait("p", f"w{at}", "permit", wait=3600)
    wait = lock_bench.wait("p", "b", "permit", permits=permits, wait=3600)
    return wait, lock_bench.wait("m", "a", wait=3600)


def deadlocks(lock_bench: LockBench) -> list[str]:
    """The owners in all that calls of detect find."""
    found = []
    for _ in range(100):
        answer = lock_bench.real(lock_bench.calls.detect(16, 20_000))
        found += [",".join(sorted(edge.owner for edge in one.cycle)) for one in answer.deadlocks]
        if not answer.more:
            break
    return found


def test_a_deadlock_that_less_capacity_makes_is_found(lock_bench: LockBench) -> None:
    wait, other = almost_stuck(lock_bench, 1)
    assert lock_bench.poll(wait).checked
    lock_bench.run(lock_bench.calls.set_capacity("p", 1))
    assert not lock_bench.poll(wait).checked
    assert lock_bench.poll(other).checked  # it does not wait for permits
    assert len(lock_bench.run(lock_bench.calls.detect()).deadlocks) == 1
    assert lock_bench.ask("ZCARD", ":unchecked") == 0


def test_a_deadlock_of_permits_that_are_given_out_again_is_found(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 1))
    lock_bench.hold("p", "a", "permit")
    lock_bench.hold("m", "b")
    lock_bench.wait("p", "b", "permit")
    lock_bench.real(lock_bench.calls.drain("p"))
    assert lock_bench.poll(lock_bench.wait("m", "a")).checked  # b would hear that there are none, and go
    lock_bench.run(lock_bench.calls.set_capacity("p", 1))
    assert deadlocks(lock_bench) == ["a,b"]


@pytest.mark.parametrize("most", [4, 5])
def test_more_capacity_makes_no_deadlock(lock_bench: LockBench, most: int) -> None:
    almost_stuck(lock_bench, 1)
    lock_bench.run(lock_bench.calls.set_capacity("p", most))
    assert lock_bench.ask("ZCARD", ":unchecked") == 0


@pytest.mark.slow
def test_the_end_of_a_long_line_is_looked_at_too(lock_bench: LockBench) -> None:
    almost_stuck(lock_bench, 2, waiters=501)
    lock_bench.run(lock_bench.calls.set_capacity("p", 2))
    assert lock_bench.ask("ZCARD", ":unchecked") == 501  # 500 waiters, and where to go on
    assert deadlocks(lock_bench) == ["a,b"]
    assert lock_bench.ask("ZCARD", ":unchecked") == 0


def test_the_silent_are_given_no_work_until_they_are_heard(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 1, 10))
    lock_bench.pass_time(10_000)
    lock_bench.release(lock_bench.hold("p", "a", "permit"))
    lock_bench.pass_time(1)
    waits = lock_bench.wait("p", "w", "permit")
    assert lock_bench.run(lock_bench.calls.heartbeat(["p", "unknown"])) == ["active", "no_capacity"]
    assert lock_bench.holders("p") == {waits}


def test_a_sign_of_life_ends_what_is_overdue(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "o", ttl=1)
    lock_bench.pass_time(1_000)
    assert lock_bench.run(lock_bench.calls.heartbeat(["unknown"])) == ["no_capacity"]
    assert lock_bench.state(held) == "expired"


def test_what_drains_is_given_no_work_and_says_so_to_those_who_wait(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 1))
    held = lock_bench.hold("p", "a", "permit")
    waits = lock_bench.wait("p", "w", "permit")
    assert lock_bench.run(lock_bench.calls.drain("p")) == "draining"
    assert lock_bench.run(lock_bench.calls.heartbeat(["p"])) == ["draining"]
    lock_bench.run(lock_bench.calls.release([held]))
    assert lock_bench.line("p") == [waits]
    state = lock_bench.run(lock_bench.calls.poll([waits]))[0]
    assert (state.status, state.reason) == ("unavailable", "draining")
    assert lock_bench.run(lock_bench.acquire("q", "p", "o", "permit", wait=5)).reason == "draining"


def test_a_capacity_goes_when_nothing_of_it_is_in_use(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 1))
    held = lock_bench.hold("p", "a", "permit")
    assert lock_bench.run(lock_bench.calls.remove("p")) == "in_use"
    lock_bench.release(held)
    assert lock_bench.run(lock_bench.calls.remove("p")) == "removed"
    assert lock_bench.run(lock_bench.calls.remove("p")) == "no_capacity"
    assert lock_bench.run(lock_bench.calls.drain("p")) == "no_capacity"


def test_several_locks_come_together_or_not_at_all(lock_bench: LockBench) -> None:
    held = lock_bench.hold("b", "other")
    state = lock_bench.run(lock_bench.acquire_many("q", "o", ["a", "b=shared", "c"], wait=60))
    assert (state.status, state.place) == ("queued", 1)
    assert lock_bench.run(lock_bench.acquire("x", "a", "p")).status == "busy"
    lock_bench.run(lock_bench.calls.release([held]))
    state = lock_bench.run(lock_bench.calls.poll(["q"]))[0]
    assert state.status == "granted"
    assert state.fences.keys() == {"a", "b", "c"}
    assert [part.code for part in lock_bench.audit().live["q"].parts] == ["x", "s", "x"]
    lock_bench.run(lock_bench.calls.release(["q"]))
    assert lock_bench.run(lock_bench.acquire("y", "a", "p")).status == "granted"


def test_a_resource_is_named_once(lock_bench: LockBench) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG item\[2\].resource must be named once, got 'a'"):
        lock_bench.run(lock_bench.acquire_many("q", "o", ["a", "a=shared"]))

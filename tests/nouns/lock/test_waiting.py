"""Waiting in line: places, hand-off, and those who do not come back."""

from __future__ import annotations

import pytest

from tests.nouns.lock.workbench import LockBench

CLAIM, WAITER, LEASE = 5_000, 15_000, 30_000  # ms


def hand_off(bench: LockBench, resource: str = "r") -> list[str]:
    """Release all that is held of it, and tell who was handed it."""
    bench.run(bench.calls.release(sorted(bench.holders(resource))))
    return sorted(bench.holders(resource))


def test_the_first_to_come_is_the_first_to_be_served(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder")
    rids = []
    for at in range(3):
        rids.append(lock_bench.wait("r", f"o{at}"))
        lock_bench.pass_time(at % 2)
    assert lock_bench.line("r") == rids
    assert [state.place for state in lock_bench.run(lock_bench.calls.poll(rids))] == [1, 2, 3]
    for rid in rids:
        assert hand_off(lock_bench) == [rid]


def test_who_waits_already_goes_before_a_newcomer(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder", "shared")
    lock_bench.wait("r", "first")
    assert lock_bench.run(lock_bench.acquire("q", "r", "o", "shared")).status == "busy"


def test_a_run_of_shared_waiters_is_served_together(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder")
    run = [lock_bench.wait("r", f"s{at}", "shared") for at in range(3)]
    alone = lock_bench.wait("r", "x")
    late = lock_bench.wait("r", "late", "shared")
    assert hand_off(lock_bench) == sorted(run)
    assert hand_off(lock_bench) == [alone]
    assert hand_off(lock_bench) == [late]


def test_a_priority_is_a_head_start(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder")
    early = lock_bench.wait("r", "early")
    lock_bench.pass_time(4_000)
    usual = lock_bench.wait("r", "usual")
    urgent = lock_bench.wait("r", "urgent", priority=4)
    later = lock_bench.wait("r", "later", priority=6)
    assert lock_bench.line("r") == [urgent, early, usual, later]


def test_what_was_handed_over_waits_for_its_owner_for_a_short_time(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder")
    one, other = lock_bench.wait("r", "one"), lock_bench.wait("r", "other")
    assert hand_off(lock_bench) == [one]
    assert (lock_bench.state(one), lock_bench.deadline(one)) == ("granted", lock_bench.now + CLAIM)
    lock_bench.pass_time(CLAIM)
    assert lock_bench.run(lock_bench.calls.reap()).ended == 1
    assert (lock_bench.state(one), lock_bench.state(other)) == ("expired", "granted")
    state = lock_bench.run(lock_bench.calls.poll([other]))[0]
    assert (state.status, state.deadline) == ("granted", (lock_bench.now + LEASE) / 1000)
    assert lock_bench.state(other) == "held"


def test_a_wait_ends_in_time(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder")
    rid = lock_bench.wait("r", "o", wait=20)
    lock_bench.pass_time(14_000)
    assert lock_bench.run(lock_bench.calls.poll([rid]))[0].status == "queued"
    lock_bench.pass_time(5_999)
    assert lock_bench.run(lock_bench.calls.poll([rid]))[0].status == "queued"
    lock_bench.pass_time(1)
    state = lock_bench.run(lock_bench.calls.poll([rid]))[0]
    assert (state.status, state.outcome) == ("ended", "timed_out")
    assert lock_bench.line("r") == []


def test_who_does_not_ask_any_more_leaves_the_line_wherever_it_stands(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder", ttl=60)
    rids = [lock_bench.wait("r", f"o{at}") for at in range(4)]
    lock_bench.pass_time(WAITER - 1)
    lock_bench.run(lock_bench.calls.poll([rids[1], rids[3]]))
    lock_bench.pass_time(1)
    lock_bench.run(lock_bench.calls.reap())
    assert lock_bench.line("r") == [rids[1], rids[3]]
    assert [lock_bench.state(rid) for rid in (rids[0], rids[2])] == ["abandoned", "abandoned"]


def test_the_dead_at_the_head_of_a_line_do_not_block_the_living(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "holder", ttl=60)
    for at in range(40):
        lock_bench.wait("r", f"dead{at}")
    lock_bench.pass_time(WAITER - 1)
    alive = lock_bench.wait("r", "alive")
    lock_bench.pass_time(1)
    lock_bench.run(lock_bench.calls.release([held]))
    assert lock_bench.holders("r") == {alive}


def test_a_waiter_sees_that_the_holder_has_expired_by_asking(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder", ttl=10)
    for at in range(20):
        lock_bench.hold(f"r{at}", f"o{at}", ttl=9)
    rid = lock_bench.wait("r", "o")
    lock_bench.pass_time(10_000)
    assert lock_bench.run(lock_bench.calls.poll([rid]))[0].status == "granted"


def test_more_than_a_call_can_hand_over_is_handed_over_by_the_next(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder")
    for at in range(100):
        lock_bench.wait("r", f"o{at}", "shared")
    assert len(hand_off(lock_bench)) == 64
    assert [name for name in lock_bench.audit().deadlines if name.startswith("promote r ")]
    lock_bench.run(lock_bench.calls.reap())
    assert len(lock_bench.holders("r")) == 100
    assert not [name for name in lock_bench.audit().deadlines if name.startswith("promote ")]


@pytest.mark.parametrize("late_ms", [0, 2_000])
def test_a_line_that_goes_on_from_a_place_starts_anew_when_its_holder_expires(
    lock_bench: LockBench, late_ms: int
) -> None:
    """The call that goes on with the line does so before or after it ends the hold."""
    lock_bench.hold("r", "holder", ttl=1)
    first = lock_bench.wait("r", "first")
    order = lock_bench.request(first).order  # type: ignore[union-attr]
    lock_bench.wait("r", "second")
    lock_bench.ask("ZADD", ":deadlines", lock_bench.now + late_ms, f"promote r {order}")
    lock_bench.pass_time(2_000)
    lock_bench.run(lock_bench.calls.reap())
    assert lock_bench.state(first) == "granted"


def test_an_upgrade_goes_before_all_others(lock_bench: LockBench) -> None:
    mine, other = lock_bench.hold("r", "o", "shared"), lock_bench.hold("r", "other", "shared")
    lock_bench.wait("r", "first", priority=0)
    rid = lock_bench.wait("r", "o")
    assert lock_bench.line("r")[0] == rid
    lock_bench.run(lock_bench.calls.release([other]))
    assert lock_bench.holders("r") == {mine, rid}


@pytest.mark.parametrize("end", ["release", "expire"])
def test_an_upgrade_is_lost_with_its_shared_hold(lock_bench: LockBench, end: str) -> None:
    mine = lock_bench.hold("r", "o", "shared", ttl=10)
    lock_bench.hold("r", "other", "shared")
    rid = lock_bench.wait("r", "o")
    behind = lock_bench.wait("r", "behind", "shared")
    if end == "release":
        lock_bench.run(lock_bench.calls.release([mine]))
    else:
        lock_bench.pass_time(10_000)
        lock_bench.run(lock_bench.calls.reap())
    assert lock_bench.state(rid) == "lost"
    assert lock_bench.state(behind) == "granted"


def test_an_upgrade_stays_while_another_shared_hold_is_left(lock_bench: LockBench) -> None:
    mine = [lock_bench.hold("r", "o", "shared") for _ in range(2)]
    other = lock_bench.hold("r", "other", "shared")
    rid = lock_bench.wait("r", "o")
    lock_bench.run(lock_bench.calls.release(mine[:1]))
    assert lock_bench.poll(rid).status == "queued"
    lock_bench.run(lock_bench.calls.release([other]))
    assert lock_bench.holders("r") == {mine[1], rid}


def test_cancel_lets_the_next_go_on(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "holder", "shared")
    first = lock_bench.wait("r", "first")
    behind = lock_bench.wait("r", "behind", "shared")
    assert lock_bench.run(lock_bench.calls.cancel([first])) == ["cancelled"]
    assert lock_bench.state(behind) == "granted"


def test_what_was_cancelled_before_it_came_never_holds(lock_bench: LockBench) -> None:
    call = lock_bench.acquire("q", "r", "o", wait=5)
    assert lock_bench.run(lock_bench.calls.cancel(["q"])) == ["cancelled"]
    state = lock_bench.run(call)
    assert (state.status, state.outcome) == ("ended", "cancelled")


def test_a_covered_part_stays_covered_while_the_rest_is_waited_for(lock_bench: LockBench) -> None:
    """What the owner had when it asked it may have released since: then somebody else may have it."""
    mine, other = lock_bench.hold("a", "o"), lock_bench.hold("b", "other")
    assert lock_bench.run(lock_bench.acquire_many("q", "o", ["a", "b"], wait=60)).status == "queued"
    lock_bench.run(lock_bench.calls.release([mine]))
    urgent = lock_bench.run(lock_bench.acquire("u", "a", "urgent", priority=0, wait=60))
    lock_bench.run(lock_bench.calls.release([other]))
    assert not (urgent.status == "granted" and lock_bench.state("q") in ("granted", "held"))


def test_a_poll_sees_to_its_own_line_before_the_backlog(lock_bench: LockBench) -> None:
    """A release hands over to 64 at most; that the others have their turn is noted behind what was due before."""
    for at in range(64):
        lock_bench.hold(f"other{at}", f"o{at}", ttl=1)
    holder = lock_bench.hold("r", "h", ttl=60)
    waiters = [lock_bench.wait("r", f"w{at}", "shared") for at in range(66)]
    lock_bench.pass_time(1500)
    lock_bench.release(holder)
    assert [lock_bench.state(rid) for rid in waiters[-3:]] == ["granted", "waits", "waits"]
    assert lock_bench.run(lock_bench.calls.poll(waiters[-1:]))[0].status == "granted"

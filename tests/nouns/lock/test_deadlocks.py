"""Deadlocks: found as they form, told with their circle, and none where there is a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyadeq import library
from pyadeq.models.lock import CycleEdge, LockPolicy
from tests.nouns.lock.workbench import LockBench


def ring(bench: LockBench, n: int) -> None:
    """o0 to o<n> hold r0 to r<n>, and each but the last waits for the next."""
    for at in range(n + 1):
        bench.hold(f"r{at}", f"o{at}", born_ms=bench.now - 1000 + at)
    for at in range(n):
        bench.wait(f"r{at + 1}", f"o{at}", priority=9 if at == 0 else 5, born_ms=bench.now - 1000 + at)


@pytest.mark.parametrize("n", [1, 2, 20])
def test_who_closes_a_circle_is_told_it(lock_bench: LockBench, n: int) -> None:
    ring(lock_bench, n)
    state = lock_bench.run(lock_bench.acquire("q", "r0", f"o{n}", wait=60))
    assert state.status == "deadlock"
    assert {edge.owner for edge in state.cycle} == {f"o{at}" for at in range(n + 1)}
    holders = {edge.owner: edge.resource for edge in state.cycle}
    assert holders == {f"o{at}": f"r{(at + 1) % (n + 1)}" for at in range(n + 1)}
    assert lock_bench.run(lock_bench.acquire("q", "r0", f"o{n}", wait=60)).cycle == state.cycle
    assert len(lock_bench.events("lock.deadlock")) == 1


def test_without_a_wait_there_is_no_deadlock(lock_bench: LockBench) -> None:
    ring(lock_bench, 1)
    assert lock_bench.run(lock_bench.acquire("q", "r0", "o1")).status == "busy"


@pytest.mark.parametrize(("policy", "victim"), [("priority", "o0"), ("youngest", "o1")])
def test_a_policy_says_who_pays(lock_bench: LockBench, policy: LockPolicy, victim: str) -> None:
    lock_bench.real(lock_bench.calls.configure(policy=policy))
    ring(lock_bench, 2)
    waits = {lock_bench.audit().live[rid].owner: rid for at in (1, 2) for rid in lock_bench.line(f"r{at}")}
    call = lock_bench.acquire("q", "r0", "o2", wait=60, born_ms=lock_bench.now - 1001)
    assert lock_bench.run(call).status == "queued"
    assert lock_bench.state(waits[victim]) == "deadlock"
    told = lock_bench.run(lock_bench.calls.poll([waits[victim]]))[0]
    assert told.status == "deadlock"
    assert victim in {edge.owner for edge in told.cycle}


def test_two_upgrades_are_a_deadlock(lock_bench: LockBench) -> None:
    for owner in ("o", "p"):
        lock_bench.hold("r", owner, "shared")
    lock_bench.wait("r", "o")
    state = lock_bench.run(lock_bench.acquire("q", "r", "p", wait=60))
    assert state.status == "deadlock"
    assert {edge.owner for edge in state.cycle} == {"o", "p"}


def test_who_would_wait_behind_one_who_waits_for_it_goes_first(lock_bench: LockBench) -> None:
    lock_bench.hold("a", "first")
    lock_bench.hold("c", "other")
    assert lock_bench.run(lock_bench.acquire_many("both", "second", ["a", "c"], wait=60)).status == "queued"
    state = lock_bench.run(lock_bench.acquire("q", "c", "first", wait=60))
    assert state.status == "queued"
    assert lock_bench.line("c") == ["q", "both"]


def test_a_priority_that_would_close_a_circle_is_forgone(lock_bench: LockBench) -> None:
    """p wants what o has, who waits in the line of r: ahead of o there, p would wait for o, and o for p."""
    lock_bench.hold("r", "holder")
    lock_bench.hold("k", "o")
    lock_bench.wait("r", "o")
    assert lock_bench.run(lock_bench.acquire_many("q", "p", ["k", "r"], wait=60, priority=0)).status == "queued"
    assert lock_bench.line("r")[-1] == "q"


@pytest.mark.parametrize(("stuck", "status"), [(2, "queued"), (3, "deadlock")])
def test_permits_are_a_deadlock_only_if_none_comes_back(lock_bench: LockBench, stuck: int, status: str) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("p", 3))
    lock_bench.hold("r", "o")
    for owner in ("a", "b", "c"):
        lock_bench.hold("p", owner, "permit")
    for owner in ("a", "b", "c")[:stuck]:
        lock_bench.wait("r", owner)
    assert lock_bench.run(lock_bench.acquire("q", "p", "o", "permit", wait=60)).status == status


def owners_within_budget() -> int:
    """What docs/concepts/locks.md says: for each owner a command for its hold and its wait, and one for the waiter."""
    settings = library().manifest["nouns"]["lock"]["settings"]
    return int(next(one["default"] for one in settings if one["name"] == "detect_visits")) // 5


@pytest.mark.parametrize("over", [0, 1])
def test_a_ring_of_the_longest_length_is_refused_at_once(lock_bench: LockBench, over: int) -> None:
    owners = owners_within_budget() + over
    ring(lock_bench, owners - 1)
    state = lock_bench.run(lock_bench.acquire("q", "r0", f"o{owners - 1}", wait=60))
    assert (state.status, state.checked) == (("queued", False) if over else ("deadlock", True))
    page = Path(__file__).parents[3].joinpath("docs/concepts/locks.md").read_text(encoding="utf-8")
    assert f"up to {owners_within_budget()} owners" in page


@pytest.mark.parametrize("over", [0, 1])
def test_with_a_waiter_behind_its_place_the_ring_is_searched_twice(lock_bench: LockBench, over: int) -> None:
    owners = owners_within_budget() // 2 + over
    ring(lock_bench, owners - 1)
    lock_bench.wait("r0", "last", priority=9)
    state = lock_bench.run(lock_bench.acquire("q", "r0", f"o{owners - 1}", wait=60, priority=0))
    assert (state.status, state.checked) == (("queued", False) if over else ("deadlock", True))


def test_a_search_over_its_budget_is_made_up_for(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.configure(detect_visits=16))
    ring(lock_bench, 40)
    state = lock_bench.run(lock_bench.acquire("q", "r0", "o40", wait=60))
    assert (state.status, state.checked) == ("queued", False)
    found = []
    while lock_bench.ask("EXISTS", ":unchecked"):
        found += lock_bench.run(lock_bench.calls.detect()).deadlocks
    (deadlock,) = found
    assert {edge.owner for edge in deadlock.cycle} == {f"o{at}" for at in range(41)}
    state = lock_bench.run(lock_bench.calls.poll([deadlock.rid]))[0]
    assert (state.status, state.cycle) == ("deadlock", deadlock.cycle)


def test_an_abort_ends_only_what_waits(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "o")
    waits = lock_bench.wait("r", "w")
    ring(lock_bench, 1)
    cycle = lock_bench.run(lock_bench.acquire("q", "r0", "o1", wait=60)).cycle
    assert lock_bench.run(lock_bench.calls.abort([held, waits, "unknown"], cycle)) == [
        "not_waiting", "aborted", "not_waiting",
    ]  # fmt: skip
    assert lock_bench.run(lock_bench.calls.poll([waits]))[0].cycle == cycle


def test_who_stood_behind_what_is_aborted_has_its_turn(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "h", "shared")
    between = lock_bench.wait("r", "x")
    behind = lock_bench.wait("r", "s", "shared")
    cycle = [CycleEdge("x", "exclusive", "r"), CycleEdge("h", "exclusive", "other")]
    assert lock_bench.run(lock_bench.calls.abort([between], cycle)) == ["aborted"]
    assert lock_bench.state(behind) == "granted"


def test_who_would_share_waits_for_the_exclusive_hold_of_an_owner_alone(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "o", "shared")
    exclusive = lock_bench.hold("r", "o")
    lock_bench.wait("r", "s", "shared")
    (edge,) = lock_bench.run(lock_bench.calls.edges()).edges
    assert (edge.owner, edge.blocker, edge.blocker_rid) == ("s", "o", exclusive)


def test_edges_say_who_waits_for_whom(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "h1", "shared")
    lock_bench.hold("r", "h2", "shared")
    lock_bench.wait("r", "x")
    lock_bench.wait("r", "s1", "shared")
    lock_bench.wait("r", "s2", "shared")
    lock_bench.wait("r", "y")
    edges = lock_bench.run(lock_bench.calls.edges()).edges
    assert {(edge.owner, edge.blocker, bool(edge.held)) for edge in edges} == {
        ("x", "h1", True), ("x", "h2", True), ("s1", "x", False), ("s2", "x", False), ("y", "s1", False),
        ("y", "s2", False),
    }  # fmt: skip

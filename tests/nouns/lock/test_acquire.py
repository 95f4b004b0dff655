"""acquire: what is granted at once and what is refused."""

from __future__ import annotations

import pytest

from tests.nouns.lock.workbench import LockBench
from tests.nouns.script_bench import START

LEASE = 30_000  # ms


def test_a_free_lock_is_granted_with_a_lease_and_a_fence(lock_bench: LockBench) -> None:
    state = lock_bench.run(lock_bench.acquire("q", "file:a", "o", agent="g", purpose="to write it"))
    assert (state.status, state.now, state.deadline) == ("granted", START / 1000, (START + LEASE) / 1000)
    assert state.fences == {"file:a": START * 1000}
    request = lock_bench.request("q")
    assert request is not None
    assert (request.state, request.owner, request.agent, request.priority) == ("held", "o", "g", 5)
    assert (request.ttl_ms, request.granted_ms, request.purpose) == (LEASE, START, "to write it")
    assert lock_bench.deadline("q") == START + LEASE


def test_the_lease_is_what_was_asked_for_or_what_is_configured(lock_bench: LockBench) -> None:
    lock_bench.run(lock_bench.acquire("a", "a", "o", ttl=7))
    assert lock_bench.deadline("a") == START + 7_000
    lock_bench.real(lock_bench.calls.configure(lease=60))
    lock_bench.run(lock_bench.acquire("b", "b", "o"))
    assert lock_bench.deadline("b") == START + 60_000


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
@pytest.mark.parametrize("other", ["exclusive", "shared"])
def test_shared_holds_go_together_and_nothing_else(lock_bench: LockBench, mode: str, other: str) -> None:
    lock_bench.hold("r", "other", other)
    state = lock_bench.run(lock_bench.acquire("q", "r", "o", mode))
    assert state.status == ("granted" if mode == other == "shared" else "busy")


def test_the_same_request_is_answered_the_same(lock_bench: LockBench) -> None:
    call = lock_bench.acquire("q", "r", "o")
    first = lock_bench.run(call)
    lock_bench.pass_time(1_000)
    again = lock_bench.run(lock_bench.acquire("q", "r", "o"))
    assert (again.status, again.fences, again.deadline) == ("granted", first.fences, first.deadline)
    assert len(lock_bench.events("lock.acquired")) == 1


def test_fences_rise_over_the_whole_domain(lock_bench: LockBench) -> None:
    fences = []
    for at in range(5):
        fences += lock_bench.fences(lock_bench.hold(f"r{at}", "o"))
        lock_bench.pass_time(-1)
    assert fences == sorted(set(fences))
    assert lock_bench.real(lock_bench.calls.stats())


def test_time_does_not_go_back(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "o", ttl=10)
    lock_bench.pass_time(-60_000)
    assert lock_bench.run(lock_bench.acquire("q", "other", "o")).now == START / 1000
    lock_bench.pass_time(9_999)
    assert lock_bench.run(lock_bench.acquire("busy", "r", "p", issued_ms=START)).status == "busy"
    lock_bench.pass_time(1)
    assert lock_bench.run(lock_bench.acquire("free", "r", "p", issued_ms=START)).status == "granted"


def test_what_the_owner_has_it_gets_once_more_past_all_others_with_its_fence(lock_bench: LockBench) -> None:
    first = lock_bench.hold("r", "o")
    lock_bench.wait("r", "other")
    again = lock_bench.run(lock_bench.acquire("again", "r", "o"))
    assert again.status == "granted"
    assert again.fences["r"] == lock_bench.fences(first)[0]
    assert lock_bench.run(lock_bench.acquire("shared", "r", "o", "shared")).fences == again.fences
    lock_bench.release(first)
    assert lock_bench.run(lock_bench.acquire("q", "r", "third")).status == "busy"


def test_an_upgrade_gets_a_new_fence(lock_bench: LockBench) -> None:
    shared = lock_bench.hold("r", "o", "shared")
    state = lock_bench.run(lock_bench.acquire("q", "r", "o"))
    assert state.status == "granted"
    assert state.fences["r"] > lock_bench.fences(shared)[0]


def test_a_request_that_was_refused_stays_so(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "other")
    call = lock_bench.acquire("q", "r", "o")
    assert lock_bench.run(call).status == "busy"
    lock_bench.release(held)
    assert lock_bench.run(call).status == "busy"
    assert lock_bench.state("q") == "busy"


@pytest.mark.parametrize("end", ["release", "cancel"])
def test_a_request_that_has_ended_never_holds_again(lock_bench: LockBench, end: str) -> None:
    call = lock_bench.acquire("q", "r", "o")
    lock_bench.run(call)
    lock_bench.real(getattr(lock_bench.calls, end)(["q"]))
    lock_bench.pass_time(60_000)
    state = lock_bench.run(lock_bench.acquire("q", "r", "o", issued_ms=lock_bench.now - 60_000))
    assert (state.status, state.outcome) == ("ended", "released")
    assert not lock_bench.holders("r")


def test_a_request_that_was_on_its_way_for_a_minute_is_refused(lock_bench: LockBench) -> None:
    issued_ms = lock_bench.now
    lock_bench.pass_time(60_001)
    assert lock_bench.run(lock_bench.acquire("q", "r", "o", issued_ms=issued_ms)).status == "request_expired"
    assert lock_bench.state("q") is None
    assert lock_bench.run(lock_bench.acquire("p", "r", "o", issued_ms=lock_bench.now - 60_000)).status == "granted"


def test_an_owner_waits_for_one_thing_at_a_time(lock_bench: LockBench) -> None:
    lock_bench.hold("a", "other")
    lock_bench.hold("b", "other")
    waits = lock_bench.wait("a", "o")
    state = lock_bench.run(lock_bench.acquire("q", "b", "o", wait=5))
    assert (state.status, state.rid) == ("owner_waits", waits)
    assert lock_bench.run(lock_bench.acquire("free", "c", "o", wait=5)).status == "granted"


def test_permits_are_given_out_as_far_as_they_go(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("r", 3))
    lock_bench.hold("r", "a", "permit", permits=2)
    assert lock_bench.run(lock_bench.acquire("b", "r", "b", "permit", permits=2)).status == "busy"
    assert lock_bench.run(lock_bench.acquire("c", "r", "a", "permit")).status == "granted"
    assert lock_bench.audit().capacity["r"].used == 3


@pytest.mark.parametrize("order", [("permit", "exclusive"), ("permit", "shared"), ("exclusive", "permit")])
def test_permits_and_locks_keep_each_other_out_even_for_one_owner(
    lock_bench: LockBench, order: tuple[str, str]
) -> None:
    lock_bench.real(lock_bench.calls.set_capacity("r", 3))
    lock_bench.hold("r", "o", order[0])
    assert lock_bench.run(lock_bench.acquire("q", "r", "o", order[1])).status == "busy"


@pytest.mark.parametrize(("most", "reason"), [(None, "no_capacity"), (1, "too_many")])
def test_permits_that_can_never_be_given_out(lock_bench: LockBench, most: int | None, reason: str) -> None:
    if most:
        lock_bench.real(lock_bench.calls.set_capacity("r", most))
    state = lock_bench.run(lock_bench.acquire("q", "r", "o", "permit", permits=2, wait=5))
    assert (state.status, state.reason) == ("unavailable", reason)


def test_an_agent_that_asks_too_often_is_refused_and_nothing_is_remembered(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.configure(rate_per_minute=60, rate_burst=2))
    for at in range(2):
        lock_bench.hold(f"r{at}", "o", agent="g")
    state = lock_bench.run(lock_bench.acquire("q", "r", "o", agent="g"))
    assert (state.status, state.retry_after) == ("rate_limited", 1.0)
    assert lock_bench.state("q") is None
    assert lock_bench.run(lock_bench.acquire("again", "r0", "o", agent="g")).status == "granted"
    assert lock_bench.run(lock_bench.acquire("h", "h", "o", agent="h")).status == "granted"
    lock_bench.pass_time(1_000)
    assert lock_bench.run(lock_bench.acquire("q", "r", "o", agent="g")).status == "granted"

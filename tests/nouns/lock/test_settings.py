"""Settings of a lock domain that clients feel: the longest lease, and deadlock detection. And owners that go."""

from __future__ import annotations

import pytest

from pyadeq.errors import BadArgument
from tests.nouns.lock.workbench import LockBench
from tests.nouns.watched import Refused


def test_a_lease_is_no_longer_than_the_domain_allows(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.configure(max_ttl=60))
    assert lock_bench.run(lock_bench.acquire("q", "r", "o", ttl=60)).status == "granted"
    assert lock_bench.run(lock_bench.acquire_many("m", "o", ["t"], ttl=60)).status == "granted"
    for call in (lock_bench.acquire("p", "s", "o", ttl=60.001), lock_bench.acquire_many("p", "o", ["s"], ttl=60.001)):
        with pytest.raises(
            Refused, match=r"^ADEQ_ARG ttl_ms must be at most max_ttl_ms of the domain: 60000, got 60001"
        ):
            lock_bench.run(call)
    assert lock_bench.state("p") is None


@pytest.mark.parametrize("many", [False, True])
def test_a_request_that_comes_again_is_answered_though_its_lease_would_be_refused_now(
    lock_bench: LockBench, many: bool
) -> None:
    call = lock_bench.acquire_many("q", "o", ["r"], ttl=61) if many else lock_bench.acquire("q", "r", "o", ttl=61)
    first = lock_bench.real(call)
    lock_bench.real(lock_bench.calls.configure(max_ttl=60))
    assert lock_bench.run(call) == first


@pytest.mark.parametrize(
    "settings", [{"max_ttl": 30}, {"heartbeat": 15}, {"lease": 60, "max_ttl": 60, "heartbeat": 30}]
)
def test_settings_that_just_go_together_are_taken(lock_bench: LockBench, settings: dict[str, float]) -> None:
    found = lock_bench.run(lock_bench.calls.configure(**settings))  # type: ignore[arg-type]
    assert {name: getattr(found, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"max_ttl": 29}, "max_ttl_ms must be at least lease_ms: 30000, got 29000"),
        ({"lease": 60, "max_ttl": 50}, "max_ttl_ms must be at least lease_ms: 60000, got 50000"),
        ({"heartbeat": 15.001}, "heartbeat_ms must be at most half of lease_ms: 15000, got 15001"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    lock_bench: LockBench, settings: dict[str, float], refusal: str
) -> None:
    before = lock_bench.ask("HGETALL", ":config")
    with pytest.raises(Refused, match=f"^ADEQ_ARG {refusal}"):
        lock_bench.run(lock_bench.calls.configure(**settings))  # type: ignore[arg-type]
    assert lock_bench.ask("HGETALL", ":config") == before


def test_without_detection_nobody_is_refused_and_nobody_is_told_to_look(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.calls.configure(detection=False))
    lock_bench.hold("a", "o")
    lock_bench.hold("b", "p")
    waits = lock_bench.wait("b", "o"), lock_bench.wait("a", "p")
    assert all(lock_bench.poll(rid).checked for rid in waits)
    assert not lock_bench.run(lock_bench.calls.detect()).deadlocks
    assert lock_bench.real(lock_bench.calls.stats()).detected is None
    lock_bench.real(lock_bench.calls.configure(detection=True))
    assert not any(lock_bench.poll(rid).checked for rid in waits)
    assert len(lock_bench.run(lock_bench.calls.detect()).deadlocks) == 1


def test_stats_say_when_deadlocks_were_looked_for_last(lock_bench: LockBench) -> None:
    assert lock_bench.run(lock_bench.calls.stats()).detected is None
    lock_bench.real(lock_bench.calls.detect())
    then = lock_bench.now / 1000
    lock_bench.pass_time(5_000)
    assert lock_bench.run(lock_bench.calls.stats()).detected == then


def test_who_goes_leaves_nothing_behind_and_others_have_their_turn(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "o", agent="g"), lock_bench.hold("s", "p", agent="g")
    waits, other = lock_bench.wait("r", "p", agent="g"), lock_bench.wait("r", "q")
    ended, more = lock_bench.run(lock_bench.calls.offline("f", agent="g"))
    assert (sorted(ended), more) == (sorted([*held, waits]), False)
    assert [lock_bench.state(rid) for rid in (*held, waits, other)] == ["released", "released", "cancelled", "granted"]
    lock_bench.hold("s", "p", agent="g")
    assert lock_bench.run(lock_bench.calls.offline("f", agent="g")) == (ended, more)
    assert lock_bench.holders("s")


@pytest.mark.parametrize("who", [{}, {"owner": "o", "agent": "g"}])
def test_who_goes_has_one_name(lock_bench: LockBench, who: dict[str, str]) -> None:
    with pytest.raises(BadArgument, match="allowed: an owner, or an agent, not both"):
        lock_bench.calls.offline("f", **who)


@pytest.mark.parametrize("mirror", [False, True])
def test_hints_are_published_for_subscribe_where_the_domain_mirrors_them(lock_bench: LockBench, mirror: bool) -> None:
    lock_bench.real(lock_bench.calls.configure(mirror=mirror))
    assert lock_bench.real(lock_bench.calls.configure()).mirror == mirror
    with lock_bench.hints("r", "second") as sharded, lock_bench.hints("r", "second", plain=True) as plain:
        assert lock_bench.run(lock_bench.acquire("first", "r", "o")).status == "granted"
        assert lock_bench.run(lock_bench.acquire("second", "r", "p", wait=60)).status == "queued"
        lock_bench.run(lock_bench.calls.release(["first"]))
        lock_bench.poll("second")
        lock_bench.run(lock_bench.calls.release(["second"]))
        words = ["acquired:o", "queued:p", "released:o promoted:p", "acquired:p", "released:p"]
        assert [word for resource, word in sharded() if resource == "r"] == words
        assert ("second", "promoted:p") in sharded()
        assert plain() == (sharded() if mirror else [])


def test_what_is_not_mirrored_costs_nothing(lock_bench: LockBench) -> None:
    counts = {}
    for mirror in (False, True):
        lock_bench.real(lock_bench.calls.configure(mirror=mirror))
        lock_bench.run(lock_bench.acquire(f"q{mirror}", "r", "o"))
        lock_bench.run(lock_bench.calls.release([f"q{mirror}"]))
        counts[mirror] = [command[0] for command in lock_bench.watched.last.commands].count(b"PUBLISH")
    assert counts == {False: 0, True: 1}

"""Paths of acquire."""

from __future__ import annotations

from functools import partial

from tests.nouns import scenario as base
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall, sent

scenario = partial(base.scenario, noun="lock")


def chain(bench: LockBench, n: int) -> None:
    """Owners o0 to o<n> hold r0 to r<n>, and each but the last waits for what the next holds."""
    for at in range(n + 1):
        bench.hold(f"r{at}", f"o{at}", born_ms=bench.now - at)
    for at in range(n):
        bench.wait(f"r{at + 1}", f"o{at}", priority=at % 10, born_ms=bench.now - at)


def crowd(bench: LockBench, n: int, mode: str = "exclusive", resource: str = "r") -> list[str]:
    """One who holds it, and so many who wait for it; their rids."""
    bench.hold(resource, "holder")
    return [bench.wait(resource, f"w{at}", mode, wait=3600) for at in range(n)]


def several(n: int) -> list[str]:
    return [f"r{at}" for at in range(n)]


# acquire: granted


@scenario(0)
def acquire_free(bench: LockBench, _: int) -> AnyCall:
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_free_in_use_elsewhere(bench: LockBench, _: int) -> AnyCall:
    bench.hold("other", "other")
    return bench.acquire("q", "r", "o", born_ms=1)


@scenario(0)
def acquire_free_by_one_who_waits_elsewhere(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 1)
    bench.real(bench.calls.configure(rate_per_minute=60, rate_burst=10))
    return bench.acquire("q", "free", "w0")


@scenario(0)
def acquire_the_first_of_a_domain(bench: LockBench, _: int) -> AnyCall:
    bench.ask("DEL", ":events")
    return bench.acquire("q", "r", "o", agent="a", purpose="why not", wait=5)


@scenario(0, clock="server")
def acquire_without_a_domain(bench: LockBench, _: int) -> AnyCall:
    return bench.acquire("q", "r", "o", issued_ms=bench.server_ms())


@scenario(0)
def acquire_again_held(bench: LockBench, _: int) -> AnyCall:
    return sent(bench, bench.acquire("q", "r", "o"))


@scenario(1, 100)
def acquire_shared_with_others(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.hold("r", f"o{at}", "shared")
    return bench.acquire("q", "r", "o", "shared")


@scenario(0)
def acquire_once_more(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.wait("r", "other")
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_shared_of_ones_own_exclusive(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.acquire("q", "r", "o", "shared")


@scenario(0)
def acquire_an_upgrade(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o", "shared")
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_permits(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 10))
    bench.hold("r", "other", "permit", permits=3)
    return bench.acquire("q", "r", "o", "permit", permits=7)


@scenario(0)
def acquire_within_the_rate(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(rate_per_minute=60, rate_burst=2))
    return bench.acquire("q", "r", "o")


@scenario(1, 16)
def acquire_what_has_expired(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.hold("r", f"o{at}", "shared")
    bench.pass_time(30_000)
    return bench.acquire("q", "r", "o")


@scenario(1)
def acquire_what_has_expired_behind_many_others(bench: LockBench, n: int) -> AnyCall:
    """The call ends sixteen of them, and then the holder of what it wants."""
    for at in range(20):
        bench.hold(f"r{at}", f"o{at}")
    bench.pass_time(1)
    bench.hold("r", "holder")
    bench.pass_time(30_000)
    return bench.acquire("q", "r", "o", wait=60)


# acquire: refused


@scenario(0)
def acquire_busy(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "other")
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_again_busy(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "other")
    return sent(bench, bench.acquire("q", "r", "o"))


@scenario(0)
def acquire_again_ended(bench: LockBench, _: int) -> AnyCall:
    bench.release(bench.hold("r", "o", rid="q"))
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_what_was_cancelled_before(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.cancel(["q"]))
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_while_the_owner_waits(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 1)
    return bench.acquire("q", "r", "w0", wait=5)


@scenario(0)
def acquire_too_late(bench: LockBench, _: int) -> AnyCall:
    return bench.acquire("q", "r", "o", issued_ms=bench.now - 60_001)


@scenario(0)
def acquire_above_the_rate(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(rate_per_minute=1, rate_burst=1))
    bench.hold("other", "o")
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_permits_without_capacity(bench: LockBench, _: int) -> AnyCall:
    return bench.acquire("q", "r", "o", "permit", wait=5)


@scenario(0)
def acquire_more_permits_than_there_are(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2))
    return bench.acquire("q", "r", "o", "permit", permits=3, wait=5)


@scenario(0)
def acquire_permits_of_what_drains(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2))
    bench.real(bench.calls.drain("r"))
    return bench.acquire("q", "r", "o", "permit", wait=5)


# acquire: queued


@scenario(1, 100, 1000)
def acquire_behind(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n - 1)
    return bench.acquire("q", "r", "o", wait=5)


@scenario(1, 100)
def acquire_shared_behind(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n - 1, "shared")
    return bench.acquire("q", "r", "o", "shared", wait=5)


@scenario(0)
def acquire_behind_an_upgrade(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o1", "shared")
    bench.hold("r", "o2", "shared")
    bench.wait("r", "o1")
    return bench.acquire("q", "r", "o", "shared", wait=5)


@scenario(0)
def acquire_again_queued(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 3)
    return sent(bench, bench.acquire("q", "r", "o", wait=5))


@scenario(0)
def acquire_an_upgrade_that_waits(bench: LockBench, _: int) -> AnyCall:
    for owner in ("o", "other"):
        bench.hold("r", owner, "shared")
    bench.wait("r", "third")
    return bench.acquire("q", "r", "o", wait=5)


@scenario(1, 10)
def acquire_before_those_of_less_priority(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.acquire("q", "r", "o", wait=5, priority=0)


@scenario(0)
def acquire_permits_that_are_in_use(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2))
    for owner in ("a", "b"):
        bench.hold("r", owner, "permit")
    return bench.acquire("q", "r", "o", "permit", wait=5)


@scenario(0)
def acquire_permits_of_the_silent(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2, 10))
    bench.pass_time(10_001)
    return bench.acquire("q", "r", "o", "permit", wait=5)


# acquire: deadlocks


@scenario(1, 10, 100)
def acquire_a_deadlock(bench: LockBench, n: int) -> AnyCall:
    chain(bench, n)
    return bench.acquire("q", "r0", f"o{n}", wait=5)


@scenario(0)
def acquire_again_a_deadlock(bench: LockBench, _: int) -> AnyCall:
    chain(bench, 1)
    return sent(bench, bench.acquire("q", "r0", "o1", wait=5))


@scenario(1, 10)
def acquire_a_deadlock_that_the_least_important_pays_for(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(policy="priority"))
    chain(bench, n)
    return bench.acquire("q", "r0", f"o{n}", wait=5, priority=0)


@scenario(1, 10)
def acquire_a_deadlock_that_the_youngest_pays_for(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(policy="youngest"))
    chain(bench, n)
    return bench.acquire("q", "r0", f"o{n}", wait=5, born_ms=1)


@scenario(0)
def acquire_what_closes_more_circles_than_one_call_breaks(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(policy="youngest"))
    for at in range(7):
        bench.hold("t", f"v{at}", "shared")
        bench.hold(f"r{at}", "o")
        bench.wait(f"r{at}", f"v{at}")
    return bench.acquire("q", "t", "o", wait=5, born_ms=1)


@scenario(0)
def acquire_when_the_clock_has_stepped_back(bench: LockBench, _: int) -> AnyCall:
    bench.hold("s", "o")
    bench.pass_time(-5000)
    return bench.acquire("q", "r", "o")


@scenario(0)
def acquire_the_second_upgrade(bench: LockBench, _: int) -> AnyCall:
    for owner in ("o", "other"):
        bench.hold("r", owner, "shared")
    bench.wait("r", "other")
    return bench.acquire("q", "r", "o", wait=5)


@scenario(0)
def acquire_ahead_of_somebody_who_waits_for_what_the_owner_has(bench: LockBench, _: int) -> AnyCall:
    """o2 holds b and waits for a, behind which o1, who has a, would wait for ever: o1 goes first in the line of c."""
    bench.hold("a", "o1", "shared")
    bench.hold("c", "o3")
    waits = bench.acquire_many("w", "o2", ["a", "c"], wait=60)
    assert bench.real(waits).status == "queued"
    return bench.acquire("q", "c", "o1", wait=5)


@scenario(0)
def acquire_with_a_priority_that_would_close_a_circle(bench: LockBench, _: int) -> AnyCall:
    bench.hold("a", "o1")
    bench.hold("b", "o2", "shared")
    bench.wait("b", "o1")
    bench.wait("a", "o3")
    bench.wait("b", "o4")
    return bench.acquire("q", "a", "o5", wait=5, priority=0)


@scenario(20, 100)
def acquire_beyond_the_budget_of_the_search(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, n)
    bench.hold("z", "other")
    bench.wait(f"r{n}", "more")
    return bench.acquire("q", "z", f"o{n}", wait=5)


def permits_in_a_circle(bench: LockBench, *, spare: bool) -> AnyCall:
    """Three permits are with others. All of them wait for what o holds, or one is to spare."""
    bench.real(bench.calls.set_capacity("p", 3))
    bench.hold("r", "o")
    for owner in ("a", "b", "c"):
        bench.hold("p", owner, "permit")
    for owner in ("a", "b") if spare else ("a", "b", "c"):
        bench.wait("r", owner)
    return bench.acquire("q", "p", "o", "permit", wait=5)


@scenario(0)
def acquire_permits_of_which_one_will_come_back(bench: LockBench, _: int) -> AnyCall:
    return permits_in_a_circle(bench, spare=True)


@scenario(0)
def acquire_permits_of_which_none_will_come_back(bench: LockBench, _: int) -> AnyCall:
    return permits_in_a_circle(bench, spare=False)

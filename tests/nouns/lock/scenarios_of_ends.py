"""Paths of renew, release, cancel, downgrade, reap, force_release and offline of locks."""

from __future__ import annotations

from functools import partial

from tests.nouns import scenario as base
from tests.nouns.lock.scenarios_of_acquire import crowd, several
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall, sent

scenario = partial(base.scenario, noun="lock")
scenarios = partial(base.scenarios, noun="lock")


def holds(bench: LockBench, n: int) -> list[str]:
    return [bench.hold(f"r{at}", "o") for at in range(n)]


def settled(bench: LockBench) -> list[str]:
    """One rid of each outcome that a call may meet, and one unknown."""
    released, revoked, cancelled = (bench.hold(f"x{at}", "o") for at in range(3))
    bench.release(released)
    bench.real(bench.calls.force_release("f", "x1", "broken"))
    bench.real(bench.calls.cancel([cancelled]))
    expired = bench.hold("x3", "o", ttl=1)
    bench.pass_time(1_000)
    bench.real(bench.calls.reap())
    return [released, revoked, cancelled, expired, "unknown"]


# renew


@scenario(1, 100)
def renew_held(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.renew(holds(bench, n))


@scenario(1, 100)
def renew_what_waits(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.renew(crowd(bench, n))


@scenario(0)
def renew_what_was_handed_over(bench: LockBench, _: int) -> AnyCall:
    rids = crowd(bench, 1)
    bench.release(*bench.holders("r"))
    return bench.calls.renew(rids)


@scenario(1, 20)
def renew_too_late(bench: LockBench, n: int) -> AnyCall:
    rids = holds(bench, n)
    bench.pass_time(30_000)
    return bench.calls.renew(rids)


@scenario(0)
def renew_what_has_ended(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.renew(settled(bench))


# release


@scenario(1, 100)
def release_held(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.release(holds(bench, n))


@scenario(1, 100)
def release_again(bench: LockBench, n: int) -> AnyCall:
    return sent(bench, bench.calls.release(holds(bench, n)))


@scenario(1, 100)
def release_to_the_next(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.calls.release(list(bench.holders("r")))


@scenario(1, 63, 64, 100)
def release_to_shared_waiters(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n, "shared")
    return bench.calls.release(list(bench.holders("r")))


@scenario(1, 32)
def release_one_of_many(bench: LockBench, n: int) -> AnyCall:
    """Of a request for several."""
    bench.real(bench.acquire_many("q", "o", several(n)))
    bench.wait("r0", "other")
    return bench.calls.release(["q"])


@scenario(1, 80, 100)
def release_past_the_dead(bench: LockBench, n: int) -> AnyCall:
    """Nobody has asked for those who wait first."""
    crowd(bench, n)
    (held,) = bench.holders("r")
    bench.pass_time(14_000)
    bench.wait("r", "alive")
    bench.pass_time(1_000)
    return bench.calls.release([held])


@scenario(2, 32)
def release_to_one_who_waits_for_several(bench: LockBench, n: int) -> AnyCall:
    held = bench.hold("r0", "o")
    bench.real(bench.acquire_many("q", "p", several(n), wait=60))
    return bench.calls.release([held])


@scenario(0)
def release_to_one_who_waits_for_more(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r1", "other")
    held = bench.hold("r0", "o")
    bench.real(bench.acquire_many("q", "p", several(2), wait=60))
    bench.real(bench.acquire_many("s", "t", ["r0=shared", "r2=shared"], wait=60))
    return bench.calls.release([held])


@scenario(0)
def release_shared_past_one_who_waits_for_more(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r1", "other")
    held = bench.hold("r0", "o")
    bench.real(bench.acquire_many("q", "p", ["r0=shared", "r1=shared"], wait=60))
    bench.wait("r0", "t", "shared")
    return bench.calls.release([held])


@scenario(0)
def release_to_an_upgrade(bench: LockBench, _: int) -> AnyCall:
    held = bench.hold("r", "o", "shared")
    bench.hold("r", "other", "shared")
    bench.wait("r", "other")
    return bench.calls.release([held])


@scenario(0)
def release_permits(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2))
    held = bench.hold("r", "o", "permit", permits=2)
    for owner in ("a", "b", "c"):
        bench.wait("r", owner, "permit")
    return bench.calls.release([held])


@scenario(1, 100)
def release_what_waits(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.release(crowd(bench, n))


@scenario(0)
def release_the_shared_hold_of_an_upgrade(bench: LockBench, _: int) -> AnyCall:
    held = bench.hold("r", "o", "shared")
    bench.hold("r", "other", "shared")
    bench.wait("r", "o")
    bench.wait("r", "third", "shared")
    return bench.calls.release([held])


@scenario(0)
def release_one_of_two_shared_holds_of_an_upgrade(bench: LockBench, _: int) -> AnyCall:
    held, *_more = (bench.hold("r", "o", "shared") for _ in range(2))
    bench.hold("r", "other", "shared")
    bench.wait("r", "o")
    return bench.calls.release([held])


@scenario(0)
def release_what_has_ended(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.release(settled(bench))


@scenario(0)
def release_sweeps_what_was_forgotten(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(rate_per_minute=60, rate_burst=100))
    settled(bench)
    bench.pass_time(121_000)
    return bench.calls.release([bench.hold("r", "o")])


# cancel


@scenario(1, 100)
def cancel_what_waits(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.cancel(crowd(bench, n))


@scenario(1, 100)
def cancel_held(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.cancel(holds(bench, n))


@scenario(1, 100)
def cancel_unknown(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.cancel([f"unknown{at}" for at in range(n)])


@scenario(0)
def cancel_what_has_ended(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.cancel(settled(bench))


@scenario(0)
def cancel_the_one_that_others_wait_behind(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o", "shared")
    rid = bench.wait("r", "first")
    bench.wait("r", "next", "shared")
    return bench.calls.cancel([rid])


# downgrade


@scenario(1, 10)
def downgrade_held(bench: LockBench, n: int) -> AnyCall:
    rid = bench.hold("r", "o")
    for at in range(n):
        bench.wait("r", f"w{at}", "shared")
    return bench.calls.downgrade(rid)


scenarios(
    downgrade_again=lambda bench: sent(bench, bench.calls.downgrade(bench.hold("r", "o"))),
    downgrade_what_waits=lambda bench: bench.calls.downgrade(crowd(bench, 1)[0]),
    downgrade_unknown=lambda bench: bench.calls.downgrade("unknown"),
)


@scenario(0)
def downgrade_several(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("p", 3))
    bench.real(bench.acquire_many("q", "o", ["r0", "r1=shared", "p=2"]))
    return bench.calls.downgrade("q")


@scenario(0)
def downgrade_what_has_ended(bench: LockBench, _: int) -> AnyCall:
    rid = bench.hold("r", "o")
    bench.release(rid)
    return bench.calls.downgrade(rid)


# reap


@scenario(0)
def reap_nothing(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.calls.reap()


@scenario(0)
def reap_what_has_no_record(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.ask("ZADD", ":deadlines", 1, "ghost")
    bench.ask("HSET", ":requests", "#due", 0)
    return bench.calls.reap()


@scenario(1, 100, 1000)
def reap_holders(bench: LockBench, n: int) -> AnyCall:
    holds(bench, n)
    bench.pass_time(30_000)
    return bench.calls.reap(n)


@scenario(1, 100, 1000)
def reap_waiters(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(0)
def reap_one_who_has_not_fetched_what_it_was_handed(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 2)
    bench.release(*bench.holders("r"))
    bench.pass_time(5_000)
    return bench.calls.reap()


@scenario(0)
def reap_the_shared_hold_of_an_upgrade(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o", "shared", ttl=5)
    bench.hold("r", "other", "shared")
    bench.wait("r", "o")
    bench.pass_time(5_000)
    return bench.calls.reap()


@scenario(100)
def reap_goes_on_with_those_in_line(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n, "shared")
    bench.release(*bench.holders("r"))
    return bench.calls.reap()


@scenario(1, 100)
def reap_what_was_forgotten(bench: LockBench, n: int) -> AnyCall:
    bench.release(*holds(bench, n))
    bench.pass_time(120_000)
    return bench.calls.reap(100)


# force_release


@scenario(1, 100)
def force_release_held(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.hold("r", f"o{at}", "shared")
    bench.wait("r", "next")
    return bench.calls.force_release("f", "r", "broken")


@scenario(0)
def force_release_of_one_owner(bench: LockBench, _: int) -> AnyCall:
    for owner in ("o", "other"):
        bench.hold("r", owner, "shared")
    return bench.calls.force_release("f", "r", "broken", "o")


@scenario(0)
def force_release_again(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return sent(bench, bench.calls.force_release("f", "r", "broken"))


@scenario(0)
def force_release_nothing(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.force_release("f", "r", "broken")


@scenario(0)
def force_release_permits(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2))
    bench.hold("r", "o", "permit")
    return bench.calls.force_release("f", "r", "broken")


@scenario(51)
def force_release_of_one_more_than_its_locks_allow(bench: LockBench, n: int) -> AnyCall:
    wanted = [f"{one}=shared" for one in several(16)]
    for at in range(n):
        assert bench.real(bench.acquire_many(f"q{at}", f"o{at}", wanted)).status == "granted"
    return bench.calls.force_release("f", several(16)[0], "broken")


# offline


@scenario(1, 100)
def offline_of_an_agent(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.hold(f"r{at}", f"o{at}", agent="a")
    bench.wait("r0", "next")
    bench.wait("r0", "last", agent="a")
    return bench.calls.offline("f", agent="a")


@scenario(0)
def offline_of_an_owner(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.acquire_many("q", "o", several(2)))
    bench.hold("r0", "o")
    bench.hold("x", "other")
    bench.wait("x", "o")
    return bench.calls.offline("f", owner="o")


@scenario(0)
def offline_of_nobody(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.calls.offline("f", owner="p")


@scenario(0)
def offline_again(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    call = sent(bench, bench.calls.offline("f", owner="o"))
    bench.hold("r", "o")
    return call


@scenario(0)
def offline_of_nobody_again(bench: LockBench, _: int) -> AnyCall:
    return sent(bench, bench.calls.offline("f", owner="o"))


@scenario(101)
def offline_of_more_than_it_may_end(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.hold(f"r{at}", "o")
    return bench.calls.offline("f", owner="o")


@scenario(51)
def offline_of_one_more_than_its_locks_allow(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        wanted = [f"{one}=shared" for one in several(16)]
        assert bench.real(bench.acquire_many(f"q{at}", f"o{at}", wanted, agent="a")).status == "granted"
    return bench.calls.offline("f", agent="a")


@scenario(29)
def offline_of_many_with_many_locks(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        wanted = [f"{one}=shared" for one in several(32)]
        assert bench.real(bench.acquire_many(f"q{at}", f"o{at}", wanted, agent="a")).status == "granted"
    return bench.calls.offline("f", agent="a")

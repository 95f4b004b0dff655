"""Paths of acquire_many and poll."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.nouns import scenario as base
from tests.nouns.lock.scenarios_of_acquire import chain, crowd, several
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall, sent

scenario = partial(base.scenario, noun="lock")

# acquire_many


@scenario(1, 10, 32)
def acquire_many_free(bench: LockBench, n: int) -> AnyCall:
    return bench.acquire_many("q", "o", several(n))


@scenario(1, 10)
def acquire_many_again(bench: LockBench, n: int) -> AnyCall:
    return sent(bench, bench.acquire_many("q", "o", several(n)))


@scenario(0)
def acquire_many_of_all_kinds(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("p", 3))
    bench.hold("own", "o")
    bench.hold("up", "o", "shared")
    return bench.acquire_many("q", "o", ["x", "s=shared", "p=2", "own=shared", "up"])


@scenario(1, 10, 32)
def acquire_many_queued(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, 1, resource=f"r{n - 1}")
    return bench.acquire_many("q", "o", several(n), wait=5)


@scenario(2)
def acquire_many_busy(bench: LockBench, n: int) -> AnyCall:
    bench.hold("r1", "other")
    return bench.acquire_many("q", "o", several(n))


@scenario(2)
def acquire_many_a_deadlock(bench: LockBench, n: int) -> AnyCall:
    chain(bench, n)
    return bench.acquire_many("q", f"o{n}", ["new", "r0"], wait=5)


@scenario(0)
def acquire_many_unavailable(bench: LockBench, _: int) -> AnyCall:
    return bench.acquire_many("q", "o", ["x", "p=2"], wait=5)


@scenario(0)
def acquire_many_while_the_owner_waits(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 1)
    return bench.acquire_many("q", "w0", ["x", "r"], wait=5)


@scenario(0)
def acquire_many_too_late(bench: LockBench, _: int) -> AnyCall:
    return bench.acquire_many("q", "o", ["x"], issued_ms=bench.now - 60_001)


@scenario(0)
def acquire_many_above_the_rate(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(rate_per_minute=1, rate_burst=1))
    bench.hold("other", "o")
    return bench.acquire_many("q", "o", ["x"])


@scenario(0)
def acquire_many_ended(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.cancel(["q"]))
    return bench.acquire_many("q", "o", ["x"])


# poll


@scenario(1, 100)
def poll_held(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.poll([bench.hold(f"r{at}", "o") for at in range(n)])


@scenario(1, 100)
def poll_queued(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.poll(crowd(bench, n))


@scenario(0)
def poll_queued_shared(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.poll(crowd(bench, 3, "shared"))


@scenario(1, 64, 100)
def poll_handed_over(bench: LockBench, n: int) -> AnyCall:
    rids = crowd(bench, n, "shared")
    bench.release(*bench.holders("r"))
    return bench.calls.poll(rids)


@scenario(0)
def poll_several_handed_over(bench: LockBench, _: int) -> AnyCall:
    (held,) = [bench.hold("r1", "other")]
    bench.real(bench.acquire_many("q", "o", several(3), wait=60))
    bench.release(held)
    return bench.calls.poll(["q"])


@scenario(0)
def poll_ended_and_unknown(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.cancel(["gone"]))
    chain(bench, 1)
    bench.real(bench.acquire("dead", "r0", "o1", wait=5))
    return bench.calls.poll(["gone", "dead", "unknown"])


@scenario(0)
def poll_what_drains(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "other", "permit")
    rid = bench.wait("r", "o", "permit")
    bench.real(bench.calls.drain("r"))
    return bench.calls.poll([rid])


@scenario(0)
def poll_behind_one_who_expired(bench: LockBench, _: int) -> AnyCall:
    for at in range(20):
        bench.hold(f"r{at}", f"o{at}", ttl=5)
    bench.hold("r", "holder", ttl=6)
    rid = bench.wait("r", "o")
    bench.pass_time(6_000)
    return bench.calls.poll([rid])


@scenario(0)
def poll_too_late(bench: LockBench, _: int) -> AnyCall:
    (rid,) = crowd(bench, 1)
    bench.pass_time(15_000)
    return bench.calls.poll([rid])


@scenario(0)
def poll_at_the_end_of_the_wait(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "other")
    rid = bench.wait("r", "o", wait=5)
    bench.pass_time(5_000)
    return bench.calls.poll([rid])


@scenario(0)
def poll_an_upgrade_whose_shared_hold_is_lost(bench: LockBench, _: int) -> AnyCall:
    mine: Any = bench.hold("r", "o", "shared")
    bench.hold("r", "other", "shared")
    rid = bench.wait("r", "o")
    bench.release(mine)
    return bench.calls.poll([rid])

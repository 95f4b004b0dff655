"""The worst states of lock domains: a thousand owners, holders and waiters, 32 locks in a request, long names."""

from __future__ import annotations

from functools import partial

from tests.nouns import size as base
from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.sizes_of_queues import confirm
from tests.nouns.size import AnyCall, state

size = partial(base.size, noun="lock")
PARTS = 32
OWNERS = 1000
LONG = "x" * 150


def name(text: str) -> str:
    return f"{text}/{LONG}"


def hold(bench: LockBench, number: int, resources: list[str], mode: str = "shared", first: int = 0) -> list[str]:
    """So many holders of the same locks."""
    rids = [name(f"h{at}") for at in range(first, first + number)]
    for at, rid in enumerate(rids, first):
        wanted = [f"{one}={mode}" for one in resources]
        state = bench.real(bench.acquire_many(rid, name(f"holder{at}"), wanted, ttl=3600, agent=name(f"a{at}")))
        assert state.status == "granted", state
    return rids


def wait(
    bench: LockBench, number: int, resources: list[str], mode: str = "exclusive", seconds: int = 3600
) -> list[str]:
    """So many who wait for the same locks."""
    rids = [name(f"q{next(bench._numbers)}") for _ in range(number)]
    for rid in rids:
        wanted = [f"{one}={mode}" for one in resources]
        bench.real(bench.acquire_many(rid, f"{rid}o", wanted, wait=seconds, agent=f"{rid}a"))
    return rids


def locks(prefix: str, number: int) -> list[str]:
    return [name(f"{prefix}{at}") for at in range(number)]


def patient(bench: LockBench) -> None:
    """Nobody who waits is taken for gone."""
    bench.real(bench.calls.configure(waiter=3600))


@state
def crowd(bench: LockBench, holders: int = OWNERS, waiters: int = OWNERS) -> tuple[str, list[str], list[str]]:
    """A lock that a thousand share and that a thousand wait for."""
    patient(bench)
    (lock,) = locks("crowd", 1)
    return lock, hold(bench, holders, [lock]), wait(bench, waiters, [lock])


@state
def chain(bench: LockBench, length: int, width: int = 1) -> None:
    """Each owner holds locks that the one before waits for."""
    patient(bench)
    for at in range(length):
        owner = name(f"c{at}")
        own = [f"r{at}.{part}" for part in range(width)]
        bench.real(bench.acquire_many(f"h{at}", owner, own, ttl=3600, agent=owner))
    for at in reversed(range(length - 1)):  # so that nobody depends yet on who comes to wait
        wanted = [f"r{at + 1}.{part}" for part in range(width)]
        bench.real(bench.acquire_many(f"w{at}", name(f"c{at}"), wanted, wait=3600, agent=name(f"c{at}")))


@size(1)
def acquire_in_a_crowd(bench: LockBench, _: int) -> AnyCall:
    lock, *_rest = crowd(bench)
    return bench.acquire("r", lock, "o", wait=60)


@size(1)
def acquire_in_a_crowd_that_shares(bench: LockBench, _: int) -> AnyCall:
    patient(bench)
    (lock,) = locks("crowd", 1)
    hold(bench, OWNERS, [lock])
    wait(bench, 1, [lock])
    wait(bench, OWNERS, [lock], "shared")
    return bench.acquire("r", lock, "o", "shared", wait=60)


@size(1)
def acquire_at_the_end_of_a_long_chain(bench: LockBench, _: int) -> AnyCall:
    chain(bench, OWNERS)
    return bench.acquire("r", "r0.0", name(f"c{OWNERS - 1}"), wait=60)


@size(1)
def acquire_many_at_the_end_of_a_long_chain(bench: LockBench, _: int) -> AnyCall:
    chain(bench, 200, PARTS)
    return bench.acquire_many("r", name("c199"), [f"r0.{part}" for part in range(PARTS)], wait=60)


@size(1)
def acquire_many_in_many_crowds(bench: LockBench, _: int) -> AnyCall:
    patient(bench)
    wanted = locks("crowd", PARTS)
    hold(bench, 100, wanted)
    wait(bench, 100, wanted)
    return bench.acquire_many("r", "o", wanted, wait=60)


@size(1, 100)
def poll_those_who_wait(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    wanted = locks("crowd", PARTS)
    hold(bench, 1, wanted)
    return bench.calls.poll(wait(bench, n, wanted))


@size(1, 1000)
def renew_holds_of_32(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    return bench.calls.renew(hold(bench, n, locks("own", PARTS)))


@size(1, 100)
def release_locks_that_many_wait_for(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    wanted = locks("crowd", PARTS)
    rids = hold(bench, n, wanted)
    wait(bench, 200, wanted)
    return bench.calls.release(rids)


@size(1, 100)
def release_to_many_who_share(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    wanted = locks("crowd", PARTS)
    rids = [hold(bench, 1, [lock], "exclusive", at)[0] for at, lock in enumerate(wanted)]
    wait(bench, 200, wanted, "shared")
    return bench.calls.release((rids * 4)[:n])


@size(1, 100)
def cancel_those_who_wait(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    wanted = locks("crowd", PARTS)
    hold(bench, 100, wanted)
    return bench.calls.cancel(wait(bench, 200, wanted)[:n])


@size(1, 100)
def abort_those_who_wait(bench: LockBench, n: int) -> AnyCall:
    from pyadeq.models.lock import CycleEdge

    patient(bench)
    wanted = locks("crowd", PARTS)
    hold(bench, 100, wanted)
    edge = CycleEdge(owner="a", resource="r", mode="exclusive")
    return bench.calls.abort(wait(bench, 200, wanted)[:n], [edge])


@size(1)
def downgrade_where_many_would_share(bench: LockBench, _: int) -> AnyCall:
    patient(bench)
    (lock,) = locks("crowd", 1)
    (rid,) = hold(bench, 1, [lock], "exclusive")
    wait(bench, OWNERS, [lock], "shared")
    return bench.calls.downgrade(rid)


@size(100, 1000)
def reap_holders_that_many_wait_for(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    wanted = locks("crowd", 8)
    hold(bench, n, wanted)
    wait(bench, 200, wanted, seconds=86_400)
    bench.pass_time(3_600_000)
    return bench.calls.reap(n)


@size(1, 1)
def force_release_a_crowd(bench: LockBench, _: int) -> AnyCall:
    lock, *_rest = crowd(bench, 200, 200)
    return bench.calls.force_release("r", lock, "why")


@size(1)
def offline_of_an_agent_with_a_crowd(bench: LockBench, _: int) -> AnyCall:
    patient(bench)
    (lock,) = locks("crowd", 1)
    for at in range(200):
        wanted = [f"{lock}=shared"]
        bench.real(bench.acquire_many(name(f"h{at}"), name(f"holder{at}"), wanted, ttl=3600, agent="a"))
    wait(bench, 200, [lock])
    return bench.calls.offline("r", agent="a")


@size(1)
def set_capacity_that_fewer_are_left_for(bench: LockBench, _: int) -> AnyCall:
    set_capacity_that_many_wait_for(bench, 1)
    bench.real(bench.calls.drain("pool"))
    return bench.calls.set_capacity("pool", 1)


@size(1)
def set_capacity_that_many_wait_for(bench: LockBench, _: int) -> AnyCall:
    patient(bench)
    bench.real(bench.calls.set_capacity("pool", 1))
    bench.hold("pool", "holder", "permit")
    for at in range(OWNERS):
        bench.wait("pool", f"w{at}", "permit", wait=3600)
    return bench.calls.set_capacity("pool", 1_000_000)


@size(1, 100)
def heartbeat_pools_that_many_wait_for(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    pools = locks("pool", n)
    for pool in pools:
        bench.real(bench.calls.set_capacity(pool, 5, 60))
        bench.hold(pool, "holder", "permit", permits=5, ttl=3600)
        for at in range(5):
            bench.wait(pool, f"w{pool[:8]}{at}", "permit", wait=3600)
    return bench.calls.heartbeat(pools)


@size(1)
def drain_a_pool_that_many_wait_for(bench: LockBench, _: int) -> AnyCall:
    set_capacity_that_many_wait_for(bench, 1)
    return bench.calls.drain("pool")


@size(1)
def remove_a_pool_that_is_used(bench: LockBench, _: int) -> AnyCall:
    set_capacity_that_many_wait_for(bench, 1)
    return bench.calls.remove("pool")


@size(1)
def edges_of_a_crowd(bench: LockBench, _: int) -> AnyCall:
    crowd(bench)
    return bench.calls.edges()


@size(1)
def edges_of_a_crowd_that_shares(bench: LockBench, _: int) -> AnyCall:
    patient(bench)
    (lock,) = locks("crowd", 1)
    hold(bench, OWNERS, [lock])
    wait(bench, 1, [lock])
    wait(bench, OWNERS, [lock], "shared")
    return bench.calls.edges()


@size(4, 16)
def detect_in_crowds(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(waiter=3600, detect_visits=16))
    wanted = locks("crowd", 4)
    for at in range(300):
        hold(bench, 1, [*wanted, name(f"own{at}")], first=at)
    wait(bench, 300, wanted)
    bench.pass_time(31_000)
    return bench.calls.detect(n)


@size(4, 16)
def detect_in_a_long_chain(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, OWNERS)
    bench.real(bench.acquire("r", "r0.0", name(f"c{OWNERS - 1}"), wait=600))
    bench.pass_time(31_000)
    return bench.calls.detect(n, 20_000 if n > 4 else 2000)  # the most that it may look at; and the default


@size(100, 1000)
def list_a_crowd(bench: LockBench, n: int) -> AnyCall:
    patient(bench)
    hold(bench, OWNERS, locks("own", 4))
    return bench.calls.list(limit=n)


@size(100, 500)
def show_a_crowd(bench: LockBench, n: int) -> AnyCall:
    lock, *_rest = crowd(bench)
    return bench.calls.show(lock, n)


@size(1)
def stats_of_a_crowd(bench: LockBench, _: int) -> AnyCall:
    crowd(bench)
    return bench.calls.stats()


@size(1)
def configure_a_crowd(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 10, 10)
    return bench.calls.configure(lease=5, poll=1, claim=5, waiter=10, priority_step=5, policy="priority")


@size(1)
def confirm_in_a_crowd(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 10, 10)
    return confirm(bench)


@size(1)
def migrate_a_crowd(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 10, 10)
    return bench.calls.migrate()

"""Paths of searches for deadlocks that take several calls, and of other calls of locks that end at their budget."""

from __future__ import annotations

from functools import partial

from tests.lua import scenario as base
from tests.lua.lock_workbench import LockBench
from tests.lua.scenario import AnyCall
from tests.lua.scenarios_of_lock_circles import ask, asked, permits
from tests.lua.scenarios_of_locks import chain

scenario = partial(base.scenario, noun="lock")
VISITS = 100  # as few as a call may look at


def begin(bench: LockBench, last: str) -> None:
    """Only this request is to be searched for."""
    for rid in bench.ask("ZRANGE", ":unchecked", 0, -1):
        if rid.decode() != last:
            bench.ask("ZREM", ":unchecked", rid)


def ring(bench: LockBench, n: int, calls: int) -> AnyCall:
    """A ring that so many calls have not got round yet, and the next one."""
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, n)
    begin(bench, bench.wait("r0", f"o{n}", rid="q"))
    for _ in range(calls):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, VISITS)


@scenario(0)
def detect_beside_others(bench: LockBench, _: int) -> AnyCall:
    """The search that goes on comes first, and its request once."""
    ring(bench, 60, 1)
    for _ in range(6):
        bench.real(bench.calls.detect(1, VISITS))
    bench.ask("ZADD", ":unchecked", bench.now, "q")
    return bench.calls.detect(4, 20_000)


@scenario(*range(12, 24))
def detect_two_where_the_first_takes_all(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, n)
    bench.hold("z", "other")
    bench.wait("z", f"o{n}", rid="q")
    begin(bench, "q")
    bench.ask("ZADD", ":unchecked", bench.now, bench.line("r2")[0])
    return bench.calls.detect(4, VISITS)


@scenario(*range(1, 9))
def detect_a_ring_that_takes_several_calls(bench: LockBench, n: int) -> AnyCall:
    return ring(bench, 60, n)


def until_found(bench: LockBench, n: int) -> AnyCall:
    call = ring(bench, n, 1)
    for _ in range(20):
        if bench.ask("HGET", ":search", "#hard"):
            break
        bench.real(call)
    return call


@scenario(20, 21, 22)
def detect_the_end_of_a_ring_just_beyond_a_budget(bench: LockBench, n: int) -> AnyCall:
    return ring(bench, n, 1)


@scenario(0, 30, 59)
def detect_a_ring_that_has_opened(bench: LockBench, n: int) -> AnyCall:
    call = until_found(bench, 60)
    (rid,) = bench.line(f"r{n + 1}")
    bench.real(bench.calls.cancel([rid]))
    return call


@scenario(0)
def detect_a_ring_whose_lock_was_given_back(bench: LockBench, _: int) -> AnyCall:
    call = until_found(bench, 60)
    bench.ask(
        "ZREM",
        ":graph",
        *[m for m in bench.ask("ZRANGE", ":graph", 0, -1) if b" h r0 " in m or m.startswith(b"r r0 h ")],
    )
    bench.ask("HSET", ":search", "#confirmed", "")
    return call


@scenario(0)
def detect_after_the_request_has_ended(bench: LockBench, _: int) -> AnyCall:
    call = ring(bench, 60, 1)
    bench.real(bench.calls.cancel(["q"]))
    return call


@scenario(0)
def detect_after_the_request_was_forgotten(bench: LockBench, _: int) -> AnyCall:
    call = ring(bench, 60, 1)
    bench.real(bench.calls.cancel(["q"]))
    bench.ask("HDEL", ":requests", "q")
    bench.ask("ZREM", ":deadlines", "q")
    return call


@scenario(1, 2, 3)
def detect_no_ring_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, 60)
    bench.hold("z", "other")
    begin(bench, bench.wait("z", "o60", rid="q"))
    for _ in range(n):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, VISITS)


@scenario(1, 2, 3, 4)
def detect_of_an_owner_of_many_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16))
    for at in range(70):
        bench.hold(f"k{at}", "o")
    for at in range(0, 70, 8):
        bench.wait(f"k{at}", f"w{at}", "shared")
        bench.wait(f"k{at}", f"v{at}", "shared")
    bench.hold("z", "other")
    begin(bench, bench.wait("z", "o", rid="q"))
    for _ in range(n):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, VISITS)


@scenario(1, 2, 3)
def detect_one_who_may_go_ahead_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    """o waits behind second, who waits for what o has: ahead of it, nobody is in its way."""
    bench.real(bench.calls.configure(detect_visits=16))
    bench.hold("a", "o")
    bench.hold("k", "o")
    bench.hold("other", "third")
    asked(bench, "second a c other")
    for at in range(60):
        bench.wait("k", f"w{at}")
    begin(bench, bench.wait("c", "o", rid="q"))
    for _ in range(n):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, VISITS)


def crowd_of_permits(bench: LockBench, n: int, *, free: int = 0, limit: int = 1) -> None:
    """All that wait for what q has also stand before it in the line for permits."""
    bench.real(bench.calls.configure(detect_visits=16))
    permits(bench, "p", n + limit)
    for at in range(n + limit - free):
        bench.hold("p", f"h{at}", "permit")
    bench.hold("r", "q")
    asked(bench, *[f"d{at} r p=1" for at in range(n)])
    begin(bench, bench.wait("p", "q", "permit", rid="q"))


@scenario(*range(6))
def detect_permits_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    crowd_of_permits(bench, 25)
    for _ in range(n):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, VISITS)


@scenario(*range(4))
def detect_permits_in_several_calls_and_then_in_one(bench: LockBench, n: int) -> AnyCall:
    crowd_of_permits(bench, 25)
    for _ in range(n):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, 400)


@scenario(0, 1)
def detect_permits_at_the_edge_of_a_budget(bench: LockBench, n: int) -> AnyCall:
    crowd_of_permits(bench, 14 + n)
    return bench.calls.detect(1, VISITS)


@scenario(0)
def acquire_a_deadlock_of_very_many(bench: LockBench, _: int) -> AnyCall:
    n = 260
    bench.real(bench.calls.configure(detect_visits=20_000))
    chain(bench, n)
    return bench.acquire("q", "r0", f"o{n}", wait=5)


@scenario(100)
def acquire_a_deadlock_with_long_names(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=20_000))
    long = "x" * 190
    for at in range(n + 1):
        bench.hold(f"r{at}{long}", f"o{at}{long}", rid=f"h{at}")
    for at in range(n):
        bench.wait(f"r{at + 1}{long}", f"o{at}{long}", rid=f"w{at}")
    return bench.acquire("q", f"r0{long}", f"o{n}{long}", wait=5)


def shared_ring(bench: LockBench, n: int, calls: int, wanted: str = "") -> None:
    """Each but the last waits behind one who wants the resource alone for what the next one shares."""
    bench.real(bench.calls.configure(detect_visits=16))
    asked(bench, *[f"o{at} r{at}=shared" for at in range(n + 1)])
    for at in range(n):
        asked(bench, f"x{at} r{at + 1}", f"o{at} r{at + 1}=shared")
    asked(bench, f"x{n} r0")
    begin(bench, bench.wait("r0", f"o{n}", "shared", rid="q"))
    for _ in range(calls):
        bench.real(bench.calls.detect(1, VISITS))


@scenario(*range(1, 8))
def detect_a_ring_through_lines_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    shared_ring(bench, 25, n)
    return bench.calls.detect(1, VISITS)


@scenario(0)
def acquire_permits_while_their_holders_go_on(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 3)
    permits(bench, "u", 2)
    asked(bench, "a p=1 r", "b p=1 s=shared", "c p=1 t=shared", "e u=1", "f u=1")
    asked(bench, "b r", "c r=shared", "d u=1 s=shared t", "g s", "h s=shared u=1")
    return ask(bench, "a", "p=1", "s=shared")


@scenario(0)
def acquire_permits_of_what_drains_beside_others(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 2)
    permits(bench, "u", 2)
    asked(bench, "a u=1 r", "b u=1 p=2")
    bench.real(bench.calls.remove("u"))
    bench.ask("HDEL", ":capacity", "u")
    asked(bench, "b r")
    return ask(bench, "a", "p=1")


# calls that end at their budget


def many(bench: LockBench, n: int, prefix: str = "m") -> list[str]:
    """Requests with as many locks as they may have, shared."""
    more = " ".join(f"{prefix}{at}=shared" for at in range(32))
    return asked(bench, *[f"{prefix}{at} {more}" for at in range(n)])


@scenario(30)
def list_what_has_many_locks(bench: LockBench, n: int) -> AnyCall:
    many(bench, n)
    return bench.calls.list(limit=10)


@scenario(1)
def list_what_has_many_locks_at_the_end_of_a_page(bench: LockBench, n: int) -> AnyCall:
    many(bench, n)
    return bench.calls.list(limit=1)


@scenario(10)
def show_what_has_many_locks(bench: LockBench, n: int) -> AnyCall:
    many(bench, n)
    return bench.calls.show("m0", limit=10)


@scenario(30)
def force_release_what_has_many_locks(bench: LockBench, n: int) -> AnyCall:
    many(bench, n)
    return bench.calls.force_release("f", "m0", "stuck")


@scenario(20)
def reap_what_has_many_locks(bench: LockBench, n: int) -> AnyCall:
    many(bench, n)
    bench.pass_time(3_600_000)
    return bench.calls.reap(16)


@scenario(70)
def edges_of_a_crowd_that_shares_behind_many_permits(bench: LockBench, n: int) -> AnyCall:
    permits(bench, "p", n)
    for at in range(n):
        bench.hold("p", f"h{at}", "permit")
    for at in range(n):
        bench.wait("p", f"w{at}", "shared")
    return bench.calls.edges()


@scenario(0)
def edges_of_many_resources(bench: LockBench, _: int) -> AnyCall:
    for at in range(700):
        bench.hold(f"r{at}", "o")
    return bench.calls.edges()


@scenario(0)
def edges_of_one_at_a_time(bench: LockBench, _: int) -> AnyCall:
    chain(bench, 3)
    return bench.calls.edges(limit=1)


@scenario(0)
def edges_of_permits_and_shared_holds(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a r=shared", "b r=shared", "c r")
    bench.ask("ZADD", ":graph", 0, "r r h p1 damaged damaged")
    return bench.calls.edges()


@scenario(0)
def edges_with_another_cursor(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.edges("no cursor has four words")


@scenario(64)
def release_to_the_64th_who_shares(bench: LockBench, n: int) -> AnyCall:
    asked(bench, "other s")
    rids = asked(bench, *[f"w{at} r=shared s=shared" for at in range(n)], "last r=shared", "later r=shared")
    return bench.calls.release(rids[:1])


@scenario(0)
def release_shared_in_front_of_one_who_shares(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "other s")
    rids = asked(bench, "a r=shared", "b r=shared", "c r=shared s=shared")
    return bench.calls.release(rids[:1])

"""Paths of searches for deadlocks that take several calls, and of other calls of locks that end at their budget."""

from __future__ import annotations

from functools import partial

from tests.nouns import scenario as base
from tests.nouns.lock.scenarios_of_acquire import chain
from tests.nouns.lock.scenarios_of_circles import ask, asked, permits
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall

scenario = partial(base.scenario, noun="lock")
VISITS = 100  # as few as a call may look at


def begin(bench: LockBench, last: str) -> None:
    """Only this request is to be searched for."""
    for rid in bench.ask("ZRANGE", ":unchecked", 0, -1):
        if rid.decode() != last:
            bench.ask("ZREM", ":unchecked", rid)


def ring(bench: LockBench, n: int, calls: int) -> AnyCall:
    """A ring that so many calls have not got round yet, and the next one."""
    n = max(n, 4)  # three fit into the budget
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


@scenario(14)
def detect_two_where_the_first_takes_all(bench: LockBench, n: int) -> AnyCall:
    """o0 has so many locks that looking at them takes all that is left."""
    bench.real(bench.calls.configure(detect_visits=16))
    for at in range(30):
        bench.hold(f"e{at}", "o0")
    chain(bench, n)
    begin(bench, bench.wait("r0", f"o{n}", rid="q"))
    bench.ask("ZADD", ":unchecked", bench.now - 1, "q", bench.now, bench.line("r2")[0])
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
def detect_a_ring_whose_lock_is_damaged(bench: LockBench, _: int) -> AnyCall:
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


@scenario(*range(5))
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


@scenario(70)
def detect_the_middle_of_a_long_line(bench: LockBench, n: int) -> AnyCall:
    """The first 64 of it, and what else o has and waits for, are all that the call looks at."""
    bench.real(bench.calls.configure(detect_visits=16))
    permits(bench, "p", 1)
    bench.hold("y", "other")
    bench.hold("z", "other")
    asked(bench, "o p=1", *[f"o e{at}" for at in range(31)], *[f"w{at} p=1" for at in range(n)])
    bench.real(ask(bench, "o", "y", "z"))
    begin(bench, "q")
    return bench.calls.detect(1, VISITS)


def line_for_permits(bench: LockBench, n: int) -> None:
    """q waits for what h has, and h for what q has, as so many others do, who stand behind q for permits."""
    bench.real(bench.calls.configure(detect_visits=16))
    permits(bench, "p", 1)
    asked(bench, "h p=1", *[f"q e{at}" for at in range(5)], "q r", "h r")
    bench.wait("p", "q", "permit", rid="q")
    asked(bench, *[f"d{at} r p=1" for at in range(n)], priority=9)
    bench.ask("ZADD", ":unchecked", bench.now, "q")
    begin(bench, "q")
    bench.real(bench.calls.detect(1, VISITS))


@scenario(40)
def detect_a_deadlock_of_permits_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    line_for_permits(bench, n)
    return bench.calls.detect(1, 1000)


@scenario(40)
def detect_one_who_has_come_ahead_between_two_calls(bench: LockBench, n: int) -> AnyCall:
    line_for_permits(bench, n)
    bench.real(bench.calls.cancel([bench.line("r")[1]]))
    asked(bench, "d0 r p=1", priority=0)
    return bench.calls.detect(1, 1000)


@scenario(25)
def detect_those_who_wait_no_more_between_two_calls(bench: LockBench, n: int) -> AnyCall:
    """One had nothing else, and one holds what another shares and something of its own."""
    asked(bench, "d1 s=shared t")
    crowd_of_permits(bench, n)
    bench.real(bench.calls.detect(1, VISITS))
    bench.real(bench.calls.cancel(bench.line("r")[:2]))
    return bench.calls.detect(1, 400)


@scenario(25)
def detect_what_nobody_holds_between_two_calls(bench: LockBench, n: int) -> AnyCall:
    crowd_of_permits(bench, n)
    bench.real(bench.calls.detect(1, VISITS))
    (rid,) = bench.holders("r")
    bench.release(rid)
    return bench.calls.detect(1, 400)


@scenario(0)
def detect_permits_that_drain_beside_others(bench: LockBench, _: int) -> AnyCall:
    """Those that are to go: nobody gets one of them."""
    bench.real(bench.calls.configure(detect_visits=16))
    permits(bench, "p", 1)
    permits(bench, "u", 1)
    asked(bench, "h p=1", "other u=1", *[f"q e{at}" for at in range(20)], "q r", "h r")
    bench.real(ask(bench, "q", "p=1", "u=1"))
    bench.real(bench.calls.drain("u"))
    begin(bench, "q")
    return bench.calls.detect(1, 400)


@scenario(0)
def detect_permits_beside_a_damaged_capacity(bench: LockBench, _: int) -> AnyCall:
    call = detect_permits_that_drain_beside_others(bench, 0)
    bench.ask("HDEL", ":capacity", "u")
    return call


def shared_ring(bench: LockBench, n: int) -> None:
    """Each but the last waits behind one who wants the resource alone for what the next one shares."""
    bench.real(bench.calls.configure(detect_visits=16))
    bench.hold("z", "other")
    asked(bench, *[f"o{at} r{at}=shared s{at}=shared" for at in range(n)], f"o{n} r{n}")
    for at in range(n - 1):
        asked(bench, f"x{at} r{at + 1}", f"y{at} r{at + 1}", f"o{at} r{at + 1}=shared")
    asked(bench, f"o{n - 1} r{n}=shared z")
    begin(bench, bench.wait("r0", f"o{n}", rid="q"))


@scenario(*range(1, 10))
def detect_a_ring_through_lines_in_several_calls(bench: LockBench, n: int) -> AnyCall:
    shared_ring(bench, 20)
    for _ in range(n):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, VISITS)


def found_ring(bench: LockBench) -> AnyCall:
    """What is there is found, and the next calls look whether it is there still."""
    shared_ring(bench, 20)
    call = bench.calls.detect(1, VISITS)
    for _ in range(20):
        if bench.ask("HGET", ":search", "#hard"):
            break
        bench.real(call)
    return bench.calls.detect(1, 400)


@scenario(0)
def detect_a_ring_that_somebody_has_left(bench: LockBench, _: int) -> AnyCall:
    call = found_ring(bench)
    bench.real(bench.calls.cancel([bench.line("r19")[1]]))
    return call


@scenario(0)
def detect_a_ring_where_somebody_has_come_back(bench: LockBench, _: int) -> AnyCall:
    call = found_ring(bench)
    bench.real(bench.calls.cancel([bench.line("r19")[1]]))
    asked(bench, "y18 r19")
    return call


@scenario(0)
def detect_a_ring_where_what_is_waited_for_is_shared_by_now(bench: LockBench, _: int) -> AnyCall:
    call = found_ring(bench)
    (rid,) = bench.holders("r20")
    bench.real(bench.calls.downgrade(rid))
    return call


@scenario(30)
def detect_a_ring_through_ones_own_place(bench: LockBench, n: int) -> AnyCall:
    """The last of the chain waits behind q, which waits for what the first one has."""
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, n)
    bench.hold("z", "other")
    asked(bench, *[f"q e{at}" for at in range(20)])
    bench.real(ask(bench, "q", "r0", "z"))
    asked(bench, f"o{n} z")
    begin(bench, "q")
    for _ in range(2):
        bench.real(bench.calls.detect(1, VISITS))
    return bench.calls.detect(1, 400)


@scenario(0)
def acquire_many_permits_while_their_holders_go_on(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 3)
    permits(bench, "u", 2)
    asked(bench, "a p=1 r", "b p=1 s=shared", "c p=1 t=shared", "e u=1", "f u=1")
    asked(bench, "b r", "c r=shared", "d u=1 s=shared t", "g s", "h s=shared u=1")
    return ask(bench, "a", "p=1", "s=shared")


@scenario(0)
def acquire_many_permits_beside_a_damaged_capacity(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 2)
    permits(bench, "u", 2)
    asked(bench, "a u=1 r", "b u=1 p=2")
    bench.real(bench.calls.remove("u"))
    bench.ask("HDEL", ":capacity", "u")
    asked(bench, "b r")
    return ask(bench, "a", "p=1")


@scenario(0)
def acquire_many_more_permits_beside_what_one_holds_alone(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 2)
    asked(bench, "d r=shared u")
    return ask(bench, "d", "t", "u=2", "r")


@scenario(0)
def acquire_many_again_what_one_request_holds(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a r s")
    return ask(bench, "a", "r", "s=shared")


@scenario(0)
def acquire_many_permits_ahead_of_one_who_holds_nothing(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 4)
    asked(bench, "a r=shared u=2", "d u=1", "b r=shared u=2")
    return ask(bench, "a", "r=shared", "u=2", priority=9)


@scenario(0)
def acquire_many_beside_one_who_waits_for_permits_of_what_is_held_alone(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 2)
    asked(bench, "b t=shared", "c s t=shared u", "c t", "a u=1")
    return ask(bench, "b", "u=1")


@scenario(0)
def acquire_many_permits_while_an_upgrade_goes_on(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 4)
    asked(bench, "e p", "f r", "b u=1", "e p u=1 r")
    return ask(bench, "b", "t=shared", "s=shared", "u=1")


@scenario(0)
def acquire_many_more_permits_than_are_left_behind_another(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 2)
    asked(bench, "c p=1", "b r", "d p=1 r=shared")
    return ask(bench, "c", "p=2")


@scenario(0)
def acquire_many_permits_while_what_is_shared_comes_back(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 3)
    permits(bench, "p", 3)
    asked(bench, "e s")
    asked(bench, "c p=1", priority=0)
    asked(bench, "f p=1 s=shared", "e s=shared u=2", "e r=shared p=2 s=shared")
    return ask(bench, "c", "p=1")


@scenario(0)
def acquire_many_ahead_of_one_behind_another(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 4)
    asked(bench, "c u=1", "a r u=2", "f u=2 r=shared", "d u")
    return ask(bench, "c", "r", "u=2")


@scenario(0)
def detect_permits_while_one_gives_back(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16, policy="priority"))
    permits(bench, "p", 3)
    asked(
        bench, "b r=shared p=1", "f r=shared", "a p=2", "d p=1 r", "e r", "b r=shared", "e p", "d r=shared p=2",
        "b p=1", "e r=shared",
    )  # fmt: skip
    asked(bench, "f p=1", priority=9)
    return bench.calls.detect(4)


# those who share


@scenario(64)
def acquire_many_behind_as_many_as_one_may_pass(bench: LockBench, n: int) -> AnyCall:
    asked(bench, "other s", *[f"w{at} r=shared s=shared" for at in range(n)])
    return ask(bench, "last", "r=shared")


@scenario(0)
def cancel_in_front_of_one_whose_permits_another_has(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "u", 1)
    permits(bench, "p", 1)
    rids = asked(bench, "c r k=shared p=2", "e t r", "f u=2 t", "d p=2", "d t p=1 k=shared", "c u=1 p=shared")
    return bench.calls.cancel(rids[1:2])


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


@scenario(12, 20)
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


@scenario(100)
def edges_of_those_who_wait_in_many_lines(bench: LockBench, n: int) -> AnyCall:
    more = " ".join(f"m{at}=shared" for at in range(31))
    permits(bench, "z", 5)
    asked(bench, *[f"h{at} z=1" for at in range(5)], *[f"w{at} {more} z=shared" for at in range(n)])
    return bench.calls.edges()


@scenario(0)
def reap_where_others_were_to_have_their_turn(bench: LockBench, _: int) -> AnyCall:
    """A call before had come to the first of the line; by now the lease of who holds it is over."""
    bench.hold("r", "o")
    rid = bench.wait("r", "w", wait=3600)
    request = bench.request(rid)
    assert request
    bench.ask("ZADD", ":deadlines", 1, f"promote r {request.order}")
    bench.pass_time(60_000)
    return bench.calls.reap(16)


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
def edges_of_a_damaged_line(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a r=shared", "b r=shared", "c r")
    bench.ask("ZADD", ":graph", 0, "r r h p1 damaged damaged")
    return bench.calls.edges()


@scenario(0)
def edges_with_another_cursor(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.edges("no cursor has four words")


@scenario(64)
def release_two_in_front_of_those_who_share(bench: LockBench, n: int) -> AnyCall:
    """Two leave the line, so two more may pass who is left of it."""
    asked(bench, "other s")
    rids = asked(bench, *[f"w{at} r=shared s=shared" for at in range(n)], "last r=shared", "later r=shared")
    return bench.calls.release(rids[:2])


@scenario(64, 65)
def release_to_the_64th_who_shares(bench: LockBench, n: int) -> AnyCall:
    asked(bench, "other s")
    rids = asked(bench, *[f"w{at} r=shared s=shared" for at in range(n)], "last r=shared", "later r=shared")
    return bench.calls.release(rids[:1])


@scenario(0)
def release_shared_in_front_of_one_who_shares(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "other s")
    rids = asked(bench, "a r=shared", "b r=shared", "c r=shared s=shared")
    return bench.calls.release(rids[:1])


def rest_of_a_line(bench: LockBench, waiters: int) -> None:
    """All that wait for permits, but for the first, are still to be noted."""
    bench.real(bench.calls.set_capacity("p", 2))
    bench.hold("p", "a", "permit", permits=2)
    for at in range(waiters):
        bench.wait("p", f"w{at}", "permit")
    request = bench.request(bench.line("p")[0])
    assert request is not None
    bench.ask("ZADD", ":unchecked", bench.now, f"line p {request.order}")


@scenario(1, 3)
def detect_the_rest_of_a_line(bench: LockBench, n: int) -> AnyCall:
    rest_of_a_line(bench, n)
    return bench.calls.detect()


@scenario(0)
def set_capacity_fewer_than_are_waited_for(bench: LockBench, _: int) -> AnyCall:
    rest_of_a_line(bench, 2)
    bench.wait("p", "x")
    return bench.calls.set_capacity("p", 1)


@scenario(0)
def set_capacity_fewer_of_a_long_line(bench: LockBench, _: int) -> AnyCall:
    rest_of_a_line(bench, 500)
    return bench.calls.set_capacity("p", 1)

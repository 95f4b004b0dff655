"""Paths of lock domains with settings of their own, a clock that has gone back, or damage by others; and of pages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyadeq.models.lock import LockRequest
from tests.nouns import scenario as base
from tests.nouns.lock.scenarios_of_acquire import crowd, several
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall, sent
from tests.nouns.script_bench import START

scenario = partial(base.scenario, noun="lock")


def set_all(bench: LockBench) -> None:
    """Every setting, to something else than what holds without it."""
    bench.real(
        bench.calls.configure(
            lease=20, events_max=50_000, rate_per_minute=0, rate_burst=5, poll=1, claim=6, waiter=12,
            priority_step=1, policy="priority", detect_visits=100, max_ttl=1800, heartbeat=5, detection=True,
            mirror=False,
        )
    )  # fmt: skip


# settings


@scenario(0)
def acquire_queued_where_all_is_set(bench: LockBench, _: int) -> AnyCall:
    set_all(bench)
    bench.hold("r", "holder")
    return bench.acquire("q", "r", "o", wait=5)


@scenario(0)
def configure_where_all_is_set(bench: LockBench, _: int) -> AnyCall:
    set_all(bench)
    return bench.calls.configure(clock="test", policy="youngest")


@scenario(0, clock="server")
def configure_new_with_a_test_clock(bench: LockBench, _: int) -> AnyCall:
    bench.now = START
    return bench.calls.configure(clock="test")


@scenario(0)
def acquire_free_from_somewhere(bench: LockBench, _: int) -> AnyCall:
    bench.hold("other", "other")
    bench.calls = replace(bench.calls, source="tests", trace=lambda: "00-1-2-01")
    return bench.acquire("q", "r", "o")


@scenario(0)
def configure_a_longest_lease_that_is_too_short(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.configure(lease=60, max_ttl=30)


@scenario(0)
def configure_heartbeats_that_are_too_far_apart(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.configure(heartbeat=16)


@scenario(0)
def acquire_for_longer_than_the_domain_allows(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(max_ttl=60))
    return bench.acquire("q", "r", "o", ttl=61)


@scenario(0)
def acquire_many_for_longer_than_the_domain_allows(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(max_ttl=60))
    return bench.acquire_many("q", "o", ["r"], ttl=61)


@scenario(0)
def acquire_again_for_longer_than_the_domain_allows_now(bench: LockBench, _: int) -> AnyCall:
    call = sent(bench, bench.acquire("q", "r", "o", ttl=61))
    bench.real(bench.calls.configure(max_ttl=60))
    return call


@scenario(0)
def acquire_many_again_for_longer_than_the_domain_allows_now(bench: LockBench, _: int) -> AnyCall:
    call = sent(bench, bench.acquire_many("q", "o", ["r"], ttl=61))
    bench.real(bench.calls.configure(max_ttl=60))
    return call


# where no deadlocks are looked for


def ring_unseen(bench: LockBench) -> str:
    """Two that wait for each other; the rid of the second."""
    bench.real(bench.calls.configure(detection=False))
    bench.hold("a", "o")
    bench.hold("b", "p")
    bench.wait("b", "o")
    return bench.wait("a", "p")


@scenario(0)
def acquire_what_makes_a_deadlock_without_detection(bench: LockBench, _: int) -> AnyCall:
    ring_unseen(bench)
    bench.hold("c", "q")
    return bench.acquire("q", "a", "q", wait=60)


@scenario(0)
def detect_without_detection(bench: LockBench, _: int) -> AnyCall:
    ring_unseen(bench)
    return bench.calls.detect()


@scenario(0)
def detect_after_there_was_none(bench: LockBench, _: int) -> AnyCall:
    ring_unseen(bench)
    bench.real(bench.calls.configure(detection=True))
    return bench.calls.detect()


# acquire, at once and with more than the usual


@scenario(0)
def acquire_free_for_an_agent(bench: LockBench, _: int) -> AnyCall:
    bench.hold("other", "other")
    return bench.acquire("q", "r", "o", "shared", agent="a", ttl=60)


@scenario(0)
def acquire_queued_for_a_lease_of_its_own(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "holder")
    return bench.acquire("q", "r", "o", wait=5, ttl=60)


@scenario(2)
def acquire_many_the_same_twice(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.acquire_many("q", [LockRequest(resource="r")] * n, "o", issued_ms=bench.now)


@scenario(0)
def acquire_again_unavailable(bench: LockBench, _: int) -> AnyCall:
    return sent(bench, bench.acquire("q", "r", "o", "permit"))


@scenario(0)
def acquire_again_while_the_owner_waits(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 1)
    bench.hold("other", "other")
    return sent(bench, bench.acquire("q", "other", "w0", wait=5))


@scenario(0)
def acquire_a_permit_of_what_is_silent_while_the_owner_waits(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 1)
    bench.real(bench.calls.set_capacity("p", 1, 10))
    bench.pass_time(10_001)
    bench.real(bench.calls.poll(["w0/2"]))
    return bench.acquire("q", "p", "w0", "permit", wait=5)


# what an owner has already


@scenario(0)
def acquire_a_permit_of_what_one_has_alone(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "o")
    return bench.acquire("q", "r", "o", "permit")


@scenario(0)
def acquire_a_permit_of_what_one_shares(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "o", "shared")
    return bench.acquire("q", "r", "o", "permit")


@scenario(0)
def acquire_shared_once_more(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o", "shared")
    return bench.acquire("q", "r", "o", "shared")


@scenario(0)
def acquire_shared_what_one_has_permits_of(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "o", "permit")
    return bench.acquire("q", "r", "o", "shared", wait=5)


@scenario(2)
def acquire_one_of_several_once_more(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.acquire_many("before", "o", several(n)))
    return bench.acquire("q", "r0", "o")


@scenario(0)
def acquire_many_one_of_which_is_shared_already(bench: LockBench, _: int) -> AnyCall:
    bench.hold("up", "o", "shared")
    return bench.acquire_many("q", "o", ["up", "x"])


def partly_covered(bench: LockBench) -> str:
    """The rid of one who waits for one thing, and has the other already."""
    bench.hold("own", "o")
    bench.hold("x", "other")
    bench.real(bench.acquire_many("part", "o", ["own", "x"], wait=60))
    return "part"


@scenario(0)
def acquire_many_some_of_which_one_has_already(bench: LockBench, _: int) -> AnyCall:
    bench.hold("own", "o")
    bench.hold("x", "other")
    return bench.acquire_many("part", "o", ["own", "x"], wait=60)


@scenario(0)
def poll_one_who_has_some_of_it_already(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.poll([partly_covered(bench)])


@scenario(0)
def list_one_who_has_some_of_it_already(bench: LockBench, _: int) -> AnyCall:
    partly_covered(bench)
    return bench.calls.list()


@scenario(0)
def list_one_who_has_all_of_a_type_already(bench: LockBench, _: int) -> AnyCall:
    bench.hold("t:own", "o")
    bench.hold("x", "other")
    bench.real(bench.acquire_many("part", "o", ["t:own", "x"], wait=60))
    return bench.calls.list(owner="o", type="t")


# what is due


@scenario(2)
def reap_and_leave_some(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.hold(f"r{at}", "o")
    bench.pass_time(60_000)
    return bench.calls.reap(1)


@scenario(100)
def reap_as_many_ended_as_it_may_forget(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.release([bench.hold(f"r{at}", "o") for at in range(n)]))
    bench.pass_time(121_000)
    return bench.calls.reap(1)


@scenario(100)
def reap_as_many_agents_as_it_may_forget(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(rate_per_minute=60))
    for at in range(n):
        bench.hold(f"r{at}", f"o{at}", ttl=3600)
    bench.pass_time(61_000)
    return bench.calls.reap(1)


@scenario(0)
def reap_while_agents_are_known(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(rate_per_minute=1))
    bench.hold("r", "o", ttl=3600)
    bench.hold("r2", "o", ttl=3600)
    bench.pass_time(60_000)
    return bench.calls.reap()


@scenario(0)
def release_while_another_is_due(bench: LockBench, _: int) -> AnyCall:
    rid = bench.hold("r", "o", ttl=3600)
    bench.hold("due", "other")
    bench.pass_time(60_000)
    return bench.calls.release([rid])


@scenario(0)
def release_unknown_alone(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.calls.release(["unknown"])


def overdue(bench: LockBench, resources: int) -> None:
    """64 who had all of these together, and whose leases are over."""
    for at in range(64):
        bench.real(bench.acquire_many(f"old{at}", f"o{at}", [f"{one}=shared" for one in several(resources)], ttl=1))
    bench.pass_time(5_000)


@scenario(7)
def acquire_many_where_too_many_are_overdue(bench: LockBench, n: int) -> AnyCall:
    overdue(bench, n)
    return bench.acquire_many("q", "o", several(n))


@scenario(2)
def poll_where_too_many_are_overdue(bench: LockBench, n: int) -> AnyCall:
    bench.hold("held", "holder", ttl=3600)
    waits = [bench.wait("held", f"w{at}", wait=3600) for at in range(n)]
    overdue(bench, 1)
    return bench.calls.poll(waits)


@scenario(0)
def force_release_of_more_than_it_may_end(bench: LockBench, _: int) -> AnyCall:
    for at in range(101):
        bench.hold("r", f"o{at}", "shared")
    return bench.calls.force_release("q", "r", "stuck")


@scenario(0)
def force_release_of_nothing_again(bench: LockBench, _: int) -> AnyCall:
    return sent(bench, bench.calls.force_release("q", "r", "stuck"))


@scenario(0)
def list_nothing(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.list()


# a clock that has gone back


@scenario(0)
def release_after_the_clock_went_back(bench: LockBench, _: int) -> AnyCall:
    rid = bench.hold("r", "o")
    bench.pass_time(-1_000)
    return bench.calls.release([rid])


@scenario(0)
def acquire_after_the_clock_has_gone_on_again(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.pass_time(-1_000)
    bench.hold("r2", "o")
    bench.pass_time(500)
    return bench.acquire("q", "r3", "o")


@scenario(0)
def configure_after_the_clock_went_back(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.pass_time(-1_000)
    bench.hold("r2", "o")
    return bench.calls.configure(lease=60)


# capacity


@scenario(0)
def acquire_a_permit_of_what_another_has_alone(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "other")
    return bench.acquire("q", "r", "o", "permit", wait=5)


@scenario(0)
def acquire_a_permit_of_what_another_shares(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "other", "shared")
    return bench.acquire("q", "r", "o", "permit", wait=5)


@scenario(0)
def show_silent(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1, 10))
    bench.pass_time(10_001)
    return bench.calls.show("r")


# edges


@scenario(1)
def edges_of_shared_between_others(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "h", "shared")
    for owner, mode in (("x", "exclusive"), ("s", "shared"), ("y", "exclusive")):
        bench.wait("r", owner, mode)
    return bench.calls.edges()


@scenario(1)
def edges_of_one_who_would_share_and_waits_elsewhere(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "h", "shared")
    bench.hold("x", "other")
    bench.real(bench.acquire_many("both", "o", ["r=shared", "x"], wait=60))
    return bench.calls.edges()


@scenario(0)
def edges_where_nobody_has_it(bench: LockBench, _: int) -> AnyCall:
    bench.hold("x", "other")
    bench.real(bench.acquire_many("both", "o", ["r", "x"], wait=60))
    return bench.calls.edges()


@scenario(2)
def edges_until_the_page_is_full(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.calls.edges(limit=1)


@scenario(100)
def edges_of_a_crowd_behind_a_crowd(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", n + 1))
    for at in range(n + 1):
        bench.hold("r", f"h{at}", "permit")
    for at in range(n):
        bench.wait("r", f"w{at}", "shared")
    return bench.calls.edges()


# damaged by others


@scenario(0)
def list_damaged(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.ask("DEL", ":deadlines")
    return bench.calls.list()


@scenario(0)
def release_damaged_permits(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    rid = bench.hold("r", "o", "permit")
    bench.wait("r", "w", "permit")
    bench.ask("DEL", ":capacity")
    return bench.calls.release([rid])


# where hints are published for SUBSCRIBE as well


@scenario(0)
def acquire_where_hints_are_mirrored(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(mirror=True))
    bench.hold("other", "o")
    return bench.acquire("q", "r", "o")


@scenario(0)
def release_where_hints_are_mirrored(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(mirror=True))
    bench.hold("r", "o", rid="q")
    return bench.calls.release(["q"])

"""Paths of the verbs for capacity, of edges, detect, abort, list, show, stats, configure and confirm of locks."""

from __future__ import annotations

from functools import partial

from pyadeq._core.kernel.durability import confirm
from pyadeq.models.lock import CycleEdge
from tests.nouns import scenario as base
from tests.nouns.lock.scenarios_of_acquire import chain, crowd
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall, sent

scenario = partial(base.scenario, noun="lock")
scenarios = partial(base.scenarios, noun="lock")

# set_capacity, heartbeat, drain, remove


scenarios(
    set_capacity_new=lambda bench: bench.calls.set_capacity("r", 2, 30),
    drain_without_capacity=lambda bench: bench.calls.drain("r"),
    remove_without_capacity=lambda bench: bench.calls.remove("r"),
)


@scenario(1, 10)
def set_capacity_larger(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "o", "permit")
    for at in range(n):
        bench.wait("r", f"w{at}", "permit")
    return bench.calls.set_capacity("r", n + 1)


@scenario(1, 10)
def set_capacity_smaller(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 5))
    bench.hold("r", "o", "permit", permits=5)
    for at in range(n):
        bench.wait("r", f"w{at}", "permit", permits=5)
    return bench.calls.set_capacity("r", 4)


@scenario(0)
def set_capacity_of_what_drains(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 5))
    bench.real(bench.calls.drain("r"))
    return bench.calls.set_capacity("r", 5)


@scenario(1, 100)
def heartbeat_of_agents(bench: LockBench, n: int) -> AnyCall:
    for at in range(n):
        bench.real(bench.calls.set_capacity(f"r{at}", 2, 30))
    return bench.calls.heartbeat([f"r{at}" for at in range(n)])


@scenario(0)
def heartbeat_after_a_silence(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2, 10))
    bench.pass_time(10_001)
    bench.wait("r", "o", "permit")
    return bench.calls.heartbeat(["r"])


@scenario(0)
def heartbeat_of_what_drains_or_is_unknown(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 2, 10))
    bench.real(bench.calls.drain("r"))
    return bench.calls.heartbeat(["r", "unknown"])


@scenario(0)
def drain_in_use(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "o", "permit")
    bench.wait("r", "w", "permit")
    return bench.calls.drain("r")


@scenario(0)
def remove_unused(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    return bench.calls.remove("r")


@scenario(0)
def remove_in_use(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1))
    bench.hold("r", "o", "permit")
    return bench.calls.remove("r")


@scenario(0)
def remove_what_is_waited_for(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.set_capacity("r", 1, 10))
    bench.pass_time(10_001)
    bench.wait("r", "o", "permit")
    return bench.calls.remove("r")


# edges, detect, abort


@scenario(0)
def edges_none(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.calls.edges()


@scenario(1, 10, 100)
def edges_of_a_chain(bench: LockBench, n: int) -> AnyCall:
    chain(bench, n)
    return bench.calls.edges()


@scenario(1, 100)
def edges_of_a_crowd(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.calls.edges()


@scenario(10)
def edges_of_all_kinds(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n, "shared")
    bench.wait("r", "last")
    bench.wait("r", "more", "shared")
    bench.real(bench.calls.set_capacity("p", 1))
    for owner in ("a", "b", "c"):
        bench.real(bench.acquire(f"p{owner}", "p", owner, "permit", wait=60))
    for owner in ("d", "e"):
        bench.hold("u", owner, "shared")
    bench.wait("u", "d")
    return bench.calls.edges()


@scenario(10)
def edges_of_another_page(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.calls.edges(bench.real(bench.calls.edges(limit=3)).cursor, 3)


def overrun(bench: LockBench, n: int, *, circle: bool) -> None:
    """A chain whose last wait was not looked into; it closes a circle, or does not."""
    n = max(n, 4)  # three fit into the budget
    bench.real(bench.calls.configure(detect_visits=16))
    chain(bench, n)
    bench.hold("z", "other")
    bench.wait("r0" if circle else "z", f"o{n}")


@scenario(0)
def detect_nothing(bench: LockBench, _: int) -> AnyCall:
    crowd(bench, 1)
    return bench.calls.detect()


@scenario(20, 50)
def detect_a_deadlock(bench: LockBench, n: int) -> AnyCall:
    overrun(bench, n, circle=True)
    return bench.calls.detect()


@scenario(20, 50)
def detect_none_where_it_was_not_clear(bench: LockBench, n: int) -> AnyCall:
    overrun(bench, n, circle=False)
    return bench.calls.detect()


@scenario(100)
def detect_beyond_its_own_budget(bench: LockBench, n: int) -> AnyCall:
    overrun(bench, n, circle=True)
    return bench.calls.detect(1, 100)


@scenario(0)
def detect_that_one_may_go_ahead(bench: LockBench, _: int) -> AnyCall:
    """o waits behind second, who waits for what o has: ahead of it, nobody is in its way."""
    bench.real(bench.calls.configure(detect_visits=16))
    bench.hold("a", "o")
    bench.hold("k", "o")
    bench.real(bench.acquire_many("q", "second", ["a", "c"], wait=60))
    for at in range(20):
        bench.wait("k", f"w{at}")
    bench.wait("c", "o")
    return bench.calls.detect()


@scenario(2)
def detect_for_an_agent_that_has_had_its_turn(bench: LockBench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16))
    for number in range(n):
        bench.hold(f"z{number}", f"other{number}")
        bench.hold(f"y{number}", f"o{number}")
        for at in range(20):
            bench.wait(f"y{number}", f"w{number}.{at}")
        bench.wait(f"z{number}", f"o{number}", agent="a")
    return bench.calls.detect()


CYCLE = [CycleEdge("a", "exclusive", "r"), CycleEdge("b", "exclusive", "s")]


@scenario(1, 10)
def abort_what_waits(bench: LockBench, n: int) -> AnyCall:
    return bench.calls.abort(crowd(bench, n), CYCLE)


@scenario(1)
def abort_again(bench: LockBench, n: int) -> AnyCall:
    return sent(bench, bench.calls.abort(crowd(bench, n), CYCLE))


@scenario(0)
def abort_what_does_not_wait(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.abort([bench.hold("r", "o"), "unknown"], CYCLE)


# list, show, stats


def furnished(bench: LockBench) -> None:
    """Holders and waiters of all kinds, of two types of resources and of two agents."""
    bench.real(bench.calls.set_capacity("pool:p", 2))
    bench.hold("file:a", "o", agent="g", purpose="to see")
    bench.hold("file:b", "o", "shared", agent="g")
    bench.hold("pool:p", "o", "permit", agent="g", permits=2)
    bench.wait("file:a", "w", agent="h")
    bench.wait("file:b", "v", agent="h")
    bench.wait("pool:p", "u", "permit", agent="h")
    bench.real(bench.acquire_many("many", "m", ["file:a", "file:c"], wait=60))


@scenario(0)
def list_all(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list()


@scenario(0)
def list_held(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list(state="held")


@scenario(0)
def list_waiting(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list(state="waiting")


@scenario(0)
def list_of_a_type(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list(type="file", state="held")


@scenario(0)
def list_of_an_owner(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list(owner="o")


@scenario(0)
def list_of_an_agent(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list(agent="h")


@scenario(0)
def list_of_an_owner_and_an_agent(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.list(owner="o", agent="h")


@scenario(0)
def list_with_the_cursor_of_another_list(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.list(owner="o", cursor="r x")


@scenario(10, 100)
def list_page_by_page(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.calls.list(cursor=bench.real(bench.calls.list(limit=3)).cursor, limit=3)


@scenario(0)
def show_nothing(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.show("r")


@scenario(1, 10, 100)
def show_a_crowd(bench: LockBench, n: int) -> AnyCall:
    crowd(bench, n)
    return bench.calls.show("r")


@scenario(0)
def show_permits(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.show("pool:p")


@scenario(0, clock="server")
def stats_without_a_domain(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.stats()


@scenario(0)
def stats_of_a_domain(bench: LockBench, _: int) -> AnyCall:
    furnished(bench)
    return bench.calls.stats()


@scenario(0)
def stats_after_a_search(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.detect())
    return bench.calls.stats()


# configure and confirm


scenarios(
    configure_nothing=lambda bench: bench.calls.configure(),
    configure_a_claim_that_is_too_short=lambda bench: bench.calls.configure(poll=2, claim=4),
    configure_a_waiter_that_is_too_short=lambda bench: bench.calls.configure(waiter=4),
    confirm_a_hold=lambda bench: confirm(sent(bench, bench.acquire("q", "r", "o")), bench.now),
)


@scenario(0)
def configure_all(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.configure(
        lease=60, poll=1, claim=4, waiter=20, priority_step=1, policy="youngest", rate_per_minute=60, rate_burst=5,
        detect_visits=100, events_max=1000, max_ttl=600, heartbeat=10, detection=False, mirror=True,
    )  # fmt: skip


@scenario(0)
def configure_again(bench: LockBench, _: int) -> AnyCall:
    return sent(bench, bench.calls.configure(lease=60))


@scenario(0, clock="server")
def configure_a_new_domain(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.configure(clock="server", lease=60)


@scenario(0, clock="server")
def configure_a_test_clock_without_a_time(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.configure(clock="test")


@scenario(0)
def configure_another_clock(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.configure(clock="server")


@scenario(0, clock="server")
def confirm_without_a_domain(bench: LockBench, _: int) -> AnyCall:
    return confirm(bench.acquire("q", "r", "o", issued_ms=1), bench.now)


# to another layout


@scenario(0)
def migrate_from_an_older_layout(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.ask("HSET", ":config", "layout", 0, "layout_min", 0)
    return bench.calls.migrate()


@scenario(0)
def migrate_where_the_layout_is_current(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.calls.migrate()


@scenario(0, clock="server")
def migrate_where_nothing_is_stored(bench: LockBench, _: int) -> AnyCall:
    return bench.calls.migrate()


@scenario(0)
def migrate_where_all_is_rewritten(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.ask("HSET", ":config", "rewritten", 0)
    return bench.calls.migrate(done=True)


@scenario(0)
def migrate_where_it_was_never_migrated_and_is_done(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    return bench.calls.migrate(done=True)


@scenario(0)
def migrate_again_before_all_was_rewritten(bench: LockBench, _: int) -> AnyCall:
    bench.hold("r", "o")
    bench.ask("HSET", ":config", "layout", 0, "layout_min", 0, "rewritten", 0)
    return bench.calls.migrate()

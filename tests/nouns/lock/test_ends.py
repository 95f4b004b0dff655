"""renew, release, cancel, downgrade, force_release and reap; what is told of it, and what is forgotten."""

from __future__ import annotations

from tests.nouns.lock.checks import left_over
from tests.nouns.lock.workbench import LockBench

LEASE, KEPT = 30_000, 120_000  # ms


def every_end(bench: LockBench) -> dict[str, str]:
    """A rid for each way to end that a holder may have met."""
    rids = {name: bench.hold(name, "o") for name in ("released", "revoked")}
    bench.release(rids["released"])
    bench.real(bench.calls.force_release("f", "revoked", "broken"))
    rids["expired"] = bench.hold("expired", "o", ttl=1)
    bench.pass_time(1_000)
    bench.real(bench.calls.reap())
    return rids


def test_a_forced_release_ends_100_holders_and_says_that_there_are_more(lock_bench: LockBench) -> None:
    for at in range(101):
        lock_bench.hold("r", f"o{at}", "shared")
    answers = [lock_bench.run(lock_bench.calls.force_release(rid, "r", "stuck")) for rid in ("f", "g")]
    assert [(len(forced.rids), more) for forced, more in answers] == [(100, True), (1, False)]


def test_an_owner_that_goes_ends_100_requests_and_hears_that_there_are_more(lock_bench: LockBench) -> None:
    for at in range(101):
        lock_bench.hold(f"r{at}", "o")
    answers = [lock_bench.run(lock_bench.calls.offline(rid, owner="o")) for rid in ("f", "g")]
    assert [(len(ended), more) for ended, more in answers] == [(100, True), (1, False)]


def test_a_renewal_gives_another_lease(lock_bench: LockBench) -> None:
    rid, short = lock_bench.hold("r", "o"), lock_bench.hold("s", "o", ttl=7)
    lock_bench.pass_time(5_000)
    states = lock_bench.run(lock_bench.calls.renew([rid, short, "unknown"]))
    assert [state.status for state in states] == ["renewed", "renewed", "unknown"]
    assert states[0].deadline == (lock_bench.now + LEASE) / 1000
    assert lock_bench.deadline(short) == lock_bench.now + 7_000


def test_what_has_expired_is_not_renewed(lock_bench: LockBench) -> None:
    rid = lock_bench.hold("r", "o")
    lock_bench.pass_time(LEASE)
    assert [one.status for one in lock_bench.run(lock_bench.calls.renew([rid]))] == ["lost"]
    assert lock_bench.state(rid) == "expired"


def test_what_waits_is_not_renewed_and_what_was_handed_over_is_claimed(lock_bench: LockBench) -> None:
    held = lock_bench.hold("r", "o")
    rid = lock_bench.wait("r", "w")
    assert [one.status for one in lock_bench.run(lock_bench.calls.renew([rid]))] == ["waiting"]
    lock_bench.release(held)
    assert [one.status for one in lock_bench.run(lock_bench.calls.renew([rid]))] == ["renewed"]
    assert lock_bench.state(rid) == "held"


def test_a_release_says_what_it_found(lock_bench: LockBench) -> None:
    rids = every_end(lock_bench)
    held = lock_bench.hold("r", "o")
    waits = lock_bench.wait("r", "w")
    asked = [waits, held, rids["released"], rids["revoked"], rids["expired"], "unknown"]
    found = lock_bench.run(lock_bench.calls.release(asked))
    assert found == ["cancelled", "released", "released", "lost", "lost", "unknown"]
    assert lock_bench.run(lock_bench.calls.release(asked)) == found


def test_a_cancel_ends_whatever_there_is(lock_bench: LockBench) -> None:
    rids = every_end(lock_bench)
    held = lock_bench.hold("r", "o")
    waits = lock_bench.wait("r", "w")
    asked = [waits, held, rids["expired"], "unknown"]
    assert lock_bench.run(lock_bench.calls.cancel(asked)) == ["cancelled", "released", "ended", "cancelled"]
    assert lock_bench.holders("r") == set()
    assert lock_bench.state("unknown") == "cancelled"


def test_one_of_several_holds_of_an_owner_is_released_alone(lock_bench: LockBench) -> None:
    one, other = lock_bench.hold("r", "o"), lock_bench.hold("r", "o")
    lock_bench.run(lock_bench.calls.release([one]))
    assert lock_bench.holders("r") == {other}


def test_a_downgrade_lets_those_in_who_share(lock_bench: LockBench) -> None:
    rid = lock_bench.hold("r", "o")
    fence = lock_bench.fences(rid)
    shared, alone = lock_bench.wait("r", "s", "shared"), lock_bench.wait("r", "x")
    assert lock_bench.run(lock_bench.calls.downgrade(rid)) == "downgraded"
    assert lock_bench.holders("r") == {rid, shared}
    assert lock_bench.fences(rid) == fence
    assert lock_bench.state(alone) == "waits"


def test_a_downgrade_says_why_not(lock_bench: LockBench) -> None:
    lost = lock_bench.hold("lost", "o")
    lock_bench.release(lost)
    lock_bench.hold("r", "o")
    waits = lock_bench.wait("r", "w")
    found = [lock_bench.run(lock_bench.calls.downgrade(rid)) for rid in (lost, waits, "unknown")]
    assert found == ["lost", "waiting", "unknown"]


def test_a_forced_release_takes_it_from_all_and_gives_it_to_the_next(lock_bench: LockBench) -> None:
    held = [lock_bench.hold("r", owner, "shared") for owner in ("a", "b")]
    waits = lock_bench.wait("r", "w")
    call = lock_bench.calls.force_release("f", "r", "the disk is gone")
    forced, more = lock_bench.run(call)
    assert not more
    assert sorted(forced.rids) == sorted(held)
    assert lock_bench.holders("r") == {waits}
    assert max(fence for rid in [waits] for fence in lock_bench.fences(rid)) > forced.fence
    assert lock_bench.run(call) == (forced, False)
    assert [one.status for one in lock_bench.run(lock_bench.calls.renew(held))] == ["lost", "lost"]
    reasons = [event["payload"] for event in lock_bench.events("lock.released")]
    assert all(b"the disk is gone" in reason and b"by=force" in reason for reason in reasons)


def test_a_forced_release_may_be_of_one_owner(lock_bench: LockBench) -> None:
    kept, taken = (lock_bench.hold("r", owner, "shared") for owner in ("a", "b"))
    assert lock_bench.run(lock_bench.calls.force_release("f", "r", "x", "b"))[0].rids == (taken,)
    assert lock_bench.holders("r") == {kept}


def test_an_expired_hold_goes_to_the_next_by_any_call(lock_bench: LockBench) -> None:
    lock_bench.hold("r", "o")
    lock_bench.pass_time(LEASE - 1_000)
    waits = lock_bench.wait("r", "w")
    lock_bench.pass_time(1_000)
    lock_bench.run(lock_bench.acquire("q", "elsewhere", "p"))
    assert lock_bench.holders("r") == {waits}


def test_the_shortest_way_of_a_release_leaves_nothing_overdue(lock_bench: LockBench) -> None:
    short, kept = lock_bench.hold("a", "o", ttl=1), lock_bench.hold("b", "o", ttl=60)
    lock_bench.pass_time(1_000)
    assert lock_bench.run(lock_bench.calls.release([kept])) == ["released"]
    assert lock_bench.state(short) == "expired"


def test_reap_ends_so_many_and_says_whether_there_are_more(lock_bench: LockBench) -> None:
    for at in range(5):
        lock_bench.hold(f"r{at}", "o")
    lock_bench.pass_time(LEASE)
    found = [lock_bench.run(lock_bench.calls.reap(limit=4)) for _ in range(2)]
    assert [(one.ended, one.more) for one in found] == [(4, True), (1, False)]


def test_how_requests_ended_is_forgotten_after_two_minutes(lock_bench: LockBench) -> None:
    every_end(lock_bench)
    lock_bench.pass_time(KEPT - 1_001)
    lock_bench.run(lock_bench.calls.reap())
    assert lock_bench.state("#forced:f") == "forced"
    lock_bench.pass_time(1_001)
    lock_bench.run(lock_bench.calls.reap())
    assert left_over(lock_bench) == {}


def test_hints_say_what_happens_to_whom(lock_bench: LockBench) -> None:
    with lock_bench.hints("r", "s") as heard:
        lock_bench.run(lock_bench.acquire("one", "r", "o", agent="g"))
        lock_bench.run(lock_bench.acquire("two", "r", "p", wait=5))
        lock_bench.run(lock_bench.acquire("busy", "r", "z"))
        lock_bench.run(lock_bench.acquire("elsewhere", "t", "z"))
        lock_bench.run(lock_bench.calls.release(["one"]))
        lock_bench.run(lock_bench.calls.cancel(["two"]))
        assert heard() == [
            ("r", "acquired:g"),
            ("r", "queued:p"),
            ("r", "released:g promoted:p"),
            ("r", "released:p"),
        ]


def test_events_say_the_same(lock_bench: LockBench) -> None:
    lock_bench.run(lock_bench.acquire("one", "r", "o", agent="g"))
    lock_bench.run(lock_bench.acquire("two", "r", "p", wait=5))
    lock_bench.run(lock_bench.calls.release(["one"]))
    lock_bench.pass_time(5_000)
    lock_bench.run(lock_bench.calls.reap())
    found = [
        (event["event"].decode(), event["id"].decode()) for event in lock_bench.events() if b"lock." in event["event"]
    ]
    assert [one for one in found if one[1] in ("one", "two")] == [
        ("lock.acquired", "one"),
        ("lock.queued", "two"),
        ("lock.released", "one"),
        ("lock.promoted", "two"),
        ("lock.expired", "two"),
    ]
    (acquired,) = lock_bench.events("lock.acquired")
    assert acquired["payload"].startswith(b"owner=o agent=g locks=x/")

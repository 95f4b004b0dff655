"""Promote and reap: what the passing of time does to tasks and workers. Claim and settle do the same on their way."""

from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Backoff
from tests.nouns.queue.workbench import BAND, START, Workbench


def promote(bench: Workbench, limit: int = 100) -> int:
    return bench.run(bench.calls.promote(limit))


def reap(bench: Workbench, limit: int = 100) -> int:
    return bench.run(bench.calls.reap(limit))


# promote


@pytest.mark.parametrize(("ms", "promoted"), [(4_999, 0), (5_000, 1), (60_000, 1)])
def test_a_task_is_promoted_from_its_due_time_on(bench: Workbench, ms: int, promoted: int) -> None:
    (id,) = bench.fill(1, delay=5)
    bench.pass_time(ms)
    assert promote(bench) == promoted
    assert bench.state(id) == ("ready" if promoted else "delayed")


def test_promoted_tasks_stand_at_the_end_of_the_line_the_earliest_first(bench: Workbench) -> None:
    (later,) = bench.fill(1, delay=3)
    (sooner,) = bench.fill(1, delay=2)
    line = bench.fill(2)
    bench.pass_time(5_000)
    assert promote(bench) == 2
    assert bench.ready() == [*line, sooner, later]
    assert promote(bench) == 0


def test_a_promoted_task_keeps_its_lane_and_priority(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=5, lane="group/g", priority=3)
    bench.ask("DEL", ":wake:group/g")
    bench.pass_time(5_000)
    promote(bench)
    assert bench.ask("ZRANGE", ":ready:group/g", 0, -1, "WITHSCORES") == [id.encode(), b"%d" % (3 * BAND + 2)]
    assert bench.ask("SMEMBERS", ":lanes") == [b"group/g"]
    assert bench.tokens("group/g") == 1
    assert bench.record(id)["ready_ms"] == b"%d" % bench.now


def test_promote_moves_at_most_its_limit_and_tells_and_counts_once(bench: Workbench) -> None:
    ids = bench.fill(5, delay=5)
    bench.pass_time(5_000)
    assert [promote(bench, 3), promote(bench, 3), promote(bench, 3)] == [3, 2, 0]
    events = bench.events("task.promoted")
    assert [event["id"].decode().split() for event in events] == [ids[:3], ids[3:]]
    assert bench.counters()["promoted"] == 5


# reap


@pytest.mark.parametrize(("ms", "reaped"), [(14_999, 0), (15_000, 1), (60_000, 1)])
def test_a_lease_is_taken_back_from_its_deadline_on(bench: Workbench, ms: int, reaped: int) -> None:
    bench.lease(1)
    bench.pass_time(ms)
    assert reap(bench) == reaped
    assert reap(bench) == 0


def test_the_first_crash_returns_a_task_to_its_place(bench: Workbench) -> None:
    line = bench.fill(2)
    (lease,) = bench.claim(1)
    bench.ask("DEL", ":wake:any")
    bench.pass_time(15_000)
    reap(bench)
    assert bench.ready() == line
    assert bench.tokens() == 1
    record = bench.record(lease.id)
    assert (record["crashes"], record["deliveries"], record["ready_ms"]) == (b"1", b"1", b"%d" % bench.now)
    assert bench.ask("EXISTS", ":running", ":leases") == 0
    (event,) = bench.events("task.stalled")
    assert (event["id"], event["payload"]) == (lease.id.encode(), b"crashes=1 worker=w")


def test_a_crash_costs_no_attempt(bench: Workbench) -> None:
    (lease,) = bench.crash(2)
    assert (lease.attempt, lease.delivery) == (1, 3)


@pytest.mark.parametrize(("crashes", "delay"), [(2, 1_000), (3, 2_000), (4, 4_000)])
def test_a_later_crash_waits_for_the_backoff_of_the_one_before(bench: Workbench, crashes: int, delay: int) -> None:
    (lease,) = bench.crash(crashes - 1)
    bench.pass_time(15_000)
    reap(bench)
    assert bench.ask("ZSCORE", ":delayed", lease.id) == b"%d" % (bench.now + delay)
    assert bench.record(lease.id)["crashes"] == b"%d" % crashes


def test_a_tasks_own_backoff_holds_for_crashes_too(bench: Workbench) -> None:
    bench.fill(1, backoff=Backoff(base=7, jitter=1))
    for _ in range(2):
        bench.claim(1)
        bench.pass_time(15_000)
        reap(bench)
    assert bench.ask("ZSCORE", ":delayed", "t000001") == b"%d" % (bench.now + 7_000)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_last_crash_ends_the_loop(bench: Workbench, most: int) -> None:
    bench.real(bench.calls.configure(max_crashes=most))
    (lease,) = bench.crash(most - 1)
    bench.pass_time(15_000)
    reap(bench)
    assert bench.state(lease.id) == "dead"
    assert bench.record(lease.id)["reason"] == b"crash_loop"
    assert bench.events("task.dead")[0]["payload"] == b"reason=crash_loop attempts=0"
    assert (bench.counters()["stalled"], bench.counters()["dead"]) == (most, 1)


def test_neither_releases_nor_fails_count_as_crashes(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=2))
    (lease,) = bench.lease(1)
    for _ in range(3):
        bench.real(bench.calls.release([lease]))
        (lease,) = bench.claim(1)
    bench.real(bench.calls.fail([Failure(lease)], [0]))
    bench.pass_time(1_000)
    (lease,) = bench.claim(1)
    bench.pass_time(15_000)
    reap(bench)
    assert bench.state(lease.id) == "ready"
    assert bench.record(lease.id)["crashes"] == b"1"


def test_a_task_that_is_being_cancelled_ends_as_cancelled(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=1))
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    bench.pass_time(15_000)
    reap(bench)
    assert bench.state(lease.id) == "cancelled"
    assert bench.ask("EXISTS", ":dead") == 0


def test_a_task_whose_lease_lost_its_entry_is_not_lost_with_it(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.ask("DEL", ":running")
    bench.pass_time(15_000)
    assert reap(bench) == 1
    assert bench.ask("EXISTS", ":leases") == 0
    assert bench.ask("GET", f":payload:{lease.id}") == b"x"
    assert bench.state(lease.id) in ("ready", "dead")


def test_reap_takes_back_at_most_its_limit_the_oldest_first(bench: Workbench) -> None:
    leases = bench.lease(5)
    bench.real(bench.calls.heartbeat(leases[:1], lease=20))
    bench.pass_time(20_000)
    assert [reap(bench, 3), reap(bench, 3)] == [3, 2]
    stalled = [event["id"].decode() for event in bench.events("task.stalled")]
    assert stalled == [lease.id for lease in [*leases[1:], leases[0]]]


@pytest.mark.parametrize(("base", "tokens"), [(9.999, 1), (10, 0)])
def test_a_delayed_crash_within_the_longest_block_wakes_a_worker(bench: Workbench, base: float, tokens: int) -> None:
    bench.real(bench.calls.configure(backoff=Backoff(base=base)))
    bench.crash(1)
    bench.pass_time(15_000)
    assert bench.tokens() == 0
    reap(bench)
    assert bench.tokens() == tokens


@pytest.mark.parametrize(("ms", "gone"), [(29_999, []), (30_000, [b"w"])])
def test_a_worker_is_gone_after_30_seconds_of_silence(bench: Workbench, ms: int, gone: list[bytes]) -> None:
    bench.worker()
    bench.pass_time(ms)
    reap(bench)
    assert [event["id"] for event in bench.events("worker.lost")] == gone
    assert bench.ask("ZCARD", ":workers") == 1 - len(gone)
    assert bench.real(bench.calls.claim("w", "i", 0, 1)).status == ("unregistered" if gone else "ok")


def test_reap_forgets_at_most_100_workers(bench: Workbench) -> None:
    for at in range(101):
        bench.worker(f"w{at}")
    bench.pass_time(30_000)
    reap(bench)
    assert bench.ask("ZCARD", ":workers") == 1
    assert bench.counters()["workers_lost"] == 100


def test_the_earliest_is_promoted_first_beside_those_that_crashed_again(bench: Workbench) -> None:
    crashed = [lease.id for lease in bench.crash(1, 2)]
    bench.pass_time(15_000)
    reap(bench)
    (due,) = {bench.ask("ZSCORE", ":delayed", id) for id in crashed}
    early = bench.fill(2, delay=(float(due) - bench.now - 1) / 1000)
    bench.pass_time(400_000)
    bench.run(bench.calls.promote())
    assert bench.ready() == [*early, *crashed]


def test_all_is_back_in_line_16_seconds_after_a_worker_died(bench: Workbench) -> None:
    leases = bench.lease(3)
    bench.pass_time(16_000)
    reap(bench)
    assert bench.ready() == [lease.id for lease in leases]
    assert bench.now == START + 16_000


# a budget of work


def test_a_claim_that_takes_back_leases_promotes_fewer(bench: Workbench) -> None:
    """20 leases are about 60 of its 300 commands, and a promotion is two."""
    bench.lease(20)
    bench.pass_time(16_000)
    bench.fill(100, delay=0.001)
    bench.pass_time(1)
    bench.worker("v")
    bench.run(bench.calls.claim("v", "i", 0, 1))
    assert bench.ask("ZCARD", ":delayed") == 0


def limited(bench: Workbench, number: int) -> list[str]:
    """Tasks with 8 limits each, all of their own."""
    bench.real(bench.calls.set_limits([("key:*", {"concurrency": 1})], "limits"))
    return [bench.fill(1, limits=[f"k{at}.{key}" for key in range(8)])[0] for at in range(number)]


def test_a_call_takes_back_fewer_leases_that_hold_many_limits(bench: Workbench) -> None:
    ids = limited(bench, 10)
    bench.claim(10)
    bench.pass_time(15_000)
    assert [reap(bench, 10) for _ in range(3)] == [7, 3, 0]
    assert bench.ready() == ids


def test_a_claim_that_meets_many_limits_leaves_the_rest_to_the_next(bench: Workbench) -> None:
    """Each of 100 tasks has 8 limits, of which the last has no room."""
    holders = [bench.fill(1, limits=[f"k{at}.7"])[0] for at in range(100)]
    ids = limited(bench, 100)
    assert len(bench.claim(100)) == len(holders)
    (good,) = bench.fill(1)
    claims = [bench.run(bench.calls.claim("w", "i", 1, n, limit=1)) for n in (1, 2)]
    assert [[lease.id for lease in one.leases] for one in claims] == [[], [good]]
    assert bench.ask("ZCARD", ":blocked") == len(ids)


def test_a_claim_expires_fewer_tasks_that_have_keys(bench: Workbench) -> None:
    for at in range(20):
        bench.fill(1, unique=f"q{at}", expires_at=START / 1000 + 1, lane="group/other")
    bench.pass_time(1_000)
    bench.worker()
    claims = [bench.run(bench.calls.claim("w", "i", 0, n, limit=1)) for n in (1, 2)]
    assert [one.next_due == one.now for one in claims] == [True, False]
    assert len(bench.events("task.expired")) == 20


def test_a_trim_stops_where_tasks_have_many_tags(bench: Workbench) -> None:
    for at in range(100):
        bench.fill(1, tags=[f"t{at}.{tag}" for tag in range(16)])
    ids = [id.decode() for id in bench.ask("ZRANGE", ":ready:any", 0, -1)]
    bench.real(bench.calls.cancel(ids))
    bench.real(bench.calls.configure(finished_keep=1))
    bench.pass_time(1_500)
    assert [bench.run(bench.calls.trim()) for _ in range(2)] == [(79, True), (21, False)]


def test_a_purge_stops_where_tasks_have_many_tags(bench: Workbench) -> None:
    for at in range(110):
        bench.fill(1, tags=[f"t{at}.{tag}" for tag in range(16)])
    assert [bench.run(bench.calls.purge(f"r{n}")) for n in range(2)] == [(106, True), (4, False)]


@pytest.mark.parametrize(
    ("limit", "freed", "opened"),
    [(1, 0, 41), (10, 0, 50), (59, 0, 99), (60, 0, 100), (1000, 0, 100), (1000, 30, 71), (10, 60, 41), (10, 100, 20)],
)
def test_a_sweep_sees_to_fewer_of_a_line_after_an_ack_that_has_freed_many(
    bench: Workbench, limit: int, freed: int, opened: int
) -> None:
    """At 40 and the limit of the claim, 100 at most; or what the acks of the call have left of 100, 20 in any case."""
    bench.limit("user:u", concurrency=1)
    bench.limit("key:k", concurrency=1)
    bench.fill(251, user="u", lane="group/u")
    bench.fill(1 + freed, limits=["k"])
    for _ in range(3):
        leases = bench.claim(100, lanes=["group/u"])
    leases += bench.claim(100)
    bench.claim(100)
    lease = next(one for one in leases if "limits" in one.record)
    assert bench.ask("ZCARD", ":waiting:user:u") == 250
    assert bench.ask("ZCARD", ":waiting:key:k") == freed
    bench.limit("user:u")
    bench.limit("key:k")
    bench.worker("sweeper")
    call = bench.calls.settle("sweeper", "i", 0, 1, acks=[(lease, None)], limit=limit, lanes=["group/nobody"])
    assert bench.run(call).acks == ["completed"]
    assert bench.ask("ZCARD", ":waiting:key:k") == 0
    assert 250 - bench.ask("ZCARD", ":waiting:user:u") == opened

"""Tasks that are to start later, not after a time, or elsewhere if they wait too long."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import BAND, START, Workbench
from tests.nouns.watched import Refused

NOW = START / 1000


def expire(bench: Workbench, limit: int = 100) -> int:
    return bench.run(bench.calls.expire(limit))


def due(bench: Workbench, id: str) -> int | None:
    score = bench.ask("ZSCORE", ":deadlines", id)
    return None if score is None else int(score) - START


# run_after


@pytest.mark.parametrize(
    ("after", "delay", "ms"),
    [(-5, 0, 0), (0, 0, 0), (5, 0, 5_000), (5, 3, 5_000), (3, 5, 5_000), (0.001, 0, 1)],
)
def test_a_task_starts_at_the_later_of_its_two_times(bench: Workbench, after: float, delay: float, ms: int) -> None:
    (id,) = bench.fill(1, run_after=NOW + after, delay=delay)
    assert bench.state(id) == ("delayed" if ms else "ready")
    if ms:
        assert int(bench.ask("ZSCORE", ":delayed", id)) == START + ms
        bench.pass_time(ms - 1)
        assert bench.claim(1) == []
        bench.pass_time(1)
    assert [lease.id for lease in bench.claim(1)] == [id]


def test_the_latest_time_there_is(bench: Workbench) -> None:
    bench.raw_run(
        "queue.enqueue.v1", "r", "", "", bench.now, "", "", 1, "a", "", 3,
        "run_after_ms", 2**53 - 1, "fallback", "any", "fallback_after_ms", 315_360_000_000,
    )  # fmt: skip
    assert bench.ask("ZRANGE", ":delayed", 0, -1, "WITHSCORES") == [b"a", b"%d" % (2**53 - 1)]
    bench.run(bench.calls.expire())
    bench.worker()
    assert bench.run(bench.calls.claim("w", "i", 0, 1)).leases == []


# expires_at


@pytest.mark.parametrize("where", ["ready", "delayed", "blocked", "another lane"])
def test_a_task_that_did_not_start_in_time_is_dead(bench: Workbench, where: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "delayed": {"delay": 3600},
        "blocked": {"gather": 1},
        "another lane": {"lane": "group/g"},
    }
    (id,) = bench.fill(1, expires_at=NOW + 60, **more.get(where, {}))
    bench.pass_time(59_999)
    assert expire(bench) == 0
    bench.pass_time(1)
    assert expire(bench) == 1
    view = bench.view(id)
    assert view
    assert (view.state, view.reason, view.ended, view.attempts) == ("dead", "expired", NOW + 60, 0)
    assert [(one["id"], one["payload"]) for one in bench.events("task.expired")] == [(id.encode(), b"reason=expired")]
    assert (bench.counters()["dead"], bench.events("task.dead")) == (1, [])
    assert bench.ask("EXISTS", ":lanes", ":wake:group/g", ":deadlines") == 0
    check_queue(bench)


def test_a_task_that_has_expired_before_it_is_enqueued_is_never_leased(bench: Workbench) -> None:
    (id,) = bench.fill(1, expires_at=NOW - 1)
    assert bench.claim(1) == []
    assert bench.state(id) == "dead"


def test_one_that_no_sweep_has_reached_is_not_leased(bench: Workbench) -> None:
    bench.fill(150, expires_at=NOW + 1)
    (good,) = bench.fill(1)
    bench.pass_time(1_000)
    bench.worker()
    first = bench.run(bench.calls.claim("w", "i", 0, 1, limit=20))
    assert (first.leases, bench.ask("ZCARD", ":dead")) == ([], 20 + 38)  # as much as a sweep may do
    assert (bench.tokens(), first.next_due) == (1, first.now)
    rest = [bench.run(bench.calls.claim("w", "i", 0, n, limit=20)).leases for n in (2, 3)]
    assert [[lease.id for lease in leases] for leases in rest] == [[], [good]]
    assert (bench.ask("ZCARD", ":dead"), bench.counters()["dead"]) == (150, 150)
    assert len(bench.events("task.expired")) == 150
    check_queue(bench)


@pytest.mark.parametrize("how", ["running", "retried", "released", "snoozed", "crashed"])
def test_one_that_started_in_time_no_longer_expires(bench: Workbench, how: str) -> None:
    (lease,) = bench.lease(1, expires_at=NOW + 10)
    bench.pass_time(9_000)
    match how:
        case "retried":
            bench.run(bench.calls.fail([Failure(lease)], [0]))
        case "released":
            bench.run(bench.calls.release([lease]))
        case "snoozed":
            bench.run(bench.calls.snooze([(lease, 5)]))
        case "crashed":
            bench.pass_time(6_000)
            bench.run(bench.calls.reap())
    check_queue(bench)
    bench.pass_time(3_000)
    assert expire(bench) == 0
    if how != "running":
        bench.pass_time(5_000)
        assert [lease.id for lease in bench.claim(1)] == [lease.id]


def test_a_claim_expires_a_hundred_on_its_way_and_says_when_the_next_is_due(bench: Workbench) -> None:
    bench.worker()
    bench.fill(1, lane="group/g", expires_at=NOW + 60)
    claimed = bench.run(bench.calls.claim("w", "i", 0, 1))
    assert claimed.next_due == NOW + 60
    bench.pass_time(60_000)
    assert bench.run(bench.calls.claim("w", "i", 0, 2)).next_due is None
    assert bench.ask("ZCARD", ":dead") == 1


def test_expire_takes_its_limit_the_earliest_first(bench: Workbench) -> None:
    ids = [bench.fill(1, expires_at=NOW + at)[0] for at in (3, 1, 2)]
    bench.pass_time(5_000)
    assert [expire(bench, 2), expire(bench, 2), expire(bench, 2)] == [2, 1, 0]
    assert [event["id"].decode() for event in bench.events("task.expired")] == [ids[1], ids[2], ids[0]]


def test_cancelled_and_purged_tasks_have_no_deadline(bench: Workbench) -> None:
    ids = bench.fill(2, expires_at=NOW + 60)
    bench.run(bench.calls.cancel(ids[:1]))
    bench.run(bench.calls.purge())
    assert bench.ask("EXISTS", ":deadlines") == 0


def test_a_task_whose_record_was_evicted_is_dropped(bench: Workbench) -> None:
    (id,) = bench.fill(1, expires_at=NOW + 1)
    bench.ask("DEL", f":task:{id}")
    bench.pass_time(1_000)
    assert expire(bench) == 1
    assert [(one["id"], one["payload"]) for one in bench.events("task.alert")] == [
        (id.encode(), b"reason=record_missing")
    ]
    assert bench.ask("EXISTS", f":payload:{id}", ":deadlines") == 0


# fallback lanes


def test_a_task_that_waits_too_long_goes_over_to_its_fallback_at_its_old_place(bench: Workbench) -> None:
    one, two = bench.fill(2, lane="group/g", fallback="any", fallback_after=60)
    line = bench.fill(1)
    bench.ask("DEL", ":wake:any")
    bench.pass_time(59_999)
    assert expire(bench) == 0
    bench.pass_time(1)
    assert expire(bench) == 2
    assert bench.ready() == [one, two, *line]
    assert int(bench.ask("ZSCORE", ":ready:any", two)) == 5 * BAND + 2
    assert (bench.tokens(), bench.tokens("group/g"), bench.ready("group/g")) == (1, 0, [])
    assert bench.ask("SMEMBERS", ":lanes") == [b"any"]
    assert [(one["id"], one["payload"]) for one in bench.events("task.moved")] == [
        (id.encode(), b"lane=any") for id in (one, two)
    ]
    record = bench.record(one)
    assert (record["lane"], "fallback" in record, "fallback_after_ms" in record) == (b"any", False, False)
    check_queue(bench)


def test_a_claim_of_the_fallback_lane_finds_it_at_once(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/g", fallback="group/h", fallback_after=0)
    (lease,) = bench.claim(1, lanes=["group/h"])
    assert lease.id == id
    bench.run(bench.calls.release([lease]))
    assert bench.ready("group/h") == [id]
    check_queue(bench)


def test_those_that_stay_keep_their_lane(bench: Workbench) -> None:
    bench.fill(1, lane="group/g", fallback="any", fallback_after=1)
    (stays,) = bench.fill(1, lane="group/g")
    bench.pass_time(1_000)
    expire(bench)
    assert (bench.ready("group/g"), bench.tokens("group/g")) == ([stays], 1)
    check_queue(bench)


@pytest.mark.parametrize("how", ["released", "retried", "snoozed", "crashed", "crashed twice"])
def test_a_task_that_comes_back_waits_anew(bench: Workbench, how: str) -> None:
    (lease,) = bench.lease(1, lane="group/g", fallback="any", fallback_after=60)
    assert due(bench, lease.id) is None
    bench.pass_time(10_000)
    at = bench.now - START
    match how:
        case "released":
            bench.run(bench.calls.release([lease]))
        case "retried":
            (answer,) = bench.run(bench.calls.fail([Failure(lease)], [500_000]))
            assert answer.due
            at = round(answer.due * 1000) - START
        case "snoozed":
            bench.run(bench.calls.snooze([(lease, 5)]))
            at += 5_000
        case "crashed":
            bench.pass_time(5_000)
            bench.run(bench.calls.reap())
            at += 5_000
        case "crashed twice":
            bench.pass_time(5_000)
            bench.run(bench.calls.reap())
            bench.claim(1, lanes=["group/g"])
            bench.pass_time(15_000)
            bench.run(bench.calls.reap())
            at = int(bench.ask("ZSCORE", ":delayed", lease.id)) - START
    assert due(bench, lease.id) == at + 60_000
    check_queue(bench)
    bench.now = START + at + 60_000
    bench.run(bench.calls.promote())
    assert expire(bench) == 1
    assert bench.ready() == [lease.id]
    check_queue(bench)


def test_a_delayed_task_waits_from_when_it_is_due(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=60, lane="group/g", fallback="any", fallback_after=30)
    assert due(bench, id) == 90_000


def test_one_that_nobody_promoted_goes_straight_to_its_fallback(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=60, lane="group/g", fallback="any", fallback_after=30)
    bench.pass_time(90_000)
    assert [lease.id for lease in bench.claim(1)] == [id]
    check_queue(bench)


def test_what_comes_first_is_done_first_and_then_the_other(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/g", fallback="any", fallback_after=10, expires_at=NOW + 20)
    assert due(bench, id) == 10_000
    bench.pass_time(10_000)
    expire(bench)
    assert (bench.ready(), due(bench, id)) == ([id], 20_000)
    bench.pass_time(10_000)
    expire(bench)
    assert bench.state(id) == "dead"
    check_queue(bench)


@pytest.mark.parametrize("after", [20, 30])
def test_a_task_that_expires_before_its_fallback_is_dead(bench: Workbench, after: float) -> None:
    (id,) = bench.fill(1, lane="group/g", fallback="any", fallback_after=after, expires_at=NOW + 20)
    bench.pass_time(30_000)
    assert expire(bench) == 1
    assert bench.state(id) == "dead"
    assert bench.events("task.moved") == []


def test_a_fallback_to_the_same_lane_changes_nothing_in_line(bench: Workbench) -> None:
    ids = bench.fill(2, fallback="any", fallback_after=1)
    bench.pass_time(1_000)
    expire(bench)
    assert (bench.ready(), bench.tokens()) == (ids, 1)
    check_queue(bench)


def test_a_paused_queue_moves_tasks_and_wakes_nobody(bench: Workbench) -> None:
    bench.run(bench.calls.pause())
    bench.fill(1, lane="group/g", fallback="any", fallback_after=10)
    bench.pass_time(10_000)
    expire(bench)
    assert (len(bench.ready()), bench.tokens()) == (1, 0)


@pytest.mark.parametrize(("after", "tokens"), [(9.999, 1), (10, 0)])
def test_a_fallback_within_the_longest_block_wakes_a_worker_of_that_lane(
    bench: Workbench, after: float, tokens: int
) -> None:
    bench.fill(1, lane="group/g", fallback="any", fallback_after=after)
    assert bench.tokens() == tokens


def test_and_the_token_outlasts_a_claim_that_empties_the_lane(bench: Workbench) -> None:
    bench.fill(1, lane="group/g", fallback="any", fallback_after=5)
    bench.lease(1)
    assert bench.tokens() == 1
    assert 0 < bench.ask("PTTL", ":wake:any") <= 60_000


@pytest.mark.parametrize("half", [{"fallback": "any"}, {"fallback": "fail"}, {"fallback_after": 5}])
def test_half_a_fallback_is_refused_by_name(bench: Workbench, half: dict[str, Any]) -> None:
    before = bench.dump()
    items = [("a", Task(payload=b"")), ("b", Task(payload=b"", **half)), ("c", Task(payload=b""))]
    with pytest.raises(Refused, match=r"^ADEQ_ARG item\[2\]\.fallback_after_ms must be given with fallback"):
        bench.run(bench.calls.enqueue(items, "r"))
    assert bench.dump() == before


@pytest.mark.parametrize("state", ["running", "completed", "dead"])
def test_a_deadline_that_was_left_behind_ends_no_task_twice(bench: Workbench, state: str) -> None:
    """As an older version, or a hand, may leave it: a task with a lease or an end does not wait any more."""
    (lease,) = bench.lease(1, expires_at=NOW + 1)
    if state == "completed":
        bench.real(bench.calls.ack([(lease, None)]))
    elif state == "dead":
        bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
    bench.ask("HDEL", f":task:{lease.id}", "deliveries")
    bench.ask("ZADD", ":deadlines", bench.now, lease.id)
    bench.pass_time(1_000)
    expire(bench)
    assert bench.state(lease.id) == state
    assert due(bench, lease.id) is None
    check_queue(bench)

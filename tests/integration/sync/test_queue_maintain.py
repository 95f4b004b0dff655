# Generated from tests/integration/aio/test_queue_maintain.py by pyadeq/_unasync.py; do not edit.
"""What producers and owners of a queue do beyond the usual: only once, time limits, the dead set, modes, retention."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pyadeq import Lease, Task
from pyadeq import Adeq, Queue
from pyadeq.errors import BadArgument, LeaseLost, QueueDraining
from tests.integration.conftest import LINE, Clock


@pytest.fixture
def queue(timed: Queue) -> Queue:
    return timed


def take(queue: Queue, limit: int = 1, **options: Any) -> list[Lease]:
    return queue.claim("w1", limit, **options)


def bury(queue: Queue, *ids: str, **given: Any) -> None:
    """Tasks in the dead set."""
    for id in ids:
        reason = given.pop("reason", "bad")
        queue.enqueue(id, id=id, **given)
        (lease,) = take(queue)
        queue.fail(lease, f"{id} failed", reason=reason, retryable=False)


# Only once


def test_an_idempotency_key_answers_the_first_task_for_a_day(queue: Queue, clock: Clock) -> None:
    first = queue.enqueue(1, idempotency_key="order-17")
    (lease,) = take(queue)
    queue.ack(lease)
    clock.tick(86_399)
    again = queue.enqueue(2, idempotency_key="order-17")
    assert (first.status, again.status, again.id) == ("created", "deduplicated", first.id)
    clock.tick(1)
    assert (queue.enqueue(3, idempotency_key="order-17")).status == "created"


def test_a_unique_key_is_free_again_when_its_task_has_ended(queue: Queue) -> None:
    first = queue.enqueue(1, unique="report")
    assert (queue.enqueue(2, unique="report")).id == first.id
    (lease,) = take(queue)
    assert (queue.enqueue(3, unique="report")).status == "deduplicated"
    queue.ack(lease)
    assert (queue.enqueue(4, unique="report")).status == "created"


def test_a_scope_gathers_what_has_not_started(queue: Queue) -> None:
    first = queue.enqueue("v1", scope="doc-1", coalesce="last")
    second = queue.enqueue("v2", scope="doc-1", coalesce="last")
    assert (second.status, second.id) == ("deduplicated", first.id)
    queue.enqueue("v3", scope="doc-1")
    (lease,) = take(queue)
    assert lease.payload == "v2"
    assert (queue.enqueue("v4", scope="doc-1")).status == "created"


# Limits on time


def test_run_after_is_a_point_in_time(queue: Queue, clock: Clock) -> None:
    queue.enqueue(1, id="number", run_after=LINE / 1000 + 5)
    queue.enqueue(1, id="datetime", run_after=datetime.fromtimestamp(LINE / 1000 + 6, UTC))
    queue.enqueue(1, id="past", run_after=LINE / 1000 - 5)
    with pytest.raises(BadArgument, match="run_after must have a time zone"):
        queue.enqueue(1, run_after=datetime(2030, 1, 1))
    assert [lease.id for lease in take(queue, 9)] == ["past"]
    clock.tick(5.5)
    assert [lease.id for lease in take(queue, 9)] == ["number"]
    clock.tick(0.5)
    assert [lease.id for lease in take(queue, 9)] == ["datetime"]


def test_a_task_that_was_not_started_in_time_is_dead(queue: Queue, clock: Clock) -> None:
    queue.enqueue(1, id="late", expires_at=LINE / 1000 + 10)
    queue.enqueue(1, id="delayed", delay=60, expires_at=LINE / 1000 + 10)
    clock.tick(10)
    assert take(queue, 9) == []
    for id in ("late", "delayed"):
        found = queue.get(id)
        assert found is not None
        assert (found.state, found.reason, found.expires_at) == ("dead", "expired", LINE / 1000 + 10)


def test_a_task_falls_back_to_another_lane(queue: Queue, clock: Clock) -> None:
    home = "group/gpu/inst/7"
    queue.enqueue(1, id="t", lane=home, fallback="group/gpu", fallback_after=timedelta(seconds=30))
    with pytest.raises(BadArgument, match="fallback"):
        queue.enqueue(1, fallback="any")
    clock.tick(29)
    assert take(queue, lanes=["group/gpu"]) == []
    clock.tick(1)
    assert [lease.id for lease in take(queue, lanes=["group/gpu"])] == ["t"]


def test_a_task_that_takes_too_long_is_told_and_then_lost(queue: Queue, clock: Clock) -> None:
    queue.configure(timeout_grace=20)
    queue.enqueue(1, timeout=10)
    (lease,) = take(queue)
    assert lease.timeout == 10
    clock.tick(9)
    assert (queue.heartbeat(lease, extend=60)).status == "renewed"
    clock.tick(1)
    assert (queue.heartbeat(lease, extend=60)).status == "timed_out"
    clock.tick(20)
    with pytest.raises(LeaseLost):
        queue.heartbeat(lease)


def test_a_snoozed_task_comes_back_at_no_cost(queue: Queue, clock: Clock) -> None:
    queue.enqueue(1, id="t", max_attempts=1)
    (lease,) = take(queue)
    assert (queue.snooze(lease, 30)).due == LINE / 1000 + 30
    assert (queue.snooze(lease, 30)).status == "snoozed"  # a replay
    clock.tick(30)
    (again,) = take(queue)
    assert (again.attempt, again.delivery) == (1, 2)
    queue.ack(again)
    with pytest.raises(LeaseLost):
        queue.snooze(lease, 30)


# The dead set


def test_dead_tasks_tell_what_happened_and_start_anew(queue: Queue) -> None:
    bury(queue, "t", max_attempts=1)
    found = queue.get("t")
    assert found is not None
    assert (found.state, found.reason, found.error, found.attempts) == ("dead", "bad", "t failed", 1)
    assert (queue.dead.retry("t")).status == "retried"
    assert (queue.dead.retry("t")).status == "not_dead"
    assert (queue.dead.retry("nobody")).status == "not_found"
    (lease,) = take(queue)
    assert (lease.id, lease.attempt, lease.delivery) == ("t", 1, 2)


def test_a_delayed_task_and_a_retry_are_run_now(queue: Queue) -> None:
    queue.enqueue(1, id="t", delay=3600)
    assert (queue.admin.run_now("t")).status == "ready"
    (lease,) = take(queue)
    queue.fail(lease, "busy", delay=3600)
    answers = queue.admin.run_now_many(["t", "t", "nobody"])
    assert [(one.status, one.state) for one in answers] == [
        ("ready", None),
        ("not_delayed", "ready"),
        ("not_found", None),
    ]
    (lease,) = take(queue)
    assert (lease.id, lease.attempt) == ("t", 2)


def test_a_task_and_its_events_carry_the_trace_of_the_program(url: str, base_name: str) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with Adeq.from_url(url, trace=lambda: trace) as adeq:
        queue = adeq.queue(base_name)
        bury(queue, "t")
        found = queue.get("t")
        assert found is not None
        assert found.trace == trace


def test_a_retry_does_not_make_a_unique_task_twice(queue: Queue) -> None:
    bury(queue, "old", unique="report")
    queue.enqueue(1, id="new", unique="report")
    answer = queue.dead.retry("old")
    assert (answer.status, answer.holder) == ("conflict", "new")


@pytest.mark.parametrize("verb", ["retry_all", "abandon_all"])
def test_a_filter_says_which_dead_tasks_are_meant(queue: Queue, verb: str) -> None:
    for number in range(4):
        bury(queue, f"a{number}", kind="mail", user="ann", reason="timeout")
    bury(queue, "b", kind="mail", user="bob", reason="timeout")
    bury(queue, "c", kind="mail", user="ann", reason="bad")
    act = getattr(queue.dead, verb)
    named = {"user": "ann", "reason": "timeout", "kind": "mail"}
    tried = act(dry_run=True, **named)
    assert (tried.matched, tried.done) == (4, 0)
    assert (queue.stats()).dead == 6
    done = act(**named)
    assert (done.matched, done.done) == (4, 4)
    assert sorted([task.id for task in queue.iterate("dead")]) == ["b", "c"]


def test_abandoned_tasks_are_gone(queue: Queue) -> None:
    bury(queue, "t")
    assert [queue.dead.abandon("t"), queue.dead.abandon("nobody")] == ["abandoned", "not_found"]
    assert queue.get("t") is None
    assert (queue.enqueue(1, id="t")).status == "created"
    assert queue.dead.abandon("t") == "not_dead"


# Lists


def test_tasks_are_found_by_all_that_is_named_together(queue: Queue) -> None:
    queue.enqueue_many(
        Task(payload=n, id=f"t{n:02}", user=f"u{n % 2}", tags=[f"g{n % 3}"], parent=f"p{n % 5}", kind=f"k{n % 7}")
        for n in range(60)
    )

    def ids(**named: Any) -> list[int]:
        return [int(task.id[1:]) for task in queue.iterate(**named)]

    assert ids(user="u1", tag="g2", parent="p0") == [5, 35]
    assert ids(user="u0", state="ready", tag="g0") == list(range(0, 60, 6))
    assert ids(parent="p4", kind="k4") == [4, 39]
    assert ids(user="nobody") == []
    leases = take(queue, 30)
    assert ids(state="running", user="u0") == [int(lease.id[1:]) for lease in leases if lease.user == "u0"]
    assert ids(state="ready", parent="p1") == [31, 36, 41, 46, 51, 56]
    with pytest.raises(BadArgument, match="state must be a state, where no user, tag or parent is named"):
        queue.list()
    page = queue.list(user="u0", limit=5)
    with pytest.raises(BadArgument, match="cursor must be"):
        queue.list(tag="g0", cursor=page.cursor)


# Modes


def test_a_paused_queue_takes_in_and_gives_nothing(queue: Queue) -> None:
    queue.enqueue(1, id="t")
    queue.admin.pause()
    assert (queue.enqueue(2)).status == "created"
    assert (take(queue), (queue.stats()).mode) == ([], "paused")
    queue.admin.resume()
    assert [lease.id for lease in take(queue)] == ["t"]


def test_a_draining_queue_gives_and_takes_nothing_in(queue: Queue) -> None:
    queue.enqueue(1, id="t", rid="r")
    queue.admin.drain()
    with pytest.raises(QueueDraining, match="takes no new tasks"):
        queue.enqueue(2)
    assert (queue.enqueue(1, id="t", rid="r")).status == "created"  # it was, before
    assert [lease.id for lease in take(queue, 9)] == ["t"]
    queue.admin.resume()
    assert (queue.enqueue(2)).status == "created"


def test_purge_deletes_what_waits_and_all_but_what_runs(queue: Queue) -> None:
    bury(queue, "dead")
    queue.enqueue_many(Task(id=f"r{n}", lane=f"group/g{n % 150}", idempotency_key=f"k{n}") for n in range(1_500))
    queue.enqueue(1, id="running", priority=0)
    queue.enqueue(1, id="delayed", delay=60)
    assert [lease.id for lease in take(queue)] == ["running"]
    assert queue.admin.purge() == 1_501
    stats = queue.stats()
    assert (stats.pending, stats.running, stats.dead) == (0, 1, 1)
    assert (queue.enqueue(1, idempotency_key="k7")).status == "created"
    assert queue.admin.purge(all=True) == 2
    assert (queue.stats()).running == 1


def test_purge_finds_every_lane(queue: Queue) -> None:
    """However many there are, and however few are left of them."""
    queue.enqueue_many(Task(id=f"t{n}", lane=f"group/g{n}") for n in range(12_000))
    assert (queue.stats()).more_lanes == 11_000
    assert queue.admin.purge() == 12_000
    assert (queue.stats()).ready == 0


# Retention and results


def test_ended_tasks_are_kept_by_number_and_by_age(queue: Queue, clock: Clock) -> None:
    queue.configure(finished_max=3, finished_keep=60, dead_max=2, dead_keep=120)
    for number in range(5):
        queue.enqueue(number, id=f"t{number}")
        (lease,) = take(queue)
        queue.ack(lease, result=number)
    bury(queue, "d0", "d1", "d2")
    assert [task.id for task in queue.iterate("completed")] == ["t2", "t3", "t4"]
    assert [task.id for task in queue.iterate("dead")] == ["d1", "d2"]
    clock.tick(60)
    assert (queue.admin.trim(), (queue.stats()).finished) == (3, 0)
    clock.tick(60)
    take(queue)  # claims do it, too
    assert (queue.stats()).dead == 0
    counters = (queue.stats()).counters
    assert (counters["trimmed"], counters["dropped"]) == (5, 3)


def test_results_are_kept_for_a_time_or_not_at_all(queue: Queue, clock: Clock) -> None:
    queue.enqueue(1, id="kept")
    queue.enqueue(1, id="short", result_ttl=10)
    queue.enqueue(1, id="none", result_ttl=0)
    for lease in take(queue, 9):
        queue.ack(lease, result="r")

    def results() -> list[Any]:
        return [task.result for task in queue.get_many(["kept", "short", "none"]) if task]

    assert results() == ["r", "r", None]
    clock.tick(10)
    assert results() == ["r", None, None]


def test_a_removed_task_still_answers_what_was_sent_again(queue: Queue, clock: Clock) -> None:
    queue.configure(finished_max=0)
    queue.enqueue(1, id="t", rid="r")
    (lease,) = take(queue)
    queue.ack(lease)
    assert queue.get("t") is None
    assert queue.ack_many([(lease, None)]) == ["completed"]
    assert (queue.enqueue(1, id="t", rid="r")).status == "created"
    assert (queue.stats()).pending == 0
    assert (queue.enqueue(2, id="t", rid="another")).status == "created"
    assert (queue.stats()).pending == 1


# Any number of them


def test_a_stream_of_tasks_is_read_as_it_is_sent(queue: Queue) -> None:
    read = 0

    def tasks() -> Iterator[Task]:
        nonlocal read
        for number in range(4_500):
            read += 1
            yield Task(payload=number, id=f"t{number}")

    seen = 0
    for receipt in queue.enqueue_stream(tasks(), rid="r"):
        assert receipt.id == f"t{seen}"
        seen += 1
        assert read - seen <= 1_000
    assert seen == 4_500
    assert (queue.enqueue_many(tasks(), rid="r"))[4_499].status == "created"
    assert (queue.stats()).ready == 4_500
    listed = [task.id for task in queue.iterate("ready")]
    assert listed == [f"t{number}" for number in range(4_500)]

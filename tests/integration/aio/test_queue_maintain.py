"""What producers and owners of a queue do beyond the usual: only once, time limits, the dead set, modes, retention."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pyadeq import Lease, Task
from pyadeq.asyncio import Adeq, Queue
from pyadeq.errors import BadArgument, LeaseLost, QueueDraining
from tests.integration.conftest import LINE, Clock


@pytest.fixture
def queue(timed: Queue) -> Queue:
    return timed


async def take(queue: Queue, limit: int = 1, **options: Any) -> list[Lease]:
    return await queue.claim("w1", limit, **options)


async def bury(queue: Queue, *ids: str, **given: Any) -> None:
    """Tasks in the dead set."""
    for id in ids:
        reason = given.pop("reason", "bad")
        await queue.enqueue(id, id=id, **given)
        (lease,) = await take(queue)
        await queue.fail(lease, f"{id} failed", reason=reason, retryable=False)


# Only once


async def test_an_idempotency_key_answers_the_first_task_for_a_day(queue: Queue, clock: Clock) -> None:
    first = await queue.enqueue(1, idempotency_key="order-17")
    (lease,) = await take(queue)
    await queue.ack(lease)
    clock.tick(86_399)
    again = await queue.enqueue(2, idempotency_key="order-17")
    assert (first.status, again.status, again.id) == ("created", "deduplicated", first.id)
    clock.tick(1)
    assert (await queue.enqueue(3, idempotency_key="order-17")).status == "created"


async def test_a_unique_key_is_free_again_when_its_task_has_ended(queue: Queue) -> None:
    first = await queue.enqueue(1, unique="report")
    assert (await queue.enqueue(2, unique="report")).id == first.id
    (lease,) = await take(queue)
    assert (await queue.enqueue(3, unique="report")).status == "deduplicated"
    await queue.ack(lease)
    assert (await queue.enqueue(4, unique="report")).status == "created"


async def test_a_scope_gathers_what_has_not_started(queue: Queue) -> None:
    first = await queue.enqueue("v1", scope="doc-1", coalesce="last")
    second = await queue.enqueue("v2", scope="doc-1", coalesce="last")
    assert (second.status, second.id) == ("deduplicated", first.id)
    await queue.enqueue("v3", scope="doc-1")
    (lease,) = await take(queue)
    assert lease.payload == "v2"
    assert (await queue.enqueue("v4", scope="doc-1")).status == "created"


# Limits on time


async def test_run_after_is_a_point_in_time(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, id="number", run_after=LINE / 1000 + 5)
    await queue.enqueue(1, id="datetime", run_after=datetime.fromtimestamp(LINE / 1000 + 6, UTC))
    await queue.enqueue(1, id="past", run_after=LINE / 1000 - 5)
    with pytest.raises(BadArgument, match="run_after must have a time zone"):
        await queue.enqueue(1, run_after=datetime(2030, 1, 1))
    assert [lease.id for lease in await take(queue, 9)] == ["past"]
    clock.tick(5.5)
    assert [lease.id for lease in await take(queue, 9)] == ["number"]
    clock.tick(0.5)
    assert [lease.id for lease in await take(queue, 9)] == ["datetime"]


async def test_a_task_that_was_not_started_in_time_is_dead(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, id="late", expires_at=LINE / 1000 + 10)
    await queue.enqueue(1, id="delayed", delay=60, expires_at=LINE / 1000 + 10)
    clock.tick(10)
    assert await take(queue, 9) == []
    for id in ("late", "delayed"):
        found = await queue.get(id)
        assert found is not None
        assert (found.state, found.reason, found.expires_at) == ("dead", "expired", LINE / 1000 + 10)


async def test_a_task_falls_back_to_another_lane(queue: Queue, clock: Clock) -> None:
    home = "group/gpu/inst/7"
    await queue.enqueue(1, id="t", lane=home, fallback="group/gpu", fallback_after=timedelta(seconds=30))
    with pytest.raises(BadArgument, match="fallback"):
        await queue.enqueue(1, fallback="any")
    clock.tick(29)
    assert await take(queue, lanes=["group/gpu"]) == []
    clock.tick(1)
    assert [lease.id for lease in await take(queue, lanes=["group/gpu"])] == ["t"]


async def test_a_task_that_takes_too_long_is_told_and_then_lost(queue: Queue, clock: Clock) -> None:
    await queue.configure(timeout_grace=20)
    await queue.enqueue(1, timeout=10)
    (lease,) = await take(queue)
    assert lease.timeout == 10
    clock.tick(9)
    assert (await queue.heartbeat(lease, extend=60)).status == "renewed"
    clock.tick(1)
    assert (await queue.heartbeat(lease, extend=60)).status == "timed_out"
    clock.tick(20)
    with pytest.raises(LeaseLost):
        await queue.heartbeat(lease)


async def test_a_snoozed_task_comes_back_at_no_cost(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, id="t", max_attempts=1)
    (lease,) = await take(queue)
    assert (await queue.snooze(lease, 30)).due == LINE / 1000 + 30
    assert (await queue.snooze(lease, 30)).status == "snoozed"  # a replay
    clock.tick(30)
    (again,) = await take(queue)
    assert (again.attempt, again.delivery) == (1, 2)
    await queue.ack(again)
    with pytest.raises(LeaseLost):
        await queue.snooze(lease, 30)


# The dead set


async def test_dead_tasks_tell_what_happened_and_start_anew(queue: Queue) -> None:
    await bury(queue, "t", max_attempts=1)
    found = await queue.get("t")
    assert found is not None
    assert (found.state, found.reason, found.error, found.attempts) == ("dead", "bad", "t failed", 1)
    assert (await queue.dead.retry("t")).status == "retried"
    assert (await queue.dead.retry("t")).status == "not_dead"
    assert (await queue.dead.retry("nobody")).status == "not_found"
    (lease,) = await take(queue)
    assert (lease.id, lease.attempt, lease.delivery) == ("t", 1, 2)


async def test_a_delayed_task_and_a_retry_are_run_now(queue: Queue) -> None:
    await queue.enqueue(1, id="t", delay=3600)
    assert (await queue.admin.run_now("t")).status == "ready"
    (lease,) = await take(queue)
    await queue.fail(lease, "busy", delay=3600)
    answers = await queue.admin.run_now_many(["t", "t", "nobody"])
    assert [(one.status, one.state) for one in answers] == [
        ("ready", None),
        ("not_delayed", "ready"),
        ("not_found", None),
    ]
    (lease,) = await take(queue)
    assert (lease.id, lease.attempt) == ("t", 2)


async def test_a_task_and_its_events_carry_the_trace_of_the_program(url: str, base_name: str) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with Adeq.from_url(url, trace=lambda: trace) as adeq:
        queue = adeq.queue(base_name)
        await bury(queue, "t")
        found = await queue.get("t")
        assert found is not None
        assert found.trace == trace


async def test_a_retry_does_not_make_a_unique_task_twice(queue: Queue) -> None:
    await bury(queue, "old", unique="report")
    await queue.enqueue(1, id="new", unique="report")
    answer = await queue.dead.retry("old")
    assert (answer.status, answer.holder) == ("conflict", "new")


@pytest.mark.parametrize("verb", ["retry_all", "abandon_all"])
async def test_a_filter_says_which_dead_tasks_are_meant(queue: Queue, verb: str) -> None:
    for number in range(4):
        await bury(queue, f"a{number}", kind="mail", user="ann", reason="timeout")
    await bury(queue, "b", kind="mail", user="bob", reason="timeout")
    await bury(queue, "c", kind="mail", user="ann", reason="bad")
    act = getattr(queue.dead, verb)
    named = {"user": "ann", "reason": "timeout", "kind": "mail"}
    tried = await act(dry_run=True, **named)
    assert (tried.matched, tried.done) == (4, 0)
    assert (await queue.stats()).dead == 6
    done = await act(**named)
    assert (done.matched, done.done) == (4, 4)
    assert sorted([task.id async for task in queue.iterate("dead")]) == ["b", "c"]


async def test_abandoned_tasks_are_gone(queue: Queue) -> None:
    await bury(queue, "t")
    assert [await queue.dead.abandon("t"), await queue.dead.abandon("nobody")] == ["abandoned", "not_found"]
    assert await queue.get("t") is None
    assert (await queue.enqueue(1, id="t")).status == "created"
    assert await queue.dead.abandon("t") == "not_dead"


# Lists


async def test_tasks_are_found_by_all_that_is_named_together(queue: Queue) -> None:
    await queue.enqueue_many(
        Task(payload=n, id=f"t{n:02}", user=f"u{n % 2}", tags=[f"g{n % 3}"], parent=f"p{n % 5}", kind=f"k{n % 7}")
        for n in range(60)
    )

    async def ids(**named: Any) -> list[int]:
        return [int(task.id[1:]) async for task in queue.iterate(**named)]

    assert await ids(user="u1", tag="g2", parent="p0") == [5, 35]
    assert await ids(user="u0", state="ready", tag="g0") == list(range(0, 60, 6))
    assert await ids(parent="p4", kind="k4") == [4, 39]
    assert await ids(user="nobody") == []
    leases = await take(queue, 30)
    assert await ids(state="running", user="u0") == [int(lease.id[1:]) for lease in leases if lease.user == "u0"]
    assert await ids(state="ready", parent="p1") == [31, 36, 41, 46, 51, 56]
    with pytest.raises(BadArgument, match="state must be a state, where no user, tag or parent is named"):
        await queue.list()
    page = await queue.list(user="u0", limit=5)
    with pytest.raises(BadArgument, match="cursor must be"):
        await queue.list(tag="g0", cursor=page.cursor)


# Modes


async def test_a_paused_queue_takes_in_and_gives_nothing(queue: Queue) -> None:
    await queue.enqueue(1, id="t")
    await queue.admin.pause()
    assert (await queue.enqueue(2)).status == "created"
    assert (await take(queue), (await queue.stats()).mode) == ([], "paused")
    await queue.admin.resume()
    assert [lease.id for lease in await take(queue)] == ["t"]


async def test_a_draining_queue_gives_and_takes_nothing_in(queue: Queue) -> None:
    await queue.enqueue(1, id="t", rid="r")
    await queue.admin.drain()
    with pytest.raises(QueueDraining, match="takes no new tasks"):
        await queue.enqueue(2)
    assert (await queue.enqueue(1, id="t", rid="r")).status == "created"  # it was, before
    assert [lease.id for lease in await take(queue, 9)] == ["t"]
    await queue.admin.resume()
    assert (await queue.enqueue(2)).status == "created"


async def test_purge_deletes_what_waits_and_all_but_what_runs(queue: Queue) -> None:
    await bury(queue, "dead")
    await queue.enqueue_many(Task(id=f"r{n}", lane=f"group/g{n % 150}", idempotency_key=f"k{n}") for n in range(1_500))
    await queue.enqueue(1, id="running", priority=0)
    await queue.enqueue(1, id="delayed", delay=60)
    assert [lease.id for lease in await take(queue)] == ["running"]
    assert await queue.admin.purge() == 1_501
    stats = await queue.stats()
    assert (stats.pending, stats.running, stats.dead) == (0, 1, 1)
    assert (await queue.enqueue(1, idempotency_key="k7")).status == "created"
    assert await queue.admin.purge(all=True) == 2
    assert (await queue.stats()).running == 1


async def test_purge_finds_every_lane(queue: Queue) -> None:
    """However many there are, and however few are left of them."""
    await queue.enqueue_many(Task(id=f"t{n}", lane=f"group/g{n}") for n in range(12_000))
    assert (await queue.stats()).more_lanes == 11_000
    assert await queue.admin.purge() == 12_000
    assert (await queue.stats()).ready == 0


# Retention and results


async def test_ended_tasks_are_kept_by_number_and_by_age(queue: Queue, clock: Clock) -> None:
    await queue.configure(finished_max=3, finished_keep=60, dead_max=2, dead_keep=120)
    for number in range(5):
        await queue.enqueue(number, id=f"t{number}")
        (lease,) = await take(queue)
        await queue.ack(lease, result=number)
    await bury(queue, "d0", "d1", "d2")
    assert [task.id async for task in queue.iterate("completed")] == ["t2", "t3", "t4"]
    assert [task.id async for task in queue.iterate("dead")] == ["d1", "d2"]
    clock.tick(60)
    assert (await queue.admin.trim(), (await queue.stats()).finished) == (3, 0)
    clock.tick(60)
    await take(queue)  # claims do it, too
    assert (await queue.stats()).dead == 0
    counters = (await queue.stats()).counters
    assert (counters["trimmed"], counters["dropped"]) == (5, 3)


async def test_results_are_kept_for_a_time_or_not_at_all(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, id="kept")
    await queue.enqueue(1, id="short", result_ttl=10)
    await queue.enqueue(1, id="none", result_ttl=0)
    for lease in await take(queue, 9):
        await queue.ack(lease, result="r")

    async def results() -> list[Any]:
        return [task.result for task in await queue.get_many(["kept", "short", "none"]) if task]

    assert await results() == ["r", "r", None]
    clock.tick(10)
    assert await results() == ["r", None, None]


async def test_a_removed_task_still_answers_what_was_sent_again(queue: Queue, clock: Clock) -> None:
    await queue.configure(finished_max=0)
    await queue.enqueue(1, id="t", rid="r")
    (lease,) = await take(queue)
    await queue.ack(lease)
    assert await queue.get("t") is None
    assert await queue.ack_many([(lease, None)]) == ["completed"]
    assert (await queue.enqueue(1, id="t", rid="r")).status == "created"
    assert (await queue.stats()).pending == 0
    assert (await queue.enqueue(2, id="t", rid="another")).status == "created"
    assert (await queue.stats()).pending == 1


# Any number of them


async def test_a_stream_of_tasks_is_read_as_it_is_sent(queue: Queue) -> None:
    read = 0

    def tasks() -> Iterator[Task]:
        nonlocal read
        for number in range(4_500):
            read += 1
            yield Task(payload=number, id=f"t{number}")

    seen = 0
    async for receipt in queue.enqueue_stream(tasks(), rid="r"):
        assert receipt.id == f"t{seen}"
        seen += 1
        assert read - seen <= 1_000
    assert seen == 4_500
    assert (await queue.enqueue_many(tasks(), rid="r"))[4_499].status == "created"
    assert (await queue.stats()).ready == 4_500
    listed = [task.id async for task in queue.iterate("ready")]
    assert listed == [f"t{number}" for number in range(4_500)]

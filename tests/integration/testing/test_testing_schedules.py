"""`run_all` on a queue with schedules: what is due by the virtual clock is enqueued and run."""

from datetime import UTC, datetime
from typing import Any

import pytest

from pyadeq import Adeq, Cron, Every, Lease, Queue, Tasks
from pyadeq import asyncio as aio
from pyadeq.testing import Clock, enqueued, run_all

pytestmark = pytest.mark.any_engine

HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
def queue(adeq: Adeq, adeq_clock: Clock) -> Queue:
    return adeq.queue("work")


@pytest.fixture
def aio_queue(aio_adeq: aio.Adeq, adeq_clock: Clock) -> aio.Queue:
    return aio_adeq.queue("work")


def nominal(lease: Lease) -> float | None:
    return lease.nominal


def test_what_is_due_runs_when_the_clock_has_advanced(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(HOUR), {"n": 1}, kind="k")
    assert run_all(queue, nominal) == []
    schedule = queue.schedules.get("s")
    assert schedule
    assert schedule.next
    adeq_clock.advance_to(schedule.next)
    (run,) = run_all(queue, nominal)
    assert (run.id, run.kind, run.result) == (f"s@{round(schedule.next * 1000)}", "k", schedule.next)
    assert run_all(queue, nominal) == []
    adeq_clock.advance(HOUR)
    assert [run.result for run in run_all(queue, nominal)] == [schedule.next + HOUR]


def test_the_clock_does_not_go_on_to_a_schedule(queue: Queue, adeq_clock: Clock) -> None:
    """There is no end of them. What else is due later runs as ever."""
    queue.schedules.set("s", Every(HOUR), "by schedule")
    began = adeq_clock.now
    assert run_all(queue, nominal) == []
    assert adeq_clock.now == began
    queue.enqueue("delayed", delay=1)
    assert [run.result for run in run_all(queue, lambda lease: lease.payload)][-1] == "delayed"
    assert adeq_clock.now == pytest.approx(began + 1)


def test_what_comes_while_the_clock_goes_on_to_something_else(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(HOUR), "by schedule", overlap="allow", catch_up=DAY)
    queue.enqueue("delayed", delay=2 * HOUR)
    results = [run.result for run in run_all(queue, lambda lease: lease.payload)]
    assert sorted(results) == ["by schedule", "by schedule", "delayed"]


def test_a_cron_expression_of_a_day_in_spring(queue: Queue, adeq_clock: Clock) -> None:
    adeq_clock.advance_to(datetime(2027, 3, 27, 12, tzinfo=UTC).timestamp())
    queue.schedules.set("s", Cron("30 2 * * *", "Europe/Berlin"))
    adeq_clock.advance_to(datetime(2027, 3, 28, 0, 59, tzinfo=UTC).timestamp())
    assert run_all(queue, nominal) == []
    adeq_clock.advance(60)
    assert [run.result for run in run_all(queue, nominal)] == [adeq_clock.now]


@pytest.mark.parametrize(("overlap", "runs"), [("skip", 1), ("buffer_one", 2), ("buffer_all", 3), ("allow", 3)])
def test_policies_hold(queue: Queue, adeq_clock: Clock, overlap: Any, runs: int) -> None:
    queue.schedules.set("s", Every(HOUR), overlap=overlap, catch_up=DAY)
    adeq_clock.advance(3 * HOUR)
    found = [run.result for run in run_all(queue, nominal)]
    assert len(found) == runs
    assert found == sorted(found)
    schedule = queue.schedules.get("s")
    assert schedule
    assert (schedule.fired, schedule.skipped) == (runs, 3 - runs)


def test_cancel_other_leaves_the_last(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(HOUR), overlap="cancel_other", catch_up=DAY)
    adeq_clock.advance(3 * HOUR)
    (run,) = run_all(queue, nominal)
    assert run.result
    assert adeq_clock.now - HOUR < run.result <= adeq_clock.now
    assert queue.stats().finished == 3


def test_more_times_than_are_made_up_for_at_once(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(1), overlap="allow", catch_up=DAY)
    adeq_clock.advance(120)
    assert len(run_all(queue, nominal)) == 120


def test_what_came_too_late_is_missed(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(60), overlap="allow", catch_up=120)
    adeq_clock.advance(DAY)
    assert len(run_all(queue, nominal)) in (2, 3)
    schedule = queue.schedules.get("s")
    assert schedule
    assert schedule.fired + schedule.missed == 1440


def test_a_task_that_fails_is_tried_again_and_the_next_time_waits(queue: Queue, adeq_clock: Clock) -> None:
    def handle(lease: Lease) -> None:
        if lease.attempt == 1:
            raise ValueError("not yet")

    queue.schedules.set("s", Every(HOUR))
    adeq_clock.advance(HOUR)
    runs = run_all(queue, handle, raise_errors=False)
    assert [run.outcome for run in runs] == ["retried", "completed"]


def test_a_handler_puts_a_schedule(queue: Queue, adeq_clock: Clock) -> None:
    def handle(lease: Lease) -> str | None:
        if lease.kind == "begin":
            queue.schedules.set("s", Every(1), overlap="allow", kind="tick")
            adeq_clock.advance(3)
        return lease.kind

    queue.enqueue(kind="begin")
    assert [run.result for run in run_all(queue, handle)] == ["begin", "tick", "tick", "tick"]


def test_registered_functions_run(queue: Queue, adeq_clock: Clock) -> None:
    tasks = Tasks()

    @tasks.task
    def double(n: int) -> int:
        return 2 * n

    queue.schedules.set("s", Every(HOUR), double.item(4))
    adeq_clock.advance(HOUR)
    assert [run.result for run in run_all(queue, tasks)] == [8]


def test_without_run_all_it_is_there_to_be_looked_at(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(HOUR), "p")
    adeq_clock.advance(HOUR)
    assert enqueued(queue) == []
    queue.schedules.fire_due()
    (task,) = enqueued(queue)
    assert (task.payload, task.schedule) == ("p", "s")
    run_all(queue, nominal)


def test_advance_false_fires_what_is_due(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(HOUR))
    adeq_clock.advance(HOUR)
    assert len(run_all(queue, nominal, advance=False)) == 1


@pytest.mark.parametrize("hold", ["pause the schedule", "drain"])
def test_what_is_not_to_fire_does_not(queue: Queue, adeq_clock: Clock, hold: str) -> None:
    queue.schedules.set("s", Every(HOUR))
    if hold == "drain":
        queue.admin.drain()
    else:
        queue.schedules.pause("s")
    adeq_clock.advance(HOUR)
    assert run_all(queue, nominal) == []


def test_a_paused_queue_runs_nothing(queue: Queue, adeq_clock: Clock) -> None:
    queue.schedules.set("s", Every(HOUR))
    queue.admin.pause()
    adeq_clock.advance(HOUR)
    assert run_all(queue, nominal) == []
    queue.admin.resume()
    assert len(run_all(queue, nominal)) == 1


def test_one_that_cannot_fire_does_not_hold_it_up(queue: Queue, adeq: Adeq, adeq_clock: Clock) -> None:
    queue.schedules.set("strange", Every(HOUR))
    queue.schedules.set("s", Every(HOUR))
    adeq.client.hset(f"{queue.base}:schedule:strange", "timing", "{}")
    adeq_clock.advance(HOUR)
    runs = run_all(queue, lambda lease: lease.schedule)
    assert [run.result for run in runs] == ["s"]


def test_on_the_servers_time_it_fires_what_is_due(adeq: Adeq) -> None:
    queue = adeq.queue("work")
    queue.schedules.set("s", Every(HOUR))
    assert run_all(queue, nominal) == []
    assert queue.schedules.trigger("s").status == "fired"
    assert len(run_all(queue, nominal)) == 1


async def test_async_too(aio_queue: aio.Queue, adeq_clock: Clock) -> None:
    async def handle(lease: Lease) -> float | None:
        return lease.nominal

    await aio_queue.schedules.set("s", Every(HOUR), overlap="allow", catch_up=DAY)
    adeq_clock.advance(3 * HOUR)
    assert len(await run_all(aio_queue, handle)) == 3

"""Schedules with a real Worker: it fires what is due whatever else it does, and of many each time fires once."""

import asyncio
import logging
import threading
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import pyadeq
from pyadeq._worker import listener, scheduling
from pyadeq.asyncio import Adeq, At, Every, Lease, Queue, Schedule, Schedules, Task, Tasks, Worker
from pyadeq.embedded import EmbeddedServer
from tests.integration.conftest import Clock
from tests.integration.running import adeq, queue, registered
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures

SOON = 0.1  # the shortest period


async def view(queue: Queue, name: str = "s") -> Schedule:
    schedule = await queue.schedules.get(name)
    assert schedule
    return schedule


async def has_fired(queue: Queue, number: int, name: str = "s") -> bool:
    return (await view(queue, name)).fired >= number


async def echo(lease: Lease) -> Any:
    return lease.payload


def times_of(first: float, last: float) -> int:
    """How many times there are of a period that is the shortest, both ends included."""
    return round((last - first) / SOON) + 1


# One worker


async def test_an_idle_worker_fires_what_is_due(queue: Queue) -> None:
    seen: list[Lease] = []

    async def handle(lease: Lease) -> None:
        seen.append(lease)

    await queue.schedules.set("s", Every(SOON), {"n": 1}, overlap="allow")
    first = (await view(queue)).next
    assert first
    async with registered(queue, handle):
        await eventually(lambda: has_fired(queue, 5))
    found = sorted(lease.nominal or 0 for lease in seen)
    assert [round((nominal - first) / SOON) for nominal in found] == list(range(len(seen)))
    assert {(lease.schedule, lease.payload["n"]) for lease in seen} == {("s", 1)}
    assert {lease.id for lease in seen} == {f"s@{round(nominal * 1000)}" for nominal in found}


async def test_a_schedule_that_is_put_while_it_is_idle(queue: Queue) -> None:
    async with registered(queue, echo):
        await queue.schedules.set("s", Every(SOON), overlap="allow")
        await eventually(lambda: has_fired(queue, 2), scheduling.LOOK_AGAIN - 2)
        await queue.schedules.set("now", At((await queue.stats()).now + 0.2))
        await eventually(lambda: has_fired(queue, 1, "now"), scheduling.LOOK_AGAIN - 2)


async def test_one_that_is_changed_or_goes_on_is_heard_of(queue: Queue) -> None:
    await queue.schedules.set("s", Every(3600))
    await queue.schedules.set("paused", Every(SOON), overlap="allow")
    await queue.schedules.pause("paused")
    async with registered(queue, echo):
        await queue.schedules.set("s", Every(SOON), overlap="allow")
        await eventually(lambda: has_fired(queue, 1), scheduling.LOOK_AGAIN - 2)
        assert not (await view(queue, "paused")).fired
        await queue.schedules.resume("paused")
        await eventually(lambda: has_fired(queue, 1, "paused"), scheduling.LOOK_AGAIN - 2)
        await queue.schedules.pause("s")
        fired = (await view(queue)).fired
        await eventually(lambda: has_fired(queue, 5, "paused"))
        assert (await view(queue)).fired == fired


async def test_while_all_its_slots_are_busy(queue: Queue) -> None:
    go = asyncio.Event()

    async def handle(lease: Lease) -> None:
        await go.wait()

    await queue.schedules.set("s", Every(SOON), overlap="allow", kind="later")
    await queue.enqueue_many(["a", "b"])
    async with registered(queue, handle, concurrency=2) as worker:
        await eventually(lambda: has_fired(queue, 5))
        assert worker.health().running == 2
        await queue.schedules.pause("s")
        go.set()
        await eventually(lambda: _all_ended(queue))


async def _all_ended(queue: Queue) -> bool:
    stats = await queue.stats()
    return not stats.pending and not stats.running


async def test_an_idle_worker_does_not_ask_what_its_claims_say(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "LOOK_AGAIN", 0.1)
    monkeypatch.setattr(listener, "LONGEST_BLOCK", 0.2)
    fire_due, looks = Schedules.fire_due, []

    async def looking(schedules: Schedules) -> Any:
        looks.append(schedules)
        return await fire_due(schedules)

    monkeypatch.setattr(Schedules, "fire_due", looking)
    async with registered(queue, echo) as worker:
        await eventually(lambda: _has_claimed(worker, 6))
    assert len(looks) <= 2  # one is made at the start


async def _has_claimed(worker: Worker, number: int) -> bool:
    return worker._listener.wakings >= number


async def test_one_that_is_put_while_all_its_slots_are_busy(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """It claims nothing, so nobody tells it: it looks by itself."""
    monkeypatch.setattr(scheduling, "LOOK_AGAIN", 0.2)
    go, running = asyncio.Event(), asyncio.Event()

    async def handle(lease: Lease) -> None:
        running.set()
        await go.wait()

    await queue.enqueue("long")
    async with registered(queue, handle, concurrency=1):
        await asyncio.wait_for(running.wait(), DEADLINE)
        await queue.schedules.set("s", Every(SOON))
        await eventually(lambda: has_fired(queue, 1))
        await queue.schedules.remove("s")
        go.set()


async def test_a_quiet_worker_fires_and_claims_nothing(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "LOOK_AGAIN", 0.2)
    ran: list[str] = []

    async def handle(lease: Lease) -> None:
        ran.append(lease.id)

    async with registered(queue, handle) as worker:
        worker.quiet()
        await queue.schedules.set("s", Every(SOON), overlap="allow")
        await eventually(lambda: has_fired(queue, 3))
        assert ran == []
        worker.resume()
        await eventually(lambda: _true(len(ran) >= 3))


async def _true(value: bool) -> bool:
    return value


async def test_a_worker_of_other_lanes_fires_too(queue: Queue) -> None:
    await queue.schedules.set("s", Every(SOON), overlap="allow", lane="group/nobody")
    async with registered(queue, echo, lanes=["group/g"]):
        await eventually(lambda: has_fired(queue, 3))
    assert (await queue.stats()).lanes.keys() == {"group/nobody"}


async def test_after_a_drained_queue_goes_on(queue: Queue) -> None:
    await queue.schedules.set("s", Every(SOON), overlap="allow")
    async with registered(queue, echo):
        await eventually(lambda: has_fired(queue, 1))
        await queue.admin.drain()
        before = await view(queue)
        await asyncio.sleep(5 * SOON)
        assert (await view(queue)).fired == before.fired
        await queue.admin.resume()
        await eventually(lambda: has_fired(queue, before.fired + 3), scheduling.LOOK_AGAIN - 2)
    after = await view(queue)
    assert after.last
    assert before.last
    assert after.fired - before.fired == times_of(before.last, after.last) - 1
    assert after.missed == 0


async def test_a_paused_queue_takes_in_what_is_due(queue: Queue) -> None:
    await queue.admin.pause()
    await queue.schedules.set("s", Every(SOON), overlap="allow")
    async with registered(queue, echo):
        await eventually(lambda: has_fired(queue, 3))
        stats = await queue.stats()
        assert (stats.finished, stats.ready >= 3) == (0, True)


async def test_a_schedule_runs_a_registered_function(queue: Queue) -> None:
    tasks, sums = Tasks(), []

    @tasks.task
    async def add(left: int, right: int = 1) -> int:
        sums.append(left + right)
        return left + right

    await queue.schedules.set("s", Every(SOON), add.item(2, right=3))
    async with registered(queue, tasks):
        await eventually(lambda: _true(len(sums) >= 2))
    assert set(sums) == {5}


async def test_one_that_cannot_fire_is_told_of_and_holds_up_nobody(
    queue: Queue, adeq: Adeq, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pyadeq.worker")
    await queue.schedules.set("strange", Every(SOON))
    await adeq.client.hset(f"{queue.base}:schedule:strange", "timing", '{"cron":"* * * * *","tz":"Mars/Base"}')
    await queue.schedules.set("s", Every(SOON), overlap="allow")
    async with registered(queue, echo):
        await eventually(lambda: has_fired(queue, 10))
    assert "schedule strange could not be fired: " in caplog.text
    assert "Mars/Base" in caplog.text


async def test_stop_ends_it_cleanly(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    await queue.schedules.set("s", Every(SOON), overlap="allow")
    async with registered(queue, echo) as worker:
        await eventually(lambda: has_fired(queue, 2))
    after = await view(queue)
    assert await queue.workers.get(worker.name) is None
    assert not [task for task in asyncio.all_tasks() if "Scheduler" in repr(task)]
    await asyncio.sleep(2 * SOON)
    assert (await view(queue)).fired == after.fired
    assert caplog.records == []
    await queue.schedules.remove("s")


async def test_stop_in_the_middle_of_many_firings(queue: Queue, adeq: Adeq) -> None:
    """What is on its way is made or not, and nothing in between."""
    now = (await queue.stats()).now
    async with adeq.pipeline() as pipe:  # their time has come by then, which `now` does not tell
        for n in range(200):
            pipe.add(queue.calls.put_schedule(f"s{n}", At(now + 0.001), Task(), f"r{n}", now))
    async with registered(queue, echo):
        await eventually(lambda: _any_fired(queue))
    schedules = [schedule async for schedule in queue.schedules.iterate()]
    assert len(schedules) == 200
    assert all((schedule.fired, schedule.state) in ((0, "active"), (1, "ended")) for schedule in schedules)
    counters = (await queue.stats()).counters
    assert counters["enqueued"] == sum(schedule.fired for schedule in schedules)


async def _any_fired(queue: Queue) -> bool:
    return (await queue.stats()).counters.get("enqueued", 0) > 0


async def test_a_server_that_goes_away_and_comes_back(binary: Path) -> None:
    with EmbeddedServer(binary=binary, appendfsync="always") as server:
        async with Adeq.from_url(server.url, retry_for=0.5) as adeq:
            queue = adeq.queue("restart")
            await queue.schedules.set("s", Every(SOON), overlap="allow")
            first = (await view(queue)).next
            async with registered(queue, echo):
                await eventually(lambda: has_fired(queue, 2))
                await asyncio.to_thread(server.restart)
                before = (await view(queue)).fired
                await eventually(lambda: has_fired(queue, before + 5))
            after = await view(queue)
            assert first
            assert after.last
            assert (after.fired, after.skipped, after.missed) == (times_of(first, after.last), 0, 0)


# Many schedulers


async def test_of_ten_workers_each_time_fires_once(queue: Queue, url: str) -> None:
    ran: Counter[str] = Counter()

    async def handle(lease: Lease) -> None:
        ran[lease.id] += 1

    for name in "abc":
        await queue.schedules.set(name, Every(SOON), overlap="allow")
    firsts = {schedule.name: schedule.next async for schedule in queue.schedules.iterate()}
    async with AsyncExitStack() as stack:
        for n in range(10):
            adeq = await stack.enter_async_context(Adeq.from_url(url))
            await stack.enter_async_context(registered(adeq.queue(queue.name), handle, name=f"w{n}"))
        await eventually(lambda: has_fired(queue, 15, "a"))
        for name in "abc":
            await queue.schedules.pause(name)
        await eventually(lambda: _all_ended(queue))
    fired = 0
    for name, first in firsts.items():
        schedule = await view(queue, name)
        assert first
        assert schedule.last
        assert (schedule.fired, schedule.skipped, schedule.missed) == (times_of(first, schedule.last), 0, 0)
        fired += schedule.fired
    assert (len(ran), set(ran.values())) == (fired, {1})


@pytest.mark.parametrize("overlap", ["allow", "buffer_all"])
async def test_ten_schedulers_at_once_on_fifty_schedules(url: str, base_name: str, clock: Clock, overlap: Any) -> None:
    """Each time fires once, whoever does it; the others find that they are too late."""
    fired: Counter[tuple[str, float]] = Counter()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Adeq.from_url(url, clock=clock)) for _ in range(10)]
        queues = [adeq.queue(base_name) for adeq in clients]
        await queues[0].configure(clock="test")
        for n in range(50):
            await queues[0].schedules.set(f"s{n}", Every(60, offset=n), overlap=overlap)
        clock.tick(240)
        now = clock.now_ms / 1000
        statuses: Counter[str] = Counter()
        for answers in await asyncio.gather(*(queue.schedules.fire_due() for queue in queues)):
            for firing in answers.firings:
                statuses[firing.status] += 1
                fired[firing.schedule, firing.at] += firing.status == "fired"
        assert statuses.keys() <= {"fired", "stale"}
        assert (statuses["fired"], set(fired.values())) == (200, {1})
        schedules = [schedule async for schedule in queues[0].schedules.iterate()]
        assert {(schedule.fired, schedule.skipped, schedule.missed) for schedule in schedules} == {(4, 0, 0)}
        assert all(schedule.next and now < schedule.next <= now + 60 for schedule in schedules)
        stats = await queues[0].stats()
        assert stats.pending == stats.counters["enqueued"] == 200


def test_ten_threads_at_once(url: str, base_name: str, clock: Clock) -> None:
    """The same with the sync client: one time is fired by one thread, and what is late is counted once."""
    barrier = threading.Barrier(10)
    firings: list[pyadeq.Firing] = []

    def fire() -> None:
        with pyadeq.Adeq.from_url(url, clock=clock) as adeq:
            queue = adeq.queue(base_name)
            barrier.wait(DEADLINE)
            firings.extend(queue.schedules.fire_due().firings)

    with pyadeq.Adeq.from_url(url, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        queue.configure(clock="test")
        for n in range(20):
            queue.schedules.set(f"s{n}", Every(60, offset=n), overlap="allow", catch_up=90)
        clock.tick(600)
        threads = [threading.Thread(target=fire) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        done = Counter((one.schedule, one.at) for one in firings if one.status in ("fired", "missed"))
        assert set(done.values()) == {1}
        for schedule in queue.schedules.iterate():
            assert (schedule.fired + schedule.missed, schedule.skipped) == (10, 0)
        assert len(enqueued := [task.id for task in queue.iterate("ready")]) == len(set(enqueued))
        assert len(enqueued) == sum(1 for one in firings if one.status == "fired")


async def test_changes_while_others_fire(url: str, base_name: str, clock: Clock) -> None:
    """A schedule that is changed, paused and resumed under ten schedulers: no time of it fires twice."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Adeq.from_url(url, clock=clock)) for _ in range(5)]
        queues = [adeq.queue(base_name) for adeq in clients]
        queue = queues[0]
        await queue.configure(clock="test")
        await queue.schedules.set("s", Every(1), 0, overlap="allow")
        over = False

        async def keep_firing(one: Queue) -> list[float]:
            found = []
            while not over:
                fired = await one.schedules.fire_due()
                found += [firing.at for firing in fired.firings if firing.status == "fired"]
            return found

        firing = [asyncio.create_task(keep_firing(one)) for one in queues[1:]]
        for n in range(1, 40):
            clock.tick(1)
            match n % 4:
                case 0:
                    await queue.schedules.set("s", Every(1), n, overlap="allow")
                case 1:
                    await queue.schedules.pause("s")
                case 2:
                    await queue.schedules.resume("s")
                case 3:
                    await queue.schedules.set("s", Every(1, offset=n % 8 / 10), n, overlap="allow")
        over = True
        found = [at for answers in await asyncio.gather(*firing) for at in answers]
        assert len(found) == len(set(found))
        schedule = await view(queue)
        assert schedule.fired == len(found) == (await queue.stats()).pending
        assert (schedule.skipped, schedule.missed) == (0, 0)

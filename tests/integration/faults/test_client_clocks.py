"""Clients whose clocks are an hour off, either way: nothing that the server decides is any different."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, At
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine
ROOT = Path(__file__).parents[3]
HOUR = 3600.0
OFF = [-HOUR, HOUR]
NEAR = 600.0  # seconds: what is as much as that apart is not an hour off


@pytest.fixture(params=OFF, ids=["slow", "fast"])
def off(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """The wall clock of this process is an hour off. How long things take is seen as ever."""
    right = time.time

    def wrong() -> float:
        return right() + float(request.param)

    monkeypatch.setattr(time, "time", wrong)
    monkeypatch.setattr(time, "time_ns", lambda: round(wrong() * 1e9))
    return float(request.param)


@pytest.fixture
def adeq(url: str) -> Iterator[Adeq]:
    with Adeq.from_url(url) as adeq:
        yield adeq


def server_time(adeq: Adeq) -> float:
    seconds, micros = adeq.client.time()
    return float(seconds) + float(micros) / 1e6


def test_a_lease_lasts_as_long_as_ever(off: float, adeq: Adeq, base_name: str) -> None:
    queue = adeq.queue(base_name)
    now = server_time(adeq)
    queue.enqueue("work", id="a", delay=0.2, timeout=60)
    assert abs(time.time() - now) > HOUR - NEAR
    (lease,) = queue.claim("w", wait=DEADLINE)
    assert 0.19 < server_time(adeq) - now < NEAR  # stamps are whole milliseconds
    assert 0 < lease.deadline - now < NEAR
    assert queue.claim("other") == []
    assert queue.heartbeat(lease).status == "renewed"
    queue.ack(lease)
    task = queue.get("a")
    assert task is not None
    assert task.created is not None
    assert task.ended is not None
    assert abs(task.created - now) + abs(task.ended - now) < NEAR


def test_a_point_in_time_is_one_of_the_servers(off: float, adeq: Adeq, base_name: str) -> None:
    """Who says when, says it by the server's clock: `stats().now` tells."""
    queue = adeq.queue(base_name)
    now = queue.stats().now
    queue.enqueue("soon", id="soon", run_after=now + 0.2, expires_at=now + NEAR)
    queue.enqueue("tomorrow", id="tomorrow", run_after=datetime.fromtimestamp(now, UTC) + timedelta(days=1))
    queue.schedules.set("once", At(now + NEAR), "work")
    (lease,) = queue.claim("w", wait=DEADLINE)
    assert lease.id == "soon"
    assert queue.stats().delayed == 1


def test_a_lock_is_held_renewed_and_handed_over(off: float, adeq: Adeq, base_name: str) -> None:
    locks = adeq.locks(base_name)
    now = server_time(adeq)
    grant = locks.take("door", owner="first", ttl=6)
    assert 0 < grant.deadline - now < NEAR
    assert abs(grant.fence / 1e6 - now) < NEAR
    until = grant.deadline
    wait_until(lambda: grant.deadline > until)
    with ThreadPoolExecutor(1) as pool:
        heir = pool.submit(locks.take, "door", owner="second", wait=DEADLINE)
        wait_until(lambda: locks.stats().waiting == 1)
        grant.release()
        assert heir.result(DEADLINE).fence > grant.fence


@pytest.mark.slow
def test_a_clock_that_steps_while_it_waits_and_holds(
    adeq: Adeq, base_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = adeq.locks(base_name)
    grant = locks.take("door", owner="first", ttl=6)
    with ThreadPoolExecutor(1) as pool:
        heir = pool.submit(locks.take, "door", owner="second", wait=DEADLINE)
        wait_until(lambda: locks.stats().waiting == 1)
        right = time.time
        for step in OFF:
            monkeypatch.setattr(time, "time", lambda step=step: right() + step)
            until = grant.deadline
            wait_until(lambda until=until: grant.deadline > until)  # type: ignore[misc]
            grant.check()
            assert not heir.done()
        grant.release()
        assert heir.result(DEADLINE).fence > grant.fence


# A process of its own, whose every clock but the monotonic one is off

PROGRAM = """
import asyncio, sys, time
from pyadeq.asyncio import Adeq, Worker

async def main(url, name):
    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(name)
        async def handle(lease):
            while (await queue.stats()).workers < 2:
                await asyncio.sleep(0.05)
            async with adeq.locks(name).acquire("door", owner=lease.id, ttl=6, wait=60) as grant:
                await asyncio.sleep(0.3)
                grant.check()
                return {"clock": time.time(), "fence": grant.fence, "delivery": lease.delivery}
        worker = Worker(queue, handle, concurrency=2)
        async def until_empty():
            while (await queue.stats()).finished < 4:
                await asyncio.sleep(0.05)
            worker.stop()
        await asyncio.gather(worker.run(), until_empty())

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed")
def test_workers_with_clocks_two_hours_apart(url: str, adeq: Adeq, base_name: str) -> None:
    """They share tasks and a lock; each task runs once, one at a time, and the fences rise with the server's time."""
    queue = adeq.queue(base_name)
    queue.configure(lease=5)
    queue.enqueue_many(range(4))
    command = [sys.executable, "-c", PROGRAM, url, base_name]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    workers = [
        subprocess.Popen(["faketime", "-f", f"{hours:+d}h", *command], env=env, stderr=subprocess.PIPE)
        for hours in (-1, 1)
    ]
    try:
        for worker in workers:
            _, failures = worker.communicate(timeout=DEADLINE)
            assert worker.returncode == 0, failures.decode()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    tasks = [queue.get(task.id) for task in queue.iterate("completed")]
    results: list[Any] = [task.result for task in tasks if task]
    assert [one["delivery"] for one in results] == [1, 1, 1, 1]
    now = server_time(adeq)
    assert {round((one["clock"] - now) / HOUR) for one in results} == {-1, 1}
    assert all(abs(one["fence"] / 1e6 - now) < NEAR for one in results)
    assert len({one["fence"] for one in results}) == 4
    assert queue.stats().counters.get("stalled", 0) == 0

"""The server's clock steps back by an hour: no lease is given twice, locks exclude, fences rise, and nothing hangs.

First on the virtual clock, where all is exact; then a real server whose clock is moved by faketime.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Every, Lease, Locks, Queue
from pyadeq._sync.client import client
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.integration.conftest import Clock
from tests.integration.running import at_work
from tests.waiting import DEADLINE, eventually_in_thread, wait_until

HOUR = 3600.0


# The virtual clock


@pytest.fixture
def adeq(url: str, clock: Clock) -> Iterator[Adeq]:
    clock.tick(10 * HOUR)
    with Adeq.from_url(url, clock=clock) as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    queue = adeq.queue(base_name)
    queue.configure(clock="test")
    return queue


@pytest.fixture
def locks(adeq: Adeq, base_name: str) -> Locks:
    locks = adeq.locks(base_name)
    locks.configure(clock="test")
    return locks


def test_leases_last_longer_by_as_much_and_are_given_once(queue: Queue, clock: Clock) -> None:
    queue.enqueue("work", id="a")
    (lease,) = queue.claim("dies")
    clock.tick(-HOUR)
    assert queue.claim("heir") == []
    clock.tick(HOUR + 14.9)
    assert queue.claim("heir") == []
    clock.tick(0.2)
    (again,) = queue.claim("heir")
    assert again.fence > lease.fence
    assert queue.ack_many([(lease, None), (again, None)]) == ["lease_lost", "completed"]


def test_who_is_alive_keeps_its_lease_and_renews_it_from_then_on(queue: Queue, clock: Clock) -> None:
    queue.enqueue("work", id="a")
    (lease,) = queue.claim("lives")
    clock.tick(-HOUR)
    assert queue.heartbeat(lease).status == "renewed"
    clock.tick(14.9)
    assert queue.claim("heir") == []
    queue.ack(lease)
    task = queue.get("a")
    assert task is not None
    assert (task.state, task.deliveries) == ("completed", 1)


def test_what_is_delayed_comes_later_by_as_much(queue: Queue, clock: Clock) -> None:
    queue.enqueue("work", id="a", delay=10)
    clock.tick(-HOUR)
    clock.tick(11)
    assert queue.claim("w") == []
    queue.enqueue("work", id="b")
    (other,) = queue.claim("w")
    assert other.id == "b"
    queue.ack(other)
    clock.tick(HOUR)
    assert [lease.id for lease in queue.claim("w")] == ["a"]


def test_what_is_known_of_calls_stays_known(queue: Queue, clock: Clock) -> None:
    first = queue.enqueue("work", rid="r", unique="one", idempotency_key="key")
    clock.tick(-HOUR)
    assert queue.enqueue("work", rid="r", unique="one", idempotency_key="key") == first
    assert queue.enqueue("work", unique="one").status == "deduplicated"
    assert queue.enqueue("work", idempotency_key="key").id == first.id
    assert queue.stats().ready == 1


def test_a_time_of_a_schedule_fires_once(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(60), "work")
    clock.tick(60)
    (fired,) = queue.schedules.fire_due().firings
    queue.ack(*queue.claim("w"))
    clock.tick(-HOUR)
    assert not queue.schedules.fire_due().firings
    clock.tick(60)
    assert not queue.schedules.fire_due().firings
    clock.tick(HOUR)
    (later,) = queue.schedules.fire_due().firings
    assert later.at > fired.at
    assert (queue.stats().finished, queue.stats().ready) == (1, 1)


def test_a_domain_goes_on_from_where_it_was(url: str, locks: Locks, clock: Clock) -> None:
    """A lease lasts as long as ever, from the first call that writes after the step."""
    before = locks.stats().now
    with Adeq.from_url(url, clock=clock) as dies:
        grant = dies.locks(locks.name).take("door", owner="dies", ttl=30, wait=0)
    clock.tick(-HOUR)
    locks.admin.reap()
    assert locks.stats().now == before
    clock.tick(29.9)
    assert locks.get("door").held == 1
    clock.tick(0.2)
    locks.admin.reap()
    heir = locks.take("door", owner="heir", wait=0)
    assert heir.fence > grant.fence
    assert heir.deadline > before + 30
    heir.release()
    assert locks.stats().held == 0


def test_a_clock_that_steps_forward_again_ends_leases_early(queue: Queue, locks: Locks, clock: Clock) -> None:
    """For locks it goes forward twice: what was lost stays made up for."""
    queue.enqueue("work", id="a")
    clock.tick(-HOUR)
    (lease,) = queue.claim("w")
    before = locks.stats().now
    grant = locks.take("door", owner="o", ttl=30, wait=0)
    clock.tick(HOUR)
    assert [one.delivery for one in queue.claim("heir")] == [2]
    assert queue.ack_many([(lease, None)]) == ["lease_lost"]
    assert locks.stats().now >= before + HOUR
    locks.admin.reap()
    assert locks.take("door", owner="heir", wait=0).fence > grant.fence


# A real server


class Faked:
    """A server whose clock is off by as many seconds as it is told."""

    def __init__(self, server: EmbeddedServer, file: Path) -> None:
        self.url = server.url
        self._file = file

    def off(self, seconds: float) -> None:
        fake(self._file, seconds)
        with redis.Redis.from_url(self.url) as observer:
            wait_until(lambda: abs(observer.time()[0] - time.time() - seconds) < HOUR / 4)


def fake(file: Path, seconds: float) -> None:
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+g}\n")
    new.rename(file)


@pytest.fixture(scope="module")
def faking(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faked]:
    if not shutil.which("faketime"):
        pytest.skip("faketime is not installed")
    folder = tmp_path_factory.mktemp("faked")
    file, wrapper = folder / "faketimerc", folder / "server"
    fake(file, 0)
    ask = ["faketime", "-f", "+0", "printenv", "LD_PRELOAD"]
    library = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    wrapper.write_text(
        "#!/bin/sh\n"
        f"export FAKETIME_TIMESTAMP_FILE='{file}' FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1\n"
        f"LD_PRELOAD='{library}' exec '{binary}' \"$@\"\n"
    )
    wrapper.chmod(0o700)
    if complaint := complains(wrapper):
        pytest.skip(f"faketime does not run with this server: {complaint}")
    with EmbeddedServer(binary=wrapper) as server:
        yield Faked(server, file)


def complains(server: Path) -> str:
    """What faketime says at the start of a server, whose allocator may be in its way; it stands still then."""
    with subprocess.Popen([server, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr
        complaint = process.stderr.readline().decode().strip()
        process.kill()
    return complaint


@pytest.fixture
def faked(faking: Faked) -> Iterator[Faked]:
    """One whose clock is right, and is again after each test."""
    yield faking
    faking.off(0)


@pytest.mark.slow
def test_a_wait_for_work_ends_though_its_end_has_moved(
    faked: Faked, base_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends it by its wall clock, an hour late: the client's own limit comes first (17 s, here 6)."""
    monkeypatch.setattr(client, "LONGEST_BLOCK", 3.0)
    monkeypatch.setattr(client, "LATE", 1.0)
    with Adeq.from_url(faked.url) as adeq, ThreadPoolExecutor(1) as pool:
        queue = adeq.queue(base_name)
        empty = pool.submit(queue.claim, "w", wait=3)
        wait_until(lambda: blocked(adeq) == 1)
        faked.off(-HOUR)
        assert empty.result(DEADLINE) == []
        waiting = pool.submit(queue.claim, "w", wait=3)
        wait_until(lambda: blocked(adeq) == 1)
        faked.off(-2 * HOUR)
        queue.enqueue("work", id="a")
        assert [lease.id for lease in waiting.result(DEADLINE)] == ["a"]


def blocked(adeq: Adeq) -> int:
    return int(adeq.client.info("clients")["blocked_clients"])


async def test_a_worker_goes_on_and_keeps_what_it_runs(faked: Faked, base_name: str) -> None:
    over = asyncio.Event()

    async def handle(lease: Lease) -> int:
        if lease.payload == "long":
            await over.wait()
        return lease.delivery

    with Adeq.from_url(faked.url) as adeq:
        queue = adeq.queue(base_name)
        queue.configure(lease=2)
        near: Any = adeq.client
        queue.enqueue("long", id="long")
        async with AsyncAdeq.from_url(faked.url) as far, at_work(Worker(far.queue(base_name), handle)):
            await eventually_in_thread(lambda: queue.stats().running == 1)
            await asyncio.to_thread(faked.off, -HOUR)
            for number in range(1, 4):
                queue.enqueue("short")
                await eventually_in_thread(lambda wanted=number: queue.stats().finished == wanted)  # type: ignore[misc]
            # Renewed by the new time.
            await eventually_in_thread(
                lambda: near.zscore(f"{queue.base}:leases", "long") < (time.time() - HOUR / 2) * 1000
            )
            over.set()
            await eventually_in_thread(lambda: queue.stats().finished == 4)
        stats = queue.stats()
        assert (stats.counters["claimed"], stats.counters.get("stalled", 0)) == (4, 0)
        assert audit(adeq.client, queue.base) == []


def test_a_lock_is_held_renewed_and_handed_over(faked: Faked, base_name: str) -> None:
    with Adeq.from_url(faked.url) as adeq, ThreadPoolExecutor(1) as pool:
        locks = adeq.locks(base_name)
        grant = locks.take("door", owner="first", ttl=2)
        heir = pool.submit(locks.take, "door", owner="second", wait=DEADLINE)
        wait_until(lambda: locks.stats().waiting == 1)
        granted = grant.deadline - 2
        faked.off(-HOUR)
        assert locks.stats().now >= granted
        until = grant.deadline
        wait_until(lambda: grant.deadline > until)
        grant.check()
        assert not heir.done()
        grant.release()
        taken = heir.result(DEADLINE)
        assert taken.fence > grant.fence
        taken.release()
        again = locks.take("door", owner="first", wait=0)
        assert again.fence > taken.fence
        assert granted < again.deadline - 30 < granted + HOUR / 2
        assert audit(adeq.client, locks.base) == []

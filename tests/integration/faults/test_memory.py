"""A server whose memory is full, for those who hold and wait for locks, for schedules, and for a real worker.

What a queue does by hand then, test_full_server.py tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Every, Lease, TransportError
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.integration.faults.stored import stored
from tests.integration.running import at_work
from tests.waiting import DEADLINE, eventually_in_thread, wait_until

FULL = pytest.raises(TransportError, match=r"its memory is full; finish or purge tasks, or raise maxmemory \(OOM")


@pytest.fixture(scope="module")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as adeq:
        adeq.load_scripts()
        yield server


@pytest.fixture
def adeq(server: EmbeddedServer) -> Iterator[Adeq]:
    with Adeq.from_url(server.url) as adeq:
        yield adeq
        adeq.client.config_set("maxmemory", 0)


def fill(adeq: Adeq) -> None:
    """From now on everything is too much."""
    adeq.client.config_set("maxmemory", 1)


NEW_WORK: dict[str, Callable[[Adeq, str], Any]] = {
    "enqueue": lambda adeq, name: adeq.queue(name).enqueue("work"),
    "configure a queue": lambda adeq, name: adeq.queue(name).configure(lease=20),
    "retry": lambda adeq, name: adeq.queue(name).dead.retry("dead"),
    "put a schedule": lambda adeq, name: adeq.queue(name).schedules.set("s", Every(60), "work"),
    "trigger a schedule": lambda adeq, name: adeq.queue(name).schedules.trigger("there"),
    "set a limit": lambda adeq, name: adeq.queue(name).limits.set("user:ann", concurrency=1),
    "acquire": lambda adeq, name: adeq.locks(name).take("door", owner="o"),
    "configure a domain": lambda adeq, name: adeq.locks(name).configure(lease=20),
    "set a capacity": lambda adeq, name: adeq.locks(name).capacities.set("room", 3),
}


@pytest.mark.parametrize("call", NEW_WORK.values(), ids=list(NEW_WORK))
def test_new_work_is_refused_and_nothing_is_changed(
    adeq: Adeq, base_name: str, call: Callable[[Adeq, str], Any]
) -> None:
    queue = adeq.queue(base_name)
    adeq.locks(base_name).configure()
    queue.schedules.set("there", Every(3600), "work")
    queue.enqueue("work", id="dead")
    (lease,) = queue.claim("w")
    queue.fail(lease, "broken", retryable=False)
    fill(adeq)
    before = kept(adeq, base_name)
    with FULL as refused:
        call(adeq, base_name)
    assert (refused.value.retryable, refused.value.may_have_applied) == (True, False)
    assert kept(adeq, base_name) == before
    assert adeq.locks(base_name).stats().waiting == 0
    adeq.client.config_set("maxmemory", 0)
    call(adeq, base_name)
    assert kept(adeq, base_name) != before


def kept(adeq: Adeq, name: str) -> dict[bytes, bytes | None]:
    """All but what says that a request has ended, for its client cancels one that was refused."""
    found = stored(adeq.client, adeq.queue(name).base, adeq.locks(name).base)
    return {key: value for key, value in found.items() if not key.endswith((b":requests", b":deadlines"))}


async def test_a_worker_drains_a_full_server(adeq: Adeq, base_name: str) -> None:
    """It comes when all is full already, runs what is there, and fails what fails; its presence is kept, too."""
    queue = adeq.queue(base_name)
    queue.configure(lease=1)
    queue.enqueue_many(range(50))
    queue.enqueue("broken", max_attempts=1)

    async def handle(lease: Lease) -> str:
        if lease.payload == "broken":
            raise ValueError
        return "y" * 1_000

    fill(adeq)
    async with AsyncAdeq.from_url(adeq_url(adeq)) as far, at_work(Worker(far.queue(base_name), handle)):
        await eventually_in_thread(lambda: queue.stats().finished == 50)
        await eventually_in_thread(lambda: queue.stats().dead == 1)
        with FULL:
            queue.enqueue("more")
        assert queue.stats().workers == 1
    stats = queue.stats()
    assert (stats.ready, stats.running, stats.workers) == (0, 0, 0)
    assert {name: stats.counters.get(name, 0) for name in ("claimed", "stalled")} == {"claimed": 51, "stalled": 0}
    assert audit(adeq.client, queue.base) == []


def adeq_url(adeq: Adeq) -> str:
    pool: Any = adeq.client.connection_pool  # type: ignore[union-attr]
    return f"unix://{pool.connection_kwargs['path']}"


def test_who_holds_and_waits_goes_on(adeq: Adeq, base_name: str) -> None:
    locks = adeq.locks(base_name)
    locks.configure(poll=0.5)
    first = locks.take("door", owner="first", ttl=6)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(locks.take, "door", owner="second")
        wait_until(lambda: locks.stats().waiting == 1)
        fill(adeq)
        until = first.deadline
        wait_until(lambda: first.deadline > until)  # renewed
        first.release()
        taken = second.result(DEADLINE)  # handed over, and polled
    assert taken.fence > first.fence
    with FULL:
        locks.take("another", owner="third")
    assert locks.admin.force_release("door", "test").rids == (taken.rid,)
    assert (locks.stats().held, locks.stats().waiting) == (0, 0)
    assert audit(adeq.client, locks.base) == []


@pytest.mark.slow
async def test_a_schedule_that_could_not_fire_fires_when_there_is_room(adeq: Adeq, base_name: str) -> None:
    queue = adeq.queue(base_name)
    queue.schedules.set("s", Every(0.2), "work", catch_up=3600)

    async def handle(lease: Lease) -> None:
        return None

    async with AsyncAdeq.from_url(adeq_url(adeq)) as far:
        fill(adeq)
        async with at_work(Worker(far.queue(base_name), handle)):
            refused = refusals(adeq)
            await eventually_in_thread(lambda: refusals(adeq) > refused + 1)
            assert queue.stats().finished == 0
            adeq.client.config_set("maxmemory", 0)
            await eventually_in_thread(lambda: queue.stats().finished > 0)


def refusals(adeq: Adeq) -> int:
    stats: Any = adeq.client.info("errorstats")
    return int(stats.get("errorstat_OOM", {}).get("count", 0))

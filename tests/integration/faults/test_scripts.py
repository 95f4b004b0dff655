"""Scripts that the server forgets, that stand in the way, and that an operator ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Lease, Receipt, Task, TransportError
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.integration.faults.calls import every_call
from tests.integration.running import at_work
from tests.waiting import DEADLINE, LONGEST_RETRY, eventually_in_thread, wait_until

# Somebody else's, which only reads, and ends when the key is gone or it is killed; then one that has written.
READER = "#!lua flags=no-writes\nwhile redis.call('EXISTS', KEYS[1]) == 1 do end return 1"
WRITER = """#!lua
local time = redis.call('TIME')
local function now() time = redis.call('TIME') return time[1] * 1000000 + time[2] end
local began = now()
redis.call('SET', KEYS[1], 'written')
while now() < began + 500000 do end
redis.call('DEL', KEYS[1])
return 1"""
FOREIGN = "somebody's"


@pytest.fixture(scope="module")
def impatient(binary: Path) -> Iterator[EmbeddedServer]:
    """A server that says BUSY when a script has run for a millisecond."""
    with EmbeddedServer(binary=binary, config={"busy-reply-threshold": "1"}) as server:
        yield server


@pytest.fixture
def adeq(impatient: EmbeddedServer) -> Iterator[Adeq]:
    with Adeq.from_url(impatient.url, retry_for=LONGEST_RETRY) as adeq:
        adeq.load_scripts()
        yield adeq


@pytest.fixture
def client(impatient: EmbeddedServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(impatient.url) as client:
        yield client


@contextmanager
def foreign(server: EmbeddedServer, client: redis.Redis, script: str) -> Iterator[None]:
    """A script of somebody else runs, until it ends, or is killed at the end of the block at the latest."""

    def run() -> None:
        with redis.Redis.from_url(server.url, socket_timeout=None) as own:
            try:
                own.eval(script, 1, FOREIGN)
            except redis.ResponseError as error:
                ends.append(str(error))

    ends: list[str] = []
    client.set(FOREIGN, "here")
    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: not answers(client))
        yield
    finally:
        kill(client)
        thread.join(DEADLINE)
        client.delete(FOREIGN)
        assert all("SCRIPT KILL" in end for end in ends)


def answers(client: redis.Redis) -> bool:
    try:
        client.exists(FOREIGN)
    except redis.ResponseError:
        return False
    return True


def kill(client: redis.Redis) -> str:
    try:
        client.script_kill()
    except redis.ResponseError as error:
        return str(error).partition(" ")[0]
    return "killed"


# Forgotten


async def test_a_worker_goes_on_whatever_is_forgotten(url: str, client: redis.Redis, base_name: str) -> None:
    """SCRIPT FLUSH before each task and in the midst of each run."""

    async def handle(lease: Lease) -> int:
        flushing.script_flush()
        return lease.delivery

    with redis.Redis.from_url(url) as flushing, Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        async with AsyncAdeq.from_url(url) as far, at_work(Worker(far.queue(base_name), handle)):
            for number in range(1, 6):
                flushing.script_flush()
                queue.enqueue("work", id=f"t{number}")
                await eventually_in_thread(lambda wanted=number: queue.stats().finished == wanted)  # type: ignore[misc]
        stats = queue.stats()
        assert (stats.counters["claimed"], stats.counters["completed"]) == (5, 5)
        assert {getattr(queue.get(f"t{number}"), "result", None) for number in range(1, 6)} == {1}


def test_a_lock_is_kept_and_handed_over_whatever_is_forgotten(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq, ThreadPoolExecutor(1) as pool:
        locks = adeq.locks(base_name)
        grant = locks.take("door", owner="holder", ttl=6)
        until = grant.deadline
        adeq.client.script_flush()
        wait_until(lambda: grant.deadline > until)
        heir = pool.submit(locks.take, "door", owner="heir")
        wait_until(lambda: locks.stats().waiting == 1)
        adeq.client.script_flush()
        grant.release()
        taken = heir.result(DEADLINE)
        assert taken.fence > grant.fence
        adeq.client.script_flush()
        taken.release()
        assert locks.stats().held == 0


# In the way


@every_call
def test_a_call_waits_for_a_script_that_only_reads_until_it_is_killed(
    impatient: EmbeddedServer, adeq: Adeq, client: redis.Redis, base_name: str, prepare: Any, answer: Any
) -> None:
    adeq.queue(base_name).enqueue("work", id="a")
    call = prepare(adeq, base_name)
    with ThreadPoolExecutor(1) as pool, foreign(impatient, client, READER):
        going: Future[Any] = pool.submit(call)
        assert wait([going], 0.2).not_done  # it is refused time and again meanwhile
        assert kill(client) == "killed"
        assert going.result(DEADLINE) == answer
    assert audit(client, adeq.queue(base_name).base) == []


def test_a_call_that_cannot_wait_is_told(
    impatient: EmbeddedServer, adeq: Adeq, client: redis.Redis, base_name: str
) -> None:
    with Adeq.from_url(impatient.url, retry_for=0.2) as hasty:
        queue = hasty.queue(base_name)
        queue.stats()
        told = pytest.raises(TransportError, match=r"running for too long.*BUSY")
        with foreign(impatient, client, READER), told as busy:
            queue.enqueue("work")
        assert (busy.value.retryable, busy.value.may_have_applied) == (True, False)
        assert queue.stats().ready == 0


def test_a_script_that_has_written_is_waited_for(
    impatient: EmbeddedServer, adeq: Adeq, client: redis.Redis, base_name: str
) -> None:
    queue = adeq.queue(base_name)
    queue.stats()
    with foreign(impatient, client, WRITER):
        assert kill(client) == "UNKILLABLE"
        assert queue.enqueue("work").status == "created"
    assert queue.stats().ready == 1


def test_a_client_that_comes_meanwhile_waits_too(
    impatient: EmbeddedServer, client: redis.Redis, base_name: str
) -> None:
    with Adeq.from_url(impatient.url, retry_for=LONGEST_RETRY) as fresh, foreign(impatient, client, WRITER):
        assert fresh.queue(base_name).enqueue("work").status == "created"


async def test_a_worker_that_comes_meanwhile_waits_too(
    impatient: EmbeddedServer, adeq: Adeq, client: redis.Redis, base_name: str
) -> None:
    queue = adeq.queue(base_name)
    queue.enqueue("work")

    async def handle(lease: Lease) -> None:
        return None

    async with AsyncAdeq.from_url(impatient.url) as fresh:
        with foreign(impatient, client, WRITER):
            worker = Worker(fresh.queue(base_name), handle)
            async with at_work(worker):
                await eventually_in_thread(lambda: queue.stats().finished == 1)


# Ended by an operator


@pytest.fixture
def killed(adeq: Adeq, client: redis.Redis, base_name: str) -> TransportError:
    """What is told of a call whose script was killed before its first write."""
    return end(adeq, client, base_name)


def end(adeq: Adeq, client: redis.Redis, base_name: str) -> TransportError:
    """Send a call that is checked for long, and SCRIPT KILL all the while, until that comes in time."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(enqueue_many, adeq, base_name)
            while not sending.done():
                kill(client)
        if isinstance(error := sending.exception(), TransportError):
            return error
        client.delete(*client.keys(f"{adeq.queue(base_name).base}:*"))
    raise AssertionError("no script was killed")


def enqueue_many(adeq: Adeq, base_name: str) -> list[Receipt]:
    return adeq.queue(base_name).enqueue_many(TASKS, rid="r")


TASKS = [
    Task(payload=b"x", id=f"t{n}", tags=["a", "b", "c"], user="u", unique=f"u{n}", idempotency_key=f"i{n}")
    for n in range(1000)
]


def test_a_script_that_is_killed_has_changed_nothing_and_may_go_out_again(
    killed: TransportError, adeq: Adeq, client: redis.Redis, base_name: str
) -> None:
    assert "SCRIPT KILL" in str(killed)
    queue = adeq.queue(base_name)
    assert client.keys(f"{queue.base}:*") == []
    assert {receipt.status for receipt in enqueue_many(adeq, base_name)} == {"created"}
    assert queue.stats().ready == len(TASKS)
    assert audit(client, queue.base) == []


def test_a_killed_script_is_told_as_what_it_is(killed: TransportError) -> None:
    assert (killed.retryable, killed.may_have_applied) == (True, False)

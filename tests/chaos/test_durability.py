"""A server that dies under load, is slow to come back, or stands still: what was answered, and what was confirmed."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import redis

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.prove.chaos.history import History, Op
from tests.chaos.disasters import can_have, connecting, embedded
from tests.chaos.load import LEASE, LOADED, Load, judged
from tests.chaos.power import Lost, PowerCut, kill_when_written
from tests.conftest import CLUSTER
from tests.integration.servers import ask
from tests.waiting import DEADLINE, LONGEST_RETRY, wait_until

OLD = 0.2  # seconds since the last fsync when the power goes off

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="these have servers of their own")]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="when it calls fsync is seen in /proc only")
Start = Callable[..., EmbeddedServer]


@pytest.fixture
def start(binary: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda appendfsync, **config: stack.enter_context(embedded(binary, appendfsync, **config))


def load(server: EmbeddedServer, *durabilities: str) -> Load:
    return Load(connecting(server.url), durabilities)


def missing(history: History) -> list[Op]:
    """The calls that made a task that is gone."""
    return [
        op
        for op in history.ops
        for status, id in op.answer.get("receipts", ())
        if status == "created" and history.final.get(id) is None
    ]


@pytest.mark.parametrize("appendfsync", ["always", "everysec"])
async def test_a_killed_server_has_all_that_it_answered(start: Start, appendfsync: str) -> None:
    """What it wrote is in the page cache, which survives it."""
    server = start(appendfsync)
    kill = server.kill if appendfsync == "always" else lambda: kill_when_written(server)
    async with load(server, "memory") as clients:
        for _ in range(2):
            await clients.go_on(LOADED)
            await asyncio.to_thread(kill)
            await asyncio.to_thread(server.restart)
        await clients.go_on()
        history = await clients.end()
    # No mark: nothing that was answered may be lost, and no client saw more than that it took a while.
    assert judged(history).lost == {}
    assert {op.outcome for op in history.ops} - {"refused"} == {"ok"}


async def test_scripts_are_loaded_again(start: Start) -> None:
    server = start("always")
    async with load(server, "memory") as clients:
        await clients.go_on(LOADED)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.restart)
        await clients.go_on()
        assert ask(server, "INFO", "memory")["number_of_cached_scripts"] > 0
        judged(await clients.end())


async def test_who_waits_goes_on_after_the_server_was_killed(start: Start) -> None:
    """For a task, for a lock that is held, and for the end of a task."""
    server = start("always")
    async with Adeq.from_url(server.url, retry_for=LONGEST_RETRY) as adeq:
        queue, locks = adeq.queue("q"), adeq.locks("d")
        awaited = await queue.enqueue("awaited", id="awaited")
        (lease,) = await queue.claim("first", 1)
        grant = await locks.take("r", owner="first")
        waiting = [
            asyncio.create_task(queue.claim("second", 1, wait=DEADLINE)),
            asyncio.create_task(locks.take("r", owner="second", wait=DEADLINE)),
            asyncio.create_task(queue.result(awaited.id, 30)),
        ]
        await asyncio.to_thread(wait_until, lambda: ask(server, "INFO", "clients")["blocked_clients"])
        await asyncio.to_thread(wait_until, lambda: len(ask(server, "PUBSUB", "SHARDCHANNELS")) >= 2)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.restart)
        await queue.enqueue("new", id="new")
        await queue.ack(lease, "done")
        await grant.release()
        ((claimed,), second, result) = await asyncio.wait_for(asyncio.gather(*waiting), DEADLINE)
        assert (claimed.id, result) == ("new", "done")
        assert second.fence > grant.fence


@linux
@pytest.mark.parametrize("durability", ["memory", "aof"])
async def test_a_power_cut_leaves_all_that_was_answered_where_each_write_goes_to_the_disk(
    start: Start, durability: str
) -> None:
    server = start("always")
    if not await can_have(connecting(server.url), durability):
        pytest.skip("this server has no WAITAOF")
    async with load(server, durability) as clients:
        for _ in range(2):
            with PowerCut(server) as power:
                await clients.go_on(LOADED)
                await asyncio.to_thread(power.cut)
            await asyncio.to_thread(server.restart)
        await clients.go_on()
        history = await clients.end()
    assert judged(history).lost == {}


@linux
async def test_a_power_cut_leaves_all_that_was_confirmed(start: Start) -> None:
    server = start("everysec")
    if not await can_have(connecting(server.url), "aof"):
        pytest.skip("this server confirms nothing, or too early, with appendfsync everysec, and aof is refused")
    async with load(server, "memory", "aof") as clients:
        await lose_something(server, clients)
        await clients.go_on()
        history = await clients.end()
    assert set(judged(history).lost) <= {"memory"}


@linux
async def test_a_server_that_confirms_too_early_is_refused_and_no_other(start: Start) -> None:
    """What the version says about WAITAOF is what a power cut shows."""
    server = start("everysec")
    with redis.Redis.from_url(server.url) as client:
        if b"waitaof" not in client.execute_command("COMMAND LIST"):
            pytest.skip("this server has no WAITAOF")
    allowed = await can_have(connecting(server.url), "aof")
    kept = [await asyncio.to_thread(keeps_what_it_confirms, server, f"key:{number}") for number in range(3)]
    assert all(kept) == allowed


def keeps_what_it_confirms(server: EmbeddedServer, key: str) -> bool:
    """Confirm a write right after an fsync, and cut the power."""
    with PowerCut(server) as power, redis.Redis.from_url(server.url) as client:
        before = power.last_fsync
        client.set("written", key)
        wait_until(lambda: power.last_fsync > before)
        client.set(key, 1)
        client.execute_command("WAITAOF", 1, 0, 0)
        power.cut()
        server.restart()
        return bool(client.exists(key))


@linux
@pytest.mark.parametrize("keep", [0.0, 0.5])
async def test_a_power_cut_takes_only_what_came_after_the_last_fsyncs(start: Start, keep: float) -> None:
    server = start("everysec")
    async with load(server, "memory") as clients:
        lost = await lose_something(server, clients, keep)
        await clients.go_on()
        history = await clients.end()
    ended = {op.ended or 0 for op in history.ops if op.verb == "enqueue"}
    gone = missing(history)
    assert min(ended) < lost.since
    assert all(op.ended is not None and op.ended > lost.since for op in gone)
    assert judged(history).lost.get("memory", {}).get("enqueue", 0) == len(gone)


async def lose_something(server: EmbeddedServer, clients: Load, keep: float = 0.0) -> Lost:
    """Cut the power, again if an fsync came at the last moment, and all was on the disk."""
    while True:
        with PowerCut(server) as power:
            await clients.go_on()
            answered = time.monotonic()
            await clients.until(lambda: power.since > answered)  # noqa: B023
            lost = await asyncio.to_thread(power.cut, keep, OLD)
        await asyncio.to_thread(server.restart)
        clients.recorder.mark("power_cut")
        if lost.bytes:
            return lost


async def test_clients_wait_for_a_server_that_loads_its_data(start: Start) -> None:
    server = start("always", **{"key-load-delay": "50"})
    async with load(server, "memory") as clients:
        pipe = clients.adeq.client.pipeline(transaction=False)
        for number in range(10_000):
            pipe.set(f"base:{number}", number)
        await pipe.execute()
        await clients.go_on(LOADED)
        await asyncio.to_thread(server.kill)
        seen = asyncio.create_task(asyncio.to_thread(sees_it_load, server))
        await asyncio.to_thread(server.restart)
        await seen
        await clients.go_on()
        history = await clients.end()
    assert judged(history).lost == {}
    assert {op.outcome for op in history.ops} - {"refused"} == {"ok"}


def sees_it_load(server: EmbeddedServer) -> None:
    """Wait until the server says that it does."""

    def loads() -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as one:
            one.connect(str(server.socket_path))
            one.sendall(b"PING\r\n")
            return one.recv(100).startswith(b"-LOADING")
        return False

    wait_until(loads)


async def test_a_server_that_stood_still_for_longer_than_any_lease(start: Start) -> None:
    """Leases and locks end by its clock, and nobody has what somebody else was given meanwhile."""
    server = start("everysec")
    async with load(server, "memory") as clients:
        await clients.go_on(LOADED)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(2 * LEASE)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        await clients.go_on()
        history = await clients.end()
    assert judged(history).lost == {}

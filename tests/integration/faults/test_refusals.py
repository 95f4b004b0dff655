"""A server that takes no writes for a while: what calls are told, that nothing is changed, and that all go on then."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Lease, TransportError
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.integration import servers
from tests.integration.faults.calls import every_call
from tests.integration.faults.stored import stored
from tests.integration.running import at_work
from tests.integration.servers import ask
from tests.quick import slow_after
from tests.waiting import DEADLINE, LONGEST_RETRY, eventually_in_thread, wait_until

# Microseconds for each command: a second for as many tasks as it takes for the server to answer meanwhile.
SLOW_TO_LOAD = {"key-load-delay": "200"}
MANY = 3000
HASTY = 0.2  # seconds for which a call is sent again


@pytest.fixture(scope="module")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with servers.start(binary, {}) as server, Adeq.from_url(server.url) as adeq:
        adeq.load_scripts()
        yield server


@pytest.fixture
def loads_slowly(binary: Path) -> Iterator[EmbeddedServer]:
    with servers.start(binary, SLOW_TO_LOAD) as server, Adeq.from_url(server.url) as adeq:
        adeq.load_scripts()
        yield server


@pytest.fixture
def adeq(server: EmbeddedServer) -> Iterator[Adeq]:
    with Adeq.from_url(server.url, retry_for=HASTY) as adeq:
        yield adeq


@pytest.fixture
def observer(server: EmbeddedServer) -> Iterator[redis.Redis]:
    """A client that asks no server whether it is well: the PING would be refused, too."""
    with redis.Redis.from_url(server.url, health_check_interval=0) as observer:
        yield observer


@contextmanager
def no_disk(server: EmbeddedServer) -> Iterator[None]:
    """The snapshots of this server fail, for something is in their place."""
    obstacle = server.data_dir / "dump.rdb"
    obstacle.unlink(missing_ok=True)
    obstacle.mkdir()
    (obstacle / "file").touch()
    try:
        ask(server, "BGSAVE")
        wait_until(lambda: ask(server, "INFO", "persistence")["rdb_last_bgsave_status"] == "err")
        ask(server, "CONFIG", "SET", "save", "3600 1")
        yield
    finally:
        ask(server, "CONFIG", "SET", "save", "")
        wait_until(lambda: not ask(server, "INFO", "persistence")["rdb_bgsave_in_progress"])
        (obstacle / "file").unlink()
        obstacle.rmdir()


@contextmanager
def no_replicas(server: EmbeddedServer) -> Iterator[None]:
    ask(server, "CONFIG", "SET", "min-replicas-to-write", 1)
    try:
        yield
    finally:
        ask(server, "CONFIG", "SET", "min-replicas-to-write", 0)


@contextmanager
def demoted(server: EmbeddedServer) -> Iterator[None]:
    """It follows a primary that is not there."""
    ask(server, "REPLICAOF", servers.HOST, servers.unused_port())
    try:
        yield
    finally:
        ask(server, "REPLICAOF", "NO", "ONE")


@contextmanager
def orphaned(server: EmbeddedServer) -> Iterator[None]:
    """The same, and it answers nothing that may be out of date."""
    ask(server, "CONFIG", "SET", "replica-serve-stale-data", "no")
    try:
        with demoted(server):
            yield
    finally:
        ask(server, "CONFIG", "SET", "replica-serve-stale-data", "yes")


Fault = Callable[[EmbeddedServer], AbstractContextManager[None]]
FAULTS: dict[Fault, str] = {
    no_disk: r"cannot write to its disk; see its log.* \(MISCONF",
    no_replicas: r"fewer replicas than min-replicas-to-write; start one.* \(NOREPLICAS",
    demoted: r"this is a replica; connect to the primary \(READONLY",
}
every_fault = pytest.mark.parametrize("fault", slow_after(1, FAULTS), ids=["no_disk", "no_replicas", "demoted"])


@every_fault
@every_call
def test_a_call_is_refused_and_changes_nothing(
    server: EmbeddedServer, observer: redis.Redis, adeq: Adeq, base_name: str, fault: Fault, prepare: Any, answer: Any
) -> None:
    queue, locks = adeq.queue(base_name), adeq.locks(base_name)
    queue.enqueue("work", id="a")
    call = prepare(adeq, base_name)
    with fault(server):
        before = stored(observer, queue.base, locks.base)
        with pytest.raises(TransportError, match=FAULTS[fault]) as refused:
            call()
        assert (refused.value.retryable, refused.value.may_have_applied) == (True, False)
        assert stored(observer, queue.base, locks.base) == before
        assert queue.stats().now > 0  # reads go on
        assert locks.get("door").waiting == 0
    assert call() == answer
    # A release that failed goes on in the background.
    wait_until(lambda: not audit(adeq.client, queue.base) + audit(adeq.client, locks.base))


@every_fault
def test_a_client_that_comes_meanwhile_is_told_the_same(server: EmbeddedServer, base_name: str, fault: Fault) -> None:
    with Adeq.from_url(server.url, retry_for=HASTY) as fresh, fault(server):
        with pytest.raises(TransportError, match=FAULTS[fault]) as refused:
            fresh.queue(base_name).enqueue("work")
        assert (refused.value.retryable, refused.value.may_have_applied) == (True, False)


def test_who_reads_from_a_replica_without_its_primary_is_told(
    server: EmbeddedServer, adeq: Adeq, base_name: str
) -> None:
    queue = adeq.queue(base_name)
    queue.enqueue("work")
    with orphaned(server), Adeq.from_url(server.url, retry_for=HASTY) as fresh:
        for one in (adeq, fresh):
            told = pytest.raises(TransportError, match="has lost its primary; connect to the primary")
            with told as refused:
                one.queue(base_name).stats()
            assert (refused.value.retryable, refused.value.may_have_applied) == (True, False)
    assert queue.stats().ready == 1


# What runs for longer


@every_fault
async def test_a_worker_waits_until_it_is_over(
    server: EmbeddedServer, adeq: Adeq, base_name: str, fault: Fault
) -> None:
    """It holds a task when the fault comes, and another waits in line; both are done in the end, each in one run."""
    over = asyncio.Event()
    queue = adeq.queue(base_name)

    async def handle(lease: Lease) -> int:
        await over.wait()
        return lease.delivery

    queue.enqueue("work", id="a")
    async with (
        AsyncAdeq.from_url(server.url, retry_for=HASTY) as far,
        at_work(Worker(far.queue(base_name), handle, concurrency=1)) as running,
    ):
        await eventually_in_thread(lambda: queue.stats().running == 1)
        queue.enqueue("work", id="b")
        with fault(server):
            over.set()
            refusals = count_refusals(server)
            await eventually_in_thread(lambda: count_refusals(server) >= refusals + 3)
            assert queue.stats().running == 1
        await eventually_in_thread(lambda: queue.stats().finished == 2)
        assert not running.done()
    assert [getattr(queue.get(id), "result", None) for id in "ab"] == [1, 1]
    assert {name: queue.stats().counters.get(name, 0) for name in ("claimed", "completed", "stalled")} == {
        "claimed": 2,
        "completed": 2,
        "stalled": 0,
    }


def count_refusals(server: EmbeddedServer) -> int:
    """How many calls it has refused."""
    stats = ask(server, "INFO", "errorstats")
    return sum(
        int(stats.get(f"errorstat_{code}", {}).get("count", 0)) for code in ("MISCONF", "NOREPLICAS", "READONLY")
    )


@pytest.mark.slow
@every_fault
def test_a_lock_is_kept_until_it_is_over(server: EmbeddedServer, adeq: Adeq, base_name: str, fault: Fault) -> None:
    locks = adeq.locks(base_name)
    grant = locks.take("door", owner="holder", ttl=12)
    with fault(server):
        refusals = count_refusals(server)
        wait_until(lambda: count_refusals(server) > refusals)
    until = grant.deadline
    wait_until(lambda: grant.deadline > until)
    grant.check()
    grant.release()
    assert locks.stats().held == 0


@every_fault
def test_who_waits_for_a_lock_is_told_and_leaves_nothing_in_line(
    server: EmbeddedServer, adeq: Adeq, base_name: str, fault: Fault
) -> None:
    locks = adeq.locks(base_name)
    locks.configure(poll=0.5)
    grant = locks.take("door", owner="holder")
    told: list[BaseException] = []

    def wait() -> None:
        try:
            locks.take("door", owner="waiter")
        except TransportError as error:
            told.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    wait_until(lambda: locks.stats().waiting == 1)
    with fault(server):
        waiting.join(DEADLINE)
    (refused,) = told
    assert isinstance(refused, TransportError)
    assert refused.retryable
    wait_until(lambda: locks.stats().waiting == 0)
    assert [holder.rid for holder in locks.get("door").holders] == [grant.rid]
    grant.release()
    assert locks.stats().held == 0


# Loading


def test_a_call_waits_until_the_data_is_loaded(loads_slowly: EmbeddedServer, base_name: str) -> None:
    url = loads_slowly.url
    with Adeq.from_url(url, retry_for=LONGEST_RETRY) as patient, Adeq.from_url(url, retry_for=0) as hasty:
        queue, locks = patient.queue(base_name), patient.locks(base_name)
        queue.enqueue_many(range(MANY))
        grant = locks.take("door", owner="o", ttl=60)
        with restarting(loads_slowly):
            wait_until(lambda: is_loading(loads_slowly))
            with pytest.raises(TransportError, match="loading") as refused:
                hasty.queue(base_name).enqueue("hasty")
            assert (refused.value.retryable, refused.value.may_have_applied) == (True, False)
            assert queue.enqueue("patient").status == "created"
            grant.release()
        assert queue.stats().ready == MANY + 1
        assert locks.stats().held == 0


async def test_a_worker_waits_until_the_data_is_loaded(loads_slowly: EmbeddedServer, base_name: str) -> None:
    url = loads_slowly.url

    async def handle(lease: Lease) -> None:
        await asyncio.sleep(0)

    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue_many(range(MANY))
        async with AsyncAdeq.from_url(url) as far:
            with restarting(loads_slowly):
                await eventually_in_thread(lambda: is_loading(loads_slowly))
                async with at_work(Worker(far.queue(base_name), handle, concurrency=50)):
                    await eventually_in_thread(lambda: not is_loading(loads_slowly))
                    await eventually_in_thread(lambda: queue.stats().finished == MANY)
        assert queue.stats().counters["claimed"] == MANY


@contextmanager
def restarting(server: EmbeddedServer) -> Iterator[None]:
    """The server is killed and comes back, during the block; there again when it ends."""
    server.kill()
    restart = threading.Thread(target=server.restart)
    restart.start()
    try:
        yield
    finally:
        restart.join(DEADLINE)


def is_loading(server: EmbeddedServer) -> bool:
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        connection.connect(str(server.socket_path))
        connection.sendall(b"PING\r\n")
        return connection.recv(100).startswith(b"-LOADING")
    return False

"""Somebody else has written to a key of ours: what is told, and that all is well again when the key is gone.

A script checks its arguments, its queue's settings and the state that it changes, and not the type of each key, which
would cost a command each. So one may stop half-way: the error says that it may have been applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Lease, TransportError, WaitTimeout
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from tests.integration.faults.calls import CALLS
from tests.integration.faults.stored import stored
from tests.integration.running import at_work
from tests.waiting import eventually_in_thread

TOLD = r"a key has a type that pyadeq never gives it, .* find it with TYPE \(WRONGTYPE"


@pytest.fixture(scope="module")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


@pytest.fixture
def adeq(server: EmbeddedServer) -> Iterator[Adeq]:
    with Adeq.from_url(server.url) as adeq:
        yield adeq


def spoil(adeq: Adeq, key: str) -> None:
    adeq.client.set(key, "somebody else's")


# What every call opens first


@pytest.mark.parametrize("call", CALLS, ids=[call.__name__ for call in CALLS])
def test_without_settings_nothing_is_done(
    adeq: Adeq, base_name: str, call: Callable[[Adeq, str], Callable[[], Any]]
) -> None:
    queue, locks = adeq.queue(base_name), adeq.locks(base_name)
    queue.enqueue("work", id="a")
    locks.configure()
    go = call(adeq, base_name)
    kept = {base: adeq.client.dump(f"{base}:config") for base in (queue.base, locks.base)}
    for base in kept:
        spoil(adeq, f"{base}:config")
    before = stored(adeq.client, queue.base, locks.base)
    with pytest.raises(TransportError, match=TOLD) as refused:
        go()
    assert (refused.value.retryable, refused.value.may_have_applied) == (False, True)
    assert stored(adeq.client, queue.base, locks.base) == before
    for base, settings in kept.items():
        adeq.client.restore(f"{base}:config", 0, settings or b"", replace=True)
    if call.__name__ not in ("release", "acquire"):  # these are cancelled by then
        assert go() == CALLS[call]


# Any other


def work(adeq: Adeq, name: str, id: str) -> str:
    """One task from the beginning to the end, with all that leaves a trace of it."""
    queue = adeq.queue(name)
    queue.enqueue("work", id=id, user="u", tags=["t"], unique=f"unique-{id}", priority=1)
    (lease,) = queue.claim("w")
    queue.heartbeat(lease)
    queue.ack(lease, "done")
    task = queue.get(id)
    assert task is not None
    return task.state


KEYS = [
    "ready:any", "leases", "running", "lanes", "finished", "events", "once", "once:due", "by:user:u", "by:tag:t",
    "workers",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_queue_works_again_when_the_key_is_gone(adeq: Adeq, base_name: str, key: str) -> None:
    """Of the task that was under way half may be left; whatever comes after it is whole, and so are other queues."""
    spoilt = f"{adeq.queue(base_name).base}:{key}"
    spoil(adeq, spoilt)
    with pytest.raises(TransportError, match=TOLD) as refused:
        work(adeq, base_name, "first")
    assert (refused.value.retryable, refused.value.may_have_applied) == (False, True)
    assert work(adeq, f"{base_name}-other", "first") == "completed"
    assert adeq.client.get(spoilt) == b"somebody else's"
    adeq.client.delete(spoilt)
    for lease in adeq.queue(base_name).claim("w", limit=10):
        adeq.queue(base_name).ack(lease)
    assert work(adeq, base_name, "second") == "completed"


DOMAIN_KEYS = ["requests", "graph", "deadlines"]


@pytest.mark.parametrize("key", DOMAIN_KEYS)
def test_a_domain_works_again_when_the_key_is_gone(adeq: Adeq, base_name: str, key: str) -> None:
    locks = adeq.locks(base_name)
    spoilt = f"{locks.base}:{key}"
    spoil(adeq, spoilt)
    told = pytest.raises(TransportError, match=TOLD)
    with told as refused, locks.acquire("door", owner="first"):
        pass
    assert (refused.value.retryable, refused.value.may_have_applied) == (False, True)
    adeq.client.delete(spoilt)
    locks.admin.force_release("door", "what may be left of the first")
    with locks.acquire("door", owner="second") as grant:
        grant.check()
    assert locks.stats().held == 0


def test_a_lock_that_was_granted_half_is_free_when_its_domain_is_deleted(adeq: Adeq, base_name: str) -> None:
    """It is held by a request that nobody has noted, and so it stays; the other locks of the domain go on."""
    locks = adeq.locks(base_name)
    spoil(adeq, f"{locks.base}:events")
    told = pytest.raises(TransportError, match=TOLD)
    with told, locks.acquire("door", owner="first"):
        pass
    adeq.client.delete(f"{locks.base}:events")
    with pytest.raises(WaitTimeout):
        locks.take("door", owner="second", wait=0)
    with locks.acquire("another", owner="second", wait=0) as grant:
        grant.check()
    adeq.client.delete(*adeq.client.keys(f"{locks.base}:*"))
    with locks.acquire("door", owner="second", wait=0) as grant:
        grant.check()


async def test_a_worker_ends_and_says_why(server: EmbeddedServer, adeq: Adeq, base_name: str) -> None:
    queue = adeq.queue(base_name)
    queue.enqueue("work", id="a")
    spoil(adeq, f"{queue.base}:leases")

    async def handle(lease: Lease) -> None:
        return None

    async with AsyncAdeq.from_url(server.url) as far:
        with pytest.raises(TransportError, match=TOLD):
            async with at_work(Worker(far.queue(base_name), handle)) as running:
                await eventually_in_thread(running.done)
        adeq.client.delete(f"{queue.base}:leases")
        async with at_work(Worker(far.queue(base_name), handle)):
            await eventually_in_thread(lambda: queue.stats().finished == 1)

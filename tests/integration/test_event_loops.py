"""An asyncio client on more than one event loop."""

import asyncio
import gc
import logging
import threading
from typing import Any

import pytest

from pyadeq.asyncio import Adeq
from pyadeq.errors import ConfigError
from tests.waiting import DEADLINE


async def use(adeq: Adeq, name: str, owner: str) -> None:
    """One of everything that waits, or that has something in the background."""
    queue, locks = adeq.queue(name), adeq.locks(name)
    receipt = await queue.enqueue({"owner": owner}, reply=True)
    waiting = asyncio.create_task(receipt.result(DEADLINE))
    (lease,) = await queue.claim(wait=DEADLINE)
    await queue.ack(lease, owner)
    assert await waiting == owner
    async with locks.acquire("db:1", owner=owner, ttl=3) as grant:
        before = grant.deadline
        while grant.deadline == before:  # renewed in the background
            grant.check()
            await asyncio.sleep(0.01)
    assert await queue.mailbox("ann").try_dequeue() is None
    await asyncio.gather(*[queue.claim(f"w{number}") for number in range(5)])


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_connects_anew_on_another_loop(url: str, base_name: str, caplog: pytest.LogCaptureFixture) -> None:
    adeq = Adeq.from_url(url)
    with caplog.at_level(logging.WARNING, "pyadeq"):
        for turn in range(3):
            asyncio.run(use(adeq, base_name, f"o{turn}"))
        asyncio.run(adeq.aclose())
    gc.collect()  # what belonged to loops that have ended says that it was not closed
    assert [record.message for record in caplog.records if "event loop" in record.message] == [
        "the event loop on which this asyncio client was used has ended: the client connects again; "
        "make a client for each asyncio.run, and close it there (`async with`)"
    ]


def test_a_client_is_not_used_on_two_loops_at_once(url: str, base_name: str) -> None:
    errors: list[Any] = []

    async def elsewhere(adeq: Adeq) -> None:
        for call in (adeq.queue(base_name).stats, adeq.locks(base_name).stats, adeq.aclose):
            with pytest.raises(ConfigError, match=r"another event loop, which still runs; allowed: one event loop"):
                await call()

    def run(adeq: Adeq) -> None:
        try:
            asyncio.run(elsewhere(adeq))
        except BaseException as error:
            errors.append(error)

    async def here() -> None:
        async with Adeq.from_url(url) as adeq:
            await adeq.queue(base_name).stats()
            thread = threading.Thread(target=run, args=[adeq])
            thread.start()
            await asyncio.to_thread(thread.join)
            assert (await adeq.queue(base_name).stats()).ready == 0

            await adeq.aclose()
            thread = threading.Thread(target=close_again, args=[adeq])
            thread.start()
            await asyncio.to_thread(thread.join)

    def close_again(adeq: Adeq) -> None:
        try:
            asyncio.run(adeq.aclose())
        except BaseException as error:
            errors.append(error)

    asyncio.run(here())
    assert not errors

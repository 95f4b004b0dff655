"""Ways of renewal, and what holds them up."""

import asyncio
import ctypes
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pyadeq import Lease
from pyadeq._worker.renewal.base import Heard, Renewal
from pyadeq._worker.renewal.loop import LoopRenewal
from pyadeq._worker.renewal.process import ProcessRenewal
from pyadeq._worker.renewal.thread import ThreadRenewal
from pyadeq.asyncio import Queue
from pyadeq.errors import LeaseLost
from tests.waiting import DEADLINE

LEASE = 4.0
BLOCKED = 5.0  # seconds: longer than a lease, by as much as a busy machine may need
WAYS: dict[str, Any] = {"loop": LoopRenewal, "thread": ThreadRenewal, "process": ProcessRenewal}


@asynccontextmanager
async def renewing(
    way: str, queue: Queue, heard: Callable[[Heard], None], lease: float = LEASE, **options: Any
) -> AsyncIterator[Renewal]:
    renewal: Renewal = WAYS[way](queue, "w1", lease, lambda: 1, heard, **options)
    await renewal.start()
    try:
        yield renewal
    finally:
        await asyncio.wait_for(renewal.stop(), DEADLINE)


async def claim(queue: Queue, renewal: Renewal, lease: float = LEASE) -> Lease:
    """One task, held from now on."""
    await queue.enqueue("work")
    claimed = await queue.leases.claim_once("w1", 1, lease=lease)
    renewal.hold(claimed.leases, claimed.lease)
    return claimed.leases[0]


async def is_kept(queue: Queue, lease: Lease) -> bool:
    """What the server says; a lease that it has seen end is lost for good."""
    try:
        await queue.heartbeat(lease, LEASE)
    except LeaseLost:
        return False
    return True


async def hears_when_asked(renewal: Renewal, all_heard: Sequence[Heard]) -> None:
    """It hears so many times in two minutes; unasked, it would take five."""
    async with asyncio.timeout(DEADLINE):
        for _ in range(30):
            before = len(all_heard)
            renewal.ask()
            while len(all_heard) == before:
                await asyncio.sleep(0.01)


def ignore(heard: Heard) -> None:
    pass


def keep_the_gil(seconds: float = BLOCKED) -> None:
    # PyDLL calls without giving up the GIL; CDLL would.
    ctypes.PyDLL(None).usleep(round(seconds * 1_000_000))


def block_the_loop() -> None:
    time.sleep(BLOCKED)

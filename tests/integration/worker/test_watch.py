"""A worker whose event loop is blocked says so, and by which task."""

import asyncio
import logging
import threading
import time

import pytest

from pyadeq.asyncio import Adeq, Lease, Queue, Worker
from pyadeq.errors import ConfigError
from tests.waiting import DEADLINE


async def worked(queue: Queue, handler: object, kinds: list[str]) -> list[str]:
    """The ids of tasks that a worker has done, one after the other."""
    ids = [(await queue.enqueue("sesame", kind=kind, reply=True)).id for kind in kinds]
    worker = Worker(queue, handler, concurrency=1, lease=1)
    running = asyncio.create_task(worker.run())
    for id in ids:
        await queue.result(id, DEADLINE)
    worker.stop()
    await running
    return ids


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said of handlers. A machine that stands still may hold a loop up as well, between them."""
    return [record.message for record in caplog.records if record.message.startswith("the handler of task")]


def blocks(lease: Lease) -> None:
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        time.sleep(0.05)


async def handle(lease: Lease) -> None:
    if lease.kind == "asleep":
        await asyncio.sleep(2.5)
    else:
        blocks(lease)


@pytest.mark.slow
async def test_a_handler_that_blocks_the_loop_is_named(
    url: str, base_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for each block, with the stack, and once if several workers share the loop. No payload is in it."""
    async with Adeq.from_url(url) as adeq:
        other = Worker(adeq.queue(f"{base_name}.b"), blocks, blocked_after=3600)
        running = asyncio.create_task(other.run())
        with caplog.at_level(logging.WARNING, "pyadeq.worker"):
            ids = await worked(adeq.queue(base_name), handle, ["asleep", "page", "page", "mail"])
        assert other.health().loop_blocks == 0
        other.stop()
        await running
    found = told(caplog)
    assert len(found) == 3
    for text, id, kind in zip(found, ids[1:], ("page", "page", "mail"), strict=True):
        assert text.startswith(f"the handler of task {id} (kind {kind!r}) has blocked the event loop for ")
        assert "asyncio.to_thread" in text
        assert f'File "{__file__}"' in text
        assert ", in handle\n    blocks(lease)\n" in text
        assert "sesame" not in text


async def test_the_time_after_which_a_block_is_reported_can_be_set(
    url: str, base_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        reported = threading.Event()
        blocked = Worker(queue, waiting_for(reported), blocked_after=0.1)
        logger = logging.getLogger("pyadeq.worker")

        def see(_: logging.LogRecord) -> bool:
            reported.set()
            return True

        logger.addFilter(see)
        running = asyncio.create_task(blocked.run())
        try:
            assert await queue.run(wait=DEADLINE) is True
        finally:
            logger.removeFilter(see)
        assert blocked.health().loop_blocks == 1
        blocked.stop()
        await running
    for refused in (-1, 0.01):
        with pytest.raises(ConfigError, match=r"allowed: 0 \(never\), or 0.1 s and more"):
            Worker(queue, blocks, blocked_after=refused)


def waiting_for(reported: threading.Event) -> object:
    async def wait(lease: Lease) -> bool:
        return reported.wait(DEADLINE)

    return wait


async def test_a_function_in_a_thread_is_no_cause_to_warn(
    url: str, base_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Adeq.from_url(url) as adeq:
        with caplog.at_level(logging.WARNING, "pyadeq.worker"):
            await worked(adeq.queue(base_name), blocks, ["page"])
    assert not told(caplog)

"""A worker whose event loop is blocked says so, and by which task."""

import asyncio
import logging
import time

import pytest

from pyadeq.asyncio import Adeq, Lease, Queue, Worker
from tests.waiting import DEADLINE


async def worked(queue: Queue, handler: object, kinds: list[str]) -> list[str]:
    """The ids of tasks that a worker has done, one after the other."""
    ids = [(await queue.enqueue(kind=kind, reply=True)).id for kind in kinds]
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
    async with Adeq.from_url(url) as adeq:
        with caplog.at_level(logging.WARNING, "pyadeq.worker"):
            ids = await worked(adeq.queue(base_name), handle, ["asleep", "page", "page", "mail"])
    found = told(caplog)
    assert len(found) == 2  # each kind once
    assert found[0].startswith(f"the handler of task {ids[1]} (kind 'page') has blocked the event loop for ")
    assert found[1].startswith(f"the handler of task {ids[3]} (kind 'mail') has blocked the event loop for ")
    assert f", at {__file__}:" in found[0]
    assert "asyncio.to_thread" in found[0]


async def test_a_function_in_a_thread_is_no_cause_to_warn(
    url: str, base_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Adeq.from_url(url) as adeq:
        with caplog.at_level(logging.WARNING, "pyadeq.worker"):
            await worked(adeq.queue(base_name), blocks, ["page"])
    assert not told(caplog)

"""A queue in the test's loop, and workers that run there for as long as a block lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis

from pyadeq.asyncio import Adeq, Queue, Worker
from tests.waiting import DEADLINE, eventually


@pytest.fixture
async def adeq(url: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url) as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    return adeq.queue(base_name)


@asynccontextmanager
async def at_work(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """What it ends with by itself is raised."""
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        worker.stop()
        await asyncio.wait_for(task, DEADLINE)


@asynccontextmanager
async def working(queue: Queue, handler: Any, **options: Any) -> AsyncIterator[Worker]:
    worker = Worker(queue, handler, **options)
    async with at_work(worker):
        yield worker


@asynccontextmanager
async def registered(queue: Queue, handler: Any, **options: Any) -> AsyncIterator[Worker]:
    """The block begins when the queue knows the worker."""
    async with working(queue, handler, **options) as worker:
        await eventually(lambda: queue.workers.get(worker.name))
        yield worker


def blocked(client: redis.Redis) -> bool:
    """Whether a client waits for a token that came after this one, and so is of this test."""
    own = client.client_id()
    return any("b" in one["flags"] and int(one["id"]) > own for one in client.client_list())

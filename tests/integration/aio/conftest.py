from collections.abc import AsyncIterator

import pytest

from pyadeq.asyncio import Adeq, Changes, Locks, Queue
from tests.integration.conftest import Clock


@pytest.fixture
async def adeq(url: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url) as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    return adeq.queue(base_name)


@pytest.fixture
async def timed(url: str, base_name: str, clock: Clock) -> AsyncIterator[Queue]:
    """A queue whose time is the test's."""
    async with Adeq.from_url(url, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        await queue.configure(clock="test")
        yield queue


@pytest.fixture
async def locks(adeq: Adeq, base_name: str) -> Locks:
    return adeq.locks(base_name)


@pytest.fixture
async def changes(adeq: Adeq, base_name: str) -> Changes:
    return adeq.changes(base_name[-64:])

# Generated from tests/integration/aio/conftest.py by pyadeq/_unasync.py; do not edit.
from collections.abc import Iterator

import pytest

from pyadeq import Adeq, Changes, Locks, Queue
from tests.integration.conftest import Clock


@pytest.fixture
def adeq(url: str) -> Iterator[Adeq]:
    with Adeq.from_url(url) as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    return adeq.queue(base_name)


@pytest.fixture
def timed(url: str, base_name: str, clock: Clock) -> Iterator[Queue]:
    """A queue whose time is the test's."""
    with Adeq.from_url(url, clock=clock) as adeq:
        queue = adeq.queue(base_name)
        queue.configure(clock="test")
        yield queue


@pytest.fixture
def locks(adeq: Adeq, base_name: str) -> Locks:
    return adeq.locks(base_name)


@pytest.fixture
def changes(adeq: Adeq, base_name: str) -> Changes:
    return adeq.changes(base_name[-64:])

"""The pytest plugin: fixtures with a server, clients and a clock. What it does is in `pyadeq.testing`.

A project asks for it in its conftest.py: `pytest_plugins = ["pyadeq.testing.plugin"]`. It imports little, so that tests
without these fixtures need not wait.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyadeq import Adeq, EmbeddedServer
    from pyadeq.asyncio import Adeq as AioAdeq
    from pyadeq.testing import Clock


@pytest.fixture(scope="session")
def adeq_server() -> Iterator[EmbeddedServer]:
    """A real Valkey or Redis server for these tests, one for each worker of pytest-xdist; `.url` is where it is.

    ADEQ_TEST_SERVER names its binary. Otherwise it is that of the extra `testing`, or the one on the PATH.
    """
    from pyadeq.errors import ConfigError
    from pyadeq.testing.clients import new_server

    try:
        server = new_server().start()
    except ConfigError as error:
        raise pytest.fail.Exception(f"adeq_server: {error}", pytrace=False) from None
    with server:
        yield server


@pytest.fixture
def adeq_prefix(request: pytest.FixtureRequest) -> str:
    """The prefix of this test's keys, its own: for clients that a program makes itself."""
    from pyadeq.testing.clients import new_prefix

    return new_prefix(request.node.name)


@pytest.fixture
def adeq_clock() -> Clock:
    """The virtual clock of this test: `.now`, `.advance(seconds)`. With it `adeq` and `aio_adeq` live by it."""
    from pyadeq.testing import Clock

    return Clock()


@pytest.fixture
def adeq(request: pytest.FixtureRequest, adeq_server: EmbeddedServer, adeq_prefix: str) -> Iterator[Adeq]:
    """A client with a prefix of its own, on the virtual clock if the test asks for `adeq_clock`, too."""
    from pyadeq.testing.clients import connect

    with connect(adeq_server.url, adeq_prefix, _clock(request)) as client:
        yield client


@pytest.fixture
def aio_adeq(request: pytest.FixtureRequest, adeq_server: EmbeddedServer, adeq_prefix: str) -> Iterator[AioAdeq]:
    """An async client like `adeq`, for an async test: closed when the test function ends, on its event loop."""
    from pyadeq.testing.clients import aio_connect

    test = request.node.obj
    if not inspect.iscoroutinefunction(test):
        pytest.fail("aio_adeq: it needs an async test (async def); a sync test has the fixture adeq", pytrace=False)
    client = aio_connect(adeq_server.url, adeq_prefix, _clock(request))

    # An async fixture would need one of the plugins that run async tests. Each of them awaits the test's function.
    @functools.wraps(test)
    async def test_and_close(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        async with client.staying_open():
            await test(*args, **kwargs)

    request.node.obj = test_and_close
    yield client
    request.node.obj = test


def _clock(request: pytest.FixtureRequest) -> Clock | None:
    wanted = "adeq_clock" in request.fixturenames
    return request.getfixturevalue("adeq_clock") if wanted else None

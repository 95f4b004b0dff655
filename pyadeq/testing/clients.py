"""What the fixtures return: a server, and clients that each have their own part of it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyadeq
from pyadeq import Call
from pyadeq import asyncio as aio
from pyadeq.errors import ConfigError

T = TypeVar("T")
N = TypeVar("N")


def new_server() -> pyadeq.EmbeddedServer:
    """Return a server for tests, not started: that of ADEQ_TEST_SERVER, or the one that is found. It need not survive a
    crash.
    """
    named = os.environ.get("ADEQ_TEST_SERVER")
    if named and not os.access(named, os.X_OK):
        raise ConfigError(f"ADEQ_TEST_SERVER: {named!r} is not a program; name a valkey-server or redis-server")
    return pyadeq.EmbeddedServer(binary=Path(named) if named else None, appendfsync="no")


def new_prefix(test: str) -> str:
    """Return a prefix that no other test has, and that shows to which test keys belong."""
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', test)[:80]}-{secrets.token_hex(4)}"


class _Client(pyadeq.Adeq):
    """Creates queues, lock domains and so on with the virtual clock, if it has one."""

    def _noun(self, noun: str, kind: Callable[[Any, str, str], N], name: str) -> N:
        if self._options.clock and (noun, name) not in self._made:
            made: Any = super()._noun(noun, kind, name)
            made.configure(clock="test")
        return super()._noun(noun, kind, name)


class _AioClient(aio.Adeq):
    """An async client with the virtual clock. As `queue()` and its like await nothing, a sync client creates them.

    A connection has to be closed on the event loop that opened it. So they stay open while the function of the test
    runs; before and after that, in async fixtures, no longer than the calls.
    """

    url: str
    _stays_open = False
    _calls = 0

    def _noun(self, noun: str, kind: Callable[[Any, str, str], N], name: str) -> N:
        if self._options.clock and (noun, name) not in self._made:
            with connect(self.url, self.prefix, self._options.clock) as creator:
                creator.noun(noun, name)
        return super()._noun(noun, kind, name)

    async def send(self, call: Call[T], retry_for: float | None = None) -> T:
        self._calls += 1
        try:
            return await super().send(call, retry_for)
        finally:
            self._calls -= 1
            if not (self._stays_open or self._calls):
                await self._nodes.disconnect()

    @asynccontextmanager
    async def staying_open(self) -> AsyncIterator[None]:
        self._stays_open = True
        try:
            yield
        finally:
            self._stays_open = False
            await self.aclose()
            self._nodes.closed = False  # async fixtures end after the function, and may call again


def connect(url: str, prefix: str, clock: Callable[[], int] | None) -> _Client:
    """Return a client for one test."""
    return _Client.from_url(url, prefix=prefix, clock=clock)


def aio_connect(url: str, prefix: str, clock: Callable[[], int] | None) -> _AioClient:
    """Return an asyncio client for one test. Use `staying_open` in the test function."""
    adeq = _AioClient.from_url(url, prefix=prefix, clock=clock)
    adeq.url = url
    return adeq

"""Retries of a worker while the server is unreachable: without end, or until the worker's time is over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pyadeq.errors import DurabilityError, TransportError

T = TypeVar("T")

# Seconds that a call may still take once the time is up.
LAST_CALL = 2.0
log = logging.getLogger("pyadeq.worker")


class Outage:
    """Retries calls without end. When the time is over, each call is tried once, for at most two seconds."""

    def __init__(self) -> None:
        self.out_of_time = asyncio.Event()
        self._limits: set[asyncio.Timeout] = set()

    def end(self) -> None:
        """The time is up."""
        self.out_of_time.set()
        last = asyncio.get_running_loop().time() + LAST_CALL
        for limit in self._limits:
            if (when := limit.when()) is None or when > last:  # it may be said again, while a call is being given up
                limit.reschedule(last)

    async def bear(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the answer, however long it takes. TransportError if the error is permanent, or the time is over."""
        pause = 0.1
        while True:
            try:
                return await self._in_time(act)
            except DurabilityError as error:
                log.warning("no confirmation from the server: %s", error)
                if self.out_of_time.is_set():
                    answer: T = error.answer  # it was applied
                    return answer
            except TransportError as error:
                if not error.retryable or self.out_of_time.is_set():
                    raise
                log.warning("no answer from the server, trying again: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause * random.uniform(0.5, 1.5)):
                    await self.out_of_time.wait()
            pause = min(pause * 2, 5.0)

    async def _in_time(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        limit = asyncio.timeout(LAST_CALL if self.out_of_time.is_set() else None)
        self._limits.add(limit)
        try:
            async with limit:
                return await act()
        except TimeoutError:
            if not limit.expired():
                raise
            raise TransportError("no answer in time", retryable=True, may_have_applied=True) from None
        finally:
            self._limits.discard(limit)

"""How long tests wait for what must come true: much longer than it takes on a machine that stands still at times."""

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable

LONGEST_RETRY = 45.0  # seconds: a client takes no longer `retry_for`
DEADLINE = 120.0  # seconds


def wait_until(condition: Callable[[], object], within: float = DEADLINE) -> None:
    """Wait until it holds; fail when it does not in time."""
    deadline = time.monotonic() + within
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within {within:g} s: {condition}"
        pause.wait(0.01)


async def eventually(condition: Callable[[], Awaitable[object] | object], within: float = DEADLINE) -> None:
    """The same for what runs in a loop; the condition may have to be awaited."""
    async with asyncio.timeout(within):
        while not await _value(condition()):
            await asyncio.sleep(0.01)


async def eventually_in_thread(condition: Callable[[], object]) -> None:
    """The same for a condition that blocks, where the loop has to go on."""
    await eventually(lambda: asyncio.to_thread(condition))


async def _value(result: Awaitable[object] | object) -> object:
    return await result if inspect.isawaitable(result) else result

"""What the script of each peer does; run in the peer's own environment, so on the standard library alone.

    python -m bench.peers.of_<peer> about             one line of JSON: versions, mode, done
    python -m bench.peers.of_<peer> enqueue URL N     N no-op tasks, by the fastest way that the peer documents; prints
                                                      the seconds that it took, without the start of the process
    python -m bench.peers.of_<peer> send URL N HOLD   N reports, one at a time, at random moments
    python -m bench.peers.of_<peer> work URL          one worker process, until it is killed

A no-op carries PAYLOAD. It returns RESULT, so that every peer which keeps results has one to keep. A report prints when
it was sent and when it began, in nanoseconds of the clock that all processes of a machine share, and HOLD; then it goes
on for HOLD seconds.
"""

from __future__ import annotations

import asyncio
import json
import platform
import random
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import ClassVar

CONCURRENCY = 100
PAYLOAD = "x" * 200
RESULT = "ok"
PAUSE = (0.05, 0.25)  # seconds between two reports
BULK = 1000  # tasks of one call
AT_ONCE = 50  # calls under way, where a peer takes one task a call
THREADS = 2  # the same where a call blocks; with more of them the interpreter's lock makes it slower


class Peer(ABC):
    """A queue under test.

    packages: what it is installed as. mode: which of its ways was chosen, and what it keeps.
    done: Lua that returns how many of ARGV[1] no-op tasks are completed and acknowledged.
    """

    packages: ClassVar[tuple[str, ...]]
    mode: ClassVar[str]
    done: ClassVar[str]

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self, stack: AsyncExitStack) -> None:  # noqa: B027
        """Connect what enqueues and sends; what is to be closed goes onto the stack."""

    @abstractmethod
    async def enqueue(self, count: int) -> None:
        """Put so many no-op tasks in line."""

    @abstractmethod
    async def send(self, sent: int, hold: int) -> None:
        """Put one report in line."""

    @abstractmethod
    async def work(self) -> None:
        """Be a worker."""


async def noop(payload: str) -> str:
    return RESULT


async def report(sent: int, hold: int) -> str:
    tell(sent, hold)
    await asyncio.sleep(hold)
    return RESULT


def blocking_noop(payload: str) -> str:
    """For peers whose handlers are plain functions."""
    return RESULT


def blocking_report(sent: int, hold: int) -> str:
    tell(sent, hold)
    time.sleep(hold)
    return RESULT


def tell(sent: int, hold: int) -> None:
    began = time.monotonic_ns()
    # one write, for threads share the output
    sys.stdout.write(f"{sent} {began} {hold}\n")
    sys.stdout.flush()


async def repeat(count: int, act: Callable[[], Awaitable[object]]) -> None:
    """Do it so many times, with AT_ONCE under way."""
    left = iter(range(count))

    async def some() -> None:
        for _ in left:
            await act()

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))


def repeat_in_threads(count: int, act: Callable[[], object]) -> None:
    """Do it so many times, in THREADS of them."""
    left = iter(range(count))

    def some() -> None:
        for _ in left:
            act()

    with ThreadPoolExecutor(THREADS) as pool:
        for ended in [pool.submit(some) for _ in range(THREADS)]:
            ended.result()


def bulks(count: int) -> list[int]:
    """The sizes of the calls that make up so many tasks."""
    return [min(BULK, count - start) for start in range(0, count, BULK)]


def main(kind: type[Peer]) -> None:
    """The command line above."""
    command, *arguments = sys.argv[1:]
    if command == "about":
        versions = {"python": platform.python_version()} | {name: version(name) for name in kind.packages}
        print(json.dumps({"versions": versions, "mode": kind.mode, "done": kind.done}))
    else:
        asyncio.run(act(kind, command, *arguments))


async def act(kind: type[Peer], command: str, url: str, *numbers: str) -> None:
    peer = kind(url)
    if command == "work":
        return await peer.work()
    async with AsyncExitStack() as stack:
        await peer.open(stack)
        if command == "enqueue":
            began = time.perf_counter()
            await peer.enqueue(int(numbers[0]))
            return print(time.perf_counter() - began)
        for _ in range(int(numbers[0])):
            await asyncio.sleep(random.uniform(*PAUSE))
            await peer.send(time.monotonic_ns(), int(numbers[1]))

"""What the script of each peer does; run in the peer's own environment, so on the standard library alone.

    python -m bench.peers.of_<peer> about             one line of JSON: versions, mode, done
    python -m bench.peers.of_<peer> enqueue URL N     N no-op tasks, by the fastest way that the peer documents; prints
                                                      the seconds that it took, without the start of the process
    python -m bench.peers.of_<peer> call URL N CALLERS WAY   N no-op tasks, each by a call of its own, by callers that
                                                      call at the same time; prints the seconds, the process's CPU per
                                                      task in µs, and the 99th percentile of the time of a call in ms
    python -m bench.peers.of_<peer> send URL N HOLD   N reports, one at a time, at random moments
    python -m bench.peers.of_<peer> work URL          one worker process, until it is killed

`--keep N` as the last words: only so many ended tasks are kept, or those of KEEP_SECONDS, by the peer's own means.

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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any, ClassVar

CONCURRENCY = 100
PAYLOAD = "x" * 200
RESULT = "ok"
PAUSE = (0.05, 0.25)  # seconds between two reports
BULK = 1000  # tasks of one call
AT_ONCE = 50  # calls under way, where a peer takes one task a call
KEEP_SECONDS = 2  # where a peer keeps by age alone
ABOUT = ("mode", "done", "ways", "kept", "leaves")
WARM = 100  # calls that are not counted
THREADS = 2  # the same where a call blocks; with more of them the interpreter's lock makes it slower


class Peer(ABC):
    """A queue under test.

    packages: what it is installed as. mode: which of its ways was chosen, and what it keeps.
    done: Lua that returns how many of ARGV[1] no-op tasks are completed and acknowledged. ways: in which its users can
    call; those that begin with "threads" block. kept: what it does with ended tasks under `--keep`. leaves: seconds
    until nothing is left of a task that was deleted.
    """

    packages: ClassVar[tuple[str, ...]]
    mode: ClassVar[str]
    done: ClassVar[str]
    ways: ClassVar[tuple[str, ...]] = ("asyncio",)
    kept: ClassVar[str] = f"results for {KEEP_SECONDS} s"
    leaves: ClassVar[float] = KEEP_SECONDS
    keep: ClassVar[int] = 0  # as the command line says; 0: what the peer does by itself
    way: ClassVar[str] = ""

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self, stack: AsyncExitStack) -> None:  # noqa: B027
        """Connect what enqueues and sends; what is to be closed goes onto the stack."""

    @abstractmethod
    async def enqueue(self, count: int) -> None:
        """Put so many no-op tasks in line."""

    @abstractmethod
    def put(self) -> Any:
        """Put one no-op task in line: when this returns, or when what it returns is awaited."""

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


async def repeat(count: int, act: Callable[[], Any], callers: int = AT_ONCE) -> list[float]:
    """Repeat a call, with some calls under way at a time. Returns the seconds that each took."""
    left = iter(range(count))
    times: list[float] = []

    async def some() -> None:
        for _ in left:
            began = time.perf_counter()
            await act()
            times.append(time.perf_counter() - began)

    await asyncio.gather(*(some() for _ in range(callers)))
    return times


def repeat_in_threads(count: int, act: Callable[[], object], callers: int = THREADS) -> list[float]:
    """Repeat a call, in some threads. Returns the seconds that each took."""
    left = iter(range(count))
    times: list[float] = []

    def some() -> None:
        for _ in left:
            began = time.perf_counter()
            act()
            times.append(time.perf_counter() - began)

    with ThreadPoolExecutor(callers) as pool:
        for ended in [pool.submit(some) for _ in range(callers)]:
            ended.result()
    return times


def bulks(count: int) -> list[int]:
    """The sizes of the calls that make up so many tasks."""
    return [min(BULK, count - start) for start in range(0, count, BULK)]


def main(kind: type[Peer]) -> None:
    """The command line above."""
    command, *arguments = sys.argv[1:]
    if arguments[-2:-1] == ["--keep"]:
        kind.keep = int(arguments[-1])
        del arguments[-2:]
    if command == "about":
        versions = {"python": platform.python_version()} | {name: version(name) for name in kind.packages}
        print(json.dumps({"versions": versions} | {name: getattr(kind, name) for name in ABOUT}))
    else:
        asyncio.run(act(kind, command, *arguments))


async def act(kind: type[Peer], command: str, url: str, *numbers: str) -> None:
    if command == "call":
        kind.way = numbers[2]
    peer = kind(url)
    if command == "work":
        return await peer.work()
    async with AsyncExitStack() as stack:
        await peer.open(stack)
        if command == "enqueue":
            began = time.perf_counter()
            await peer.enqueue(int(numbers[0]))
            return print(time.perf_counter() - began)
        if command == "call":
            return await call(peer, int(numbers[0]), int(numbers[1]))
        for _ in range(int(numbers[0])):
            await asyncio.sleep(random.uniform(*PAUSE))
            await peer.send(time.monotonic_ns(), int(numbers[1]))


async def call(peer: Peer, count: int, callers: int) -> None:
    """Calls of one task each, and what they took."""

    async def some(number: int) -> list[float]:
        if peer.way.startswith("threads"):
            return await asyncio.to_thread(repeat_in_threads, number, peer.put, callers)
        return await repeat(number, peer.put, callers)

    await some(WARM)
    began, before = time.perf_counter(), time.process_time()
    times = await some(count)
    seconds, cpu = time.perf_counter() - began, time.process_time() - before
    print(seconds, cpu / count * 1e6, sorted(times)[int(0.99 * count)] * 1000)

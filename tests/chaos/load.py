"""Clients of one server that go on by themselves, whatever happens to it: in one event loop, each call noted.

Producers put tasks in line, workers do them, owners take locks in turn. What is not answered, or not confirmed, they
send again as it was. In the end all is done, and the history can be judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from itertools import count
from typing import Self, TypeVar

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, DurabilityError, TransportError
from pyadeq.ext.prove.chaos.history import History, gather
from pyadeq.ext.prove.chaos.judge import Verdict, judge
from pyadeq.ext.prove.chaos.recorder import RecordedLocks, RecordedQueue, Recorder
from tests.chaos.conftest import SCALE

LOADED = 0.7 * max(SCALE, 1)  # seconds of load before something happens
LEASE = 1.0  # seconds
EVENTS = 10_000_000  # none is trimmed
RESOURCES = 3
PATIENT = 120.0  # seconds
T = TypeVar("T")
Connect = Callable[[str], AbstractAsyncContextManager[Adeq]]


class Load:
    """The clients of a queue and a lock domain, as many for each durability.

    connect: makes the client of a durability. each: how many producers, workers and owners it has.
    """

    def __init__(self, connect: Connect, durabilities: Iterable[str] = ("memory",), each: int = 4) -> None:
        self.recorder = Recorder()
        self._connect = connect
        self._durabilities = tuple(durabilities)
        self._each = each
        self._clients = AsyncExitStack()
        self._flows: list[asyncio.Task[None]] = []
        self._stopped = False

    async def __aenter__(self) -> Self:
        async with self._clients:
            self.adeq = await self._clients.enter_async_context(self._connect("memory"))
            self.queue, self.locks = self.adeq.queue("q"), self.adeq.locks("d")
            await self.queue.configure(lease=LEASE, max_crashes=100, events_max=EVENTS)
            await self.locks.configure(lease=LEASE, poll=0.3, claim=2.0, waiter=3.0, events_max=EVENTS)
            for durability in self._durabilities:
                adeq = await self._clients.enter_async_context(self._connect(durability))
                for number in range(self._each):
                    name = f"{durability}-{number}"
                    queue = self.recorder.queue(adeq.queue("q"), name, durability)
                    locks = self.recorder.locks(adeq.locks("d"), name, durability)
                    for flow in (self._produce(queue, name), self._work(queue, name), self._own(locks, name)):
                        self._flows.append(asyncio.create_task(flow))
            self._clients = self._clients.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        for flow in self._flows:
            flow.cancel()
        await asyncio.gather(*self._flows, return_exceptions=True)
        await self._clients.aclose()

    async def go_on(self, seconds: float = 0.0) -> None:
        """Until so many seconds have passed, and each flow has had an answer to a call that began after this one."""
        first = len(self.recorder.ops)
        await asyncio.sleep(seconds)
        wanted = {
            (f"{durability}-{number}", verb)
            for durability in self._durabilities
            for number in range(self._each)
            for verb in ("enqueue", "claim", "take")
        }
        ops = self.recorder.ops
        await self.until(lambda: wanted <= {(op.client, op.verb) for op in ops[first:] if op.outcome == "ok"})

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds, unless a flow ends before it should."""
        async with asyncio.timeout(PATIENT):
            while not condition():
                for flow in self._flows:
                    if flow.done():
                        flow.result()
                await asyncio.sleep(0.01)

    async def end(self) -> History:
        """Let the clients end, do what is left, and gather what has to be judged."""
        self._stopped = True
        async with asyncio.timeout(2 * PATIENT):
            await asyncio.gather(*self._flows)
            last = self.recorder.queue(self.queue, "last")
            while (stats := await self.queue.stats()).pending or stats.running:
                await self._do(last, "last", 100)
            for number in range(RESOURCES):  # what has expired is ended by whoever comes next
                await (await self.locks.take(f"r{number}", owner="last", wait=PATIENT)).release()
        return await gather(self.recorder, self.adeq.client, self.queue, self.locks)

    async def _produce(self, queue: RecordedQueue, name: str) -> None:
        for number in count(1):
            if self._stopped:
                return
            id = f"{name}.{number}"
            await answered(lambda id=id: queue.enqueue(1, id=id, rid=id))  # type: ignore[misc]

    async def _work(self, queue: RecordedQueue, name: str) -> None:
        while not self._stopped:
            await self._do(queue, name, 5)

    async def _do(self, queue: RecordedQueue, name: str, limit: int) -> None:
        try:
            for lease in await queue.claim(name, limit, wait=0.5):
                await queue.ack(lease)
        except AdeqError:
            await asyncio.sleep(0.05)

    async def _own(self, locks: RecordedLocks, name: str) -> None:
        for number in count():
            if self._stopped:
                return
            try:
                grant = await locks.take(f"r{number % RESOURCES}", owner=name, wait=5)
                await locks.release(grant)
            except AdeqError:
                await asyncio.sleep(0.05)


async def answered(call: Callable[[], Awaitable[T]]) -> T:
    """Make a call until it is answered, and confirmed."""
    while True:
        try:
            return await call()
        except (TransportError, DurabilityError):
            await asyncio.sleep(0.05)


def judged(history: History) -> Verdict:
    """A history that breaks no rule. AssertionError if it breaks one, or if it is too poor to show anything."""
    verdict = judge(history)
    assert verdict.ok, "\n".join(map(str, verdict.violations[:20]))
    assert not verdict.problems
    assert all(verdict.checks[rule] for rule in ("acknowledged_kept", "answers_kept", "locks_exclude"))
    return verdict

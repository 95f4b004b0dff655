"""Whoever waits for a task runs it: for tests of code that calls `run`, or `result` of a receipt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from pyadeq import Lease, Queue
from pyadeq import asyncio as aio
from pyadeq._core.queue.failures import FAILURES, Failures
from pyadeq.errors import WaitTimeout
from pyadeq.testing.handling import Calls, Handler
from pyadeq.testing.running import Run, Runner, endless, run_some
from pyadeq.testing.steps import Steps, drive

DAY = 86400.0  # the longest lease
PAUSE = 0.01  # seconds of real time, until a task may have ended that another waiter runs


@contextmanager
def worker(
    queue: Queue | aio.Queue,
    handler: Handler | None = None,
    *,
    limit: int = 1000,
    failures: Failures = FAILURES,
) -> Iterator[list[Run]]:
    """Give a worker to code in the block that waits for the end of a task by `run`, `result`, `ended` or `updates`.

        with worker(queue) as runs:
            assert send.run("ann@example.org") == 5

    There is no other process and no thread. Waiting runs the waiting tasks of the queue, one after the other, as
    `run_all` does. So nothing runs before the program waits. If nothing is ready, the virtual clock advances; without
    one, the wait takes as long as it says. If nothing is left to run, WaitTimeout is raised at once. A task that fails
    is retried, and dead in the end, as with a worker.

    Yields the list of the runs, which grows. It is for this client: a program with another client needs another block.

    handler, failures: as for `run_all`.
    limit: AssertionError after this many runs.
    """
    client: Any = queue._runner
    calls = Calls(queue, handler)
    runs: list[Run] = []
    held: dict[str, Lease] = {}
    mine = _Hints(client.hints, f"{queue.base}:channel:", lambda: _Wait(queue, calls, failures, runs, limit, held))
    client.hints = mine
    try:
        yield runs
    finally:
        _take_off(client, mine)


def _take_off(client: Any, hints: _Hints) -> None:
    """Take the hints of a block away. Blocks of asyncio tasks or threads may end in any order."""
    if client.hints is hints:
        client.hints = hints.below
        return
    above = client.hints
    while above.below is not hints:
        above = above.below
    above.below = hints.below


class _Hints:
    """Hints of a client; but nobody needs to tell when a task of the queue ends."""

    def __init__(self, hints: Any, channels: str, wait: Any) -> None:
        self.below, self._channels, self._wait = hints, channels, wait

    def listening(self, channel: str) -> Any:
        return self._wait() if channel.startswith(self._channels) else self.below.listening(channel)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


class _Wait(Runner):
    """The wait for the end of one task, in place of a subscription.

    held: the leases of all tasks that run in the block. They are renewed while the clock advances.
    """

    def __init__(
        self,
        queue: Queue | aio.Queue,
        calls: Calls,
        failures: Failures,
        runs: list[Run],
        limit: int,
        held: dict[str, Lease],
    ) -> None:
        super().__init__(queue, calls, failures, raise_errors=False)
        self._runs, self._limit, self._held = runs, limit, held
        self._until = 0.0
        self._idle = self._passed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    def wait(self, seconds: float) -> Any:
        """Run one task, or let time pass. No message comes, so the caller looks at its task again."""
        self._until = time.monotonic() + max(seconds, 0.0)
        return drive(self.queue, self._step())

    def _step(self) -> Steps[list[str]]:
        self._passed = False
        runs = yield from run_some(self.queue, self, True, self._limit, 1)
        self._runs += runs
        if len(self._runs) > self._limit:
            stats = yield self.queue.stats()
            raise AssertionError(endless("worker", self._runs, stats.pending))
        idle = not runs and not self._passed
        if idle and self._idle:  # the task may have ended just before the first time
            name = self.queue.name
            raise WaitTimeout(f"worker: nothing of {name!r} is left to run, but the awaited task has not ended")
        self._idle = idle
        return []

    def run(self, lease: Lease) -> Steps[Run]:
        self._held[lease.token] = lease
        before = _ABOVE.set((*_ABOVE.get(), lease.token))
        try:
            yield from self._renew()
            return (yield from super().run(lease))
        finally:
            _ABOVE.reset(before)
            del self._held[lease.token]

    def pass_time(self, now: float, moment: float) -> Steps[bool]:
        """Advance the clock, with all leases renewed; but not if another waiter runs a task, which takes no time."""
        self._passed = True
        if self._held.keys() - _ABOVE.get():
            yield self._sleep(PAUSE)
            return False
        if self.clock is None:
            yield self._sleep(min(moment - now, self._until - time.monotonic()))
            return time.monotonic() < self._until
        if self._held and moment > now + DAY - PAUSE:
            self._passed = False  # nothing is due but the ends of these leases, or in more than a day
            return False
        self.clock.advance_to(moment)
        yield from self._renew()
        return True

    def _renew(self) -> Steps[None]:
        if self._held and self.clock is not None:
            yield self.queue.leases.heartbeat_many(list(self._held.values()), extend=DAY)

    def _sleep(self, seconds: float) -> Any:
        sleep: Any = asyncio.sleep if isinstance(self.queue, aio.Queue) else time.sleep
        return sleep(max(seconds, 0.0))


_ABOVE: ContextVar[tuple[str, ...]] = ContextVar("pyadeq_testing_above", default=())
"""The leases of the tasks that wait here, each for the next one."""

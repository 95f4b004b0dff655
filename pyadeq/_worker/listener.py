"""Wakes a worker by a blocking call on its control list and, if it has free capacity, on its lanes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from pyadeq._async.kernel.runner import LONGEST_BLOCK
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import SHORTEST_LEASE
from pyadeq.errors import TransportError

# If no blocking call is open for this time, in seconds, one is made on the control list only.
LONGEST_DEAFNESS = 0.2


class Listener:
    """Keeps a blocking call open.

    A wake-up token goes to one blocked worker. So a full worker must not wait on lanes: it would take the token of a
    free worker. And a worker that waits there need not claim, because the token will come.
    claim: waits for at most this many seconds on control and the lanes, then claims; answers as `_block_as`.
    woken: called after it. asked: called when a heartbeat should be sent. broken: called with a permanent error.
    """

    def __init__(
        self,
        queue: WorkerQueue,
        worker: str,
        *,
        claim: Callable[[float], Awaitable[str | None]],
        woken: Callable[[], None],
        asked: Callable[[], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        self.lease = SHORTEST_LEASE
        """A blocking call on lanes waits at most two thirds of it: another worker's lease may end meanwhile, and ours
        must not end while the server holds a call of a frozen worker.
        """
        self.wakings = 0
        """The number of wake-ups: a claim that was sent before the last one does not prove that the lanes are empty."""
        self._queue = queue
        self._worker = worker
        self._claim = claim
        self._woken = woken
        self._asked = asked
        self._broken = broken
        self._closed = False
        self._for_work: asyncio.Task[None] | None = None
        self._for_control: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._later: asyncio.TimerHandle | None = None

    @property
    def awaits_work(self) -> bool:
        """Whether a call waits on the lanes."""
        return self._for_work is not None

    def start(self) -> None:
        """Keep a blocking call on the control list open from now on."""
        if self._later:
            self._later.cancel()
        if self._closed:
            return
        self._later = asyncio.get_running_loop().call_later(LONGEST_DEAFNESS, self._stand)

    def await_work(self) -> None:
        """Wait on the lanes, too."""
        if not (self._closed or self._for_work):
            self._for_work = asyncio.create_task(self._wait_for_work())

    def rest(self) -> None:
        """Stop waiting on the lanes. If the blocking call has already taken a token or a task, it is returned."""
        waited, self._for_work = self._for_work, None
        if waited:
            self._leaving.add(waited)
            waited.add_done_callback(self._left)
            waited.cancel()
        self.start()

    async def rested(self) -> bool:
        """Wait until the stopped calls have ended. Returns whether there was one."""
        leaving = list(self._leaving)
        await asyncio.gather(*leaving, return_exceptions=True)
        return bool(leaving)

    async def stop(self) -> None:
        """Wait for nothing more."""
        self._closed = True
        self.rest()
        for wait in (self._for_control, self._later):
            if wait:
                wait.cancel()
        await asyncio.gather(*self._leaving, *filter(None, [self._for_control]), return_exceptions=True)

    def _left(self, waited: asyncio.Task[None]) -> None:
        self._leaving.discard(waited)
        if not self._closed:
            self._asked()

    def _stand(self) -> None:
        if not (self._closed or self._for_work or self._for_control):
            self._for_control = asyncio.create_task(self._wait_for_control())

    async def _wait_for_work(self) -> None:
        await self._wait(self._claim(min(self.lease * 2 / 3, LONGEST_BLOCK)))
        if self._for_work is not asyncio.current_task():
            return  # it was stopped
        self._for_work = None
        self.wakings += 1
        self.start()
        if not self._closed:
            self._woken()

    async def _wait_for_control(self) -> None:
        await self._wait(self._queue.leases._block_as(self._worker, (), LONGEST_BLOCK))
        self._for_control = None
        self.start()
        self._asked()  # a worker without claims must send heartbeats, or it counts as gone

    async def _wait(self, call: Awaitable[str | None]) -> None:
        try:
            heard = await call
        except TransportError as error:
            if not error.retryable:
                self._closed = True
                self._broken(error)
            await asyncio.sleep(random.uniform(0.1, 0.5))
            heard = ""
        except Exception as error:
            self._closed = True
            self._broken(error)
            return
        if heard == "":
            self._asked()

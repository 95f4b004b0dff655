"""What wakes a worker: a blocking call on its control list, and on its lanes too where it has room for their tasks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from pyadeq._async.kernel.runner import LONGEST_BLOCK
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import SHORTEST_LEASE
from pyadeq.errors import TransportError

# Seconds without a blocking call until one is made for control alone.
LONGEST_DEAFNESS = 0.2


class Listener:
    """Has a blocking call stand.

    A wake-up token goes to one blocked worker. So one that is full must not wait on lanes, or it would take the token
    from one that is free; and one that waits there need not claim, for the token will come.
    claim: waits for at most that many seconds on control and the lanes, and claims as soon as that is over; answers as
    `Queue.block_as`. woken: called then. asked: called when the server may have something to say. broken: takes the
    error that no further try will mend.
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
        """Not longer than two thirds of it waits a call on lanes: a lease of others may end meanwhile, and one of ours
        must not end while the server holds a call of a frozen worker."""
        self.wakings = 0
        """How often it was woken: a claim that was sent before the last time says nothing of the lanes."""
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
        """Have a call stand for control, from now on."""
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
        """Wait on the lanes no more. The call that did may have taken a token, or a task, and gives it back."""
        waited, self._for_work = self._for_work, None
        if waited:
            self._leaving.add(waited)
            waited.add_done_callback(self._left)
            waited.cancel()
        self.start()

    async def rested(self) -> bool:
        """Wait until all that rest have ended; whether there was any."""
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
            return  # it was to rest
        self._for_work = None
        self.wakings += 1
        self.start()
        if not self._closed:
            self._woken()

    async def _wait_for_control(self) -> None:
        await self._wait(self._queue.block_as(self._worker, (), LONGEST_BLOCK))
        self._for_control = None
        self.start()
        self._asked()  # who claims nothing for a long time is not seen otherwise

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

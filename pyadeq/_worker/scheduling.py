"""Firing the queue's schedules from a worker. Every worker tries; the first one fires."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Callable

from pyadeq._worker.queue import WorkerQueue
from pyadeq.errors import AdeqError, QueueDraining
from pyadeq.models.queue import Claimed

# Seconds after which a worker that claims nothing looks for schedules that are new.
LOOK_AGAIN = 10.0
# Seconds by which the answer of a claim that waits for work may come after that: it says the same.
LATE = 1.0
# Seconds between two looks where the first could not fire what is due.
PATIENCE = (1.0, 3.0)
log = logging.getLogger("pyadeq.worker")


class Scheduler:
    """Fires due schedules while it runs. It gets the due times from claims and from its own calls.

    claims: whether a claim waits for work.
    """

    def __init__(self, queue: WorkerQueue, claims: Callable[[], bool]) -> None:
        self._queue = queue
        self._claims = claims
        self._at = math.inf  # on the loop's clock
        self._heard = 0.0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to fire."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Fire no more. A firing that is on its way is one call, made or not."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def expect(self, claimed: Claimed) -> None:
        """Learn from a claim when a schedule is due next."""
        self._heard = asyncio.get_running_loop().time()
        self._expect(claimed.next_firing, claimed.now)

    def _expect(self, next_firing: float | None, now: float) -> None:
        at = math.inf
        if next_firing is not None:
            at = asyncio.get_running_loop().time() + max(next_firing - now, 0.0)
        if at < self._at:
            self._changed.set()
        self._at = at

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            look_at = self._heard + LOOK_AGAIN + (LATE if self._claims() else 0.0)
            left = min(self._at, look_at) - loop.time()
            if left > 0:
                with contextlib.suppress(TimeoutError):  # `wait_for` of Python 3.11 may lose a cancellation
                    async with asyncio.timeout(left):
                        await self._changed.wait()
                continue
            self._at = math.inf
            try:
                fired = await self._queue.schedules.fire_due()
            except QueueDraining:
                self._heard = loop.time()  # claims report due times again when the draining is over
            except AdeqError as error:
                log.warning("schedules could not be fired, trying again: %s", error)
                await asyncio.sleep(random.uniform(*PATIENCE))
                self._at = loop.time()
            else:
                self._heard, told = loop.time(), self._at  # a claim may have set it meanwhile
                self._expect(fired.next, fired.now)
                self._at = min(self._at, told)
                for firing in fired.firings:
                    if firing.status == "failed":
                        log.warning("schedule %s could not be fired: %s", firing.schedule, firing.error)

"""Renewal from a thread with an event loop and connections of its own: for handlers that block the worker's loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import copy_context
from functools import partial

from pyadeq._core.queue.items import Held
from pyadeq._worker.connections import another, client_of
from pyadeq._worker.partitions import queue_by
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import Heard
from pyadeq._worker.renewal.loop import LoopRenewal

LONGEST_STOP = 5.0  # seconds


class ThreadRenewal:
    """Renews even if a handler blocks the worker's loop, as long as other threads can run.

    A call that keeps the GIL, as one long regular expression does, stops this thread as well.
    """

    def __init__(
        self, queue: WorkerQueue, worker: str, lease: float, busy: Callable[[], int], heard: Callable[[Heard], None]
    ) -> None:
        self._adeq = another(client_of(queue))
        self._renewal = LoopRenewal(queue_by(self._adeq, queue.name, queue.base), worker, lease, busy, self._hear)
        self._heard = heard
        self._lease = 0.0
        self._stopping = asyncio.Event()
        self._stopped = False
        self._home: asyncio.AbstractEventLoop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def start(self) -> None:
        """Begin; returns when the thread runs."""
        self._home = asyncio.get_running_loop()
        started = asyncio.Event()
        self._loop = loop = asyncio.new_event_loop()  # here, so that it can be told to stop before it runs

        def live() -> None:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(self._live(started))

        # in the worker's context, where spans of other libraries are suppressed
        self._thread = threading.Thread(target=copy_context().run, args=[live], name="pyadeq-renewal", daemon=True)
        self._thread.start()
        await started.wait()

    def hold(self, leases: Iterable[Held], lease: float) -> None:
        """Renew these too. lease: seconds."""
        self._renewal.hold(leases, lease)  # it changes a dict, which needs no lock
        if lease != self._lease:
            self._lease = lease
            self.ask()  # the current pause may be longer than the new lease

    def drop(self, tokens: Iterable[str]) -> None:
        """Stop renewing the leases with these tokens."""
        self._renewal.drop(tokens)

    def ask(self) -> None:
        """Begin the next round of renewals now."""
        self._there(self._renewal.ask)

    async def stop(self) -> None:
        """End; nothing is heard after it."""
        self._stopped = True
        if self._thread:
            self._there(self._stopping.set)
            await asyncio.to_thread(self._thread.join, LONGEST_STOP)

    def _there(self, act: Callable[[], None]) -> None:
        if self._loop:
            with suppress(RuntimeError):  # the thread has ended
                self._loop.call_soon_threadsafe(act)

    # In the thread

    async def _live(self, started: asyncio.Event) -> None:
        async with self._adeq:
            await self._renewal.start()
            self._home.call_soon_threadsafe(started.set)
            await self._stopping.wait()
            await self._renewal.stop()

    def _hear(self, heard: Heard) -> None:
        try:
            self._home.call_soon_threadsafe(partial(self._pass_on, heard))
        except RuntimeError:  # the worker's loop has ended, and the worker with it
            self._stopping.set()

    def _pass_on(self, heard: Heard) -> None:
        if not self._stopped:
            self._heard(heard)

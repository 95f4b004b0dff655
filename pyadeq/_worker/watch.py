"""Tells when a handler blocks the event loop of its worker, and which one it is, while it does so."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from pyadeq.models.queue import Lease

PART = 1 / 3
"""Warn if the loop has been blocked for this fraction of the lease."""
LEAST = 1.5  # seconds; a healthy loop moves every 0.5
# Seconds between checks, and until the second check of a blocked loop: if the whole process was stopped, the loop has
# moved by then.
LOOK, AGAIN = 0.5, 0.1
LIBRARY = str(Path(asyncio.__file__).parent)

log = logging.getLogger("pyadeq.worker")


class Watch:
    """A daemon thread that looks at the event loop in which it was started. It warns of each kind of task once.

    moved: when the loop moved last, by the monotonic clock. lease: how many seconds leases last. lease_of: the lease of
    a handler, by its asyncio task.
    """

    def __init__(
        self,
        moved: Callable[[], float],
        lease: Callable[[], float],
        lease_of: Callable[[asyncio.Task[object]], Lease | None],
    ) -> None:
        self._moved = moved
        self._lease = lease
        self._lease_of = lease_of
        self._told: set[str | None] = set()
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        loop, thread = asyncio.get_running_loop(), threading.get_ident()
        threading.Thread(target=self._look, args=[loop, thread], name="pyadeq-watch", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()

    def _look(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._ended.wait(LOOK):
            moved = self._moved()
            still = monotonic() - moved
            if still > max(self._lease() * PART, LEAST) and not self._ended.wait(AGAIN) and self._moved() == moved:
                with suppress(RuntimeError):  # the set of tasks may change during the iteration
                    self._tell(loop, thread, still)

    def _tell(self, loop: asyncio.AbstractEventLoop, thread: int, still: float) -> None:
        task = asyncio.current_task(loop)
        lease = self._lease_of(task) if task else None
        kind = lease.kind if lease else None
        if kind in self._told:
            return
        self._told.add(kind)
        kind_of = f" (kind {lease.kind!r})" if lease and lease.kind else ""
        whose = f"the handler of task {lease.id}{kind_of}" if lease else "something other than a handler"
        log.warning(
            "%s has blocked the event loop for %.1f s, at %s: no other task of this worker continues meanwhile; make "
            "the handler a plain function, which runs in a thread, or run what blocks with asyncio.to_thread",
            whose,
            still,
            _place(thread),
        )


def _place(thread: int) -> str:
    """Return the innermost line of a thread that is not asyncio's."""
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code.co_filename.startswith(LIBRARY):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown place"

"""Reports when something blocks the event loop of workers: which task, and the stack of its thread."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from pyadeq.models.queue import Lease

PART = 1 / 3
"""The fraction of the lease after which a blocked loop is reported, by default."""
LEAST = 1.5  # seconds, by default; a healthy loop moves every 0.5
# Seconds between checks, and until the second check of a blocked loop: if the whole process was stopped, the loop has
# moved by then.
LOOK, AGAIN = 0.5, 0.1
MOST_FRAMES = 20
LIBRARY = str(Path(asyncio.__file__).parent)

log = logging.getLogger("pyadeq.worker")


class Watched:
    """What the watch knows of a worker.

    after: how many seconds a block lasts until it is reported; inf: it is not reported. lease_of: the lease of a
    handler, by its asyncio task.
    moved: when the loop moved last, by the monotonic clock. blocks: how many blocks were reported.
    """

    def __init__(self, after: Callable[[], float], lease_of: Callable[[asyncio.Task[object]], Lease | None]) -> None:
        self.after = after
        self.lease_of = lease_of
        self.moved = monotonic()
        self.blocks = 0


class Watch:
    """A daemon thread that looks at one event loop, while workers run there. It reports each block once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._workers: tuple[Watched, ...] = ()
        self._ended = threading.Event()
        self._moved = 0.0
        self._timer: asyncio.TimerHandle
        self._tick()
        threading.Thread(target=self._look, name="pyadeq-watch", daemon=True).start()

    def add(self, worker: Watched) -> None:
        """Watch for this worker, too."""
        self._workers = (*self._workers, worker)
        self._timer.cancel()
        self._tick()

    def remove(self, worker: Watched) -> bool:
        """Watch for this worker no more. Returns whether the watch has ended, because there is no other."""
        self._workers = tuple(other for other in self._workers if other is not worker)
        if not self._workers:
            self._timer.cancel()
            self._ended.set()
        return not self._workers

    def _after(self) -> float:
        return min((worker.after() for worker in self._workers), default=LEAST)

    def _pause(self) -> float:
        return min(LOOK, self._after() / 4)

    def _tick(self) -> None:
        self._moved = monotonic()
        for worker in self._workers:
            worker.moved = self._moved
        self._timer = self._loop.call_later(self._pause(), self._tick)

    def _look(self) -> None:
        reported = 0.0
        while not self._ended.wait(self._pause()):
            moved = self._moved
            still = monotonic() - moved
            if moved == reported or still <= self._after() or self._ended.wait(min(AGAIN, self._pause())):
                continue
            if self._moved == moved:
                with suppress(RuntimeError):  # the set of tasks may change during the iteration
                    self._report(still)
                    reported = moved

    def _report(self, still: float) -> None:
        frame = sys._current_frames().get(self._thread)
        task = asyncio.current_task(self._loop)
        found = [(worker, task and worker.lease_of(task)) for worker in self._workers]
        if not found:
            return
        worker, lease = next((one for one in found if one[1]), found[0])
        worker.blocks += 1
        kind = f" (kind {lease.kind!r})" if lease and lease.kind else ""
        # the stack has names and lines of the source, and no values
        log.warning(
            "%s has blocked the event loop for %.1f s: no other task of this process continues meanwhile; make the "
            "handler a plain function, which runs in a thread, or run what blocks with asyncio.to_thread\n%s",
            f"the handler of task {lease.id}{kind}" if lease else "something other than a handler",
            still,
            "".join(traceback.format_list(traceback.extract_stack(frame)[_first(frame) :][-MOST_FRAMES:])).rstrip(),
        )


def _first(frame: object) -> int:
    """Return where, in a stack, the event loop ends and its callback begins."""
    names = []
    while frame is not None:
        code = frame.f_code  # type: ignore[attr-defined]
        names.append(code.co_name == "_run" and code.co_filename.startswith(LIBRARY))
        frame = frame.f_back  # type: ignore[attr-defined]
    return len(names) - names.index(True) if True in names else 0


_watches: dict[asyncio.AbstractEventLoop, Watch] = {}


@contextmanager
def watched(worker: Watched) -> Iterator[None]:
    """Watch the running event loop for a worker. All workers of a loop share a watch."""
    loop = asyncio.get_running_loop()
    watch = _watches.get(loop) or _watches.setdefault(loop, Watch(loop))
    watch.add(worker)
    try:
        yield
    finally:
        if watch.remove(worker):
            del _watches[loop]

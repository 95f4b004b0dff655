"""An event loop whose time passes only when nothing is left to do, and whose processes can be paused and killed.

A process is whatever was started with `Process.start` and what that started in turn: asyncio hands the context on.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from itertools import count
from typing import Any, TypeVarTuple

Ts = TypeVarTuple("Ts")
OWNER: ContextVar[Process | None] = ContextVar("owner", default=None)
NOBODY = Context()  # of what belongs to no process, and is neither paused nor killed with one
MOST_STEPS = 200_000  # callbacks of one run: a story is some ten thousand


class Process:
    """Tasks that stop together, and go on or end together."""

    def __init__(self, loop: Loop, name: str) -> None:
        self.name = name
        self.dead = False
        self.paused = False
        self._loop = loop
        self._held: list[asyncio.Handle] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        context = copy_context()
        context.run(OWNER.set, self)
        return self._loop.create_task(work, context=context)

    def pause(self, seconds: float) -> None:
        """Do nothing for so long, and then at once all that was due in between."""
        if not self.paused:
            self.paused = True
            self._loop.call_later(seconds, self.go_on, context=NOBODY)

    def go_on(self) -> None:
        self.paused = False
        self._loop.ready(self._held)
        self._held = []

    def kill(self) -> None:
        """Do nothing any more."""
        self.dead = True

    def revive(self) -> None:
        """Let what was killed be tidied up, when nobody looks any more."""
        self.dead = self.paused = False
        self.go_on()

    def holds(self, handle: asyncio.Handle) -> bool:
        if self.dead or self.paused:
            self._held.append(handle)
        return self.dead or self.paused


class Loop(asyncio.BaseEventLoop):
    """One thread, one order of events: that of time, and of the same time the order in which they were asked for."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[tuple[float, int, Any]]
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.steps = 0
        self._timers = count()

    def time(self) -> float:
        return self.now

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's own, but what is due at the same time keeps its order: a heap of timers alone would not."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, (when, next(self._timers), timer))
        return timer

    def ready(self, handles: list[asyncio.Handle]) -> None:
        self._ready.extend(handles)

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled
        if not ready and not self._stopping:
            assert scheduled, "all wait for each other, and nothing is due"
            self.now = max(self.now, scheduled[0][0])
        while scheduled and scheduled[0][0] <= self.now:
            ready.append(heapq.heappop(scheduled)[2])
        for _ in range(len(ready)):
            handle: Any = ready.popleft()
            if handle._cancelled:
                continue
            owner = handle._context.get(OWNER)
            if owner is None or not owner.holds(handle):
                self.steps += 1
                handle._run()
        assert self.steps < MOST_STEPS, "the story does not come to an end"

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Cancelled timers go when they are due."""

    def _process_events(self, event_list: Any) -> None:
        """There are none from outside."""

    def _write_to_self(self) -> None:
        """Nor other threads."""

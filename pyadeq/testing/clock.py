"""The virtual clock: time passes when a test says so."""

from __future__ import annotations

import time
from typing import Any

from pyadeq.errors import ConfigError
from pyadeq.models.base import Seconds, to_ms


class Clock:
    """Stands still until it is advanced. It starts at the current time, so that `run_after=time.time() + 60` works.

    Give it to a client (`clock=`), and create the client's queues and lock domains with `configure(clock="test")`. The
    fixtures do both.
    """

    def __init__(self) -> None:
        self._ms = time.time_ns() // 1_000_000

    def __call__(self) -> int:
        """Return milliseconds since the epoch, as a client needs them."""
        return self._ms

    def __repr__(self) -> str:
        return f"<Clock {self.now:.3f}>"

    @property
    def now(self) -> float:
        """Return seconds since the epoch."""
        return self._ms / 1000

    def advance(self, seconds: Seconds) -> float:
        """Let this much time pass (0 s or more). Returns the new time."""
        passed = to_ms("seconds", seconds)
        if passed < 0:
            raise ConfigError(f"seconds: {seconds!r} is not accepted; allowed: 0 and more, for time never goes back")
        self._ms += passed
        return self.now

    def advance_to(self, moment: float) -> float:
        """Let time pass up to a moment (seconds since the epoch), or none if it is over. Returns the new time."""
        self._ms = max(self._ms, to_ms("moment", moment))
        return self.now


def clock_of(queue: Any) -> Clock | None:
    """Return the virtual clock of a queue; None if it uses the server's clock or another one."""
    clock = getattr(getattr(queue._runner, "_options", None), "clock", None)
    return clock if isinstance(clock, Clock) else None

"""The virtual clock: time that passes when a test says so."""

from __future__ import annotations

import time
from typing import Any

from pyadeq.errors import ConfigError
from pyadeq.models.base import Seconds, to_ms


class Clock:
    """Stands still until it is advanced. It begins at the time of now, so that `run_after=time.time() + 60` fits.

    Give it to a client (`clock=`), and create the client's queues and lock domains with `configure(clock="test")`; the
    fixtures do both.
    """

    def __init__(self) -> None:
        self._ms = time.time_ns() // 1_000_000

    def __call__(self) -> int:
        """Milliseconds since the epoch, as a client asks for them."""
        return self._ms

    def __repr__(self) -> str:
        return f"<Clock {self.now:.3f}>"

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self._ms / 1000

    def advance(self, seconds: Seconds) -> float:
        """Let so much time pass, 0 s and more; the time after that."""
        passed = to_ms("seconds", seconds)
        if passed < 0:
            raise ConfigError(f"seconds: {seconds!r} is not accepted; allowed: 0 and more, for time never goes back")
        self._ms += passed
        return self.now

    def advance_to(self, moment: float) -> float:
        """Let time pass up to a moment (seconds since the epoch), or none where it is over; the time after that."""
        self._ms = max(self._ms, to_ms("moment", moment))
        return self.now


def clock_of(queue: Any) -> Clock | None:
    """The virtual clock that a queue lives by; None if it is the server's, or one of somebody else's."""
    clock = getattr(queue._runner, "_clock", None)
    return clock if isinstance(clock, Clock) else None

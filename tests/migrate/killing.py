"""A process that kills itself at a step of what it does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def kill_at(step: str, nth: int) -> Callable[[str], None]:
    """Return what is called with the name of each step. step: "" for any. nth: which time it comes."""
    left = nth

    def at(now: str) -> None:
        nonlocal left
        left -= step in ("", now)
        if step in ("", now) and not left:
            os.kill(os.getpid(), signal.SIGKILL)

    return at

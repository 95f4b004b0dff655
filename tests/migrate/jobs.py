"""The old functions of RQ."""

from __future__ import annotations

import os
import time

from redis import Redis

ran = Redis.from_url(os.environ.get("ADEQ_FROM", "redis://"))
PAUSE = float(os.environ.get("ADEQ_MIGRATE_PAUSE", "0.05"))


def note(number: int) -> None:
    """Record that a job has run."""
    time.sleep(PAUSE / 2)
    ran.rpush("ran", number)


def old(number: int) -> None:
    """The same, under a name that the new program does not have."""
    note(number)

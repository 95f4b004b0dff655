"""The old functions of RQ."""

from __future__ import annotations

import os

from redis import Redis

ran = Redis.from_url(os.environ.get("ADEQ_FROM", "redis://"))


def note(number: int) -> None:
    """Record that a job has run."""
    ran.rpush("ran", number)

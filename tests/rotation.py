"""Which part of the long tests a day of CI runs. Without DAY, everything runs.

DAY   the number of the day: `$(($(date +%s) / 86400))`. On the following days the other parts run.

| what rotates                                  | after how many days everything has run |
| slow tests                                    | 3 |
| clients in other languages: marker `rotates`  | 4; `QueueRuntime` for TypeScript runs each day |
| engines besides the newest and the oldest     | 3; with each third of the slow tests: 9 |
| the two modes of the oldest engine            | 2; with each third of the slow tests: 6 |
| moving from Celery, RQ, BullMQ 5 and 6        | 4 |
| narrow, zoomed and script-less screens        | 3 |
| mutants                                       | as many as MUTANTS says |
"""

from __future__ import annotations

import hashlib
import os

import pytest

DAY = int(os.environ["DAY"]) if os.environ.get("DAY") else None
SLOW = 3  # parts of the slow tests


def is_due(part: int, parts: int, day: int | None) -> bool:
    """Whether a part runs on that day: part 1 of 3 runs on the days 1, 4, 7, …"""
    return day is None or part % parts == day % parts


def number_of(name: str) -> int:
    """A number that depends on the name alone, evenly spread."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:12], 16)


def is_test_due(item: pytest.Item, day: int | None) -> bool:
    """A test with the marker `rotates(part, parts)` runs on its days; a slow test is in the part of its name."""
    if rotates := item.get_closest_marker("rotates"):
        part, parts = rotates.args
        return is_due(part, parts, day)
    return not item.get_closest_marker("slow") or is_due(number_of(item.nodeid), SLOW, day)

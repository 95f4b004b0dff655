"""The figures that the text and the pictures of docs/performance.md show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

OWN = {"valkey": "Valkey", "redis": "Redis", "memory": "Valkey, nothing persisted"}
LIFE, FLOOR = "enqueue, claim, settle", "floor: stream commands, in and out"
Json = dict[str, Any]


def of(report: Json, subject: str) -> Iterator[Json]:
    """The figures of a subject."""
    return (one for one in report["figures"] if one["subject"] == subject)


def figure(report: Json, subject: str, what: str, **by: int) -> Json:
    """The one that was measured at this."""
    return next(one for one in of(report, subject) if one["what"] == what and by.items() <= one["by"].items())

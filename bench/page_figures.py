"""The figures that the text and the pictures of docs/performance.md show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

COUNTED = Path(__file__).parent.parent / "tests/nouns/instructions.toml"
OWN = {"valkey": "Valkey", "redis": "Redis", "memory": "Valkey, nothing persisted"}
LIFE, FLOOR = "enqueue, claim, settle", "floor: stream commands, in and out"
Json = dict[str, Any]
Rows = Iterable[Sequence[str]]


def of(report: Json, subject: str) -> Iterator[Json]:
    """The figures of a subject."""
    return (one for one in report["figures"] if one["subject"] == subject)


def figure(report: Json, subject: str, what: str, **by: int) -> Json:
    """The one that was measured at this."""
    return next(one for one in of(report, subject) if one["what"] == what and by.items() <= one["by"].items())


def table(heads: Sequence[str], rows: Rows) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def count(number: float | None) -> str:
    """Commands of a call, where they were counted."""
    return "" if number is None else f"{number:.0f}"


def met(is_met: bool) -> str:
    """Whether an aim is met."""
    return "met" if is_met else "**missed**"

"""Spark lines: a few numbers as one line of text."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-:=+*#"


def spark(values: Sequence[float], plain: bool = False) -> str:
    """One character for each value, 0 at the bottom and the largest at the top. plain: in ASCII."""
    marks = PLAIN if plain else BLOCKS
    top = max(values, default=0)
    return "".join(marks[_level(value, top, len(marks))] for value in values)


def _level(value: float, top: float, levels: int) -> int:
    """0 only for 0: a small value beside a large one is still seen."""
    if value <= 0 or top <= 0:
        return 0
    return max(1, round(value / top * (levels - 1)))

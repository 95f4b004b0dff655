"""The parts that all stories are made of."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Actor:
    """A process: its steps, one after the other. build: which version of the package it runs, 0 or 1."""

    name: str
    role: str
    steps: tuple[Step, ...]
    build: int = 0


def pause(random: Random) -> float:
    """Seconds: often less than a message takes, seldom longer than a lease."""
    return round(random.choice((0.0005, 0.003, 0.02, 0.2, 1.0, 4.0)) * random.uniform(0.5, 1.5), 4)

"""What was measured: figures, and a report of them."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, computed_field


def machine() -> str:
    """Words for the machine that is measured on."""
    return f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores"


class Figure(BaseModel):
    """One thing that was measured in several rounds.

    subject: of the run, `drain` for instance. what: in words. by: what it was measured at, `{"batch": 100}`. unit: of
    values, one for each round. floor: those of bare commands that move the same data, in the same rounds. commands:
    that the script of one call sends, where that was counted.
    """

    model_config = ConfigDict(frozen=True)

    subject: str
    what: str
    by: dict[str, int] = {}
    unit: str
    values: tuple[float, ...]
    floor: tuple[float, ...] = ()
    commands: float | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def median(self) -> float:
        """The one in the middle."""
        return statistics.median(self.values)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ratio(self) -> float | None:
        """How many times the floor it is: of the medians."""
        return self.median / statistics.median(self.floor) if self.floor else None


class Report(BaseModel):
    """All figures of a run, and what it ran on. left_out: what was not measured, and why."""

    model_config = ConfigDict(frozen=True)

    pyadeq: str
    engine: str
    persistence: str
    machine: str
    python: str
    load_before: float
    rounds: int
    tasks: int
    figures: tuple[Figure, ...]
    left_out: tuple[str, ...] = ()


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of all lies, the nearest there is."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def as_dict(report: Report) -> dict[str, Any]:
    """The report as JSON has it."""
    return report.model_dump(mode="json")

"""When schedules fire, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

UNITS: Final = (("d", 86_400), ("h", 3600), ("m", 60))


def cron_words(expression: str) -> str:
    """A cron expression in words, such as `at 03:00 every day`; the expression itself if there are none."""
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        return f"cron {expression}"
    try:
        text = CronSim(expression, datetime.now(UTC)).explain()
    except CronSimError:
        return f"cron {expression}"
    return text[:1].lower() + text[1:]


def period_words(seconds: Any) -> str:
    """A span as options of the command line take it: `15m`, `90s`, `0.5s`."""
    for unit, size in UNITS:
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.12g}s"

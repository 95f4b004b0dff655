"""How changes are shown: words for people in upper case, times, and JSON."""

from __future__ import annotations

from typing import Any

from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.shown import decoded, is_time
from pyadeq.ext.shared.terminal import safe

STYLES = {
    "approved": "green",
    "completed": "green",
    "rejected": "bold red",
    "failed": "bold red",
    "cancelled": "yellow",
    "changes_requested": "yellow",
    "urgent": "bold red",
    "critical": "bold red",
    "high": "yellow",
    "overdue": "bold red",
}


def text_of(value: Any) -> str:
    """A text of a record."""
    return value.decode(errors="replace") if isinstance(value, bytes) else "" if value is None else str(value)


def title_of(description: Any) -> str:
    """The first line of a description."""
    return safe(text_of(description).strip().partition("\n")[0])


def with_iso(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as JSON has them, points in time also as ISO 8601."""
    found: dict[str, Any] = decoded(fields)
    return {**found, **{f"{name}_iso": iso(one) for name, one in found.items() if is_time(one)}}


def change_as_json(change: dict[str, Any]) -> dict[str, Any]:
    """The record of a change; the copy of its policy is `rules`."""
    rest = {
        name: value for name, value in change.items() if name not in ("slots", "weight") and not name.startswith("p_")
    }
    return {**with_iso(rest), "rules": decoded(rules_of(change))}


def rules_of(change: dict[str, Any]) -> dict[str, Any]:
    """The copy of its policy that a change has since it was submitted."""
    return {name.removeprefix("p_"): value for name, value in change.items() if name.startswith("p_")}


def risk_of(fields: dict[str, Any]) -> str:
    """`CRITICAL`, or nothing if no risk was assessed."""
    return text_of(fields.get("risk_level")).upper()


def brief(seconds: float) -> str:
    """`90s`, `42m`, `47h` or `3d`: in the largest unit of which there are at least two."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"

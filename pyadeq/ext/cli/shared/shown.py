"""How values are shown, by their type and the name of their field: one rule for all commands that are made."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.shared.terminal import safe

AN_AGE = 1e9  # seconds: more than that is a point in time
SPANS = (
    *("idle", "period", "lease", "retry_after", "reset_after"),
    *("remind", "escalate", "timeout", "approval"),
)
AS_IS = ("pid", "version", "new_version")  # numbers that count nothing
ABSENT = {"value": "(removed)"}


def plain(value: Any) -> Any:
    """A value as JSON has it, points in time also as ISO 8601, and bytes as a text if they are one."""
    if hasattr(value, "fields"):  # of a script
        return plain({"status": value.status, **value.fields})
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    if isinstance(value, dict):
        times = {f"{name}_iso": iso(one) for name, one in value.items() if is_time(one)}
        return {**{name: plain(one) for name, one in value.items()}, **times}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    return value


def decoded(value: Any) -> Any:
    """A value as JSON has it, without more. A result of a script has its status first."""
    if hasattr(value, "fields"):
        return {"status": value.status, **{name: decoded(one) for name, one in value.fields.items()}}
    if isinstance(value, dict):
        return {name: decoded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [decoded(one) for one in value]
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def fields(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that have a value, as text for people. Fields in ISO form are left out."""
    return {name: text for name, one in value.items() if not name.endswith("_iso") and (text := cell(name, one))}


def cell(name: str, value: Any) -> str:
    """A value for people."""
    match value:
        case None:
            return ABSENT.get(name, "")
        case bool():
            return "yes" if value else "no"
        case float() if is_time(value):
            return iso(value)
        case int() | float() if name in SPANS:
            return span(value) if value else ""
        case int():
            return str(value) if name in AS_IS else f"{value:,}"
        case float():
            return f"{value:,.15g}"
        case list() | tuple():
            return " ".join(cell(name, one) for one in value)
        case dict():
            parts = {key: one.values() if isinstance(one, dict) else [one] for key, one in value.items()}
            return " ".join(f"{key}={','.join(map(str, of))}" for key, of in parts.items())
        case bytes():
            return cell(name, value.decode(errors="replace"))
    return safe(str(value)).replace("\n", " ")


def is_time(value: Any) -> bool:
    """Whether a number of seconds is a point in time."""
    return isinstance(value, float) and value > AN_AGE


def is_count(value: Any) -> bool:
    """Whether a number is shown as one, to the right."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not is_time(value)


def ago(now: float, then: float) -> str:
    """How long something is ago."""
    return f"{span(max(now - then, 0))} ago"


def ahead(now: float, then: float | None) -> str:
    """How far something is ahead; or by how much its time is over."""
    if then is None:
        return ""
    return f"in {span(then - now)}" if then >= now else f"{span(now - then)} over"


def span(seconds: float) -> str:
    """`0.4s`, `12s`, `3m05s`, `2h10m`, `4d06h`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{left:02}s" if minutes else f"{left}s"

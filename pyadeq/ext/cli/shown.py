"""How values are shown, by their type and the name of their field: one rule for all commands that are made."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from pyadeq.ext.cli.common import iso, safe
from pyadeq.ext.cli.lock_listing import span

AN_AGE = 1e9  # seconds: more than that is a point in time
SPANS = ("idle", "period", "lease", "retry_after", "reset_after")
AS_IS = ("pid", "version", "expect")  # numbers that count nothing
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


def fields(value: Mapping[str, Any]) -> dict[str, str]:
    """For people, the fields that have a value."""
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
        case int() | float():
            return str(value) if name in AS_IS else f"{value:,.15g}"
        case list() | tuple():
            return " ".join(cell(name, one) for one in value)
        case bytes():
            return cell(name, value.decode(errors="replace"))
    return safe(str(value)).replace("\n", " ")


def is_time(value: Any) -> bool:
    """Whether a number of seconds is a point in time."""
    return isinstance(value, float) and value > AN_AGE


def is_count(name: str, value: Any) -> bool:
    """Whether a number is shown as one, to the right."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not is_time(value)

"""Times, numbers and short texts as pages show them."""

from __future__ import annotations

import base64
import json
from binascii import Error
from datetime import UTC, datetime
from typing import Any, Final

from pyadeq.models.base import flaw, read_json

NONE: Final = "–"
MOST_TEXT: Final = 65_536
"""Characters of a payload, result or log that a page shows."""
MOST_SAID: Final = 500


def time(at: float | None) -> str:
    """HTML: a moment in UTC. The script of the page adds the reader's zone."""
    if at is None:
        return NONE
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):  # it would be in the year 10000, or later
        return "after the year 9999"
    return f'<time datetime="{moment.isoformat(timespec="milliseconds")}">{moment:%Y-%m-%d %H:%M:%S} UTC</time>'


def age(seconds: float | None) -> str:
    """A span of time in its two largest units: `3 min 20 s`."""
    if seconds is None:
        return NONE
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    left, found = int(seconds), list[str]()
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= size and len(found) < 2:
            found.append(f"{left // size} {unit}")
        left %= size
    return " ".join(found)


def number(value: float | None) -> str:
    """A count: `12,345`."""
    return NONE if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def rate(value: float) -> str:
    """A number in a second: `12.5/s`; by the minute if it is rare."""
    if value == 0:
        return "0/s"
    return f"{value:,.1f}/s" if value >= 0.1 else f"{value * 60:,.2f}/min"


def mode(word: str, permits: int = 1) -> str:
    """How a lock is held or wanted: `exclusive`, `shared`, or the number of permits."""
    if word != "permit":
        return word
    return "1 permit" if permits == 1 else f"{permits} permits"


def as_json(value: Any) -> str:
    """A value as text to read, cut if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n… {len(text) - MOST_TEXT:,} more characters"


def editable(data: bytes | None) -> str:
    """Stored bytes as JSON to read and to change; as they are, if not each program could read them as JSON."""
    return json.dumps(read_json(data), ensure_ascii=False, indent=2) if not flaw(data) else _text(data)


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")


def packed(text: str) -> str:
    """A text as a value of a cookie."""
    return base64.urlsafe_b64encode(text[:MOST_SAID].encode()).decode()


def unpacked(value: str) -> str:
    """The text of a cookie; empty if it is none."""
    try:
        return base64.urlsafe_b64decode(value.encode()).decode()[:MOST_SAID]
    except (ValueError, Error):
        return ""

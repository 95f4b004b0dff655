"""The content of a change as lines, for people who compare it."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

SHORT = 76  # characters of JSON that need no lines of their own


def lines_of(value: Any) -> list[str]:
    """A part of a content as lines: JSON one value a line, names in order. No lines: it is empty."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return [f"({len(value):,} bytes that are not text, SHA-256 {sha256(value).hexdigest()})"]
        value = _as_json(value)
    if isinstance(value, tuple | list):
        return [str(one) for one in value]
    if isinstance(value, float):
        return [f"{value:.3f}".rstrip("0").rstrip(".") + " s"]
    return str(value).split("\n") if value != "" else []


def shown(value: Any) -> str:
    """Parameters for one who reads them: JSON that is too long for a line in lines."""
    if isinstance(value, str):
        value = value.encode(errors="surrogateescape")
    text = value.decode(errors="replace")
    return text if len(text) <= SHORT else "\n".join(lines_of(value))


def _as_json(text: str) -> str:
    """The same JSON in lines; or the text as it is, if it is no JSON, or if something of it would be left out."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_float=_number, parse_constant=_number)
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. ValueError if a name comes twice: programs read different values then."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _number(text: str) -> float:
    """A number, if it is not rounded."""
    number = float(text)
    if repr(number) != text:
        raise ValueError
    return number

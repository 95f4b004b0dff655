"""JSON for people: what fits on a line stands on one, and long lists of words are filled like a paragraph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

WIDTH = 120
INDENT = "  "


def printed(value: Any) -> str:
    """A text that ends a file."""
    return "\n".join(_lines(value, "", "", "")) + "\n"


def _lines(value: Any, margin: str, head: str, tail: str) -> Iterator[str]:
    """The lines of a value, behind its name and before its comma."""
    short = f"{margin}{head}{_short(value)}{tail}"
    if (len(short) <= WIDTH and not _opens(value)) or not value or not isinstance(value, dict | list):
        yield short
        return
    first, last = "{}" if isinstance(value, dict) else "[]"
    yield f"{margin}{head}{first}"
    parts = [(f"{_short(name)}: ", one) for name, one in value.items()] if isinstance(value, dict) else None
    entries = parts or [("", one) for one in value]
    inner = margin + INDENT
    if any(isinstance(one, dict | list) for _, one in entries):
        for at, (name, one) in enumerate(entries, 1):
            yield from _lines(one, inner, name, "," * (at < len(entries)))
    else:
        yield from _filled([name + _short(one) for name, one in entries], inner)
    yield f"{margin}{last}{tail}"


def _opens(value: Any) -> bool:
    """Whether it is a vector or a list of them, which never stand on one line."""
    return isinstance(value, dict) and ("argv" in value or "vectors" in value)


def _filled(words: list[str], margin: str) -> Iterator[str]:
    line = ""
    for at, word in enumerate(words, 1):
        ended = word + "," * (at < len(words))
        if line and len(margin) + len(line) + 1 + len(ended) > WIDTH:
            yield margin + line
            line = ""
        line += f" {ended}" if line else ended
    yield margin + line


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""The keys of a noun, declared once: `<noun>/keys.toml`. Its order is the order of KEYS in every script."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model import GATE, KEY_TYPES, SUFFIX_TYPES, WORD, Key

FILE = "keys.toml"
_PLACE = re.compile(r"[a-z0-9_]+(:[a-z0-9_]+)*", re.A)


class KeysError(Exception):
    """`<file>:1: <what is wrong>`, one a line."""


def read_keys(root: Path, word: str) -> dict[str, Key]:
    """The keys of a noun by name, in order; none if it has no file. Raises KeysError."""
    path = f"{word}/{FILE}"
    if not (root / path).is_file():
        return {}
    try:
        entries = tomllib.loads((root / path).read_text())
    except tomllib.TOMLDecodeError as error:
        raise KeysError(f"{path}:1: {error}") from None
    found: dict[str, Key] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        if problem := _problem(name, entry):
            problems.append(f"{name}: {problem}")
            continue
        key = _key(name, entry)
        if any(key.template == other.template for other in found.values()):
            problems.append(f"{name}: template {key.template} is declared already")
        found[name] = key
    if problems:
        raise KeysError("\n".join(f"{path}:1: {problem}" for problem in problems))
    return found


def _problem(name: str, entry: Any) -> str | None:
    """What is wrong with an entry, if anything is."""
    if WORD.fullmatch(name) is None:
        return "a key's name must be small letters, digits and single _"
    needed, allowed = {"type", "doc"}, {"type", "doc", "at", "suffix", "shown"}
    if not isinstance(entry, Mapping) or not needed <= entry.keys() <= allowed:
        return "must have type and doc, and may have at, suffix and shown"
    if entry["type"] not in KEY_TYPES:
        return f"type must be one of {', '.join(KEY_TYPES)}, got {entry['type']!r}"
    if entry.get("suffix", "id") not in SUFFIX_TYPES:
        return f"suffix must be one of {', '.join(SUFFIX_TYPES)}, got {entry['suffix']!r}"
    if _PLACE.fullmatch(str(entry.get("at", name))) is None:
        return f"at must be words of a-z 0-9 _ with : between them, got {entry['at']!r}"
    return None if entry["doc"] else "doc must say what the key holds"


def _key(name: str, entry: Mapping[str, str]) -> Key:
    suffix = entry.get("suffix")
    return Key(name, entry["type"], f"{{base}}:{entry.get('at', name)}{':' if suffix else ''}", suffix)


def gate(role: str) -> Key:
    """The last key of a script with a role, which is never used: a user without the right to it cannot call."""
    return Key(GATE, GATE, "{base}!" + role, None)

"""The keys of a noun, declared once: `<noun>/keys.toml`. Its order is that of `data` in the manifest.

`kernel/keys.toml` has the keys that every noun may use. They come last, unless the noun's file names them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model import GATE, KEY_TYPES, SUFFIX_TYPES, WORD, Key

FILE = "keys.toml"
KERNEL = "kernel"
_PLACE = re.compile(r"[a-z0-9_]+(:[a-z0-9_]+)*", re.A)


class KeysError(Exception):
    """`<file>:1: <what is wrong>`, one a line."""


def read_keys(root: Path, word: str) -> dict[str, Key]:
    """The keys of a noun by name, in order, with those of the kernel. Raises KeysError."""
    path = f"{word}/{FILE}"
    shared = _entries(root, f"{KERNEL}/{FILE}")
    entries = {name: _with_defaults(shared.get(name, {}), entry) for name, entry in _entries(root, path).items()}
    entries |= {name: entry for name, entry in shared.items() if name not in entries}
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


def kernel_keys(root: Path) -> set[str]:
    """The names of the keys that every noun may use."""
    return set(_entries(root, f"{KERNEL}/{FILE}"))


def _entries(root: Path, path: str) -> dict[str, Any]:
    """What a file of keys says; nothing if there is none. Raises KeysError."""
    if not (root / path).is_file():
        return {}
    try:
        return tomllib.loads((root / path).read_text())
    except tomllib.TOMLDecodeError as error:
        raise KeysError(f"{path}:1: {error}") from None


def _with_defaults(shared: Mapping[str, Any], entry: Any) -> Any:
    """An entry of a noun: what it says itself goes before what the kernel says of that key."""
    return {**shared, **entry} if isinstance(entry, Mapping) else entry


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


def gate(role: str, config: Key) -> Key:
    """The last key of a script with a role, which is never used: a user without the right to it cannot call.

    config: that of the noun. A noun that uses the base of another one has it elsewhere, `{base}:events:config`, and
    its gates differ from those of the other: `{base}!events.follow`.
    """
    place = config.template.removeprefix("{base}:").removesuffix("config").replace(":", ".")
    return Key(GATE, GATE, f"{{base}}!{place}{role}", None)

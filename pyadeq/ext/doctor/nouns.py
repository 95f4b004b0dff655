"""What is stored of nouns that have no checks of their own: its layout, and whether all keys are declared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

from pyadeq import Adeq, library
from pyadeq.ext.doctor.queues import find_names
from pyadeq.ext.doctor.report import Finding, fail, ok, unknown, warn

CHECKED: Final = ("queue", "lock")  # with checks of their own
MOST: Final = 1000  # of a noun
PAGE: Final = 1000  # keys


class Stored(NamedTuple):
    """One of a noun. layout: the oldest in which something is stored. layout_min: the oldest scripts that may touch it.

    wrong: keys that no script knows, or of another type than it needs.
    """

    name: str
    layout: int
    layout_min: int
    wrong: Sequence[str] = ()


def others() -> dict[str, dict[str, Any]]:
    """The facts of the nouns that are checked here."""
    return {word: noun for word, noun in library().manifest["nouns"].items() if word not in CHECKED}


def look(adeq: Adeq, noun: str, seconds: float) -> list[Stored]:
    """All of a noun, as far as that takes no longer."""
    until = monotonic() + seconds
    found = []
    for name in find_names(adeq, noun, seconds).names[:MOST]:
        base = adeq.noun(noun, name).base
        layout, rewritten, least = adeq.client.hmget(f"{base}:config", ["layout", "rewritten", "layout_min"])
        oldest = min(int(layout or 1), int(rewritten or layout or 1))
        wrong = list(_wrong(adeq, noun, base)) if monotonic() < until else []
        found.append(Stored(name, oldest, int(least or 1), wrong))
    return found


def check(noun: Mapping[str, Any], stored: Sequence[Stored] | None, layout: int) -> Finding:
    """Is the stored data of a form that these scripts know? layout: that of this release."""
    if stored is None:
        why = "These scripts refuse data of a newer layout."
        return unknown("SCAN or HMGET is not allowed", why, f"adeq {noun['word']} ls")
    title = noun["title"]
    for one in stored:
        if one.layout_min > layout:
            return fail(
                f"{title} {one.name}: layout {one.layout_min} is needed, this release has {layout}",
                "These scripts must not change that data, and refuse to.",
                "pip install --upgrade pyadeq",
            )
    for one in stored:
        if one.layout < layout:
            return warn(
                f"{title} {one.name}: layout {one.layout}, this release has {layout}",
                "This release reads both, and writes the old one until a migration.",
                "adeq scripts migrate, when every client has this release",
            )
        if one.wrong:
            return warn(
                f"{title} {one.name}: {', '.join(one.wrong[:5])}",
                "No script of this release writes such a key; a key of another type makes calls fail.",
            )
    return ok(f"{len(stored):,} {title}{'' if len(stored) == 1 else 's'}" if stored else f"no {title}")


def _wrong(adeq: Adeq, noun: str, base: str) -> Iterator[str]:
    keys = _keys(noun)
    pattern = re.sub(r"([\[\]*?\\])", r"\\\1", base) + ":*"
    for key in adeq.client.scan_iter(pattern, count=PAGE):
        name = _text(key).removeprefix(f"{base}:")
        wanted = next((type for start, suffix, type in keys if _fits(name, start, suffix)), None)
        if wanted is None:
            yield f"{name} is unknown"
        elif (kind := _text(adeq.client.type(key))) not in (wanted, "none"):
            yield f"{name} is a {kind}, not a {wanted}"


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _keys(noun: str) -> set[tuple[str, bool, str]]:
    """How each key begins, whether more follows, and its type."""
    scripts = [library()[id] for id in library() if id.startswith(f"{noun}.")]
    keys = [key for script in scripts for key in script.keys if key.type not in ("channel", "gate")]
    return {(key.template.removeprefix("{base}:"), bool(key.suffix), key.type) for key in keys}


def _fits(name: str, start: str, suffix: bool) -> bool:
    return name.startswith(start) and len(name) > len(start) if suffix else name == start

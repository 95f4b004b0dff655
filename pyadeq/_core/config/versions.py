"""Semantic versions, as the operator `sem_ver` of flagd reads and compares them."""

from __future__ import annotations

import re
from typing import Any, Final

Version = tuple[int, int, int, tuple[Any, ...]]

_NUMBER: Final = r"(0|[1-9][0-9]{0,15})"
_VERSION: Final = re.compile(
    rf"[vV]?{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_PARTIAL: Final = re.compile(rf"[vV]?{_NUMBER}(?:\.{_NUMBER})?")
_RELEASE: Final = ((2,),)
"""A release is newer than its pre-releases, whose parts begin with 0 or 1."""
LONGEST: Final = 256

OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=", "^", "~")


def parse_version(value: Any) -> Version | None:
    """Return the parts of a version, in an order that Python compares. None: this is no version.

    A leading `v` is ignored, and so is what follows a `+`. `1` and `1.2` are `1.0.0` and `1.2.0`, also as numbers.
    """
    text = str(value)
    if len(text) > LONGEST:
        return None
    if partial := _PARTIAL.fullmatch(text):
        return int(partial[1]), int(partial[2] or 0), 0, _RELEASE
    if (found := _VERSION.fullmatch(text)) is None:
        return None
    before = tuple(map(_rank, found[4].split("."))) if found[4] else _RELEASE
    return int(found[1]), int(found[2]), int(found[3]), before


def compare_versions(left: Version, operator: str, right: Version) -> bool:
    """Return whether the operator holds. `^`: the same major version. `~`: the same major and minor version."""
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "^":
            return left[0] == right[0]
        case _:
            return left[:2] == right[:2]


def _rank(identifier: str) -> tuple[int, int | str]:
    """Return the sort key of a part of a version: numbers come before words."""
    return (0, int(identifier)) if identifier.isdecimal() else (1, identifier)

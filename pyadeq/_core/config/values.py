"""How JsonLogic sees values: whether they are true, equal or less, with the conversions of JavaScript."""

from __future__ import annotations

import re
from math import isnan
from typing import Any, Final

_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NAN: Final = float("nan")


def is_true(value: Any) -> bool:
    """Return whether a condition holds. Unlike in Python, an empty object is true."""
    return isinstance(value, dict) or (bool(value) and not (isinstance(value, float) and isnan(value)))


def is_number(value: Any) -> bool:
    """Return whether it is a number. A boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def to_number(value: Any) -> float:
    """Return the number that a value is in a comparison. Lists, objects and other texts are not a number."""
    if value is None:
        return 0
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _DECIMAL.fullmatch(text) else NAN if text else 0
    return NAN


def loosely_equal(left: Any, right: Any) -> bool:
    """Return whether values are equal after conversion: 1 equals "1" and true. Null equals only null."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if left is None or right is None:
        return left is right
    return to_number(left) == to_number(right)


def strictly_equal(left: Any, right: Any) -> bool:
    """Return whether values are equal without conversion. Lists and objects are not."""
    if isinstance(left, str) or left is None or isinstance(left, bool):
        return type(left) is type(right) and bool(left == right)
    return is_number(left) and is_number(right) and bool(left == right)


def less(left: Any, right: Any) -> bool:
    """Return whether one is less: texts by their characters, all others as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    return to_number(left) < to_number(right)


def at_most(left: Any, right: Any) -> bool:
    """Return whether one is less or equal."""
    if isinstance(left, str) and isinstance(right, str):
        return left <= right
    return to_number(left) <= to_number(right)


def contains(place: Any, value: Any) -> bool:
    """Return whether a list has this member, or a text this part. In a text, a number or boolean is one, too."""
    if isinstance(place, str):
        text = as_text(value)
        return text is not None and text in place
    return isinstance(place, (list, tuple)) and any(strictly_equal(value, one) for one in place)


def as_text(value: Any) -> str | None:
    """Return a text, number or boolean as JSON writes it. None: it is another value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, (str, int, float)) else None

"""Rules of feature flags in words. A rule is JsonLogic, which few people like to read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

MOST_LINES: Final = 200
"""Lines of one rule that are shown, at most."""
MOST_WORDS: Final = 500
"""Characters of one line, at most."""
_BETWEEN: Final = {
    "==": "is",
    "!=": "is not",
    "<": "<",
    "<=": "≤",
    ">": ">",
    ">=": "≥",
    "and": "and",
    "or": "or",
    "in": "is in",
    "starts_with": "starts with",
    "ends_with": "ends with",
    "cat": "followed by",
}
_KNOWN: Final = {
    "targetingKey": "the targeting key",
    "$flagd.timestamp": "the time",
    "$flagd.flagKey": "the name of the flag",
}


def rule_in_words(rule: Any) -> list[tuple[int, str]]:
    """The lines of a rule that a flag has accepted, each with its depth: at most 32 levels, as flags allow."""
    lines = _lines(rule, 0)
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], (0, f"… {len(lines) - MOST_LINES} more lines")]
    return [(depth, text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}…") for depth, text in lines]


def _lines(node: Any, depth: int, before: str = "") -> list[tuple[int, str]]:
    """The lines of what chooses a variant. before: the condition that leads to it."""
    operator, given = _operator(node)
    if operator != "if":
        return [(depth, f"{before}{_chosen(node)}")]
    found = [(depth, before.rstrip())] if before else []
    depth += 1 if before else 0
    for at in range(0, len(given) - 1, 2):
        found += _lines(given[at + 1], depth, f"{'otherwise, ' if at else ''}if {_phrase(given[at])}: ")
    if len(given) % 2:
        found += _lines(given[-1], depth, "otherwise: ")
    return found


def _chosen(node: Any) -> str:
    if node is None:
        return "the default variant"
    return node if isinstance(node, str) else _phrase(node)


def _phrase(node: Any) -> str:
    operator, given = _operator(node)
    if operator is None:
        return f"[{', '.join(map(_phrase, node))}]" if isinstance(node, list) else json.dumps(node, ensure_ascii=False)
    if operator == "var":
        return _var(given)
    if operator == "!":
        return f"not {_inner(given[0])}"
    if operator == "fractional":
        return _share(given)
    if operator == "sem_ver":
        return f"version {_inner(given[0])} {given[1]} {_inner(given[2])}"
    if operator == "if":
        parts = [f"if {_phrase(given[at])} then {_inner(given[at + 1])}" for at in range(0, len(given) - 1, 2)]
        return ", ".join([*parts, *([f"else {_inner(given[-1])}"] if len(given) % 2 else [])])
    return f" {_BETWEEN.get(operator, operator)} ".join(map(_inner, given))


def _inner(node: Any) -> str:
    """A part of a phrase, in brackets if it has parts itself."""
    operator, _ = _operator(node)
    text = _phrase(node)
    return text if operator in (None, "var") else f"({text})"


def _var(given: Sequence[Any]) -> str:
    name = _KNOWN.get(given[0], given[0])
    return f"{name} (or {_inner(given[1])})" if len(given) > 1 else str(name)


def _share(given: Sequence[Any]) -> str:
    """`10 % new, 90 % old, by the targeting key`."""
    own = not isinstance(given[0], list)
    pairs = [(one[0], one[1] if len(one) > 1 else 1) for one in given[1 if own else 0 :]]
    by = _inner(given[0]) if own else "the targeting key"
    if not all(isinstance(weight, int | float) for _, weight in pairs) or not (whole := sum(of for _, of in pairs)):
        return f"shares {json.dumps(given, ensure_ascii=False)}"
    shares = [f"{100 * weight / whole:.3g} % {_chosen(name)}" for name, weight in pairs]
    return f"{', '.join(shares)}, by {by}"


def _operator(node: Any) -> tuple[str | None, list[Any]]:
    """The operator of a node and its arguments; None if it is a value."""
    if not isinstance(node, dict) or len(node) != 1:
        return None, []
    ((operator, given),) = node.items()
    return operator, given if isinstance(given, list) else [given]

"""A change for people: its content as lines, what two revisions differ in, and the states that it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from hashlib import sha256
from typing import Any

from pyadeq import Change
from pyadeq.models.base import flaw_of

SHORT = 76  # characters of JSON that need no lines of their own
CONTENT = ("type", "version", "description", "parameters", "resources", "rollback_strategy", "timeout", "priority")
SAME_JSON = "(the same JSON, with other spaces or another order of names)"
PATH = ("draft", "submitted", "reviewing", "approved", "applying", "completed")
STEPS = tuple(
    f"change.{step}" for step in ("approved", "rejected", "changes_requested", "completed", "failed", "cancelled")
)
AFTER = {"rejected": "reviewing", "failed": "applying"}  # the state that comes before


def title_of(description: str) -> str:
    """The first line of a description."""
    return description.strip().partition("\n")[0]


def actor_of(by: str, caller: str | None) -> str:
    """Return who has done a step, and who has sent the call for that person, if it was another."""
    return f"{by} (sent by {caller})" if caller else by


def path_of(state: str, submitted: bool, approved: bool) -> tuple[str, ...]:
    """The states until now, and the usual ones after it. submitted, approved: whether it was so before its end."""
    if state in PATH:
        return PATH
    if state in AFTER:
        return (*PATH[: PATH.index(AFTER[state]) + 1], state)
    return ("draft", *(["submitted", "reviewing"] if submitted else []), *(["approved"] if approved else []), state)


def follow_ids(domain: str, change: Change) -> list[str]:
    """The ids that tasks have which follow the steps of this change, as far as its log was read."""
    log = change.log or ()
    first = change.seq - len(log) + 1
    places = {place.partition("/")[0]: place for place in change.follow_ids}
    steps = (str(first + at) for at, one in enumerate(log) if one.event in STEPS)
    return [f"{domain}/{change.id}/{places.get(seq, seq)}" for seq in steps]


def raw(content: Any, name: str) -> Any:
    """A part of a content, parameters as they are stored."""
    return content.data if name == "parameters" else getattr(content, name)


def parts_that_differ(before: Any, after: Any) -> list[str]:
    """The names of the parts of two contents that differ."""
    return [name for name in CONTENT if raw(before, name) != raw(after, name)]


def diff_of(before: Any, after: Any, name: str) -> Iterator[str]:
    """The lines of a part that differ, with some around them."""
    old, new = (lines_of(raw(one, name)) for one in (before, after))
    if old == new:
        yield SAME_JSON
        return
    found = unified_diff(old, new, lineterm="", n=0 if name == "resources" else 3)
    for number, line in enumerate(found):
        if number > 1 and not (line.startswith("@@") and len(old) <= 3 >= len(new)):  # behind the names of files
            yield line


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
    """Format JSON in lines. Return the text as it is if it is no JSON, or if something of it would be left out."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_float=_number, parse_constant=_number)
        return text if flaw_of(value) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
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

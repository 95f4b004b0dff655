"""The lines of rates in a history to be read; see chaos_story.py."""

from __future__ import annotations

from typing import Any

from pyadeq.ext.prove.chaos import Op
from tests.unit.change_story import named

ITEMS = {  # the fields of an item
    "hit": ("rule", "subject", "cost"),
    "adjust": ("rule", "subject", "cost"),
    "release": ("rule", "subject", "lease"),
    "renew": ("rule", "subject", "lease"),
}
TOLD = ("status", "remaining", "limit", "period", "reset")  # of a rule in the answer to a hit; times in seconds


def rate_call_of(words: list[str]) -> Op:
    """`2.0 c1 hit log/red/1 rid=r -> allowed now=2 allowed/1/2/1/1`; without `->`, no answer; `@aof`: how durable.

    `-> !BadArgument`: the call was refused with this error.
    """
    durability = words.pop()[1:] if words[-1].startswith("@") else "memory"
    at = words.index("->") if "->" in words else None
    began, _, ended = words[0].partition("-")
    client, verb, *given = words[1:at]
    asked: dict[str, Any] = named([word for word in given if "=" in word])
    asked = {"item": [asked]} if verb == "set_rules" else {**asked, "item": _items(ITEMS[verb], given)}
    op = Op(client, f"rate.{verb}", asked, float(began), durability=durability)
    if at is not None and words[at + 1].startswith("!"):
        op.ended, op.outcome, op.answer = op.began + 0.1, "refused", {"error": words[at + 1][1:]}
    elif at is not None:
        op.ended, op.outcome = float(ended or float(began) + 0.1), "ok"
        status, fields = words[at + 1], named([word for word in words[at + 2 :] if "=" in word])
        now = {"now": fields.pop("now")}
        if verb == "hit":
            op.answer = {"status": status, **now, "items": _items(TOLD, words[at + 2 :])}
        else:
            op.answer = {"status": "ok", **now, "items": [{"status": status, **fields}]}
    return op


def _items(names: tuple[str, ...], words: list[str]) -> list[dict[str, Any]]:
    rows = [word.split("/") for word in words if "=" not in word]
    return [named([f"{name}={value}" for name, value in zip(names, row, strict=False)]) for row in rows]

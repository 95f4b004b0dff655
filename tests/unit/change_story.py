"""The lines of changes in a history to be read; see chaos_story.py."""

from __future__ import annotations

from typing import Any

from pyadeq.ext.chaos import History, Op
from pyadeq.ext.chaos.history import Records

ITEM = {"id", "rev", "digest", "action", "slot"}  # of an answer in a respond


def records_of(history: History) -> Records:
    """Those of the change domain, empty at first."""
    empty: dict[str, Any] = {"changes": {}, "states": {}, "policies": {}, "people": {}, "inboxes": {}}
    return history.nouns.setdefault("change", Records(final=empty))


def call_of(words: list[str]) -> Op:
    """`2.0 p1 put id=a -> created rev=1`; without `->`, it got no answer; `@aof`: how durable."""
    durability = words.pop()[1:] if words[-1].startswith("@") else "memory"
    at = words.index("->") if "->" in words else None
    began, _, ended = words[0].partition("-")
    client, verb, *named = words[1:at]
    asked = _named(named)
    if verb == "respond":
        item = {name: value for name, value in asked.items() if name in ITEM}
        asked = {name: value for name, value in asked.items() if name not in ITEM} | {"item": [item]}
    if verb == "set_policies":
        asked = {"item": [asked]}
    op = Op(client, f"change.{verb}", asked, float(began), durability=durability)
    if at is not None:
        op.ended, op.outcome = float(ended or float(began) + 0.1), "ok"
        answer = {"status": words[at + 1], **_named(words[at + 2 :])}
        if "resources" in answer:
            answer["resources"] = answer["resources"].split(",")
        op.answer = {"status": "ok", "items": [answer]} if "item" in asked else answer
    return op


def store(final: dict[str, Any], words: list[str]) -> None:
    """`change a state=draft rev=1 asks=1/pending/user:bob/`, `policy two@1 required=2`, `inbox user:bob shown=a/1`."""
    kind, name, *rest = words
    named = _named(rest)
    match kind:
        case "change":
            asks = [one.split("/") for one in str(named.pop("asks", "")).split(",") if one]
            named["requests"] = [[int(slot), *others] for slot, *others in asks]
            final["changes"][name] = {"overdue": 0, "overridden_rev": 0, **named}
        case "policy":
            final["policies"][name] = named
        case "people":
            final["people"][name] = named
        case "inbox":
            shown = [one.split("/") for one in str(named.get("shown", "")).split(",") if one]
            final["inboxes"][name] = {"pending": named["pending"], "shown": [[id, int(slot)] for id, slot in shown]}
        case "follows":
            final |= {"domain": name, "follow_queue": "q", "outbox": 0}
        case "locks":
            final["lock_domain"] = name
        case "states":
            final["states"][name] = named["count"]
        case _:
            raise ValueError(kind)


def _named(words: list[str]) -> dict[str, Any]:
    found = dict(word.split("=", 1) for word in words)
    return {name: int(value) if value.isdigit() else value for name, value in found.items()}

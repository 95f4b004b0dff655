"""The lines of changes and other nouns in a history to be read; see chaos_story.py."""

from __future__ import annotations

import re
from typing import Any

from pyadeq.ext.prove.chaos import History, Op
from pyadeq.ext.prove.chaos.history import Records

# The fields of an item, of calls that have items.
ITEMS = {
    "change.respond": {"id", "rev", "digest", "action", "slot"},
    "session.update": {"hash", "ver", "data"},
    "session.revoke": {"id"},
}
LISTED = {"change.respond", "change.set_policies", "session.revoke"}  # whose answers are in `items`


def records_of(history: History) -> Records:
    """Those of the change domain, empty at first."""
    empty: dict[str, Any] = {"changes": {}, "states": {}, "policies": {}, "people": {}, "inboxes": {}}
    return history.nouns.setdefault("change", Records(final=empty))


def call_of(words: list[str]) -> Op:
    """`2.0 p1 put id=a -> created rev=1`; without `->`, it got no answer; `@aof`: how durable.

    The calls of other nouns have its word, `session.get`; a name such as `session.ver` is that of a field in a record.
    """
    durability = words.pop()[1:] if words[-1].startswith("@") else "memory"
    at = words.index("->") if "->" in words else None
    began, _, ended = words[0].partition("-")
    client, verb, *given = words[1:at]
    asked = named(given)
    verb = verb if "." in verb else f"change.{verb}"
    if fields := ITEMS.get(verb):
        item = {name: value for name, value in asked.items() if name in fields}
        asked = {name: value for name, value in asked.items() if name not in fields} | {"item": [item]}
    if verb == "change.set_policies":
        asked = {"item": [asked]}
    op = Op(client, verb, asked, float(began), durability=durability)
    if at is not None:
        op.ended, op.outcome = float(ended or float(began) + 0.1), "ok"
        answer = {"status": words[at + 1], **named(words[at + 2 :])}
        if "resources" in answer:
            answer["resources"] = answer["resources"].split(",")
        op.answer = {"status": "ok", "items": [answer]} if verb in LISTED else answer
    return op


def store(final: dict[str, Any], words: list[str]) -> None:
    """`change a state=draft rev=1 asks=1/pending/user:bob/`, `policy two@1 required=2`, `inbox user:bob shown=a/1`."""
    kind, name, *rest = words
    own = named(rest)
    match kind:
        case "change":
            asks = [one.split("/") for one in str(own.pop("asks", "")).split(",") if one]
            own["requests"] = [[int(slot), *others] for slot, *others in asks]
            final["changes"][name] = {"overdue": 0, "overridden_rev": 0, **own}
        case "policy":
            final["policies"][name] = own
        case "people":
            final["people"][name] = own
        case "inbox":
            shown = [one.split("/") for one in str(own.get("shown", "")).split(",") if one]
            final["inboxes"][name] = {"pending": own["pending"], "shown": [[id, int(slot)] for id, slot in shown]}
        case "follows":
            final |= {"domain": name, "follow_queue": "q", "outbox": 0}
        case "locks":
            final["lock_domain"] = name
        case "states":
            final["states"][name] = own["count"]
        case _:
            raise ValueError(kind)


def named(words: list[str]) -> dict[str, Any]:
    """`a=1` and so on, by name."""
    found: dict[str, Any] = {}
    for word in words:
        name, text = word.split("=", 1)
        value = int(text) if text.isdigit() else float(text) if re.fullmatch(r"\d+\.\d+", text) else text
        outer, _, inner = name.rpartition(".")
        (found.setdefault(outer, {}) if outer else found)[inner] = value
    return found

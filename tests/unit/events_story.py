"""The lines of groups that read events in a history to be read; see chaos_story.py.

reader 2.0 w1 read slow -> 1-0 2-0 gap=1/3    a read of a group, the ids and the gap of its answer
reader 2.0 w1 ack slow 1-0 2-0 gap=1 -> 2     an acknowledgement, and how many events were pending
reader 2.0 w1 groups -> 90                    a look, and the length of the stream
reading added=5                               how many events there were
reading slow lost=3 left=0 count=1 5-0        what a group has lost, has left, and got after the run
"""

from __future__ import annotations

from typing import Any

from pyadeq.ext.prove.chaos import History, Op
from pyadeq.ext.prove.chaos.history import Records


def reader_call_of(words: list[str]) -> Op:
    at = words.index("->") if "->" in words else len(words)
    began, client, verb, *asked = words[:at]
    ids = [word for word in asked[1:] if "=" not in word]
    named = {name: int(value) for name, _, value in (word.partition("=") for word in asked[1:] if "=" in word)}
    told: dict[str, Any] = {} if verb == "groups" else {"group": asked[0]}
    op = Op(client, f"events.{verb}", told, float(began))
    if verb == "ack":
        told |= {"item": [{"id": id} for id in ids], **named}
    if at < len(words):
        op.ended, op.outcome = float(began) + 0.1, "ok"
        op.answer = _answer(verb, words[at + 1 :])
    return op


def _answer(verb: str, words: list[str]) -> dict[str, Any]:
    if verb == "read":
        gaps = [[int(part) for part in word[4:].split("/")] for word in words if word.startswith("gap=")]
        ids = [word for word in words if "=" not in word]
        return {"status": "ok", "ids": ids, "kinds": ["event"] * len(ids), "gaps": gaps}
    return {"status": "ok", "acked" if verb == "ack" else "length": int(words[0])}


def store_reading(history: History, words: list[str]) -> None:
    final = history.nouns.setdefault("events", Records(final={"added": 0, "groups": {}})).final
    name, *rest = words
    if name.startswith("added="):
        final["added"] = int(name.partition("=")[2])
        return
    named = {key: int(value) for key, _, value in (word.partition("=") for word in rest if "=" in word)}
    final["groups"][name] = {**named, "acked": [word for word in rest if "=" not in word]}

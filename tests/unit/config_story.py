"""The lines of configs in a history to be read; see chaos_story.py."""

from __future__ import annotations

from typing import Any

from pyadeq.ext.prove.chaos import History, Op
from pyadeq.ext.prove.chaos.history import Records


def configs_of(history: History) -> Records:
    """The records of the config namespace, empty at first."""
    empty: dict[str, Any] = {"rev": 0, "content": {}, "histories": {}}
    return history.nouns.setdefault("config", Records(final=empty))


def config_call_of(words: list[str]) -> Op:
    """A call of a config namespace; without `->`, no answer; `@aof`: how durable.

    2.0 w1 set w1.1 a:0=red b=-  -> ok 900 set removed      the actor, and names with what they expect; `-`: removed
    2.0 w1 set w1.2 a:1=blue     -> conflict differs/900
    2.0 r1 read a b c            -> ok 900 a/900/red b/900 c   removed: without a value; missing: without a version
    2.0 r1 seen s until=900      -> ok 900 a/900/red        what a snapshot shows
    """
    durability = words.pop()[1:] if words[-1].startswith("@") else "memory"
    at = words.index("->") if "->" in words else len(words)
    began, _, ended = words[0].partition("-")
    client, verb, *given = words[1:at]
    op = Op(client, f"config.{verb}", _asked(verb, given), float(began), durability=durability)
    if at < len(words):
        op.ended, op.outcome = float(ended or float(began) + 0.1), "ok"
        op.answer = _answer(verb, words[at + 1 :])
    return op


def store_config(final: dict[str, Any], words: list[str]) -> None:
    """`rev 900 a/900/red`: the rev and the values at the end; `of a 900/red 800`: the history of a name."""
    kind, name, *rest = words
    if kind == "rev":
        final |= {"rev": int(name), "content": _content(rest)}
    else:
        rows = [word.split("/") for word in rest]
        final["histories"][name] = [[int(row[0]), row[1] if row[1:] else None] for row in rows]


def _asked(verb: str, words: list[str]) -> dict[str, Any]:
    if verb == "set":
        return {"actor": words[0], "item": [_item(word) for word in words[1:]]}
    if verb == "read":
        return {"item": [{"name": name} for name in words]}
    return {"snapshot": words[0], "until": int(words[1].removeprefix("until=")) if words[1:] else 0}


def _item(word: str) -> dict[str, Any]:
    about, value = word.split("=")
    name, _, expect = about.partition(":")
    item: dict[str, Any] = {"name": name, "expect": int(expect or -1)}
    return item | ({"remove": True} if value == "-" else {"value": value})


def _answer(verb: str, words: list[str]) -> dict[str, Any]:
    status, *rest = words
    if status == "conflict":
        told = [word.split("/") for word in rest]
        return {"status": status, "items": [{"status": one, "version": int(version)} for one, version in told]}
    rev = int(rest[0])
    if verb == "seen":
        return {"status": status, "rev": rev, "content": _content(rest[1:])}
    if verb == "read":
        return {"status": status, "rev": rev, "items": [_shown(word) for word in rest[1:]]}
    items = [{"status": one} if one == "missing" else {"status": one, "version": rev} for one in rest[1:]]
    return {"status": status, "rev": rev, "items": items}


def _shown(word: str) -> dict[str, Any]:
    name, *rest = word.split("/")
    status = ("missing", "removed", "value")[len(rest)]
    return {"status": status, "name": name, **dict(zip(("version", "value"), map(_number, rest), strict=False))}


def _content(words: list[str]) -> dict[str, list[Any]]:
    rows = [word.split("/") for word in words]
    return {name: [int(version), value] for name, version, value in rows}


def _number(text: str) -> int | str:
    return int(text) if text.isdigit() else text

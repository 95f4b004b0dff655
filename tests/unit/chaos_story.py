"""Histories as lines to read, so that a test shows what it changes.

op     2.0 w1 claim -> a/t1/1 b/t2/2         a call at that time of that client, its verb and what was asked;
                                             `-> …`: what it was told; without it, nothing; `@aof`: how durable
op     2.0-3.5 …                             the same, with the time of the answer; it is 0.1 s later otherwise
entry  2000 task.claimed a b | fence=1       an entry of the queue's stream, and its words
lock   2000 lock.acquired r1 | owner=o1      the same of the lock domain
mark   5.0 restart 4.8                       the last number: since when; it may be left out
final  a completed                           the state in the end; `-` if it is gone

Lines of changes, see change_story.py:
call   2.0 p1 put id=a -> created rev=1      a call of a script and its arguments; the status and fields of its answer;
                                             `session.get`: of another noun
rate   2.0 c1 hit log/red/1 -> allowed …     a call of a rate namespace, see rate_story.py
config 2.0 w1 set w1.1 a:0=red -> ok 9 set   a call of a config namespace, see config_story.py;
                                             `configs`: of its stream; `history`: what it has in the end
reader 2.0 r1 read slow -> 1-0               a call of a group of readers, see events_story.py; `reading`: at the end
change 2000 change.created a | by=ann rev=1  an entry of the stream of the change domain
stored change a state=draft rev=1            what is stored in the end: of changes, policies, people, inboxes and states
"""

from __future__ import annotations

from typing import Any

from pyadeq.ext.prove.chaos import Entry, History, Mark, Op
from tests.unit.change_story import call_of, records_of, store
from tests.unit.config_story import config_call_of, configs_of, store_config
from tests.unit.events_story import reader_call_of, store_reading
from tests.unit.rate_story import rate_call_of

KINDS = {"exclusive", "shared", "permit"}


def told(*parts: str) -> History:
    """A history of these lines; entries have their numbers as positions."""
    history = History(trimmed=0, lock_trimmed=0)
    lines = [line.split() for part in parts for line in part.strip().splitlines() if line.strip()]
    for number, (kind, *words) in enumerate(lines, 1):
        match kind:
            case "op":
                history.ops.append(_op(words))
            case "entry":
                history.entries.append(_entry(number, words))
            case "lock":
                history.lock_entries.append(_entry(number, words))
            case "call":
                history.ops.append(call_of(words))
            case "rate":
                history.ops.append(rate_call_of(words))
            case "config":
                history.ops.append(config_call_of(words))
            case "reader":
                history.ops.append(reader_call_of(words))
            case "reading":
                store_reading(history, words)
            case "configs":
                configs_of(history).entries.append(_entry(number, words))
            case "history":
                store_config(configs_of(history).final, words)
            case "change":
                records_of(history).entries.append(_entry(number, words))
            case "stored":
                store(records_of(history).final, words)
            case "mark":
                since = float(words[2]) if words[2:] else None
                history.marks.append(Mark(float(words[0]), words[1], since=since))  # type: ignore[arg-type]
            case "final":
                history.final[words[0]] = None if words[1] == "-" else words[1]
            case _:
                raise ValueError(kind)
    return history


def edited(story: str, *edits: tuple[str, str]) -> str:
    """The story with some of its words replaced; each is there just once."""
    for old, new in edits:
        assert story.count(old) == 1, f"{old!r} is there {story.count(old)} times"
        story = story.replace(old, new)
    return story


def without(story: str, *lines: str) -> str:
    """The story without the lines that have these words; each is in one line."""
    for words in lines:
        assert sum(words in line for line in story.splitlines()) == 1, words
        story = "\n".join(line for line in story.splitlines() if words not in line)
    return story


def _entry(number: int, words: list[str]) -> Entry:
    ms, event, *rest = words
    at = rest.index("|") if "|" in rest else len(rest)
    named = dict(word.split("=", 1) for word in rest[at + 1 :])
    return Entry(str(number), event, int(ms), tuple(rest[:at]), named, named.pop("source", ""))


def _op(words: list[str]) -> Op:
    durability = words.pop()[1:] if words[-1].startswith("@") else "memory"
    began, _, ended = words[0].partition("-")
    at = words.index("->") if "->" in words else None
    client, verb, *asked = words[1:at]
    op = Op(client, verb, _asked(client, verb, asked), float(began), durability=durability)
    if at is not None:
        op.ended = float(ended or float(began) + 0.1)
        op.outcome = "ok"
        op.answer = _answer(verb, op.asked, words[at + 1 :])
    return op


def _asked(client: str, verb: str, words: list[str]) -> dict[str, Any]:
    if verb == "enqueue":
        options: dict[str, Any] = dict(word.split("=", 1) for word in words)
        for name in options.keys() & {"priority", "delay"}:
            options[name] = int(options[name])
        if "after" in options:
            options["after"] = options["after"].split(",")
        return {"tasks": [options]}
    if verb == "claim":
        return {"worker": client, "limit": 10, "lanes": ["any"]}
    if verb == "take":
        owner, resource, mode = words
        return {"owner": owner, "locks": [[resource, mode, 1]]}
    if verb in ("release_lock", "downgrade"):
        return {"rid": words[0]}
    extend = [int(word.partition("=")[2]) for word in words if word.startswith("extend=")]
    return {"held": [_held(word) for word in words if "=" not in word], "extend": sum(extend)}


def _answer(verb: str, asked: dict[str, Any], words: list[str]) -> dict[str, Any]:
    if verb == "enqueue":
        return {"receipts": [words]}
    if verb == "claim":
        return {"leases": [_held(word) for word in words]}
    if verb == "take":
        rid, fence = words
        return {"rid": rid, "fences": {asked["locks"][0][0]: int(fence)}, "deadline": None}
    return {"statuses": words}


def _held(word: str) -> list[Any]:
    id, token, *fence = word.split("/")
    return [id, token, int(fence[0]) if fence else None, None]

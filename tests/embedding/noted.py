"""The calls of clients in any language, as they were on the wire, in the form that histories are judged in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import hiredis

from pyadeq import Script, library
from pyadeq.ext.prove.chaos.history import Op
from tests.embedding.tap import Said
from tests.embedding.vectors import Call, decode

Answer = list[Any]
Reading = Callable[[Call], tuple[str, dict[str, Any]]]
Telling = Callable[[dict[str, Any], Answer], dict[str, Any]]
COMMANDS = {b"EVALSHA", b"EVALSHA_RO"}


def operations(said: Iterable[Said]) -> list[Op]:
    """Those that rules know. What was sent again, word for word, is one; so is the request of a lock and its polls.

    Not so heartbeats: two of them may have the same words.
    """
    ops: dict[tuple[object, ...], Op] = {}
    takes: dict[str, Op] = {}
    for number, one in enumerate(said, 1):
        script = _scripts().get(one.words[1].decode(errors="replace")) if one.words[0].upper() in COMMANDS else None
        if script is None:
            continue
        call = decode(script, one.words[3 + int(one.words[2]) :])
        if script.id in ("lock.acquire.v1", "lock.poll.v1"):
            _note_take(takes, script, call, one)
        elif reading := READINGS.get(script.id):
            same = (number if script.id == "queue.heartbeat.v1" else 0, *one.words)
            op = ops.setdefault(same, Op(_client(call), *reading(call), began=one.began))
            _note_end(op, one, ANSWERS.get(script.id, _statuses))
    return sorted((*ops.values(), *takes.values()), key=lambda op: op.began)


@cache
def _scripts() -> dict[str, Script]:
    return {script.sha1: script for script in map(library().__getitem__, library())}


def _client(call: Call) -> str:
    return str(call["args"].get("worker") or call["args"].get("source") or "somebody")


def _note_end(op: Op, said: Said, told: Telling) -> None:
    if said.ended is None:
        return
    op.ended = said.ended
    if not isinstance(said.reply, hiredis.ReplyError):
        op.outcome, op.answer = "ok", told(op.asked, said.reply)
    elif op.outcome != "ok" and not str(said.reply).startswith("NOSCRIPT"):
        op.outcome, op.answer = "refused", {"error": str(said.reply)}


# What was asked


def _enqueue(call: Call) -> tuple[str, dict[str, Any]]:
    items = call["groups"]["item"]
    tasks = [{name: value for name, value in item.items() if name != "payload"} for item in items]
    return "enqueue", {"tasks": tasks, "rid": call["args"]["rid"]}


def _settle(call: Call) -> tuple[str, dict[str, Any]]:
    args, groups = call["args"], call["groups"]
    lanes = [item["lane"] for item in groups.get("lanes_wanted", groups.get("item", ()))]
    asked = {"worker": args["worker"], "limit": args["limit"], "lanes": lanes}
    acks, fails = groups.get("acks", []), groups.get("fails", [])
    return "settle", {**asked, "acks": len(acks), "held": _held([*acks, *fails])}


def _by_token(verb: str) -> Reading:
    return lambda call: (verb, {"held": _held(call["groups"].get("item", []))})


def _by_rid(verb: str) -> Reading:
    return lambda call: (verb, {"rid": call["groups"]["item"][0]["rid"]})


def _held(items: list[dict[str, Any]]) -> list[list[Any]]:
    return [[item["id"], item["token"], None, None] for item in items]


# What was answered


def _receipts(asked: dict[str, Any], answer: Answer) -> dict[str, Any]:
    return {"receipts": [[_text(item[0]), task["id"]] for task, item in zip(asked["tasks"], answer[-1], strict=True)]}


def _settled(_: dict[str, Any], answer: Answer) -> dict[str, Any]:
    if _text(answer[0]) != "ok":
        return {"statuses": [], "leases": []}
    _, _, _, _, _, deadline_ms, acks, fails, leases = answer
    given = [[_text(lease[1]), _text(lease[2]), lease[3], deadline_ms] for lease in leases]
    return {"statuses": [_text(item[0]) for item in (*acks, *fails)], "leases": given}


def _statuses(_: dict[str, Any], answer: Answer) -> dict[str, Any]:
    return {"statuses": [_text(item[0]) for item in answer[-1]]}


def _text(word: bytes) -> str:
    return word.decode()


READINGS: dict[str, Reading] = {
    "queue.enqueue.v1": _enqueue,
    "queue.settle.v1": _settle,
    "queue.ack.v1": _by_token("ack"),
    "queue.fail.v1": _by_token("fail"),
    "queue.release.v1": _by_token("release"),
    "queue.heartbeat.v1": _by_token("heartbeat"),
    "lock.release.v1": _by_rid("release_lock"),
}
ANSWERS: dict[str, Telling] = {"queue.enqueue.v1": _receipts, "queue.settle.v1": _settled}


# A lock's request


def _note_take(takes: dict[str, Op], script: Script, call: Call, said: Said) -> None:
    """A request ends with the reply that grants it, to `acquire` or to a poll."""
    args = call["args"]
    if script.id == "lock.acquire.v1":
        locks = [[args["resource"], args.get("mode", "exclusive"), args.get("permits", 1)]]
        asked = {"owner": args["owner"], "priority": args.get("priority", 5), "locks": locks}
        takes.setdefault(args["rid"], Op(args["owner"], "take", asked, said.began))
    if said.ended is None or isinstance(said.reply, hiredis.ReplyError):
        return
    for rid, status, fences, deadline_ms in _told(script, call, said.reply):
        op = takes[rid]
        if op.outcome == "ok":
            continue
        op.ended = said.ended
        if status == "granted":
            answer = {name: fence or 0 for name, fence in fences.items()} or {op.asked["locks"][0][0]: 0}
            op.outcome, op.answer = "ok", {"rid": rid, "fences": answer, "deadline": deadline_ms}
        elif status != "queued":
            op.outcome, op.answer = "refused", {"error": status}


def _told(script: Script, call: Call, answer: Answer) -> Iterator[tuple[str, str, dict[str, int], int]]:
    """For each request its rid and status, and where it is granted fences by resource and the deadline."""
    if script.id == "lock.acquire.v1":
        rid, resource, status = call["args"]["rid"], call["args"]["resource"], _text(answer[0])
        granted = status == "granted"
        yield rid, status, {resource: answer[2]} if granted else {}, answer[3] if granted else 0
        return
    for item, told in zip(call["groups"]["item"], answer[-1], strict=True):
        status = _text(told[0])
        fences = {_text(part[1]): part[2] for part in told[2]} if status == "granted" else {}
        yield item["rid"], status, fences, told[1] if status == "granted" else 0

"""What clients saw of changes: their calls, and what the answers promise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pyadeq.ext.prove.chaos.history import Op

VERBS = "change."
REMEMBERED = 50.0  # seconds in which a call that is sent again gets the same answer; the server remembers it longer
# The event of each answer; one of `move` and `finish` depends on what was asked.
PUT = {"created": "change.created", "revised": "change.revised", "edited": "change.edited"}
MOVED = {"withdraw": "change.withdrawn", "reopen": "change.reopened"}
OF_A_REVISION = {"change.submitted", "change.assessed", "change.overridden", "change.applying", "change.answered"}
FINISHED = {"completed": "change.completed", "failed": "change.failed", "cancelled": "change.cancelled"}
AGAIN = {"approved", "reviewing", "submitted"}  # the run has ended without a result
PLAIN = {
    "submit": ("change.submitted", AGAIN),
    "assess": ("change.assessed", {"ok"}),
    "override": ("change.overridden", {"approved"}),
    "delegate": ("change.delegated", {"ok"}),
    "reassign": ("change.reassigned", {"ok"}),
}
"""The event of each verb's call, and the answers after which there is one."""


class Effect(NamedTuple):
    """What a call has done, as the stream tells it. by: the actor, or the agent of a run.

    rev: the revision that the call has named, if it names one. action: that of an answer.
    """

    event: str
    id: str
    by: str
    rev: int = 0
    action: str = ""


class Done(NamedTuple):
    """An effect that an answer has promised, or that a call without an answer may have had."""

    op: Op
    effect: Effect
    sure: bool


class Begun(NamedTuple):
    """A run that a client was given. deadline: seconds by the server's clock, the latest that it was told."""

    op: Op
    id: str
    token: str
    fence: int
    deadline: float


class Finished(NamedTuple):
    """A run whose end a client has reported. begun: None if the answer to its begin is not known."""

    op: Op
    id: str
    token: str
    status: str
    begun: Begun | None


class ChangeCalls:
    """All calls of a history that concern changes.

    principals: of each change and actor that have written it. digests: of each change and revision, with the calls that
    named them. policies: the fields of each version. outbox: which tasks were delivered. agents: of each token, also if
    the answer to its begin is not known. again: calls by client, verb and rid, where there are several.
    """

    def __init__(self, ops: Sequence[Op]) -> None:
        self.done: list[Done] = []
        self.begun: dict[str, Begun] = {}
        self.finished: list[Finished] = []
        self.principals: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self.digests: defaultdict[tuple[str, int], dict[str, Op]] = defaultdict(dict)
        self.policies: dict[str, dict[str, Any]] = {}
        self.clients: set[str] = set()
        self.agents: dict[str, str] = {}
        self.outbox = [op for op in ops if op.verb == "change.outbox" and op.outcome != "refused"]
        self.again: defaultdict[tuple[str, str], list[Op]] = defaultdict(list)
        own = [op for op in ops if op.verb.startswith(VERBS)]
        for op in own:
            self.clients.add(op.client)
            if rid := op.asked.get("rid"):
                self.again[op.verb, rid].append(op)
                if op.verb == "change.begin":  # its rid is the token
                    self.agents[rid] = op.asked["agent"]
            if op.verb == "change.begin" and op.answer.get("status") == "begun":
                answer = op.answer
                self.begun[answer["token"]] = Begun(
                    op, op.asked["id"], answer["token"], answer["fence"], answer["deadline"]
                )
        for op in own:
            self._note(op)

    def _note(self, op: Op) -> None:
        verb, asked, answer = op.verb.removeprefix(VERBS), op.asked, op.answer
        if verb == "put" and asked.get("principal"):
            self.principals[asked["id"], asked["actor"]].add(asked["principal"])
        if verb == "set_policies":
            self._note_policies(op)
        if verb == "heartbeat" and answer.get("deadline") and asked["token"] in self.begun:
            known = self.begun[asked["token"]]
            self.begun[asked["token"]] = known._replace(deadline=max(known.deadline, answer["deadline"]))
        for id, rev, digest in _digests(verb, op):
            self.digests[id, rev].setdefault(digest, op)
        if verb == "finish" and op.outcome == "ok" and answer["status"] != "lost":
            begun = self.begun.get(asked["token"])
            self.finished.append(Finished(op, asked["id"], asked["token"], answer["status"], begun))
        if not op.may_be_done:
            return
        for effect in self._effects(verb, op):
            self.done.append(Done(op, effect, op.outcome == "ok"))

    def _note_policies(self, op: Op) -> None:
        for asked, answer in zip(op.asked["item"], op.answer.get("items", ()), strict=False):
            if answer["status"] in ("stored", "same"):
                self.policies[f"{asked['name']}@{answer['version']}"] = asked

    def _effects(self, verb: str, op: Op) -> Iterator[Effect]:
        """What the call has done, or all that it may have done."""
        asked, status = op.asked, op.answer.get("status")
        unknown = op.outcome != "ok"
        id, by, rev = asked.get("id", ""), asked.get("actor", ""), asked.get("rev", 0)
        if verb in PLAIN:
            event, answers = PLAIN[verb]
            if unknown or status in answers:
                yield Effect(event, id, by, rev if event in OF_A_REVISION else 0)
        elif verb == "put":
            names = PUT.values() if unknown else [PUT[status]] if status in PUT else ()
            yield from (Effect(event, id, by) for event in names)
        elif verb == "move":
            yield from _moves(asked, status, unknown)
        elif verb == "respond":
            items = [None] * len(asked["item"]) if unknown else op.answer["items"]
            for item, answer in zip(asked["item"], items, strict=True):
                yield from _answers(item, by, None if answer is None else answer["status"])
        elif verb == "begin" and (unknown or status == "begun"):
            yield Effect("change.applying", id, asked["agent"], rev)
        elif verb == "finish" and (agent := self.agents.get(asked["token"])):
            if unknown:
                events = {*FINISHED.values(), "change.released"}
            else:
                events = {FINISHED[status]} if status in FINISHED else {"change.released"} if status in AGAIN else set()
            yield from (Effect(event, id, agent) for event in sorted(events))


def _moves(asked: dict[str, Any], status: str | None, unknown: bool) -> Iterator[Effect]:
    id, by, to = asked["id"], asked["actor"], asked["to"]
    if to != "cancel":
        if unknown or status == "draft":
            yield Effect(MOVED[to], id, by)
        return
    for word in ("cancelled", "cancelling"):
        if unknown or status == word:
            yield Effect(f"change.{word}", id, by)


def _answers(item: dict[str, Any], by: str, status: str | None) -> Iterator[Effect]:
    if item["action"] == "comment":
        if status in (None, "commented"):
            yield Effect("change.commented", item["id"], by)
    elif status in (None, "recorded", "approved", "rejected"):
        yield Effect("change.answered", item["id"], by, item["rev"], item["action"])


def _digests(verb: str, op: Op) -> Iterator[tuple[str, int, str]]:
    """The digest that the server has for a revision, as a call has named it and the answer confirms."""
    asked, answer = op.asked, op.answer
    if op.outcome != "ok":
        return
    if verb in ("put", "submit") and "digest" in answer:
        yield asked["id"], answer["rev"], answer["digest"]
    elif verb == "begin" and answer["status"] == "begun":
        yield asked["id"], asked["rev"], asked["digest"]
        yield asked["id"], asked["rev"], answer["content_digest"]
    elif verb == "assess" and answer["status"] == "ok":
        yield asked["id"], asked["rev"], asked["digest"]
    elif verb == "respond":
        for item, told in zip(asked["item"], answer["items"], strict=True):
            if item["action"] != "comment" and told["status"] in ("recorded", "approved", "rejected"):
                yield item["id"], item["rev"], item["digest"]

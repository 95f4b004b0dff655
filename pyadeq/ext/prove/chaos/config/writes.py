"""What clients saw of a config namespace: writes, and what reads and snapshots have shown of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pyadeq.ext.prove.chaos.case import Case
from pyadeq.ext.prove.chaos.history import Op

VERBS = "config."
EVENTS = {"config.set": False, "config.removed": True}  # and whether the name has no value then


class Written(NamedTuple):
    """A name that a call has written, as the answer says. expect: None: any version. value: None if it is removed."""

    op: Op
    name: str
    version: int
    expect: int | None
    value: str | None


class Shown(NamedTuple):
    """A name as an answer shows it. version: None if the server knew nothing of it. value: None if it has none."""

    op: Op
    name: str
    version: int | None
    value: str | None


class Version(NamedTuple):
    """An entry of the stream. actor: of the call."""

    name: str
    version: int
    removed: bool
    actor: str


class View(NamedTuple):
    """A snapshot as it was seen; op: None for the values at the end. content: version and value of each name."""

    op: Op | None
    rev: int
    content: Mapping[str, list[Any]]


class Writes:
    """All calls of a config namespace in a history, and its stream.

    sets: the calls that may have written. written: the names that were written, as answers say. shown: what reads have
    shown. stream: None if it is not known from its beginning. revs: those in the stream.
    """

    def __init__(self, case: Case) -> None:
        own = [op for op in case.history.ops if op.verb.startswith(VERBS) and op.may_be_done]
        self.sets = [op for op in own if op.verb == "config.set"]
        self.written = [one for op in self.sets for one in _written(op)]
        self._by_rev = {one.version: one.op for one in self.written}
        self.reads = [op for op in own if op.verb == "config.read" and op.answer.get("status") == "ok"]
        self.shown = [one for op in self.reads for one in _shown(op)]
        self.seen = [op for op in own if op.verb == "config.seen" and op.answer]
        records = case.history.nouns.get("config")
        self.final: Mapping[str, Any] = records.final if records else {}
        self.stream: list[Version] | None = None
        if records and not records.trimmed:
            self.stream = [
                Version(one.ids[0], int(one.words["version"]), EVENTS[one.event], one.words.get("by", ""))
                for one in records.entries
                if one.event in EVENTS
            ]
        self.of_name: defaultdict[str, list[Version]] = defaultdict(list)
        for version in self.stream or ():
            self.of_name[version.name].append(version)
        self.revs = {version.version for version in self.stream or ()}
        self._has_losses = any(mark.kind != "clock_back" for mark in case.history.marks)
        self.is_unsure = case.calls.is_unsure

    def may_be_lost(self, rev: int) -> bool:
        """Whether the server may have lost the write of a rev. A snapshot shows it until it asks the server again."""
        if rev in self.revs or not rev:
            return False
        op = self._by_rev.get(rev)
        return self._has_losses if op is None else self.is_unsure(op)

    @property
    def views(self) -> Iterator[View]:
        """All states of the namespace that snapshots have shown, and that at the end."""
        for op in self.seen:
            yield View(op, op.answer["rev"], op.answer["content"])
        if self.final:
            yield View(None, self.final["rev"], self.final["content"])

    def by_actor(self) -> dict[str, Op]:
        """The calls whose actor no other call has."""
        found: defaultdict[str, list[Op]] = defaultdict(list)
        for op in self.sets:
            found[op.asked.get("actor", "")].append(op)
        return {actor: ops[0] for actor, ops in found.items() if len(ops) == 1 and actor}


def _written(op: Op) -> Iterator[Written]:
    if op.answer.get("status") != "ok":
        return
    for item, told in zip(op.asked["item"], op.answer["items"], strict=True):
        if told["status"] != "missing":
            yield Written(op, item["name"], told["version"], expect_of(item), value_of(item))


def _shown(op: Op) -> Iterator[Shown]:
    for one in op.answer["items"]:
        yield Shown(op, one["name"], one.get("version"), one["value"] if one["status"] == "value" else None)


def expect_of(item: Mapping[str, Any]) -> int | None:
    """The version that an item of a write names; None if it takes any."""
    expect = item.get("expect", -1)
    return None if expect < 0 else int(expect)


def value_of(item: Mapping[str, Any]) -> str | None:
    """What an item of a write sets; None if it removes the name."""
    return None if item.get("remove") else str(item.get("value", ""))

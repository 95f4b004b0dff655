"""Vectors from candidates, and the few of them that show all of a script."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyadeq._core.kernel.manifest import library
from tests.embedding.candidates import Candidate
from tests.embedding.stage import Stage
from tests.embedding.states import changes, has_own_order
from tests.embedding.vectors import Vector, decode, encode, items_of, sends, shown, shown_reply
from tests.unit.lua_tree import vectors as checks

ENTRIES = {entry["id"]: entry for entry in library().manifest["scripts"]}


@dataclass(frozen=True)
class Recorded:
    vector: Vector
    chosen: bool
    own_order: bool

    @property
    def shows(self) -> set[str]:
        return set(self.vector["shows"])

    @property
    def sends(self) -> set[str]:
        return sends(self.vector["call"])

    @property
    def items(self) -> int:
        return items_of(self.vector["call"])

    @property
    def entries(self) -> int:
        """Of the longest list in the answer."""
        lists = [one for one in self.vector.get("answer", ()) if isinstance(one, list)]
        return max((len(one) for one in lists if one and isinstance(one[0], list)), default=0)

    @property
    def size(self) -> tuple[bool, int, bool, int, str]:
        """What vectors are compared by: the least is chosen. One that changes something says more."""
        return self.own_order, self.items, not self.vector["after"], len(json.dumps(self.vector)), self.vector["name"]


def record(stage: Stage, candidate: Candidate) -> Recorded:
    script = candidate.script
    bench = stage.bench(script.id.partition(".")[0])
    call = decode(script, candidate.arrange(bench))
    argv, full = encode(script, call), stage.is_full()
    before = stage.hold(bench)
    assert decode(script, argv) == call
    reply, after = stage.perform(script, before, argv, full=full)
    changed = changes(before, after)
    vector: Vector = {"name": candidate.name, "shows": [], "before": before, "call": call}
    vector |= {"memory": "full"} if full else {}
    vector["argv"] = [shown(word) for word in argv]
    if isinstance(reply, str):
        assert not changed, f"{candidate.name}: {reply}, but it has changed {changed}"
        vector["error"] = reply
    else:
        vector["answer"] = shown_reply(reply)
    vector["shows"] = checks.shows(ENTRIES[script.id], vector)
    return Recorded({**vector, "after": changed}, candidate.chosen, has_own_order({**before, **after}))

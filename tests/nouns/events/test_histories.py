"""Random histories of groups against a model: whatever is added, trimmed and left undone, each event is delivered to
each group until it is acknowledged, or is counted as lost.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.nouns.events.bench import Bench
from tests.nouns.script_bench import MakeAny
from tests.quick import slow_after

HOLD = 60_000  # ms
STEPS = 120


class Group:
    """What a group should have. seen: how many of all events were delivered or lost. gap: lost and not acknowledged."""

    def __init__(self) -> None:
        self.seen = 0
        self.pending: dict[str, int] = {}
        self.acked: set[str] = set()
        self.lost: set[str] = set()
        self.gap: set[str] = set()

    def lose(self, ids: set[str]) -> None:
        self.lost |= ids
        self.gap |= ids


class History:
    def __init__(self, bench: Bench, random: Random) -> None:
        self.bench, self.random = bench, random
        self.every: list[str] = []
        self.groups = {name: Group() for name in "abc"}
        bench.add_events(1)
        bench.register(*self.groups)
        self.note()

    def note(self) -> list[str]:
        """Learn which events were added, and return those that there are."""
        there = [id.decode() for id, _ in self.bench.ask("XRANGE", ":events", "-", "+")]
        known = set(self.every)
        self.every += [id for id in there if id not in known]
        return there

    def step(self) -> None:
        match self.random.choices(["add", "trim", "read", "ack", "pass"], [3, 1, 5, 5, 2])[0]:
            case "add":
                self.bench.add_events(self.random.randint(1, 12))
            case "trim":
                self.bench.trim_to(self.random.randint(0, 15))
            case "read":
                self.read(self.random.choice("abc"), self.random.choice([1, 3, 10]))
            case "ack":
                self.ack(self.random.choice("abc"))
            case "pass":
                self.bench.pass_time(self.random.choice([1, 20_000, HOLD]))
        self.note()

    def read(self, name: str, limit: int) -> Any:
        group, there = self.groups[name], self.note()
        now = self.bench.now
        new = [id for id in self.every[group.seen :] if id in there]
        missed = set(self.every[group.seen :]) - set(there)
        gone = group.pending.keys() - set(there)
        group.lose(missed | gone)
        for id in gone:
            del group.pending[id]
        due = sorted((at, id) for id, at in group.pending.items() if at <= now)[:limit]
        again = [id for _, id in due]
        fresh = new[: limit - len(again)]
        group.pending.update(dict.fromkeys([*again, *fresh], now + HOLD))
        group.seen += len(missed) + len(fresh)

        found = self.bench.put("read", group=name, limit=limit, hold_ms=HOLD)
        told = [(one.status, one.id) for one in found.items]
        assert told == [*(("again", id) for id in again), *(("event", id) for id in fresh)]
        assert [one.lost for one in found.gaps] == ([len(group.gap)] if group.gap else [])
        self.note()
        assert found.lag == len(self.every) - group.seen
        assert round(found.due * 1000) == min(group.pending.values(), default=0)
        return found

    def ack(self, name: str) -> None:
        group = self.groups[name]
        ids = self.random.sample(sorted(group.pending), self.random.randint(0, len(group.pending)))
        others = self.random.sample(sorted(group.acked), min(len(group.acked), 2))
        found = self.bench.put("ack", group=name, item=[*ids, *others])
        assert found.acked == len(ids)
        for id in ids:
            del group.pending[id]
        group.acked.update(ids)
        if self.random.random() < 0.3:
            for gap in self.read(name, 1).gaps:
                self.bench.put("ack", group=name, gap=gap.number)
                group.gap.clear()

    def finish(self) -> None:
        """All groups read to the end."""
        for name, group in self.groups.items():
            while group.pending or group.seen < len(self.every):
                self.bench.pass_time(HOLD)
                self.read(name, 10)
                ids = sorted(group.pending)
                self.bench.put("ack", group=name, item=ids)
                group.acked.update(ids)
                group.pending.clear()
            assert group.acked | group.lost == set(self.every), "an event was neither delivered nor counted"
            assert not group.acked & group.lost
        stored = {one.name: one.about for one in self.bench.put("groups").items}
        assert {name: one["lost"] for name, one in stored.items()} == {
            name: len(group.lost) for name, group in self.groups.items()
        }


@pytest.mark.parametrize("seed", slow_after(3, range(20)))
def test_each_event_is_delivered_or_counted_as_lost(make_any: MakeAny, seed: int) -> None:
    bench: Any = make_any("events")
    history = History(bench, Random(seed))
    for _ in range(STEPS):
        history.step()
        bench.check()
    history.finish()
    bench.check()


def test_the_bound_of_memory_holds_whatever_groups_have_read(make_any: MakeAny) -> None:
    bench: Any = make_any("events")
    bench.add_events(1)
    bench.register("slow")
    for _ in range(20):
        bench.add_events(10)
        bench.trim_to(25)
    assert bench.ask("XLEN", ":events") == 25
    (gap,) = bench.put("read", group="slow").gaps
    assert gap.lost == 202 - 25

"""A base whose stored data is of an older layout: migrated once, told once, and older scripts refused from then on."""

from __future__ import annotations

import pytest

from tests.lua.bench import MakeAny
from tests.lua.workbench import Workbench

OLDER = ("layout", 0, "layout_min", 0)


@pytest.mark.parametrize("noun", ["queue", "lock"])
def test_it_is_migrated_once(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun)
    bench.real(bench.calls.configure())
    bench.ask("HSET", ":config", *OLDER)
    before = bench.dump()[":config"][1]
    for _ in range(2):
        bench.run(bench.calls.migrate())
        assert bench.dump()[":config"][1] == {**before, "layout": b"1", "layout_min": b"1"}


@pytest.mark.parametrize("noun", ["queue", "lock"])
def test_what_is_newer_stays_so(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun)
    bench.real(bench.calls.configure())
    bench.ask("HSET", ":config", "layout", 2)
    before = bench.dump()
    bench.run(bench.calls.migrate())
    assert bench.dump() == before


@pytest.mark.parametrize("noun", ["queue", "lock"])
def test_nothing_is_made_where_nothing_is(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun, "server")
    bench.run(bench.calls.migrate())
    assert bench.dump() == {}


def test_it_is_told(bench: Workbench) -> None:
    bench.fill(1)
    bench.ask("HSET", ":config", *OLDER)
    for _ in range(2):
        bench.run(bench.calls.migrate())
    assert [one["payload"] for one in bench.events("queue.migrated")] == [b"from=0 to=1"]

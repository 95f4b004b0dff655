"""A base whose stored data is of an older layout: migrated once, told once, and older scripts refused from then on."""

from __future__ import annotations

import pytest

from pyadeq._core.kernel.migration import Layout, newest_layout
from tests.nouns.benches import BENCHES
from tests.nouns.queue.workbench import Workbench
from tests.nouns.script_bench import MakeAny

OLDER = ("layout", 0, "layout_min", 0)
both = pytest.mark.parametrize("noun", BENCHES)


@both
def test_it_is_migrated_once_and_done_when_that_is_said(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun)
    bench.ask("HSET", bench.config, *OLDER)
    before = bench.dump()[bench.config][1]
    newest = newest_layout(noun)
    raised = {**before, "layout": b"%d" % newest, "layout_min": b"%d" % newest}
    assert bench.run(bench.calls.migrate(done=True)) == Layout(newest, 0)  # of data that was not raised, it is not so
    for _ in range(2):
        assert bench.run(bench.calls.migrate()) == Layout(newest, 0)
        assert bench.dump()[bench.config][1] == {**raised, "rewritten": b"0"}
    for done in (True, False):
        assert bench.run(bench.calls.migrate(done=done)) == Layout(newest, newest)
        assert bench.dump()[bench.config][1] == {**raised, "rewritten": b"%d" % newest}
    bench.ask("HSET", bench.config, *OLDER)
    assert bench.run(bench.calls.migrate()) == Layout(newest, newest)


@both
def test_what_is_newer_or_was_never_older_stays_so(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun)
    for layout in (newest_layout(noun), 99):
        bench.ask("HSET", bench.config, "layout", layout)
        before = bench.dump()
        for done in (True, False):
            assert bench.run(bench.calls.migrate(done=done)) == Layout(layout, layout)
        assert bench.dump() == before


@both
def test_nothing_is_made_where_nothing_is(make_any: MakeAny, noun: str) -> None:
    bench = make_any(noun, "server")
    for done in (True, False):
        assert bench.run(bench.calls.migrate(done=done)) == Layout(0, 0)
    assert bench.dump() == {}


def test_it_is_told(bench: Workbench) -> None:
    bench.fill(1)
    bench.ask("HSET", bench.config, *OLDER)
    for _ in range(2):
        bench.run(bench.calls.migrate())
    assert [one["payload"] for one in bench.events("queue.migrated")] == [b"from=0 to=2"]

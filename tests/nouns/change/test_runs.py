"""Runs of changes: what is applied is what was approved."""

from __future__ import annotations

import pytest

from tests.nouns.change.bench import Bench
from tests.nouns.change.states import approved, revised, watched
from tests.nouns.script_bench import MakeAny


@pytest.fixture
def bench(make_any: MakeAny) -> Bench:
    made: Bench = watched(make_any("change"))
    return made


def test_a_repeated_begin_has_the_content_that_was_approved_or_none(bench: Bench) -> None:
    one = approved(bench)
    begin = bench.call("begin", rid="r", agent="bot", lease=1, **one)
    first = bench.real(begin)
    bench.pass_time(1500)
    assert bench.real(bench.call("begin", rid="r", agent="bot", lease=1, **one)).content == first.content
    other = revised(bench, one)
    told = bench.real(bench.call("begin", rid="r", agent="bot", lease=1, **one))
    assert (told.status, told.rev, told.digest) == ("outdated", 2, other["digest"])

"""Paths of the script of badges."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.scenario import AnyCall, scenario


@scenario(0)
def step_of_the_settings(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"step": 5})
    return bench.call("step")


@scenario(0, clock="server")
def step_where_nothing_is_stored(bench: NounBench, _: int) -> AnyCall:
    return bench.call("step")

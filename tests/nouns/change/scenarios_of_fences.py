"""Paths of `raise_fence`."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.change.states import applying
from tests.nouns.scenario import AnyCall, scenario


@scenario(0)
def raise_fence_of_a_domain(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return bench.call("raise_fence", least=10**13)


@scenario(0)
def raise_fence_that_is_higher(bench: NounBench, _: int) -> AnyCall:
    applying(bench)
    return bench.call("raise_fence", least=1)


@scenario(0, clock="server")
def raise_fence_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("raise_fence", least=1)

"""What an adversary gets of a rule in the worst period, on a virtual clock: never more than is promised."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from tests.nouns.rate.bench import Bench, hit
from tests.nouns.script_bench import MakeAny
from tests.quick import examples

MOVES = 60
FEW = settings(max_examples=examples(60, 400), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    algorithm = draw(st.sampled_from(["gcra", "log"]))
    rule = {"algorithm": algorithm, "limit": draw(st.integers(1, 12)), "period_ms": draw(st.integers(1, 3000))}
    return rule | ({"burst": draw(st.integers(1, 12))} if algorithm == "gcra" else {})


@st.composite
def moves(draw: st.DrawFn, period_ms: int) -> list[tuple[int | None, int]]:
    """Pauses with costs. None: as long as the last refusal said."""
    pauses = st.none() | st.integers(0, 5) | st.integers(0, period_ms + 2) | st.just(period_ms)
    return draw(st.lists(st.tuples(pauses, st.integers(1, 4)), min_size=1, max_size=MOVES))


def attack(bench: Bench, rule: dict[str, Any], tried: list[tuple[int | None, int]]) -> list[tuple[int, int]]:
    """The hits that were allowed: when (ms), and their cost."""
    bench.put("set_rules", item=[{"name": "target", **rule}])
    allowed, wait_ms = [], 0
    for pause, cost in tried:
        bench.pass_time(wait_ms if pause is None else pause)
        answer = bench.run(hit(bench, ("target", "a", cost)))
        wait_ms = round(answer.retry * 1000) if answer.status == "refused" else 0
        if answer.status == "allowed":
            allowed.append((bench.now, cost))
        most = rule["burst"] if rule["algorithm"] == "gcra" else rule["limit"]
        assert (answer.status == "never") == (cost > most)
    return allowed


def worst(allowed: list[tuple[int, int]], period_ms: int) -> int:
    """The most that one period has; both of its ends belong to it."""
    ends = [at for at, _ in allowed]
    return max((sum(cost for at, cost in allowed if end - period_ms <= at <= end) for end in ends), default=0)


def promised(rule: dict[str, Any]) -> int:
    return int(rule["limit"] + (rule["burst"] if rule["algorithm"] == "gcra" else 0))


@FEW
@given(data=st.data())
def test_no_adversary_gets_more_in_a_period_than_promised(make_any: MakeAny, data: st.DataObject) -> None:
    bench, rule = make_any("rate"), data.draw(rules())
    found = worst(attack(bench, rule, data.draw(moves(rule["period_ms"]))), rule["period_ms"])
    target(float(found) / promised(rule))
    assert found <= promised(rule)
    bench.remove()


@pytest.mark.parametrize(
    "rule",
    [
        {"algorithm": "gcra", "limit": 10, "period_ms": 1000, "burst": 4},
        {"algorithm": "gcra", "limit": 3, "period_ms": 30, "burst": 1},
        {"algorithm": "gcra", "limit": 5, "period_ms": 500, "burst": 5},
        {"algorithm": "log", "limit": 5, "period_ms": 100},
        {"algorithm": "log", "limit": 1, "period_ms": 1},
    ],
    ids=str,
)
def test_who_never_waits_longer_than_told_gets_all_that_is_promised(make_any: MakeAny, rule: dict[str, Any]) -> None:
    bench = make_any("rate")
    assert worst(attack(bench, rule, [(None, 1)] * 60), rule["period_ms"]) == promised(rule)


def test_a_rule_that_changes_both_ways_never_gives_more_than_the_larger(make_any: MakeAny) -> None:
    bench, allowed = make_any("rate"), []
    for limit in (3, 9, 2, 9, 3, 1) * 3:
        allowed += attack(bench, {"algorithm": "log", "limit": limit, "period_ms": 1000}, [(0, 1)] * 10)
        bench.pass_time(130)
    assert worst(allowed, 1000) == 9

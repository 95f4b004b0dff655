"""What hits leave on the server, and what is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.rate.bench import Bench, hit
from tests.nouns.script_bench import MakeAny
from tests.nouns.watched import Refused


@pytest.fixture
def bench(make_any: MakeAny) -> Bench:
    bench: Bench = make_any("rate")
    return bench


@pytest.fixture
def real(make_any: MakeAny) -> Bench:
    """On the clock of the server."""
    bench: Bench = make_any("rate", "server")
    bench.rules()
    return bench


def made(bench: Bench, verb: str, **arguments: Any) -> Any:
    return bench.run(bench.call(verb, **arguments))


def remaining(bench: Bench, rule: str) -> int:
    left: int = bench.run(hit(bench, (rule, "a", 0))).items[0].remaining
    return left


def test_what_is_stored_of_a_subject_expires_by_itself(real: Bench) -> None:
    real.run(hit(real, ("even", "a", 2), ("exact", "a"), ("slots", "a"), rid="r"))
    ages = {name: real.ask("PTTL", f":{name}") for name in ("g:even|a", "l:exact|a", "c:slots|a", "r:r")}
    most = {"g:even|a": 12_000, "l:exact|a": 60_001, "c:slots|a": 3_600_000, "r:r": 60_000}
    assert {name for name, age in ages.items() if not 0 < age <= most[name]} == set()
    assert ages["c:slots|a"] > 3_500_000, "a rule may become one with the longest leases"
    made(real, "adjust", item=[("even", "a", "refund", 1), ("exact", "a", "refund", 1)], rid="q")
    assert 0 < real.ask("PTTL", ":g:even|a") <= 6000
    made(real, "adjust", item=[("even", "a", "refund", 1)], rid="p")
    assert real.ask("EXISTS", ":g:even|a", ":l:exact|a") == 0
    assert made(real, "release", item=[("slots", "a", "r"), ("slots", "a", "s")]).items[1].status == "gone"
    assert real.ask("EXISTS", ":c:slots|a") == 0
    assert 0 < real.ask("PTTL", ":r:s") <= 60_000


def test_a_refused_hit_without_a_rid_writes_nothing(bench: Bench) -> None:
    bench.hit(("even", "a", 3))
    before = bench.dump()
    call = bench.calls.call("hit", lambda answer: answer, {"item": [("exact", "a", None), ("even", "a", None)]})
    assert bench.run(call).status == "refused"
    assert bench.dump() == before


@pytest.mark.parametrize(("rule", "cost", "left"), [("even", 1, 1), ("even", 2, 2), ("even", 9, 3), ("exact", 2, 2)])
def test_a_refund_gives_no_more_than_the_rule_ever_allows(bench: Bench, rule: str, cost: int, left: int) -> None:
    bench.hit((rule, "a", 3))
    assert made(bench, "adjust", item=[(rule, "a", None, cost)]).items[0].remaining == left
    assert remaining(bench, rule) == left


@pytest.mark.parametrize(("cost", "left"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_a_refund_of_a_log_takes_the_oldest_hits(bench: Bench, cost: int, left: int) -> None:
    for number in range(3):
        bench.hit(("exact", "a"), rid=f"r{number}")
        bench.pass_time(1000)
    times = bench.ask("LRANGE", ":l:exact|a", 0, -1)
    assert made(bench, "adjust", item=[("exact", "a", "refund", cost)]).items[0].remaining == left
    assert bench.ask("LRANGE", ":l:exact|a", 0, -1) == times[: 3 - left]


def test_a_reset_gives_all_that_the_rule_allows(bench: Bench) -> None:
    bench.hit(("even", "a", 3), ("exact", "a", 3), ("slots", "a"), rid="r")
    item: list[Any] = [(rule, "a", "reset", None) for rule in ("even", "exact", "slots")]
    assert [one.remaining for one in made(bench, "adjust", item=item).items] == [3, 3, 2]
    assert [remaining(bench, rule) for rule in ("even", "exact", "slots")] == [3, 3, 2]


def test_a_log_tells_when_all_of_a_cost_fits(bench: Bench) -> None:
    for number in range(3):
        bench.hit(("exact", "a"), rid=f"r{number}")
        bench.pass_time(1000)
    waits = [bench.run(hit(bench, ("exact", "a", cost))).retry for cost in (1, 2, 3)]
    assert waits == [57.001, 58.001, 59.001]
    bench.pass_time(59_001)
    assert bench.hit(("exact", "a", 3)).status == "allowed"


def test_hits_that_only_look_need_no_rid_for_slots(bench: Bench) -> None:
    call = bench.calls.call("hit", lambda answer: answer, {"item": [("slots", "a", 0)]})
    assert bench.run(call).status == "allowed"
    assert bench.ask("EXISTS", ":c:slots|a") == 0


def test_a_rid_of_another_call_is_no_hit(bench: Bench) -> None:
    made(bench, "adjust", item=[("even", "a", None, 1)], rid="r")
    assert bench.run(hit(bench, ("even", "a"), rid="r")).status == "allowed"


def test_who_only_looks_is_not_remembered(bench: Bench) -> None:
    bench.run(hit(bench, ("even", "a", 0), rid="r"))
    assert bench.ask("EXISTS", ":r:r") == 0
    with pytest.raises(Refused, match=r"ADEQ_ARG rid must be given"):
        bench.run(bench.calls.call("hit", lambda answer: answer, {"item": [("slots", "a", 1)]}))
    assert bench.run(hit(bench, ("even", "a", 0), rid="r")).items[0].remaining == 3

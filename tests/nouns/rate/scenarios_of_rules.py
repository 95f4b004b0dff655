"""Paths of rules: stored, removed and read."""

from __future__ import annotations

from typing import Any

from tests.nouns.rate.bench import RULES, Bench
from tests.nouns.scenario import AnyCall, scenario, sent


def set_rules(bench: Bench, **rule: Any) -> AnyCall:
    return bench.call("set_rules", item=[{"name": "a", **rule}])


def fill(n: int) -> list[dict[str, Any]]:
    return [{"name": f"n{number}", "limit": 10, "period": 60} for number in range(n)]


def store(bench: Bench, n: int) -> None:
    """That many rules, and no others."""
    bench.put("set_rules", item=[{"name": name, "remove": True} for name in RULES])
    every = fill(n)
    for first in range(0, n, 100):
        bench.put("set_rules", item=every[first : first + 100])


@scenario(1, 100)
def set_rules_that_are_new(bench: Bench, n: int) -> AnyCall:
    return bench.call("set_rules", item=fill(n))


@scenario(1, 100)
def set_rules_remove(bench: Bench, n: int) -> AnyCall:
    bench.put("set_rules", item=fill(n))
    return bench.call("set_rules", item=[{"name": f"n{number}", "remove": True} for number in range(n)])


@scenario(0, clock="server")
def set_rules_first(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=10, period=60)


@scenario(0)
def set_rules_of_all_kinds(bench: Bench, _: int) -> AnyCall:
    return bench.call("set_rules", item=[{"name": name, **rule} for name, rule in RULES.items()])


@scenario(0)
def set_rules_to_their_defaults(bench: Bench, _: int) -> AnyCall:
    rules: dict[str, Any] = {"a": {"limit": 7, "period": 1}, "b": {"limit": 7, "algorithm": "concurrency"}}
    return bench.call("set_rules", item=[{"name": name, **rule} for name, rule in rules.items()])


@scenario(0)
def set_rules_as_they_are(bench: Bench, _: int) -> AnyCall:
    return bench.call(
        "set_rules", item=[{"name": "even", **RULES["even"]}, {"name": "quiet", **RULES["quiet"], "limit": 2}]
    )


@scenario(0)
def set_rules_remove_unknown(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, remove=True)


@scenario(0)
def set_rules_again(bench: Bench, _: int) -> AnyCall:
    call = bench.call("set_rules", item=[{"name": "a", "limit": 1, "period": 1}, {"name": "b", "remove": True}])
    sent(bench, call)
    bench.put("set_rules", item=[{"name": "a", "remove": True}])
    return call


@scenario(0)
def set_rules_beyond_a_thousand(bench: Bench, _: int) -> AnyCall:
    store(bench, 1000)
    return bench.call("set_rules", item=[*fill(2), {"name": "more", "limit": 1, "period": 1}])


@scenario(0)
def set_rules_remove_and_more(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, remove=True, limit=1)


@scenario(0)
def set_rules_without_a_limit(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, period=60)


@scenario(0)
def set_rules_without_a_period(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, algorithm="log")


@scenario(0)
def set_rules_of_slots_with_a_period(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, period=60, algorithm="concurrency")


@scenario(0)
def set_rules_of_slots_with_a_burst(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, burst=1, algorithm="concurrency")


@scenario(0)
def set_rules_of_a_log_with_a_burst(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, period=60, burst=1, algorithm="log")


@scenario(0)
def set_rules_of_a_log_that_is_too_long(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=5001, period=60, algorithm="log")


@scenario(0)
def set_rules_of_a_log_of_the_longest(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=5000, period=60, algorithm="log")


@scenario(0)
def set_rules_of_gcra_with_a_lease(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, period=60, lease=60)


@scenario(0)
def set_rules_that_are_too_fast(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=101, period=0.001)


@scenario(0)
def set_rules_that_are_as_fast_as_may_be(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=100, period=0.001)


@scenario(0)
def set_rules_whose_burst_takes_too_long(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, period=86_400, burst=32)


@scenario(0)
def set_rules_whose_burst_takes_long(bench: Bench, _: int) -> AnyCall:
    return set_rules(bench, limit=1, period=86_400, burst=31)


@scenario(1, 1000)
def rules_all(bench: Bench, n: int) -> AnyCall:
    store(bench, n)
    return bench.call("rules")


@scenario(0)
def rules_by_name(bench: Bench, _: int) -> AnyCall:
    return bench.call("rules", item=["slots", "odd", "quiet"])


@scenario(0)
def rules_of_the_bench(bench: Bench, _: int) -> AnyCall:
    return bench.call("rules")


@scenario(0, clock="server")
def rules_where_there_are_none(bench: Bench, _: int) -> AnyCall:
    return bench.call("rules")

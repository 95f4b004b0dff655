"""Paths of hits. Their rules are those of bench.py."""

from __future__ import annotations

from typing import Any

from tests.nouns.rate.bench import RULES, Bench, hit, ready
from tests.nouns.scenario import AnyCall, scenario, sent

MANY: dict[str, Any] = {f"n{number}": {"limit": 10, "period": 60} for number in range(8)}
LOGS: dict[str, Any] = {f"n{number}": {"algorithm": "log", "limit": 5000, "period": 60} for number in range(8)}
SLOTS: dict[str, Any] = {f"n{number}": {"algorithm": "concurrency", "limit": 2} for number in range(8)}


@scenario(1, 8)
def hit_rules_of_gcra(bench: Bench, n: int) -> AnyCall:
    bench.rules(**MANY)
    return hit(bench, *((f"n{number}", f"s{number}") for number in range(n)))


@scenario(1, 8)
def hit_rules_of_logs_of_many_hits(bench: Bench, n: int) -> AnyCall:
    """Most of them are too old, so the search for the first that counts is long."""
    bench.rules(**LOGS)
    for number in range(n):
        bench.hit((f"n{number}", "a", 4900), rid=f"old{number}")
    bench.pass_time(60_000)
    for number in range(n):
        bench.hit((f"n{number}", "a", 37), rid=f"new{number}")
    bench.pass_time(1)
    return hit(bench, *((f"n{number}", "a", 4963) for number in range(n)))


@scenario(1, 8)
def hit_rules_of_concurrency(bench: Bench, n: int) -> AnyCall:
    bench.rules(**SLOTS)
    return hit(bench, *((f"n{number}", "a") for number in range(n)), rid="lease")


@scenario(0)
def hit_rules_of_all_kinds(bench: Bench, _: int) -> AnyCall:
    ready(bench)
    return hit(bench, *((name, "a") for name in RULES))


@scenario(0)
def hit_without_a_rid(bench: Bench, _: int) -> AnyCall:
    ready(bench)
    return bench.calls.call("hit", lambda answer: answer, {"item": [("even", "a", 2), ("exact", "a", None)]})


@scenario(0, clock="server")
def hit_at_the_time_of_the_server(bench: Bench, _: int) -> AnyCall:
    ready(bench)
    return hit(bench, *((name, "a") for name in RULES))


@scenario(0)
def hit_after_a_while(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3)).pass_time(17_000)
    return hit(bench, ("even", "a", 2))


@scenario(0)
def hit_too_soon(bench: Bench, _: int) -> AnyCall:
    """All of them are refused; of gcra later than of the log."""
    ready(bench, ("even", "a", 3), ("exact", "a", 2)).pass_time(1000)
    return hit(bench, ("exact", "a", 2), ("even", "a"))


@scenario(0)
def hit_where_one_rule_refuses(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3))
    return hit(bench, ("exact", "a"), ("even", "a"), ("quiet", "a"))


@scenario(0)
def hit_more_than_a_rule_allows_at_once(bench: Bench, _: int) -> AnyCall:
    """The last rule refuses, too, but what is never allowed counts more."""
    ready(bench, ("even", "b", 3))
    return hit(bench, ("even", "a", 4), ("exact", "a", 4), ("even", "b"))


@scenario(0)
def hit_of_a_shadow_rule_that_would_refuse(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("quiet", "a"))
    return hit(bench, ("quiet", "a"), ("even", "a"), ("quiet", "b", 2))


@scenario(0)
def hit_that_only_looks(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a"), ("exact", "a"), ("slots", "a"))
    return hit(bench, *((name, "a", 0) for name in RULES))


@scenario(0)
def hit_that_looks_at_one_rule(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("exact", "a", 3))
    return hit(bench, ("exact", "a", 0), ("even", "a"))


@scenario(0)
def hit_of_a_log_that_is_over(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("exact", "a", 3)).pass_time(60_001)
    return hit(bench, ("exact", "a"))


@scenario(0)
def hit_of_a_log_whose_last_is_over(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("exact", "a")).pass_time(50_000)
    bench.hit(("exact", "a", 2), rid="q")
    bench.pass_time(10_001)
    return hit(bench, ("exact", "a"))


@scenario(0)
def hit_of_a_log_at_the_end_of_its_period(bench: Bench, _: int) -> AnyCall:
    """The times at both ends of a period belong to it."""
    ready(bench, ("exact", "a", 3)).pass_time(60_000)
    return hit(bench, ("exact", "a"))


@scenario(0)
def hit_of_a_log_after_the_clock_went_back(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("exact", "a")).pass_time(-5000)
    return hit(bench, ("exact", "a"))


@scenario(0)
def hit_of_a_log_with_a_lower_limit(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("exact", "a", 3)).pass_time(1000)
    bench.put("set_rules", item=[{"name": "exact", **RULES["exact"], "limit": 2}])
    return hit(bench, ("exact", "a", 0), ("even", "a"))


@scenario(0)
def hit_of_a_rule_with_a_lower_burst(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3))
    bench.put("set_rules", item=[{"name": "even", **RULES["even"], "burst": 1}])
    return hit(bench, ("even", "a"))


@scenario(0)
def hit_where_all_slots_are_taken(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("slots", "a")).pass_time(2000)
    bench.hit(("slots", "a"), rid="q")
    bench.pass_time(1500)
    return hit(bench, ("slots", "a"))


@scenario(0)
def hit_where_more_slots_are_taken_than_there_are(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("slots", "a")).pass_time(2000)
    bench.hit(("slots", "a"), rid="q")
    bench.put("set_rules", item=[{"name": "slots", **RULES["slots"], "limit": 1}])
    return hit(bench, ("slots", "a"))


@scenario(0)
def hit_that_looks_where_more_slots_are_taken(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("slots", "a"))
    bench.hit(("slots", "a"), rid="q")
    bench.put("set_rules", item=[{"name": "slots", **RULES["slots"], "limit": 1}])
    return hit(bench, ("slots", "a", 0))


@scenario(0)
def hit_where_a_slot_is_free_again(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("slots", "a")).pass_time(1)
    bench.hit(("slots", "a"), rid="q")
    bench.pass_time(29_999)
    return hit(bench, ("slots", "a"))


@scenario(0)
def hit_of_a_lease_that_was_given_back(bench: Bench, _: int) -> AnyCall:
    ready(bench).put("release", item=[("slots", "a", "early")])
    return hit(bench, ("slots", "a"), rid="early")


@scenario(0)
def hit_a_minute_after_a_lease_was_given_back(bench: Bench, _: int) -> AnyCall:
    ready(bench).put("release", item=[("slots", "a", "early")])
    bench.pass_time(60_000)
    return hit(bench, ("slots", "a"), rid="early")


@scenario(0)
def hit_again(bench: Bench, _: int) -> AnyCall:
    return sent(ready(bench), hit(bench, ("even", "a"), ("exact", "a"), ("slots", "a")))


@scenario(0)
def hit_again_after_a_refusal(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3))
    call = sent(bench, hit(bench, ("even", "a"), rid="r"))
    bench.put("adjust", item=[("even", "a", "reset", None)])
    return call


@scenario(0)
def hit_of_an_unknown_rule(bench: Bench, _: int) -> AnyCall:
    return hit(ready(bench), ("even", "a"), ("odd", "a"))


@scenario(0)
def hit_of_a_rule_twice(bench: Bench, _: int) -> AnyCall:
    return hit(ready(bench), ("even", "a"), ("even", "b"), ("even", "a"))


@scenario(0)
def hit_of_several_slots(bench: Bench, _: int) -> AnyCall:
    return hit(ready(bench), ("slots", "a", 2))


@scenario(0)
def hit_of_a_slot_without_a_rid(bench: Bench, _: int) -> AnyCall:
    ready(bench)
    return bench.calls.call("hit", lambda answer: answer, {"item": [("slots", "a", None)]})


@scenario(0, clock="server")
def hit_where_nothing_is(bench: Bench, _: int) -> AnyCall:
    return hit(bench, ("even", "a"))


@scenario(0, clock="server")
def hit_of_a_newer_layout(bench: Bench, _: int) -> AnyCall:
    ready(bench).ask("HSET", ":config", "layout_min", 2)
    return hit(bench, ("even", "a"))


@scenario(0, clock="server")
def hit_where_the_layout_was_lost(bench: Bench, _: int) -> AnyCall:
    ready(bench).ask("HDEL", ":config", "layout", "layout_min")
    return hit(bench, ("even", "a"))

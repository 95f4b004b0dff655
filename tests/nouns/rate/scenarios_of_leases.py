"""Paths of leases given back and renewed, and of hits taken back."""

from __future__ import annotations

from tests.nouns.rate.bench import Bench, ready
from tests.nouns.scenario import AnyCall, scenario, sent


def leased(bench: Bench, n: int) -> Bench:
    bench.rules(slots={"algorithm": "concurrency", "limit": 100, "lease": 30})
    for number in range(n):
        bench.hit(("slots", "a"), rid=f"lease{number}")
    return bench


@scenario(1, 100)
def release_all(bench: Bench, n: int) -> AnyCall:
    return leased(bench, n).call("release", item=[("slots", "a", f"lease{number}") for number in range(n)])


@scenario(1, 100)
def release_before_their_hits(bench: Bench, n: int) -> AnyCall:
    return bench.call("release", item=[("slots", "a", f"lease{number}") for number in range(n)])


@scenario(0, clock="server")
def release_before_the_first_hit(bench: Bench, _: int) -> AnyCall:
    return bench.call("release", item=[("slots", "a", "lease")])


@scenario(0)
def release_after_its_end(bench: Bench, _: int) -> AnyCall:
    leased(bench, 1).pass_time(30_000)
    return bench.call("release", item=[("slots", "a", "lease0")])


@scenario(0)
def release_twice(bench: Bench, _: int) -> AnyCall:
    return sent(leased(bench, 1), bench.call("release", item=[("slots", "a", "lease0")]))


@scenario(0)
def release_twice_before_its_hit(bench: Bench, _: int) -> AnyCall:
    return sent(bench, bench.call("release", item=[("slots", "a", "lease0")]))


@scenario(1, 100)
def renew_all(bench: Bench, n: int) -> AnyCall:
    leased(bench, n).pass_time(10_000)
    return bench.call("renew", item=[("slots", "a", f"lease{number}") for number in range(n)])


@scenario(0, clock="server")
def renew_at_the_time_of_the_server(bench: Bench, _: int) -> AnyCall:
    return leased(bench, 1).call("renew", item=[("slots", "a", "lease0")])


@scenario(0)
def renew_after_its_end(bench: Bench, _: int) -> AnyCall:
    leased(bench, 1).pass_time(30_000)
    return bench.call("renew", item=[("slots", "a", "lease0"), ("slots", "b", "lease0")])


@scenario(0)
def renew_of_another_rule(bench: Bench, _: int) -> AnyCall:
    return leased(bench, 1).call("renew", item=[("slots", "a", "lease0"), ("even", "a", "lease0")])


@scenario(0, clock="server")
def renew_where_nothing_is(bench: Bench, _: int) -> AnyCall:
    return bench.call("renew", item=[("slots", "a", "lease0")])


@scenario(1, 8)
def adjust_logs_of_many_hits(bench: Bench, n: int) -> AnyCall:
    bench.rules(exact={"algorithm": "log", "limit": 5000, "period": 60})
    for number in range(n):
        bench.hit(("exact", f"s{number}", 4900), rid=f"old{number}")
    bench.pass_time(60_000)
    for number in range(n):
        bench.hit(("exact", f"s{number}", 37), rid=f"new{number}")
    bench.pass_time(1)
    return bench.call("adjust", item=[("exact", f"s{number}", None, 7) for number in range(n)])


@scenario(0)
def adjust_a_part(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3), ("exact", "a", 3)).pass_time(1000)
    return bench.call("adjust", item=[("even", "a", "refund", 2), ("exact", "a", "refund", 2)])


@scenario(0)
def adjust_more_than_was_counted(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3), ("exact", "a", 1)).pass_time(1000)
    return bench.call("adjust", item=[("even", "a", None, 5), ("exact", "a", None, 2), ("exact", "b", None, 1)])


@scenario(0, clock="server")
def adjust_at_the_time_of_the_server(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3))
    return bench.call("adjust", item=[("even", "a", None, 1)])


@scenario(0)
def adjust_a_log_with_a_lower_limit(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("exact", "a", 3))
    bench.put("set_rules", item=[{"name": "exact", "algorithm": "log", "limit": 1, "period": 60}])
    return bench.call("adjust", item=[("exact", "a", None, 1)])


@scenario(0)
def adjust_to_nothing(bench: Bench, _: int) -> AnyCall:
    ready(bench, ("even", "a", 3), ("exact", "a", 3), ("slots", "a"))
    return bench.call("adjust", item=[(name, "a", "reset", None) for name in ("even", "exact", "slots")])


@scenario(0)
def adjust_again(bench: Bench, _: int) -> AnyCall:
    return sent(ready(bench, ("even", "a", 3)), bench.call("adjust", item=[("even", "a", None, 1)]))


@scenario(0)
def adjust_an_unknown_rule(bench: Bench, _: int) -> AnyCall:
    return ready(bench).call("adjust", item=[("odd", "a", "reset", None)])


@scenario(0)
def adjust_slots_by_a_refund(bench: Bench, _: int) -> AnyCall:
    return ready(bench).call("adjust", item=[("slots", "a", "refund", 1)])

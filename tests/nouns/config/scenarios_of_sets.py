"""Paths of `set` and `sweep`."""

from __future__ import annotations

from tests.nouns.config.bench import Bench
from tests.nouns.scenario import AnyCall, scenario, sent

DAY = 86_400_000
LARGE = b"x" * 65_536


@scenario(1, 100)
def set_new_names(bench: Bench, n: int) -> AnyCall:
    items = [{"name": f"n{number}", "value": b"v", "expect": 0} for number in range(n)]
    return bench.call("set", rid="r", item=items, actor="ann", reason="because")


@scenario(0, clock="server")
def set_the_first_name(bench: Bench, _: int) -> AnyCall:
    return bench.call("set", rid="r", item=[{"name": "a", "value": b""}])


@scenario(1, 100)
def set_names_that_have_values(bench: Bench, n: int) -> AnyCall:
    bench.fill(n)
    bench.pass_time(1000)
    return bench.call("set", rid="r", item=[{"name": f"n{number:05}", "value": b"w"} for number in range(n)])


@scenario(0)
def set_what_was_seen(bench: Bench, _: int) -> AnyCall:
    version = bench.set("a").rev
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w", "expect": version}])


@scenario(0)
def set_what_another_has_set(bench: Bench, _: int) -> AnyCall:
    version = bench.set("a", "b").rev
    bench.set("a")
    items = [{"name": name, "value": b"w", "expect": version} for name in ("a", "b")]
    return bench.call("set", rid="r", item=[*items, {"name": "c", "value": b"w"}])


@scenario(0)
def set_a_new_name_that_is_there(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w", "expect": 0}])


@scenario(0)
def set_a_removed_name(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.remove_names("a")
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w", "expect": 0}])


@scenario(0)
def set_a_removed_name_by_its_old_version(bench: Bench, _: int) -> AnyCall:
    version = bench.set("a").rev
    bench.remove_names("a")
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w", "expect": version}])


@scenario(0)
def set_twice_in_a_millisecond(bench: Bench, _: int) -> AnyCall:
    assert bench.set("a").rev == bench.now * 1000
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w"}])


@scenario(0)
def set_where_the_clock_went_back(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.pass_time(-60_000)
    return bench.call("set", rid="r", item=[{"name": "b", "value": b"w"}])


@scenario(0)
def set_again(bench: Bench, _: int) -> AnyCall:
    bench.set("b")
    items = [{"name": "a", "value": b"v"}, {"name": "b", "remove": True}, {"name": "c", "remove": True}]
    return sent(bench, bench.call("set", rid="r", item=items))


@scenario(0)
def set_again_after_a_conflict(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    items = [{"name": "a", "value": b"w", "expect": 7}, {"name": "b", "value": b"w"}]
    call = sent(bench, bench.call("set", rid="r", item=items))
    bench.remove_names("a")
    return call


@scenario(0)
def set_again_what_another_has_set(bench: Bench, _: int) -> AnyCall:
    call = sent(bench, bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}]))
    bench.set("a")
    return call


@scenario(0)
def set_a_name_twice(bench: Bench, _: int) -> AnyCall:
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}, {"name": "a", "value": b"w"}])


@scenario(0)
def set_and_remove_a_name(bench: Bench, _: int) -> AnyCall:
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v", "remove": True}])


@scenario(1, 100)
def set_and_remove_names(bench: Bench, n: int) -> AnyCall:
    bench.fill(n)
    bench.pass_time(1000)
    items = [{"name": f"n{number:05}", "remove": True} for number in range(n)]
    return bench.call("set", rid="r", item=items, actor="ann")


@scenario(0)
def set_and_remove_what_is_missing(bench: Bench, _: int) -> AnyCall:
    bench.set("a", "b")
    bench.remove_names("b")
    return bench.call("set", rid="r", item=[{"name": "b", "remove": True}, {"name": "c", "remove": True, "expect": 0}])


@scenario(0)
def set_one_and_remove_what_is_missing(bench: Bench, _: int) -> AnyCall:
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}, {"name": "b", "remove": True}])


@scenario(0, clock="server")
def set_and_remove_where_nothing_is(bench: Bench, _: int) -> AnyCall:
    return bench.call("set", rid="r", item=[{"name": "a", "remove": True}])


@scenario(0)
def set_the_last_name_that_is_allowed(bench: Bench, _: int) -> AnyCall:
    filled(bench, 2, of=3)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(0)
def set_one_name_too_many(bench: Bench, _: int) -> AnyCall:
    filled(bench, 2, of=3)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}, {"name": "b", "value": b"v"}])


@scenario(0)
def set_again_one_name_too_many(bench: Bench, _: int) -> AnyCall:
    filled(bench, 3, of=3)
    return sent(bench, bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}]))


@scenario(0)
def set_one_name_beside_those_that_are_removed(bench: Bench, _: int) -> AnyCall:
    filled(bench, 3, of=3)
    bench.remove_names("n00000")
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(0)
def set_one_for_one_that_is_removed(bench: Bench, _: int) -> AnyCall:
    filled(bench, 3, of=3)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}, {"name": "n00000", "remove": True}])


@scenario(0)
def set_a_name_of_a_full_namespace(bench: Bench, _: int) -> AnyCall:
    filled(bench, 3, of=3)
    return bench.call("set", rid="r", item=[{"name": "n00000", "value": b"w"}])


@scenario(0)
def set_a_name_of_a_namespace_that_is_too_full(bench: Bench, _: int) -> AnyCall:
    filled(bench, 3, of=3)
    bench.put("configure", settings={"names_max": 2})
    return bench.call("set", rid="r", item=[{"name": "n00000", "value": b"w"}])


@scenario(99, 100)
def set_beyond_the_versions_that_are_kept(bench: Bench, n: int) -> AnyCall:
    for number in range(n):
        bench.set("a", value=b"%d" % number)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w"}])


@scenario(1, 16)
def set_beyond_the_bytes_that_are_kept(bench: Bench, n: int) -> AnyCall:
    for _ in range(n):
        bench.set("a", value=LARGE)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w"}])


@scenario(1, 100)
def set_where_large_versions_take_the_place_of_small_ones(bench: Bench, n: int) -> AnyCall:
    bench.put("configure", settings={"events_max": 0})  # so many would be trimmed, where the server likes
    names = [f"n{number}" for number in range(n)]
    for value in [b"v"] * 84 + [LARGE] * 16:
        bench.set(*names, value=value)
    return bench.call("set", rid="r", item=[{"name": name, "value": b"w"} for name in names])


@scenario(0)
def set_a_name_whose_record_is_lost(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.ask("DEL", ":value:a")
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w", "expect": 0}])


@scenario(0)
def set_a_name_whose_history_is_lost(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.set("a")
    bench.ask("DEL", ":history:a")
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"w"}])


@scenario(0)
def set_beyond_the_revs_that_are_kept(bench: Bench, _: int) -> AnyCall:
    for number in range(1000):
        bench.ask("ZADD", ":revs", number + 1, number + 1)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(1, 11)
def set_and_forget_what_was_removed(bench: Bench, n: int) -> AnyCall:
    bench.fill(n + 1)
    bench.fill(n + 1)
    bench.remove_names(*(f"n{number:05}" for number in range(n)))
    bench.pass_time(DAY)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(0)
def set_and_forget_nothing_yet(bench: Bench, _: int) -> AnyCall:
    bench.set("b")
    bench.remove_names("b")
    bench.pass_time(DAY - 1)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(0)
def set_and_forget_by_the_settings(bench: Bench, _: int) -> AnyCall:
    bench.put("configure", settings={"removed": 60})
    bench.set("b")
    bench.remove_names("b")
    bench.pass_time(60_000)
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(0)
def set_and_forget_more_removals_than_are_kept(bench: Bench, _: int) -> AnyCall:
    filled(bench, 3, of=3)
    for number in range(3):
        bench.remove_names(f"n{number:05}")
        bench.pass_time(1)
    bench.set("a", "b")
    return bench.call("set", rid="r", item=[{"name": "a", "remove": True}, {"name": "b", "remove": True}])


@scenario(0)
def set_without_events(bench: Bench, _: int) -> AnyCall:
    bench.put("configure", settings={"events_max": 0})
    return bench.call("set", rid="r", item=[{"name": "a", "value": b"v"}])


@scenario(1, 1000)
def sweep_some(bench: Bench, n: int) -> AnyCall:
    bench.fill(n)
    for first in range(0, n, 100):
        bench.remove_names(*(f"n{number:05}" for number in range(first, min(first + 100, n))))
    bench.pass_time(DAY)
    return bench.call("sweep", limit=1000)


@scenario(0)
def sweep_as_many_as_wanted(bench: Bench, _: int) -> AnyCall:
    bench.fill(3)
    bench.remove_names("n00000", "n00001", "n00002")
    bench.pass_time(DAY)
    return bench.call("sweep", limit=2)


@scenario(0)
def sweep_what_a_rev_is_older_than(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.set("b")
    bench.remove_names("a")
    bench.set("b")
    bench.pass_time(DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_what_is_lost(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.remove_names("a")
    bench.ask("ZREM", ":changed", "a")
    bench.pass_time(DAY)
    return bench.call("sweep")


@scenario(0)
def sweep_nothing(bench: Bench, _: int) -> AnyCall:
    return bench.call("sweep")


def filled(bench: Bench, n: int, of: int) -> None:
    """A namespace with so many names of those that it may have."""
    bench.put("configure", settings={"names_max": of})
    bench.fill(n)

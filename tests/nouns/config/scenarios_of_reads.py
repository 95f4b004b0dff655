"""Paths of `read` and `history`."""

from __future__ import annotations

from tests.nouns.config.bench import Bench
from tests.nouns.scenario import AnyCall, scenario

DAY = 86_400_000
LARGE = b"x" * 65_536


@scenario(1, 50)
def read_names(bench: Bench, n: int) -> AnyCall:
    bench.fill(n, value=LARGE if n > 1 else b"v")
    return bench.call("read", item=[f"n{number:05}" for number in range(n)])


@scenario(0)
def read_names_without_a_value(bench: Bench, _: int) -> AnyCall:
    bench.set("a", "b", actor="ann", reason="because")
    bench.remove_names("b")
    return bench.call("read", item=["a", "b", "c"])


@scenario(0)
def read_names_since(bench: Bench, _: int) -> AnyCall:
    return bench.call("read", item=["a"], since=1)


@scenario(0)
def read_names_from_a_cursor(bench: Bench, _: int) -> AnyCall:
    return bench.call("read", item=["a"], cursor="1 1 1 a")


@scenario(1, 1000)
def read_all(bench: Bench, n: int) -> AnyCall:
    bench.fill(n)
    return bench.call("read", limit=1000)


@scenario(0)
def read_all_but_what_is_removed(bench: Bench, _: int) -> AnyCall:
    bench.fill(3)
    bench.remove_names("n00001")
    return bench.call("read")


@scenario(0, clock="server")
def read_where_nothing_is(bench: Bench, _: int) -> AnyCall:
    return bench.call("read")


@scenario(2, 3)
def read_a_page(bench: Bench, n: int) -> AnyCall:
    bench.fill(n)
    return bench.call("read", limit=2)


@scenario(15, 16)
def read_as_many_bytes_as_a_page_has(bench: Bench, n: int) -> AnyCall:
    for number in range(n):
        bench.set(f"n{number:05}", value=LARGE)
    return bench.call("read", limit=1000)


@scenario(0)
def read_the_next_page(bench: Bench, _: int) -> AnyCall:
    bench.fill(5)
    return bench.call("read", limit=2, cursor=bench.put("read", limit=2).cursor)


@scenario(0)
def read_the_next_page_after_a_change(bench: Bench, _: int) -> AnyCall:
    bench.fill(5)
    cursor = bench.put("read", limit=2).cursor
    bench.set("n00003", "new")
    return bench.call("read", limit=2, cursor=cursor)


@scenario(0)
def read_the_next_page_after_its_last_name_has_changed(bench: Bench, _: int) -> AnyCall:
    bench.fill(5)
    cursor = bench.put("read", limit=2).cursor
    bench.set("n00001")
    return bench.call("read", limit=2, cursor=cursor)


@scenario(0)
def read_the_last_page_after_a_removal(bench: Bench, _: int) -> AnyCall:
    """A reader of all is told only of the removed name that an earlier page may have had."""
    bench.fill(4)
    bench.remove_names("n00003")
    cursor = bench.put("read", limit=2).cursor
    bench.remove_names("n00000")
    return bench.call("read", limit=4, cursor=cursor)


@scenario(0)
def read_the_next_page_where_the_first_is_forgotten(bench: Bench, _: int) -> AnyCall:
    bench.fill(5)
    first = bench.put("read", limit=2)
    bench.set("a")
    bench.ask("ZREM", ":revs", first.rev)
    return bench.call("read", limit=2, cursor=first.cursor)


@scenario(0)
def read_the_next_page_of_lost_writes(bench: Bench, _: int) -> AnyCall:
    bench.fill(5)
    cursor = bench.put("read", limit=2).cursor
    bench.set("a")
    second = bench.put("read", limit=2, cursor=cursor)
    bench.set("b")
    bench.ask("ZREM", ":revs", second.rev)
    return bench.call("read", limit=2, cursor=second.cursor)


@scenario(0)
def read_from_a_bad_cursor(bench: Bench, _: int) -> AnyCall:
    return bench.call("read", cursor="x")


@scenario(1, 1000)
def read_what_has_changed(bench: Bench, n: int) -> AnyCall:
    since = bench.set("a").rev
    bench.fill(n)
    return bench.call("read", since=since, limit=1000)


@scenario(0)
def read_what_was_removed(bench: Bench, _: int) -> AnyCall:
    since = bench.set("a", "b").rev
    bench.remove_names("b")
    return bench.call("read", since=since)


@scenario(0)
def read_where_nothing_has_changed(bench: Bench, _: int) -> AnyCall:
    return bench.call("read", since=bench.set("a").rev)


@scenario(0)
def read_the_next_page_of_what_has_changed(bench: Bench, _: int) -> AnyCall:
    since = bench.set("a").rev
    bench.fill(5)
    return bench.call("read", since=since, limit=2, cursor=bench.put("read", since=since, limit=2).cursor)


@scenario(0)
def read_since_a_rev_that_is_lost(bench: Bench, _: int) -> AnyCall:
    return bench.call("read", since=bench.set("a").rev + 1)


@scenario(0)
def read_since_before_a_removal_that_is_forgotten(bench: Bench, _: int) -> AnyCall:
    since = bench.set("a", "b").rev
    bench.remove_names("a")
    bench.pass_time(DAY)
    bench.put("sweep")
    return bench.call("read", since=since)


@scenario(0)
def read_since_a_removal_that_is_forgotten(bench: Bench, _: int) -> AnyCall:
    bench.set("a", "b")
    since = bench.remove_names("a").rev
    bench.set("b")
    bench.pass_time(DAY)
    bench.put("sweep")
    return bench.call("read", since=since)


@scenario(0)
def read_the_next_page_after_a_removal_was_forgotten(bench: Bench, _: int) -> AnyCall:
    since = bench.set("a", "b").rev
    bench.remove_names("a")
    bench.fill(3)
    cursor = bench.put("read", since=since, limit=2).cursor
    bench.pass_time(DAY)
    bench.put("sweep")
    return bench.call("read", since=since, limit=2, cursor=cursor)


@scenario(0)
def read_where_the_revs_are_lost(bench: Bench, _: int) -> AnyCall:
    since = bench.set("a").rev
    bench.ask("DEL", ":revs")
    return bench.call("read", since=since)


@scenario(0)
def read_what_has_no_record(bench: Bench, _: int) -> AnyCall:
    since = bench.set("a", "b").rev
    bench.set("b")
    bench.ask("DEL", ":value:b")
    return bench.call("read", since=since)


@scenario(1, 99)
def history_of_a_name(bench: Bench, n: int) -> AnyCall:
    for number in range(n + 1):
        bench.set("a", value=b"%d" % number, actor="ann", reason="try again")
        bench.pass_time(1)
    return bench.call("history", name="a", limit=100)


@scenario(0)
def history_with_removals(bench: Bench, _: int) -> AnyCall:
    bench.set("a", value=b"1 2 3", actor="ann", reason=b"\xff")
    bench.remove_names("a")
    bench.set("a", value=b"")
    return bench.call("history", name="a")


@scenario(0)
def history_of_a_removed_name(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    bench.remove_names("a")
    return bench.call("history", name="a")


@scenario(0)
def history_of_one_version(bench: Bench, _: int) -> AnyCall:
    version = bench.set("a", value=b"1").rev
    bench.set("a", value=b"2")
    bench.set("a", value=b"3")
    return bench.call("history", name="a", version=version)


@scenario(0)
def history_of_a_version_that_never_was(bench: Bench, _: int) -> AnyCall:
    bench.set("a")
    return bench.call("history", name="a", version=7)


@scenario(2, 3)
def history_of_a_page(bench: Bench, n: int) -> AnyCall:
    for _ in range(n):
        bench.set("a")
    return bench.call("history", name="a", limit=2)


@scenario(0)
def history_of_the_next_page(bench: Bench, _: int) -> AnyCall:
    for _ in range(5):
        bench.set("a")
    return bench.call("history", name="a", limit=2, cursor=bench.put("history", name="a", limit=2).cursor)


@scenario(0)
def history_from_a_bad_cursor(bench: Bench, _: int) -> AnyCall:
    return bench.call("history", name="a", cursor="x")


@scenario(0)
def history_of_what_is_missing(bench: Bench, _: int) -> AnyCall:
    return bench.call("history", name="a")

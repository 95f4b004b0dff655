"""Paths of the scripts of event groups."""

from __future__ import annotations

from tests.nouns.events.bench import Bench
from tests.nouns.scenario import AnyCall, scenario, sent

DAY = 86_400_000
LONG = ("payload", "x" * 300_000)


def groups(n: int) -> list[str]:
    return [f"g{number}" for number in range(n)]


def reading(bench: Bench, n: int = 1, group: str = "a") -> list[str]:
    """A group that has read so many events."""
    ids = bench.add_events(n)
    bench.register(group)
    assert bench.read(group, limit=max(n, 1)) == ids
    return ids


# register


@scenario(0)
def register_for_all_events(bench: Bench, _: int) -> AnyCall:
    bench.add_events(3)
    bench.trim_to(2)
    return bench.call("register", group="a")


@scenario(0)
def register_for_those_to_come(bench: Bench, _: int) -> AnyCall:
    bench.add_events(3)
    return bench.call("register", group="a", start="now")


@scenario(0)
def register_for_the_first_event_that_ever_was(bench: Bench, _: int) -> AnyCall:
    bench.add_events(3)
    bench.trim_to(2)
    return bench.call("register", group="a", start="first")


@scenario(0)
def register_without_a_stream(bench: Bench, _: int) -> AnyCall:
    return bench.call("register", group="a")


@scenario(0)
def register_again(bench: Bench, _: int) -> AnyCall:
    return sent(bench, bench.call("register", group="a"))


@scenario(99)
def register_the_last_one(bench: Bench, n: int) -> AnyCall:
    bench.register(*groups(n))
    return bench.call("register", group="a")


@scenario(100)
def register_one_too_many(bench: Bench, n: int) -> AnyCall:
    bench.register(*groups(n))
    return bench.call("register", group="a")


@scenario(0)
def register_where_nothing_is_stored(bench: Bench, _: int) -> AnyCall:
    bench.ask("DEL", ":config")
    return bench.call("register", group="a")


@scenario(0, clock="server")
def register_before_anything_is_stored(bench: Bench, _: int) -> AnyCall:
    return bench.call("register", group="a", create=True)


@scenario(0, clock="server")
def register_the_first(bench: Bench, _: int) -> AnyCall:
    bench.make_home()
    return bench.call("register", group="a")


# read


@scenario(1, 1000)
def read_new_ones(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n)
    bench.register("a")
    return bench.call("read", group="a", limit=n)


@scenario(3)
def read_with_all_fields(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n, "payload", "place=1", "source", "tests", "trace", "00-t-s-01")
    bench.register("a")
    return bench.call("read", group="a", limit=2, hold=5)


@scenario(0)
def read_none(bench: Bench, _: int) -> AnyCall:
    bench.add_events(1)
    bench.register("a", start="now")
    return bench.call("read", group="a")


@scenario(0)
def read_none_after_a_while(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    bench.pass_time(60_000)
    return bench.call("read", group="a")


@scenario(1, 1000)
def read_again(bench: Bench, n: int) -> AnyCall:
    reading(bench, n)
    bench.pass_time(60_000)
    return bench.call("read", group="a", limit=n)


@scenario(0)
def read_again_before_the_time(bench: Bench, _: int) -> AnyCall:
    reading(bench)
    bench.pass_time(59_998)
    return bench.call("read", group="a")


@scenario(1)
def read_again_and_new_ones(bench: Bench, n: int) -> AnyCall:
    reading(bench, n)
    bench.pass_time(60_000)
    bench.add_events(2)
    return bench.call("read", group="a", limit=2)


@scenario(1, 9999)
def read_where_pending_ones_were_trimmed(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n + 1)
    bench.register("a")
    for _ in range(0, n, 1000):
        bench.read(limit=min(n, 1000))
    bench.trim_to(1)
    return bench.call("read", group="a", limit=1000)


@scenario(0)
def read_where_a_pending_one_was_deleted(bench: Bench, _: int) -> AnyCall:
    ids = reading(bench, 3)
    bench.ask("XDEL", ":events", ids[1])  # no script does that
    bench.pass_time(60_000)
    return bench.call("read", group="a")


@scenario(2)
def read_after_a_gap(bench: Bench, n: int) -> AnyCall:
    reading(bench)
    bench.add_events(3)
    bench.trim_to(n)
    return bench.call("read", group="a")


@scenario(0)
def read_after_all_was_trimmed(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    bench.add_events(3)
    bench.trim_to(0)
    return bench.call("read", group="a")


@scenario(0)
def read_a_gap_that_has_grown(bench: Bench, _: int) -> AnyCall:
    reading(bench)
    bench.add_events(3)
    bench.trim_to(2)
    bench.read(limit=1)
    bench.add_events(3)
    bench.trim_to(1)
    return bench.call("read", group="a")


@scenario(0)
def read_a_gap_that_has_grown_at_its_begin(bench: Bench, _: int) -> AnyCall:
    bench.add_events(4)
    bench.register("a")
    bench.read(limit=2)
    bench.add_events(3)
    bench.trim_to(2)
    bench.read(limit=1)
    bench.pass_time(60_000)
    return bench.call("read", group="a")


@scenario(0)
def read_a_stream_that_was_deleted(bench: Bench, _: int) -> AnyCall:
    reading(bench, 5)
    bench.ask("DEL", ":events")
    bench.add_events(2)
    return bench.call("read", group="a")


@scenario(0)
def read_a_gap_of_unknown_size_that_has_grown(bench: Bench, _: int) -> AnyCall:
    reading(bench, 5)
    bench.ask("DEL", ":events")
    bench.add_events(2)
    bench.read(limit=1)
    bench.add_events(3)
    bench.trim_to(1)
    return bench.call("read", group="a")


@scenario(0)
def read_where_the_stream_is_gone(bench: Bench, _: int) -> AnyCall:
    reading(bench, 2)
    bench.ask("DEL", ":events")
    return bench.call("read", group="a")


@scenario(0)
def read_a_gap_of_a_stream_that_was_deleted_twice(bench: Bench, _: int) -> AnyCall:
    reading(bench, 5)
    for n in (3, 1):
        bench.ask("DEL", ":events")
        bench.add_events(n)
        bench.read(limit=3)
    bench.ask("DEL", ":events")
    return bench.call("read", group="a")


@scenario(0)
def read_a_gap_of_a_stream_that_began_anew_with_smaller_ids(bench: Bench, _: int) -> AnyCall:
    reading(bench, 5)
    bench.ask("DEL", ":events")
    bench.add_events(1, at=1000)
    bench.read()
    bench.ask("DEL", ":events")
    return bench.call("read", group="a")


@scenario(0)
def read_after_the_clock_was_set_back(bench: Bench, _: int) -> AnyCall:
    bench.register("a", start="now")
    bench.now -= 5000
    return bench.call("read", group="a")


@scenario(3)
def read_where_pending_ones_of_one_millisecond_were_trimmed(bench: Bench, n: int) -> AnyCall:
    for number in range(9, 10 + n):
        bench.ask("XADD", ":events", f"{bench.now}-{number}", "event", "task.added", "timestamp", bench.now, "id", "t")
    bench.register("a")
    bench.read(limit=n)
    bench.trim_to(1)
    bench.pass_time(60_000)
    return bench.call("read", group="a")


@scenario(1)
def read_and_trim_by_the_setting_of_the_noun(bench: Bench, n: int) -> AnyCall:
    bench.ask("HSET", ":config", "events_keep_ms", 1000)
    bench.put("trim")
    bench.add_events(n)
    bench.register("a")
    bench.pass_time(3_600_000)
    return bench.call("read", group="a")


@scenario(15)
def read_long_ones(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n, *LONG)
    bench.register("a")
    return bench.call("read", group="a")


@scenario(14)
def read_long_ones_again(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n, *LONG)
    bench.register("a")
    bench.add_events(2, *LONG)
    bench.read()
    bench.read()
    bench.pass_time(60_000)
    return bench.call("read", group="a")


@scenario(10_000)
def read_where_too_many_are_pending(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n + 1)
    bench.register("a")
    for _ in range(n // 1000):
        bench.read(limit=1000, hold=86_400)
    return bench.call("read", group="a")


@scenario(0)
def read_after_it_has_lapsed(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    bench.pass_time(7 * DAY)
    bench.put("trim")
    return bench.call("read", group="a")


@scenario(0)
def read_of_an_unknown_group(bench: Bench, _: int) -> AnyCall:
    return bench.call("read", group="a")


@scenario(1, 100)
def read_and_trim(bench: Bench, n: int) -> AnyCall:
    bench.add_events(2)
    bench.register(*groups(n))
    bench.pass_time(7 * DAY)
    return bench.call("read", group="g0")


@scenario(0, clock="server")
def read_at_the_time_of_the_server(bench: Bench, _: int) -> AnyCall:
    bench.make_home()
    bench.register("a")
    return bench.call("read", group="a")


# ack


@scenario(1, 1000)
def ack_all(bench: Bench, n: int) -> AnyCall:
    return bench.call("ack", group="a", item=reading(bench, n))


@scenario(2)
def ack_some(bench: Bench, n: int) -> AnyCall:
    return bench.call("ack", group="a", item=[*reading(bench, n)[:1], "1-0"])


@scenario(1)
def ack_twice(bench: Bench, n: int) -> AnyCall:
    return sent(bench, bench.call("ack", group="a", item=reading(bench, n)))


@scenario(0)
def ack_a_gap(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    bench.add_events(3)
    bench.trim_to(2)
    (gap,) = bench.put("read", group="a").gaps
    return bench.call("ack", group="a", gap=gap.number)


@scenario(0)
def ack_a_gap_that_has_grown(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    bench.add_events(3)
    bench.trim_to(2)
    (gap,) = bench.put("read", group="a", limit=1).gaps
    bench.add_events(3)
    bench.trim_to(2)
    bench.read(limit=1)
    return bench.call("ack", group="a", gap=gap.number)


@scenario(0)
def ack_of_an_unknown_group(bench: Bench, _: int) -> AnyCall:
    return bench.call("ack", group="a", item=["1-0"])


# groups


@scenario(1, 100)
def groups_all(bench: Bench, n: int) -> AnyCall:
    bench.add_events(3)
    bench.register(*groups(n))
    bench.read("g0", limit=1)
    return bench.call("groups")


@scenario(0)
def groups_with_a_gap(bench: Bench, _: int) -> AnyCall:
    bench.register("a", "b")
    bench.add_events(4)
    bench.trim_to(3)
    bench.read(limit=1)
    bench.add_events(2)
    bench.trim_to(2)
    return bench.call("groups")


@scenario(0)
def groups_that_have_lapsed(bench: Bench, _: int) -> AnyCall:
    bench.register("a", "b")
    bench.pass_time(7 * DAY)
    bench.put("trim")
    bench.register("c")
    bench.read("b")
    bench.pass_time(7 * DAY - 1)
    return bench.call("groups")


@scenario(0)
def groups_of_no_stream(bench: Bench, _: int) -> AnyCall:
    return bench.call("groups")


@scenario(1)
def groups_without_record(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    bench.ask("DEL", ":events:group:a")
    return bench.call("groups")


# drop


@scenario(1, 100)
def drop_all(bench: Bench, n: int) -> AnyCall:
    bench.add_events(3)
    bench.register(*groups(n))
    bench.read("g0")
    return bench.call("drop", item=groups(n))


@scenario(0)
def drop_one_of_two(bench: Bench, _: int) -> AnyCall:
    bench.register("a", "b")
    return bench.call("drop", item=["a", "x"])


@scenario(0)
def drop_an_unknown_one(bench: Bench, _: int) -> AnyCall:
    return bench.call("drop", item=["x"])


# trim


@scenario(3)
def trim_old_ones(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n)
    bench.pass_time(7 * DAY - 2)
    return bench.call("trim")


@scenario(3)
def trim_old_ones_by_the_setting_of_the_noun(bench: Bench, n: int) -> AnyCall:
    bench.ask("HSET", ":config", "events_keep_ms", 1000)
    bench.add_events(n)
    bench.pass_time(998)
    return bench.call("trim")


@scenario(3)
def trim_before_a_time(bench: Bench, n: int) -> AnyCall:
    first = bench.now
    bench.add_events(n)
    return bench.call("trim", before_ms=first + 2)


@scenario(0)
def trim_before_the_first_millisecond(bench: Bench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "events_keep_ms", bench.now)
    bench.add_events(1)
    bench.now -= 1
    return bench.call("trim")


@scenario(0, clock="server")
def trim_before_there_is_a_group(bench: Bench, _: int) -> AnyCall:
    return bench.call("trim")


@scenario(500, 12_000)
def trim_many(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n)
    bench.pass_time(7 * DAY)
    return bench.call("trim")


@scenario(3)
def trim_what_a_group_has_read(bench: Bench, n: int) -> AnyCall:
    ids = reading(bench, n)
    bench.put("ack", group="a", item=ids[:1])
    bench.add_events(1)
    bench.read()
    bench.put("ack", group="a", item=ids[1:2])
    return bench.call("trim", before_ms=bench.now + 1)


@scenario(1)
def trim_what_a_group_has_acknowledged(bench: Bench, n: int) -> AnyCall:
    ids = reading(bench, n + 2)
    bench.put("ack", group="a", item=ids)
    return bench.call("trim", before_ms=bench.now + 1)


@scenario(2)
def trim_what_a_group_has_not_read(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n)
    bench.register("a")
    return bench.call("trim", before_ms=bench.now)


@scenario(1, 100)
def trim_where_groups_have_lapsed(bench: Bench, n: int) -> AnyCall:
    bench.add_events(2)
    bench.register(*groups(n))
    bench.pass_time(7 * DAY)
    return bench.call("trim")


@scenario(0)
def trim_before_a_group_lapses(bench: Bench, _: int) -> AnyCall:
    bench.add_events(2)
    bench.register("a")
    bench.pass_time(7 * DAY - 1)
    return bench.call("trim", before_ms=bench.now)


@scenario(0)
def trim_where_a_group_has_lapsed_before(bench: Bench, _: int) -> AnyCall:
    bench.add_events(2)
    bench.register("a")
    bench.pass_time(7 * DAY)
    return sent(bench, bench.call("trim"))


@scenario(1)
def trim_with_groups_without_record(bench: Bench, n: int) -> AnyCall:
    bench.add_events(n)
    bench.register("a")
    bench.ask("DEL", ":events:group:a")
    return bench.call("trim", before_ms=bench.now + 1)


# configure


@scenario(0)
def configure_where_a_group_reads(bench: Bench, _: int) -> AnyCall:
    bench.register("a")
    return bench.call("configure", settings={"lapse": 86_400})

"""Paths of copy: a base that is closed, written in parts of all types, and opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, scenario, sent

FOREVER = 4_000_000_000_000  # ms: an id of a stream that a vector contains
CONFIG = [("layout", "1"), ("layout_min", "1"), ("clock", "test"), ("mode", "paused"), ("place", "7"), ("fence", "3")]
Entries = list[tuple[str, str]]


def begin(bench: Workbench, **given: Any) -> AnyCall:
    return bench.calls.copy("begin", clock="test", **given)


def begun(bench: Workbench) -> None:
    """A base that was empty, and is closed."""
    bench.ask("DEL", ":config")
    bench.real(begin(bench))


def ended(bench: Workbench) -> AnyCall:
    begun(bench)
    return sent(bench, bench.calls.copy("end", (), CONFIG))


def write(bench: Workbench, *keys: tuple[str, str, int, int, Entries]) -> AnyCall:
    """keys: the name, the type, how many entries there are, when it ends, and the entries."""
    heads = [(name, type, at, expires, len(entries)) for name, type, at, expires, entries in keys]
    return bench.calls.copy("write", heads, [entry for *_, entries in keys for entry in entries])


def event(at: int, fields: int = 2) -> Entries:
    return [(f"{FOREVER + at}-1", str(fields)), *((f"f{n}", f"v{at}") for n in range(fields))]


def all_types(n: int, at: int = 0) -> list[tuple[str, str, int, int, Entries]]:
    """n entries for a key of each type, from the number `at` on."""
    numbers = range(at, at + n)
    return [
        ("weights", "hash", at, 0, [(f"u{i}", "200") for i in numbers]),
        ("finished", "zset", at, 0, [(f"t{i}", f"{i}.5" if i % 2 else f"-1.5e+{10 + i % 9}") for i in numbers]),
        ("lanes", "set", at, 0, [(f"group/g{i}", "") for i in numbers]),
        ("log:t", "list", at, FOREVER, [(f"line {i}", "") for i in numbers]),
        ("events", "stream", at, 0, [word for i in numbers for word in event(i)]),
    ]


@scenario(0)
def copy_begin_where_nothing_is(bench: Workbench, _: int) -> AnyCall:
    bench.ask("DEL", ":config")
    return begin(bench)


@scenario(0, clock="server")
def copy_begin_on_the_servers_clock(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.copy("begin")


@scenario(0)
def copy_begin_where_one_was_begun(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return begin(bench)


@scenario(0)
def copy_begin_over_a_queue(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    return begin(bench, place=100, fence=100)


@scenario(0)
def copy_begin_over_a_copy_that_ended(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    return begin(bench, place=7, fence=3)


@scenario(0)
def copy_begin_over_a_copy_with_a_new_task(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    return begin(bench, place=6, fence=3)


@scenario(0)
def copy_begin_over_a_copy_with_a_new_lease(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    return begin(bench, place=7, fence=2)


@scenario(0)
def copy_begin_over_a_copy_that_runs(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    bench.real(bench.calls.resume())
    return begin(bench, place=7, fence=3)


@scenario(0)
def copy_begin_over_a_copy_that_has_no_counters(bench: Workbench, _: int) -> AnyCall:
    ended(bench)
    bench.ask("HDEL", ":config", "place", "fence")
    return begin(bench)


@scenario(1, 100)
def copy_write_all_types(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    return write(bench, ("runs:s", "string", 0, FOREVER, [("t", "")]), *all_types(n))


@scenario(1, 100)
def copy_write_more_of_all_types(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, *all_types(n)))
    return write(bench, *all_types(n, n))


@scenario(1)
def copy_write_more_that_was_written(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, *all_types(n)))
    return sent(bench, write(bench, *all_types(n, n)))


@scenario(1)
def copy_write_keys_anew(bench: Workbench, n: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, *all_types(3 * n)))
    return write(bench, *all_types(n), ("dead", "zset", 0, 0, []))


@scenario(0)
def copy_write_no_key(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, *all_types(1)))
    return write(bench, ("lanes", "none", 0, 0, []), ("events", "none", 0, 0, []))


@scenario(0)
def copy_write_more_of_keys_that_are_gone(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return write(bench, *all_types(1, 1))


@scenario(0)
def copy_write_the_last_id_of_a_stream(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, ("events", "stream", 0, 0, event(1))))
    return write(bench, ("events", "stream", 1, 0, event(1, 0)))


@scenario(0)
def copy_write_a_stream_with_its_last_id(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return write(bench, ("events", "stream", 0, 0, [*event(1), *event(2, 0)]))


@scenario(0)
def copy_write_an_earlier_last_id_than_there_is(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    bench.real(write(bench, ("events", "stream", 0, 0, event(2))))
    return write(bench, ("events", "stream", 1, 0, event(1, 0)))


@scenario(0)
def copy_write_a_stream_with_its_last_id_twice(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return write(bench, ("events", "stream", 0, 0, [*event(1), *event(1, 0)]))


@scenario(0)
def copy_write_nothing(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return write(bench)


@scenario(0)
def copy_write_a_stream_that_is_not_there(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return write(bench, ("events", "stream", 0, 0, []))


@scenario(0)
def copy_write_a_stream_without_entries(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return write(bench, ("events", "stream", 0, 0, event(1, 0)))


@scenario(0)
def copy_write_where_none_was_begun(bench: Workbench, _: int) -> AnyCall:
    return write(bench, *all_types(1))


@scenario(0)
def copy_end_of_a_copy(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return bench.calls.copy("end", (), CONFIG)


@scenario(0)
def copy_end_of_a_copy_that_ended(bench: Workbench, _: int) -> AnyCall:
    return ended(bench)


@scenario(0)
def copy_end_of_a_copy_that_is_used(bench: Workbench, _: int) -> AnyCall:
    call = ended(bench)
    bench.fill(1)
    return call


# what is refused


NO_KEYS: list[list[tuple[str, str, int, int, Entries]]] = [
    [("config", "hash", 0, 0, [("mode", "running")])],
    [("lanes", "set", 0, 0, [("any", "")]), ("lanes", "set", 1, 0, [("any", "")])],
    [("lanes", "none", 0, 0, [("any", "")])],
    [("payload:t", "string", 0, 0, [("a", ""), ("b", "")])],
    [("payload:t", "string", 1, 0, [("a", "")])],
    [("dead", "zset", 0, 0, [("t", "soon")])],
    [("events", "stream", 0, 0, [("1", "1"), ("f", "v")])],
    [("events", "stream", 0, 0, [(f"{'1' * 33}-1", "1"), ("f", "v")])],
    [("events", "stream", 0, 0, event(1)[:-1])],
    [("events", "stream", 0, 0, [("1-1", "x"), ("f", "v")])],
    [("events", "stream", 0, 0, [("1-1", "10000"), ("f", "v")])],
    [("events", "stream", 0, 0, [*event(1, 0), *event(2)])],
    [("events", "stream", 0, 0, [*event(2), *event(1)])],
    [("events", "stream", 0, 0, [*event(2), *event(1, 0)])],
    [("events", "stream", 0, 0, [("1-2", "1"), ("f", "v"), ("1-2", "1"), ("f", "v")])],
]


def refused(number: int, keys: list[tuple[str, str, int, int, Entries]]) -> Callable[[Workbench, int], AnyCall]:
    def path(bench: Workbench, _: int) -> AnyCall:
        begun(bench)
        return write(bench, *keys)

    path.__name__ = f"copy_write_what_is_no_key_{number}"
    return path


for at, keys in enumerate(NO_KEYS):
    scenario(0)(refused(at, keys))


@scenario(0)
def copy_write_fewer_entries_than_the_keys_have(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return bench.calls.copy("write", [("lanes", "set", 0, 0, 2)], [("any", "")])


@scenario(0)
def copy_write_more_entries_than_the_keys_have(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return bench.calls.copy("write", [("lanes", "set", 0, 0, 1)], [("any", ""), ("group/g", "")])


@scenario(0)
def copy_end_of_a_queue_that_runs(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return bench.calls.copy("end", (), [("layout", "1"), ("mode", "running")])


@scenario(0)
def copy_end_without_a_mode(bench: Workbench, _: int) -> AnyCall:
    begun(bench)
    return bench.calls.copy("end")


# fences


@scenario(0)
def raise_fence_of_a_queue(bench: Workbench, _: int) -> AnyCall:
    bench.lease(1)
    return bench.calls.build("raise_fence", least=10**13)


@scenario(0)
def raise_fence_that_is_higher(bench: Workbench, _: int) -> AnyCall:
    bench.lease(1)
    return bench.calls.build("raise_fence", least=1)


@scenario(0, clock="server")
def raise_fence_where_nothing_is(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.build("raise_fence", least=1)

"""What configs keep, to the last byte: histories, pages, removals and events."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.config.bench import Bench
from tests.nouns.script_bench import MakeAny

MIB = 1 << 20
MOST = 65_536
DAY = 86_400_000


@pytest.fixture
def bench(make_any: MakeAny) -> Any:
    """One whose calls are all watched."""
    bench: Any = make_any("config")
    bench.put = lambda verb, **arguments: bench.run(bench.call(verb, **arguments))
    return bench


def overhead(bench: Bench, name: str) -> int:
    """How many bytes an entry of a history has beside the value."""
    bench.set(name, value=b"")
    bench.set(name, value=b"")
    (entry,) = bench.ask("LRANGE", f":history:{name}", 0, -1)
    return len(entry)


@pytest.mark.parametrize("more", [0, 1])
def test_a_history_has_a_mebibyte(bench: Bench, more: int) -> None:
    size = MOST - overhead(bench, "x")
    for number in range(16):
        bench.set("a", value=b"x" * (size + (more if number == 15 else 0)))
    bench.set("a", value=b"last")
    entries = bench.ask("LRANGE", ":history:a", 0, -1)
    assert len(entries) == 16 - more
    assert sum(map(len, entries)) == (MIB if not more else MIB - MOST + 1)
    assert int(bench.ask("HGET", ":value:a", "size")) == sum(map(len, entries))
    assert len(bench.put("history", name="a", limit=100).items) == 17 - more


def test_a_history_has_a_hundred_versions(bench: Bench) -> None:
    for number in range(101):
        bench.set("a", value=b"%d" % number)
    found = bench.put("history", name="a", limit=100)
    assert [one.value for one in found.items] == [b"%d" % number for number in range(100, 0, -1)]
    assert found.cursor == ""


def test_a_history_is_read_page_by_page(bench: Bench) -> None:
    for number in range(5):
        bench.set("a", value=b"%d" % number)
    pages: list[Any] = []
    cursor = None
    while cursor != "" and len(pages) < 9:
        page = bench.put("history", name="a", limit=2, cursor=cursor)
        pages.append([one.value for one in page.items])
        cursor = page.cursor
    assert pages == [[b"4", b"3"], [b"2", b"1"], [b"0"]]


def test_a_history_has_actors_reasons_and_removals(bench: Bench) -> None:
    first = bench.set("a", value=b"5 5 value 1 1 x", actor="ann", reason="7 7").rev
    bench.pass_time(1000)
    second = bench.put("set", item=[{"name": "a", "remove": True}], actor="bob", reason="").rev
    third = bench.set("a", value=b"").rev
    found = bench.put("history", name="a")
    told = [(one.status, one.version, one.at, one.actor, one.reason, one.value) for one in found.items]
    now = bench.now / 1000
    assert told == [
        ("value", third, now, b"", b"", b""),
        ("removed", second, now, b"bob", b"", None),
        ("value", first, now - 1, b"ann", b"7 7", b"5 5 value 1 1 x"),
    ]
    assert found.version == third
    assert [one.version for one in bench.put("history", name="a", version=second).items] == [second]


@pytest.mark.parametrize(("more", "names"), [(0, 16), (1, 15)])
def test_a_page_has_a_mebibyte(bench: Bench, more: int, names: int) -> None:
    for number, name in enumerate("abcdefghijklmnopq"):
        bench.set(name, value=b"x" * (MOST - 101 + (more if number == 15 else 0)))
    page = bench.put("read", limit=1000)
    assert len(page.items) == names
    rest = bench.put("read", limit=1000, cursor=page.cursor)
    assert [one.name for one in (*page.items, *rest.items)] == [*"abcdefghijklmnopq"]
    assert rest.cursor == ""


def test_pages_have_as_many_names_as_wanted(bench: Bench) -> None:
    bench.set(*"abcd")
    pages: list[Any] = []
    cursor = None
    while cursor != "" and len(pages) < 9:
        page = bench.put("read", limit=2, cursor=cursor)
        pages.append("".join(one.name for one in page.items))
        cursor = page.cursor
    assert pages == ["ab", "cd"]


def test_what_is_forgotten_is_known_to_be_missing_where_the_clock_went_back(bench: Bench) -> None:
    bench.set("a", "b", "c")
    bench.remove_names("a")
    since = bench.set("c").rev
    bench.pass_time(-5_000)
    bench.remove_names("b")
    bench.pass_time(DAY + 5_000)
    assert bench.put("sweep").forgotten == 2
    assert bench.put("read", since=since).status == "full", "or the removal of b would be missed"


def test_a_sweep_tells_whether_there_may_be_more(bench: Bench) -> None:
    bench.set("a", "b", "c")
    bench.remove_names("a", "b", "c")
    bench.pass_time(DAY)
    told = [(one.forgotten, one.more) for one in (bench.put("sweep", limit=2), bench.put("sweep", limit=2))]
    assert told == [(2, 1), (1, 0)]


def test_events_name_the_version_and_who_it_was(bench: Bench) -> None:
    first = bench.set("a", actor="ann").rev
    second = bench.remove_names("a").rev
    bench.put("set", item=[{"name": "a", "remove": True}])
    told = [(one["event"], one["id"], one["payload"]) for one in bench.events()]
    assert told == [
        (b"config.set", b"a", b"version=%d by=ann" % first),
        (b"config.removed", b"a", b"version=%d" % second),
    ]


def test_a_rev_is_the_time_or_more(bench: Bench) -> None:
    revs = [bench.set("a").rev, bench.set("b").rev]
    bench.pass_time(1)
    revs.append(bench.set("a", "c").rev)
    bench.pass_time(-1000)
    revs.append(bench.set("a").rev)
    start = (bench.now + 999) * 1000
    assert revs == [start, start + 1, start + 1000, start + 1001]


def test_names_are_limited(bench: Bench) -> None:
    bench.put("configure", settings={"names_max": 3})
    bench.set("a", "b", "c")
    assert bench.set("d").fields == {"now": bench.now / 1000, "names": 3}
    assert bench.put("set", item=[{"name": "a", "remove": True}, {"name": "d", "value": b"v"}]).status == "ok"
    assert bench.set("a").status == "full"
    assert bench.set("b").status == "ok"
    bench.remove_names("b")
    assert [bench.set(name).status for name in "ab"] == ["ok", "full"]


@pytest.mark.slow
def test_a_namespace_is_filled_to_all_its_limits(make_any: MakeAny) -> None:
    """10,000 names with values, as many removed ones, and a history of 1 MiB."""
    bench: Any = make_any("config")
    bench.put("configure", settings={"events_max": 0})
    bench.fill(10_000, start="gone")
    for first in range(0, 10_000, 100):
        bench.remove_names(*(f"gone{number:05}" for number in range(first, first + 100)))
        bench.pass_time(1)
    bench.fill(10_000)
    assert bench.set("more").status == "full"
    assert bench.ask("ZCARD", ":removed") == 10_000
    bench.remove_names(*(f"n{number:05}" for number in range(100)))
    assert bench.ask("ZCARD", ":removed") == 10_000, "the oldest are forgotten"
    assert bench.ask("EXISTS", ":value:gone00000", ":history:gone00000") == 0
    for number in range(100):
        bench.set(*(f"n{name:05}" for name in range(100, 200)), value=b"%d" % number + b"x" * (MOST - 8))
    found = bench.put("history", name="n00100", limit=100)
    assert len(found.items) == 16
    bench.check()


def test_one_of_two_writers_who_expect_the_same_wins(bench: Bench) -> None:
    seen = bench.set("a").rev
    told = [
        bench.put("set", item=[{"name": "a", "value": value, "expect": seen}, {"name": "b", "value": value}])
        for value in (b"1", b"2")
    ]
    assert [one.status for one in told] == ["ok", "conflict"]
    assert [(one.status, one.version) for one in told[1].items] == [("differs", told[0].rev), ("matches", told[0].rev)]
    assert [one.value for one in bench.put("read", item=["a", "b"]).items] == [b"1", b"1"]


def test_a_call_that_is_sent_again_is_told_the_same(bench: Bench) -> None:
    seen = bench.set("a").rev
    call = bench.call("set", rid="r", item=[{"name": "a", "value": b"1", "expect": seen}, ("b", None, True, None)])
    first = bench.real(call)
    assert [one.status for one in first.items] == ["set", "missing"]
    bench.set("a", "b", value=b"2")
    bench.pass_time(1000)
    again = bench.real(call)
    assert (again.rev, again.items) == (first.rev, first.items)
    assert [one.value for one in bench.put("read", item=["a", "b"]).items] == [b"2", b"2"]

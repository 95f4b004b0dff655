"""Paths of the scripts of registries."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.scenario import AnyCall, scenario

LONGEST = "n" * 94


@scenario(1, 500)
def add_new_names(bench: NounBench, n: int) -> AnyCall:
    return bench.call("add", item=names(n))


@scenario(1, 500)
def add_known_names(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("add", item=names(n))


@scenario(1, 500)
def add_names_where_no_room_is(bench: NounBench, n: int) -> AnyCall:
    fill(bench, 1)
    bench.put("configure", settings={"names_max": 1})
    return bench.call("add", item=[*names(1), *names(n)[1:], {"name": "other"}][-n:])


@scenario(0)
def add_a_known_name_where_no_room_is(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 1)
    bench.put("configure", settings={"names_max": 1})
    return bench.call("add", item=names(2))


@scenario(0, clock="server")
def add_the_first_name(bench: NounBench, _: int) -> AnyCall:
    return bench.call("add", item=[{"name": "mail"}])


@scenario(0)
def add_a_partition(bench: NounBench, _: int) -> AnyCall:
    return bench.call("add", item=[{"name": "mail", "tag": "p1"}, {"name": "mail"}])


@scenario(0)
def add_at_the_end_of_a_scan(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 1)
    return bench.call("add", item=names(2), scan_ms=bench.now - 1000)


@scenario(0)
def add_at_the_end_of_an_older_scan(bench: NounBench, _: int) -> AnyCall:
    bench.put("add", scan_ms=bench.now - 1000)
    return bench.call("add", scan_ms=bench.now - 2000)


@scenario(0)
def list_after_a_scan_of_the_future(bench: NounBench, _: int) -> AnyCall:
    bench.put("add", scan_ms=bench.now + 1000)
    return bench.call("list")


@scenario(0)
def add_too_many_at_the_end_of_a_scan(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"names_max": 1})
    return bench.call("add", item=names(2), scan_ms=bench.now)


@scenario(0, clock="server")
def scan_the_first_time(bench: NounBench, _: int) -> AnyCall:
    return bench.call("scan", by="a")


@scenario(0)
def scan_while_another_scans(bench: NounBench, _: int) -> AnyCall:
    bench.put("scan", by="a", lease_ms=30_000)
    bench.pass_time(29_999)
    return bench.call("scan", by="b")


@scenario(0)
def scan_after_another_gave_up(bench: NounBench, _: int) -> AnyCall:
    bench.put("scan", by="a", lease_ms=30_000)
    bench.pass_time(30_000)
    return bench.call("scan", by="b")


@scenario(0)
def scan_after_another_has_ended(bench: NounBench, _: int) -> AnyCall:
    bench.put("scan", by="a")
    bench.put("add", scan_ms=bench.now)
    return bench.call("scan", by="b")


@scenario(0)
def scan_on_and_on(bench: NounBench, _: int) -> AnyCall:
    bench.put("scan", by="a")
    return bench.call("scan", by="a")


@scenario(1, 500)
def remove_names(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("remove", item=names(n))


@scenario(0)
def remove_a_partition(bench: NounBench, _: int) -> AnyCall:
    bench.put("add", item=[{"name": "mail"}, {"name": "mail", "tag": "p1"}])
    return bench.call("remove", item=[{"name": "mail", "tag": "p1"}])


@scenario(0)
def remove_what_is_unknown(bench: NounBench, _: int) -> AnyCall:
    return bench.call("remove", item=names(2))


@scenario(1, 1000)
def list_all(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("list")


@scenario(0)
def list_the_first_page(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    return bench.call("list", limit=2)


@scenario(0)
def list_pages(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    return bench.call("list", limit=2, cursor=bench.put("list", limit=2).cursor)


@scenario(0)
def list_what_is_missing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list")


def names(n: int, first: int = 0) -> list[dict[str, str]]:
    return [{"name": f"{LONGEST}{number:06}"} for number in range(first, first + n)]


def fill(bench: NounBench, n: int) -> None:
    for start in range(0, n, 500):
        bench.put("add", item=names(min(500, n - start), start))

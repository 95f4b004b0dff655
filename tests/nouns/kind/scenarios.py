"""Paths of the scripts of kinds."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.scenario import AnyCall, scenario

LARGEST = "x" * 16_384


@scenario(1, 50)
def publish_new_kinds(bench: NounBench, n: int) -> AnyCall:
    return bench.call("publish", item=[kind(number) for number in range(n)])


@scenario(1, 50)
def publish_the_largest_schemas(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n, LARGEST)
    return bench.call("publish", item=[kind(number, LARGEST[:-1] + "y", 2) for number in range(n)])


@scenario(0, clock="server")
def publish_the_first_kind(bench: NounBench, _: int) -> AnyCall:
    return bench.call("publish", item=[kind(1)])


@scenario(0)
def publish_the_same_again(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 2)
    bench.pass_time(1000)
    return bench.call("publish", item=[kind(0), kind(1, version=2)])


@scenario(0)
def publish_another_schema(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 1)
    return bench.call("publish", item=[kind(0, "{}")])


@scenario(0)
def publish_an_older_version(bench: NounBench, _: int) -> AnyCall:
    bench.put("publish", item=[kind(0, version=3)])
    return bench.call("publish", item=[kind(0, version=2)])


@scenario(0)
def publish_more_than_a_catalog_holds(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 499)
    return bench.call("publish", item=[kind(0), kind(499), kind(500), kind(1)])


@scenario(1, 100)
def publish_after_others_have_expired(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    bench.pass_time(86_400_000)
    return bench.call("publish", item=[kind(number) for number in range(600, 650)])


@scenario(0)
def publish_without_events(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"events_max": 0, "keep": 3600})
    return bench.call("publish", item=[kind(0)])


@scenario(1, 50)
def list_all(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n, LARGEST)
    return bench.call("list", limit=50)


@scenario(0)
def list_the_next_page(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 5)
    return bench.call("list", limit=2, cursor=bench.put("list", limit=2).cursor)


@scenario(0)
def list_without_the_expired(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    cursor = bench.put("list", limit=1).cursor
    bench.pass_time(86_399_999)
    bench.put("publish", item=[kind(2)])
    bench.pass_time(1)
    return bench.call("list", cursor=cursor)


@scenario(0)
def list_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list")


@scenario(0)
def list_from_a_bad_cursor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", cursor="x")


@scenario(1, 500)
def expire_some(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    bench.pass_time(86_400_000)
    return bench.call("expire", limit=1000)


@scenario(0)
def expire_as_many_as_wanted(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    bench.pass_time(86_400_000)
    return bench.call("expire", limit=2)


@scenario(0)
def expire_nothing(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 1)
    return bench.call("expire")


def kind(number: int, schema: str = "[]", version: int = 1) -> dict[str, object]:
    return {"id": f"k{number}", "version": version, "schema": schema}


def fill(bench: NounBench, n: int, schema: str = "[]") -> None:
    for start in range(0, n, 50):
        bench.put("publish", item=[kind(number, schema) for number in range(start, min(n, start + 50))])


@scenario(0)
def list_one(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    return bench.call("list", id=kind(1)["id"])


@scenario(0)
def list_one_that_has_expired(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 1)
    bench.pass_time(86_400_000)
    return bench.call("list", id=kind(0)["id"])


@scenario(0)
def list_one_that_there_is_not(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", id="none")

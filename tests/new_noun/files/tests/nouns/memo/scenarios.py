"""Paths of the scripts of memos."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.scenario import AnyCall, scenario, sent


@scenario(0)
def put_a_new_memo(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", rid="r", id="a", text="hello", author="me", keep=60)


@scenario(0, clock="server")
def put_the_first_memo(bench: NounBench, _: int) -> AnyCall:
    return bench.call("put", rid="r", id="a", text="")


@scenario(0)
def put_a_memo_that_is_there(bench: NounBench, _: int) -> AnyCall:
    bench.put("put", rid="q", id="a", text="hello")
    bench.pass_time(1000)
    return bench.call("put", rid="r", id="a", text="again")


@scenario(0)
def put_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("put", rid="r", id="a", text="hello"))


@scenario(0)
def put_for_the_time_of_the_settings(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"keep": 60})
    return bench.call("put", rid="r", id="a", text="hello")


@scenario(0)
def put_without_events(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"events_max": 0})
    return bench.call("put", rid="r", id="a", text="hello")


@scenario(1, 100)
def get_some(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("get", item=[f"n{number}" for number in range(n)])


@scenario(0)
def get_what_there_is_not(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get", item=["a"])


@scenario(1, 100)
def list_all(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("list", limit=100)


@scenario(0)
def list_the_next_page(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 5)
    return bench.call("list", limit=2, cursor=bench.put("list", limit=2).cursor)


@scenario(0)
def list_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list")


@scenario(0)
def list_from_a_bad_cursor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", cursor="x")


@scenario(1, 100)
def expire_some(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    bench.pass_time(90_000)
    return bench.call("expire")


@scenario(0)
def expire_as_many_as_wanted(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    bench.pass_time(90_000)
    return bench.call("expire", limit=2)


@scenario(0)
def expire_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("expire")


def fill(bench: NounBench, n: int) -> None:
    for number in range(n):
        bench.put("put", rid=f"r{number}", id=f"n{number}", text="hello", keep=10)

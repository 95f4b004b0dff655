"""The map of a cluster's slots, from what its nodes tell."""

from typing import Any

import pytest

from pyadeq._core.kernel.refusals import Refusal
from pyadeq._core.kernel.routes import OneServer, Routes, SlotMap
from pyadeq.keys import SLOTS, hash_slot

START = [("start", 1), ("start", 2)]
KEY = "{queue:a}:config"
SLOT = hash_slot(KEY)


def plain(host: str, port: int) -> tuple[str, int]:
    return host, port


def slots(*ranges: Any) -> list[Any]:
    return [list(one) for one in ranges]


@pytest.fixture
def routes() -> SlotMap:
    return SlotMap(START, plain)


def test_until_a_node_tells_every_key_is_at_the_first_that_is_known(routes: SlotMap) -> None:
    assert routes.node_of(KEY) == START[0]
    assert (routes.primaries, routes.known) == ([], START)


def test_the_map_names_the_primary_of_each_slot(routes: SlotMap) -> None:
    half = SLOTS // 2
    told = slots(
        (0, half - 1, [b"10.0.0.1", 7001, b"id", []], [b"10.0.0.3", 7003, b"id", []]),
        (half, SLOTS - 1, [b"10.0.0.2", 7002, b"id", []]),
    )
    assert routes.learn(told, START[0])
    assert routes.node_of(KEY) == ("10.0.0.1", 7001) if half > SLOT else ("10.0.0.2", 7002)
    assert routes.primaries == [("10.0.0.1", 7001), ("10.0.0.2", 7002)]
    assert routes.known == [*routes.primaries, ("10.0.0.3", 7003), *START]


@pytest.mark.parametrize("host", [b"", None, b"?"])
def test_a_node_without_an_address_is_the_one_that_told(routes: SlotMap, host: Any) -> None:
    assert routes.learn(slots((0, SLOTS - 1, [host, 7001, b"id"])), ("told", 1))
    assert routes.node_of(KEY) == ("told", 7001)


def test_addresses_are_mapped(routes: SlotMap) -> None:
    routes = SlotMap(START, lambda host, port: (f"outside-{host}", port + 1000))
    assert routes.learn(slots((0, SLOTS - 1, [b"a", 1, b"id"], [b"b", 2, b"id"])), START[0])
    assert routes.known == [("outside-a", 1001), ("outside-b", 1002), *START]
    assert routes.follow(Refusal("MOVED", f"{SLOT} c:3"), START[0]) == ("outside-c", 1003)


def test_an_empty_map_is_not_taken(routes: SlotMap) -> None:
    assert routes.learn(slots((0, SLOTS - 1, [b"a", 1, b"id"])), START[0])
    assert not routes.learn([], START[0])
    assert routes.node_of(KEY) == ("a", 1)


def test_moved_is_for_good_and_ask_is_not(routes: SlotMap) -> None:
    assert routes.follow(Refusal("ASK", f"{SLOT} 10.0.0.9:7009"), START[0]) == ("10.0.0.9", 7009)
    assert routes.node_of(KEY) == START[0]
    assert routes.follow(Refusal("MOVED", f"{SLOT} 10.0.0.9:7009"), START[0]) == ("10.0.0.9", 7009)
    assert routes.node_of(KEY) == ("10.0.0.9", 7009)
    assert routes.follow(Refusal("MOVED", f"{SLOT} 2001:db8::1:7009"), START[0]) == ("2001:db8::1", 7009)
    assert routes.follow(Refusal("MOVED", f"{SLOT} :7009"), ("told", 1)) == ("told", 7009)


@pytest.mark.parametrize(
    "refusal", [("ERR", "1 a:1"), ("MOVED", ""), ("MOVED", "1"), ("MOVED", "x a:1"), ("ASK", "1 a")]
)
def test_other_refusals_point_nowhere(routes: SlotMap, refusal: tuple[str, str]) -> None:
    assert routes.follow(Refusal(*refusal), START[0]) is None


def test_one_server_has_every_key() -> None:
    routes: Routes = OneServer()
    assert routes.node_of(KEY) is None
    assert routes.follow(Refusal("MOVED", "1 a:1"), None) is None

"""What random histories hardly come to: many at once, long circles, budgets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import redis

from pyadeq.keys import lock_base
from tests.property.locks.driver import Driver
from tests.property.locks.history import Step
from tests.property.locks.link import Plain, load_scripts
from tests.property.locks.oracle import START

HOUR = 3_600_000


@pytest.fixture
def driver(client: redis.Redis, base_name: str) -> Iterator[Driver]:
    driver = Driver(client, lock_base(base_name), load_scripts(client))
    yield driver
    driver.close()


def asked(rid: str, resource: str, **rest: Any) -> Step:
    args = {"owner": rid, "issued_ms": START, "ttl_ms": HOUR, "wait_ms": HOUR} | rest
    return Step("acquire", {"rid": rid, "resource": resource} | args)


def do(driver: Driver, verb: str, **args: Any) -> Plain:
    answer = driver.do(Step(verb, args))
    assert answer
    return answer


def raw(driver: Driver, verb: str, **args: Any) -> Plain:
    """Where more is due than a call sees to: without the oracle."""
    return driver.link.send(verb, args, driver.oracle.clock)[0]


def start(driver: Driver, **settings: Any) -> None:
    do(driver, "configure", clock="test", settings=[(settings,)] if settings else [])


def test_64_are_granted_by_one_call_and_the_rest_is_remembered(driver: Driver) -> None:
    start(driver)
    waiters = [asked(f"{lock}{n}", lock, mode="shared") for lock, count in (("r", 70), ("t", 2)) for n in range(count)]
    for step in (asked("first-r", "r"), asked("first-t", "t"), *waiters):
        raw(driver, step.verb, **step.args)
    _, store, events = driver.link.send("release", {"item": [("first-r",), ("first-t",)]}, driver.oracle.clock)
    assert [event["event"] for event in events].count("lock.promoted") == 64
    left = {name.split(" ")[1]: due for name, due in store.deadlines.items() if name.startswith("promote ")}
    assert left == {"r": str(START), "t": str(START)}
    _, store, events = driver.link.send("reap", {"limit": 2}, driver.oracle.clock)
    assert [event["event"] for event in events].count("lock.promoted") == 8
    assert not [name for name in store.deadlines if name.startswith("promote")]


def test_a_long_run_goes_on_though_one_of_it_has_to_wait_elsewhere(driver: Driver) -> None:
    start(driver)
    for step in (asked("first", "r"), asked("other", "s")):
        raw(driver, step.verb, **step.args)
    item = [("r", "shared", 1), ("s", "shared", 1)]
    raw(driver, "acquire_many", rid="many", owner="many", issued_ms=START, wait_ms=HOUR, item=item)
    for n in range(66):
        raw(driver, "acquire", **asked(f"r{n}", "r", mode="shared").args)
    raw(driver, "release", item=[("first",)])
    raw(driver, "reap", limit=1)
    assert raw(driver, "poll", item=[("r65",)])[1]["items"][0][0] == "granted"


def hold_many(driver: Driver, count: int) -> None:
    """More than a call ends by the way, all due at once."""
    start(driver)
    for n in range(count):
        raw(driver, "acquire", **asked(f"h{n:03}", f"r{n:03}", ttl_ms=1000).args)
    driver.do(Step("clock", {"ms": 1000}))


@pytest.mark.parametrize(
    ("verb", "answer"),
    [("renew", ("lost", {})), ("release", ("lost", {})), ("poll", ("ended", {"outcome": "expired"}))],
)
def test_nobody_has_more_time_because_others_are_due_as_well(driver: Driver, verb: str, answer: Plain) -> None:
    hold_many(driver, 40)
    assert raw(driver, verb, item=[("h039",), ("h038",)])[1]["items"] == [answer, answer]


def test_a_downgrade_of_what_is_over_is_lost(driver: Driver) -> None:
    hold_many(driver, 40)
    assert raw(driver, "downgrade", rid="h039")[0] == "lost"


def test_what_is_overdue_is_granted_to_who_asks(driver: Driver) -> None:
    hold_many(driver, 40)
    assert raw(driver, "acquire", **asked("new", "r039", wait_ms=0).args)[0] == "granted"
    item = [("r038", "exclusive", 1), ("r037", "shared", 1)]
    assert raw(driver, "acquire_many", rid="many", owner="o", issued_ms=START, item=item)[0] == "granted"


def test_an_acquire_that_comes_again_does_not_hear_of_a_lock_that_is_over(driver: Driver) -> None:
    hold_many(driver, 40)
    assert raw(driver, "acquire", **asked("h039", "r039", ttl_ms=1000).args) == (
        "ended",
        {"now_ms": START + 1000, "outcome": "expired"},
    )


def test_who_polls_is_handed_what_is_overdue(driver: Driver) -> None:
    hold_many(driver, 100)
    raw(driver, "acquire", **asked("own", "r", ttl_ms=1).args)
    raw(driver, "acquire", **asked("waiter", "r").args)
    driver.do(Step("clock", {"ms": 1}))
    assert raw(driver, "poll", item=[("waiter",)])[1]["items"][0][0] == "granted"


def test_an_upgrade_whose_base_is_overdue_is_lost_at_its_poll(driver: Driver) -> None:
    hold_many(driver, 100)
    for rid, mode, ttl in (("other", "shared", HOUR), ("base", "shared", 1), ("upgrade", "exclusive", HOUR)):
        owner = "other" if rid == "other" else "o"
        raw(driver, "acquire", **asked(rid, "r", owner=owner, mode=mode, ttl_ms=ttl).args)
    driver.do(Step("clock", {"ms": 1}))
    assert raw(driver, "poll", item=[("upgrade",)])[1]["items"] == [("ended", {"outcome": "lost"})]


def make_ring(driver: Driver, size: int) -> Plain:
    """Everybody holds one and asks for the next one's."""
    owners = [f"o{n:03}" for n in range(size)]
    for owner in owners:
        raw(driver, "acquire", **asked(f"{owner}-holds", owner, owner=owner).args)
    for owner, after in pairwise(owners):
        raw(driver, "acquire", **asked(f"{owner}-waits", after, owner=owner).args)
    return raw(driver, "acquire", **asked("last", owners[0], owner=owners[-1]).args)


def test_a_ring_is_told_in_full(driver: Driver) -> None:
    start(driver)
    steps = [f"o{n:03}>x>o{(n + 1) % 30:03}" for n in range(30)]
    status, fields = make_ring(driver, 30)
    assert status == "deadlock"
    assert fields["circle"] == " ".join(steps[-1:] + steps[:-1])


def test_a_ring_above_the_budget_is_left_to_the_detector(driver: Driver) -> None:
    start(driver, detect_visits=16)
    assert make_ring(driver, 30)[1]["checked"] == 0
    found: list[Any] = []
    for _ in range(40):
        _, fields = raw(driver, "detect", limit=16, visits=1000)
        found += fields["items"]
        driver.do(Step("clock", {"ms": 30_000}))
        raw(driver, "poll", item=[(f"o{n:03}-waits",) for n in range(29)] + [("last",)])
        if not fields["more"] and found:
            break
    assert len(found) == 1
    assert len(found[0][1]["circle"].split(" ")) == 30
    assert not driver.link.send("reap", {"limit": 1}, driver.oracle.clock)[1].unchecked


def detect_until_done(driver: Driver, visits: int) -> list[Any]:
    """The deadlocks that calls of `detect` find until none has more to look at; each call is short."""
    found: list[Any] = []
    for _ in range(1000):
        _, fields = raw(driver, "detect", limit=4, visits=visits)
        found += fields["items"]
        driver.do(Step("clock", {"ms": 1}))
        if not fields["more"]:
            return found
    raise AssertionError(f"no end after 1,000 calls: {found}")


def test_a_long_ring_is_found_by_many_short_calls(driver: Driver) -> None:
    start(driver, detect_visits=16, waiter_ms=HOUR)
    assert make_ring(driver, 90)[1]["checked"] == 0
    found = detect_until_done(driver, 100)
    assert len(found) == 1
    assert len(found[0][1]["circle"].split(" ")) == 90


def test_a_ring_that_opens_meanwhile_is_no_deadlock(driver: Driver) -> None:
    """All but one call see the ring; then somebody gives up waiting, and nobody else has to."""
    start(driver, detect_visits=16, waiter_ms=HOUR)
    make_ring(driver, 90)
    calls = 0
    while not driver.link.client.hget(f"{driver.link.base}:search", "#hard"):
        assert not raw(driver, "detect", limit=4, visits=100)[1]["items"]
        calls += 1
    assert calls > 2
    raw(driver, "cancel", item=[("o040-waits",)])
    assert not detect_until_done(driver, 100)


def test_edges_go_on_inside_a_resource(driver: Driver) -> None:
    start(driver)
    do(driver, "set_capacity", resource="k", max=30)
    for n in range(30):
        do(driver, "acquire", **asked(f"h{n:02}", "k", mode="permit").args)
    do(driver, "acquire", **asked("x", "k").args)
    for n in range(3):
        do(driver, "acquire", **asked(f"s{n}", "k", mode="shared").args)
    cursor, edges = "", []
    for _ in range(20):
        _, fields = raw(driver, "edges", cursor=cursor, limit=7)
        assert len(fields["edges"]) <= 7
        edges += [(edge["owner"], edge["blocker"]) for _, edge in fields["edges"]]
        cursor = fields["cursor"]
        if not cursor:
            break
    assert sorted(edges) == sorted([("x", f"h{n:02}") for n in range(30)] + [(f"s{n}", "x") for n in range(3)])


def line_of_64_and_two(driver: Driver) -> None:
    """64 who would share wait for something else; the two behind them want nothing else."""
    start(driver)
    do(driver, "acquire", **asked("other", "s").args)
    for n in range(64):
        item = [("r", "shared", 1), ("s", "shared", 1)]
        raw(driver, "acquire_many", rid=f"w{n:02}", owner=f"w{n:02}", issued_ms=START, wait_ms=HOUR, item=item)
    for rid in ("last", "later"):
        assert raw(driver, "acquire", **asked(rid, "r", mode="shared").args)[0] == "queued"


def test_who_becomes_the_64th_that_shares_has_its_turn(driver: Driver) -> None:
    line_of_64_and_two(driver)
    raw(driver, "cancel", item=[("w07",)])
    assert raw(driver, "poll", item=[("last",)])[1]["items"][0][0] == "granted"


def test_who_comes_behind_the_64th_that_shares_has_its_turn(driver: Driver) -> None:
    """When the 64th has it, and so is no longer in line, it is the next one that 63 are ahead of."""
    line_of_64_and_two(driver)
    raw(driver, "cancel", item=[("w07",)])
    assert raw(driver, "poll", item=[("later",)])[1]["items"][0][0] == "granted"


def test_as_many_that_share_have_their_turn_as_have_left(driver: Driver) -> None:
    line_of_64_and_two(driver)
    raw(driver, "cancel", item=[("w07",), ("w08",)])
    answers = raw(driver, "poll", item=[("last",), ("later",)])[1]["items"]
    assert [answer[0] for answer in answers] == ["granted", "granted"]


def test_those_behind_a_many_follow_it_in_its_other_lines(driver: Driver) -> None:
    start(driver)
    do(driver, "set_capacity", resource="k", max=2)
    do(driver, "acquire", **asked("first", "r").args)
    item = [("r", "exclusive", 1), ("k", "permit", 1)]
    do(driver, "acquire_many", rid="many", owner="many", issued_ms=START, wait_ms=HOUR, item=item)
    assert do(driver, "acquire", **asked("behind", "k", mode="permit").args)[0] == "queued"
    do(driver, "release", item=[("first",)])
    assert do(driver, "poll", item=[("behind",)])[1]["items"][0][0] == "granted"


def test_with_permits_the_only_place_may_lie_between_two_others(driver: Driver) -> None:
    """Ahead of `many`, `r` keeps permits from it; behind `all`, that waits for what the owner of `r` has."""
    start(driver)
    do(driver, "set_capacity", resource="k", max=4)
    for owner, permits in (("a", 2), ("b", 1), ("c", 1)):
        do(driver, "acquire", **asked(owner, "k", mode="permit", permits=permits).args)
    item = [("k", "permit", 2), ("l", "shared", 1)]
    do(driver, "acquire_many", rid="many", owner="b", issued_ms=START, wait_ms=HOUR, item=item)
    do(driver, "acquire", **asked("all", "k").args)
    last = asked("r", "k", owner="c", mode="permit", permits=3, priority=4)
    assert do(driver, "acquire", **last.args)[1]["place"] == 2

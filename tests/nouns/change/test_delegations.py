"""Delegations of persons that begin and end while requests move, in small steps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.change.bench import Bench
from tests.nouns.change.states import (
    answer,
    assess,
    delegate,
    draft,
    in_review,
    instead,
    policy,
    revised,
    submit,
    watched,
)
from tests.nouns.script_bench import MakeAny


@pytest.fixture
def bench(make_any: MakeAny) -> Bench:
    made: Bench = watched(make_any("change"))
    return made


def delegations(bench: Bench, user: str, *items: dict[str, Any]) -> list[str]:
    return [one.status for one in bench.put("set_delegations", user=user, item=list(items)).items]


def inbox(bench: Bench, user: str) -> list[str]:
    return sorted(one.decode() for one in bench.ask("ZRANGE", f":inbox:user:{user}", 0, -1))


def sweep(bench: Bench, calls: int) -> None:
    for _ in range(calls):
        bench.put("sweep", limit=1)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_what_begins_or_ends_while_requests_move_causes_another_pass(bench: Bench, steps: int) -> None:
    for number in range(3):
        in_review(bench, f"c{number}", "user:bob")
    first = {"name": "first", "to": "zoe", "types": ["other"], "from_ms": bench.now + 1000}
    second = {"name": "second", "to": "eve", "from_ms": bench.now + 5000, "until_ms": bench.now + 50_000}
    delegations(bench, "bob", first, second)
    bench.pass_time(2000)
    sweep(bench, steps)
    bench.pass_time(4000)
    sweep(bench, 9)
    assert (inbox(bench, "eve"), inbox(bench, "bob")) == (["c0/1", "c1/1", "c2/1"], [])

    third = {"name": "third", "to": "zoe", "types": ["other"], "from_ms": bench.now + 1000}
    delegations(bench, "bob", third)
    bench.pass_time(2000)
    sweep(bench, steps)
    bench.pass_time(50_000)
    sweep(bench, 9)
    assert (inbox(bench, "eve"), inbox(bench, "bob")) == ([], ["c0/1", "c1/1", "c2/1"])
    assert bench.ask("ZCARD", ":delegating") == 0
    bench.check()


def test_a_person_has_sixteen_delegations_also_while_its_requests_move(bench: Bench) -> None:
    for number in range(2):
        in_review(bench, f"c{number}", "user:bob")
    some: list[dict[str, Any]] = [{"name": f"d{number}", "to": "eve", "types": ["other"]} for number in range(15)]
    some[0]["from_ms"] = bench.now + 1000
    delegations(bench, "bob", *some)
    bench.pass_time(1000)
    sweep(bench, 1)
    assert bench.ask("HEXISTS", ":delegations:bob", "#at") == 1
    assert delegations(bench, "bob", {"name": "e", "to": "zoe"}, {"name": "f", "to": "zoe"}) == ["stored", "full"]


def test_a_delegation_that_no_longer_cascades_ends_the_way_of_a_request(bench: Bench) -> None:
    delegations(bench, "eve", {"name": "d", "to": "zoe"})
    delegations(bench, "bob", {"name": "d", "to": "eve", "cascade": True})
    in_review(bench)
    assert inbox(bench, "zoe") == ["c/1"]
    delegations(bench, "bob", {"name": "d", "to": "eve"})
    assert inbox(bench, "eve") == ["c/1"]
    bench.check()


def test_a_request_knows_by_which_delegation_it_came(bench: Bench) -> None:
    delegations(bench, "bob", {"name": "a", "to": "eve", "cascade": True})
    in_review(bench)
    delegations(bench, "bob", {"name": "a", "remove": True}, {"name": "b", "to": "eve"})
    assert bench.ask("HGET", ":request:c/1", "via") == b",b"
    assert bench.put("delegate", id="c", actor="eve", to="zoe").reason == "no_cascade"
    bench.check()


def test_a_request_that_opens_where_a_pass_has_been_causes_another(bench: Bench) -> None:
    """All in the same millisecond."""
    one = in_review(bench, "c3", "user:bob", "user:carl", priority="urgent")
    answer(bench, one, "bob", "abstain")
    delegations(bench, "bob", {"name": "d", "to": "eve", "from_ms": bench.now + 1000})
    for id in ("c", "c2"):
        in_review(bench, id)
    bench.pass_time(1000)
    sweep(bench, 1)
    answer(bench, one, "bob", "retract")
    sweep(bench, 4)
    assert (inbox(bench, "eve"), inbox(bench, "bob")) == (["c/1", "c2/1", "c3/1"], [])
    bench.check()


def test_the_first_delegation_that_fits_counts_by_its_name(bench: Bench) -> None:
    instead(bench, to="zoe", name="b")
    instead(bench, to="dan", name="a", inactive=True)
    instead(bench, to="eve", name="aa")
    in_review(bench)
    assert inbox(bench, "eve") == ["c/1"]


def test_a_request_goes_on_as_often_as_its_policy_allows(bench: Bench) -> None:
    in_review(bench, delegation_depth=2)
    assert [delegate(bench, *way).status for way in (("bob", "eve"), ("eve", "zoe"))] == ["ok"] * 2
    told = delegate(bench, "zoe", "dan")
    assert (told.status, told.depth) == ("too_deep", 2)


def test_a_person_has_one_request_of_a_change_or_one_answer(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bob", "group:ops", "user:eve", required=3)
    delegate(bench, "eve", "dan")
    answer(bench, one, "zoe", groups=["ops"])
    for to in ("zoe", "eve", "dan"):
        told = delegate(bench, "bob", to)
        assert (told.status, told.reason) == ("not_eligible", "answered"), to
    assert delegate(bench, "bob", "kim").status == "ok"


def test_a_request_follows_a_delegation_to_its_new_person(bench: Bench) -> None:
    instead(bench)
    in_review(bench)
    instead(bench, to="zoe")
    assert (inbox(bench, "eve"), inbox(bench, "zoe")) == ([], ["c/1"])
    bench.check()


@pytest.mark.parametrize(
    ("wanted", "score", "fits"),
    [
        ({"risk_above": 0}, None, False),
        ({"risk_above": 0}, 0, False),
        ({"risk_above": 0}, 1, True),
        ({"risk_above": 30}, 30, False),
        ({"risk_below": 0}, 0, False),
        ({"risk_below": 30}, 30, False),
        ({"risk_below": 30}, 29, True),
        ({"risk_below": 30}, None, False),
        ({"risk_above": 10, "risk_below": 30}, 10, False),
        ({"risk_above": 10, "risk_below": 30}, 20, True),
        ({"risk_above": 10, "risk_below": 30}, 40, False),
    ],
)
def test_a_delegation_is_for_changes_of_some_risk(
    bench: Bench, wanted: dict[str, Any], score: int | None, fits: bool
) -> None:
    """Of this revision: that of another does not count."""
    instead(bench, **wanted)
    policy(bench)
    assess(bench, draft(bench), 29)
    one = revised(bench, {"id": "c", "rev": 1})
    if score is not None:
        assess(bench, one, score)
    submit(bench, one, "user:bob")
    assert inbox(bench, "eve") == ["c/1"] * fits


def test_events_name_who_has_changed_a_delegation(bench: Bench) -> None:
    for actor in {}, {"actor": "olga"}:
        bench.put("set_delegations", user="bob", item=[{"name": "d", "to": "eve"}], **actor)
        bench.put("set_delegations", user="bob", item=[{"name": "d", "remove": True}], **actor)
    told = [one["payload"] for one in bench.events() if one["event"].startswith(b"delegation.")]
    assert told == [b"user=bob to=eve", b"user=bob", b"user=bob to=eve by=olga", b"user=bob by=olga"]


def move(bench: Bench, reviewer: str, slot: int = 1) -> Any:
    return bench.put("reassign", id="c", operation="move", slot=slot, reviewer=reviewer, actor="root", reason="ill")


def test_a_request_that_an_operator_moves_is_led_on_at_once(bench: Bench) -> None:
    instead(bench, to="dan")
    one = in_review(bench, "c", "user:eve")
    assert move(bench, "user:bob").status == "ok"
    assert (inbox(bench, "dan"), inbox(bench, "bob"), inbox(bench, "eve")) == (["c/1"], [], [])
    assert bench.ask("HGET", ":request:c/1", "reviewer") == b"user:bob"
    steps = [one["payload"].partition(b" by=")[2] for one in bench.events() if one["event"] != b"delegation.put"]
    assert steps[-2:] == [
        b"root slot=1 operation=move to=user:bob",
        b"delegation slot=1 from=user:bob to=user:dan chain=bob",
    ]
    assert answer(bench, one, "dan").status == "approved"
    bench.check()


def test_a_request_that_a_person_delegates_is_led_on_at_once(bench: Bench) -> None:
    instead(bench, to="dan")
    in_review(bench, "c", "user:eve")
    told = delegate(bench, "eve", "bob")
    assert (told.status, told.reviewer) == ("ok", "user:dan")
    assert bench.ask("HGET", ":request:c/1", "delegation_chain") == b"eve,bob"
    assert (inbox(bench, "dan"), inbox(bench, "bob")) == (["c/1"], [])
    assert delegate(bench, "bob", None).reviewer == "user:bob"  # what bob takes back stays with bob
    assert (inbox(bench, "dan"), inbox(bench, "bob")) == ([], ["c/1"])
    bench.check()


@pytest.mark.parametrize(
    ("fields", "stored", "last"),
    [
        ({"delegation_depth": 1}, {}, "bob"),
        ({"delegation_depth": 2}, {"cascade": True}, "dan"),
        ({}, {"cascade": True}, "kim"),
        ({}, {"cascade": False}, "dan"),
        ({}, {"inactive": True}, "bob"),
    ],
)
def test_a_request_is_led_on_by_hand_as_far_as_the_delegations_say(
    bench: Bench, fields: dict[str, Any], stored: dict[str, Any], last: str
) -> None:
    instead(bench, to="dan", **stored)
    instead(bench, user="dan", to="kim")
    one = in_review(bench, "c", "user:eve", **fields)
    assert delegate(bench, "eve", "bob").reviewer == f"user:{last}"
    assert answer(bench, one, last).status == "approved"
    bench.check()


def test_an_inbox_has_what_a_giver_delegates_from_now_on_among_many_others(bench: Bench) -> None:
    for number in range(70):
        instead(bench, f"a{number:02}", "dan", until_ms=bench.now + 9000)
    in_review(bench, "c", "user:zoe")
    instead(bench, "zoe", "dan", from_ms=bench.now + 1000, until_ms=bench.now + 10_000)
    bench.pass_time(1000)
    assert [one.id for one in bench.put("inbox", user="dan").items] == ["c"]
    assert bench.put("inbox", user="zoe").items == []


def test_delegations_of_an_older_version_are_listed_when_requests_move(bench: Bench) -> None:
    """It listed no givers."""
    in_review(bench, "c", "user:bob")
    instead(bench, "bob", "eve", "d", from_ms=bench.now + 1000, until_ms=bench.now + 5000)
    instead(bench, "bob", "eve", "e", types=["other"], until_ms=bench.now + 4000)
    instead(bench, "bob", "zoe", "f", types=["other"])
    listed = bench.dump()
    for user in "eve", "zoe":
        bench.ask("DEL", f":givers:{user}")
    bench.ask("ZADD", ":delegating", bench.now, "bob")
    sweep(bench, 9)
    assert bench.dump() == listed

"""Answers count only while their delegation holds, without any sweep; no person is behind two answers of a round."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.nouns.change.bench import Bench
from tests.nouns.change.states import (
    CONTENT,
    Seen,
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


def shown(bench: Bench, user: str, **fields: Any) -> list[str]:
    return [f"{one.id}/{one.slot}" for one in bench.put("inbox", user=user, **fields).items]


def told(bench: Bench, one: Seen, actor: str, action: str = "approve", **fields: Any) -> str:
    """The reason of a refusal, otherwise the status."""
    found = answer(bench, one, actor, action, **fields)
    return str(found.reason or found.status)


def only(bench: Bench, one: Seen, user: str, *others: str) -> None:
    """This user has the request, and can answer it, and the others not."""
    for other in others:
        assert (shown(bench, other), told(bench, one, other)) == ([], "not_reviewer"), other
    assert shown(bench, user) == ["c/1"]
    assert told(bench, one, user) == "approved"
    bench.check()


def reviewed(bench: Bench, **fields: Any) -> Seen:
    policy(bench)
    one = draft(bench, resources=["db:dev"], tags=["safe"], **fields)
    assess(bench, one, 10)
    submit(bench, one, "user:bob")
    assert shown(bench, "eve") == ["c/1"]
    return one


def other_resources(bench: Bench, one: Seen) -> Seen:
    return revised(bench, one, resources=["db:prod"], tags=["safe"])


def other_tags(bench: Bench, one: Seen) -> Seen:
    content = {**CONTENT, "resources": ["db:dev"], "tags": ["danger"]}
    bench.put("put", id="c", expect_rev=one["rev"], actor="ann", **content)
    return one


def other_type(bench: Bench, one: Seen) -> Seen:
    return revised(bench, one, change_type="drop", resources=["db:dev"], tags=["safe"])


def more_risk(bench: Bench, one: Seen) -> Seen:
    assess(bench, one, 95)
    return one


@pytest.mark.parametrize(
    ("wanted", "become"),
    [
        ({"resources": ["db:dev"]}, other_resources),
        ({"tags": ["safe"]}, other_tags),
        ({"types": ["deploy"]}, other_type),
        ({"risk_below": 50}, more_risk),
        ({"risk_below": 50}, other_resources),  # nobody knows the risk of this revision
    ],
)
def test_a_delegate_cannot_answer_what_the_change_has_become(
    bench: Bench, wanted: dict[str, Any], become: Callable[[Bench, Seen], Seen]
) -> None:
    instead(bench, **wanted)
    one = become(bench, reviewed(bench))
    only(bench, one, "bob", "eve")


def test_a_change_comes_to_fit_a_delegation(bench: Bench) -> None:
    instead(bench, risk_above=50)
    one = in_review(bench)
    assess(bench, one, 40)
    assert shown(bench, "bob") == ["c/1"]
    assess(bench, one, 60)
    only(bench, one, "eve", "bob")


def test_after_the_end_of_a_delegation_its_owner_answers_and_not_the_delegate(bench: Bench) -> None:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench)
    bench.pass_time(999)
    assert (shown(bench, "eve"), shown(bench, "bob")) == (["c/1"], [])
    assert told(bench, one, "bob") == "not_reviewer"
    bench.pass_time(1)
    only(bench, one, "bob", "eve")


def test_after_the_start_of_a_delegation_the_delegate_answers_and_not_its_owner(bench: Bench) -> None:
    instead(bench, from_ms=bench.now + 1000)
    one = in_review(bench)
    bench.pass_time(999)
    assert (shown(bench, "eve"), shown(bench, "bob")) == ([], ["c/1"])
    assert told(bench, one, "eve") == "not_reviewer"
    bench.pass_time(1)
    only(bench, one, "eve", "bob")


def test_a_delegation_begins_on_the_way_to_another(bench: Bench) -> None:
    """One ends, and a second of the same person begins, behind which is a third."""
    instead(bench, until_ms=bench.now + 1000)
    instead(bench, to="zoe", name="e", from_ms=bench.now + 1000, cascade=True)
    instead(bench, "zoe", "dan", cascade=True)
    one = in_review(bench)
    bench.pass_time(1000)
    only(bench, one, "dan", "bob", "eve", "zoe")


@pytest.mark.parametrize(
    "other", [{"remove": True}, {"to": "eve", "inactive": True}, {"to": "eve", "types": ["drop"]}, {"to": "zoe"}]
)
def test_another_delegation_holds_at_once_for_more_requests_than_a_call_moves(
    bench: Bench, other: dict[str, Any]
) -> None:
    instead(bench)
    seen = {f"c{number}": in_review(bench, f"c{number}") for number in range(102)}
    bench.put("set_delegations", user="bob", item=[{"name": "d", **other}])
    owner = "zoe" if other.get("to") == "zoe" else "bob"
    left = [one.decode() for one in bench.ask("ZRANGE", ":inbox:user:eve", 0, -1)]
    assert len(left) == 2
    for place in left:
        id = place.partition("/")[0]
        assert told(bench, seen[id], "eve") == "not_reviewer"
        assert told(bench, seen[id], owner) == "approved"
    assert shown(bench, "eve") == []
    pages, cursor = [], ""
    while True:
        page = bench.put("inbox", user=owner, limit=50, cursor=cursor)
        pages += [one.id for one in page.items]
        if not (cursor := page.cursor):
            break
    assert sorted(pages) == sorted(seen.keys() - {place.partition("/")[0] for place in left})
    bench.check()


def test_a_vote_becomes_another_only_while_its_delegation_holds(bench: Bench) -> None:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    assert told(bench, one, "eve") == "recorded"
    bench.pass_time(1000)
    assert told(bench, one, "eve", "reject") == "not_reviewer"
    assert told(bench, one, "eve", "retract") == "recorded"
    assert told(bench, one, "eve") == "not_reviewer"
    assert told(bench, one, "bob") == "recorded"
    bench.check()


def test_an_answer_takes_a_request_from_who_has_another_one_no_longer(bench: Bench) -> None:
    """Eve had the request of bob. That is over, so she can have the one of zoe; the one of bob goes back with it."""
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    instead(bench, "zoe", "eve", "z", from_ms=bench.now + 1000)
    bench.pass_time(1000)
    assert (shown(bench, "eve"), shown(bench, "bob"), shown(bench, "zoe")) == (["c/2"], ["c/1"], [])
    assert told(bench, one, "eve") == "recorded"
    bench.check()
    assert told(bench, one, "bob") == "approved"


def test_a_page_shows_a_request_once_that_several_inboxes_have(bench: Bench) -> None:
    instead(bench, until_ms=bench.now + 1000, cascade=True)
    instead(bench, "eve", "zoe", "z", until_ms=bench.now + 1000)
    for number in range(5):
        in_review(bench, f"c{number}", priority=("low", "urgent")[number % 2])
    instead(bench, to="dan", name="e", from_ms=bench.now + 1000, cascade=True)
    instead(bench, "dan", "zoe", "z")
    bench.pass_time(1000)
    pages, cursor = [], ""
    while True:
        page = bench.put("inbox", user="zoe", limit=2, cursor=cursor)
        pages += [one.id for one in page.items]
        if not (cursor := page.cursor):
            break
    assert pages == ["c3", "c1", "c4", "c2", "c0"]


def test_an_operator_finds_requests_where_they_belong(bench: Bench) -> None:
    instead(bench, until_ms=bench.now + 1000)
    in_review(bench, required=1)
    bench.pass_time(1000)
    assert bench.put("reassign", id="c", operation="add", reviewer="user:eve", actor="op", reason="so").status == "ok"
    assert (shown(bench, "eve"), shown(bench, "bob")) == (["c/2"], ["c/1"])
    bench.check()


def test_who_had_a_request_only_for_a_time_may_write_the_change_later(bench: Bench) -> None:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench)
    with_eve = {"id": "c", "expect_rev": one["rev"], "actor": "eve", **CONTENT, "version": "2"}
    assert bench.put("put", **with_eve).status == "is_reviewer"
    bench.pass_time(1000)
    assert bench.put("put", **with_eve).status == "revised"


def test_who_had_a_request_delegates_it_no_longer_after_the_end(bench: Bench) -> None:
    instead(bench, until_ms=bench.now + 1000, cascade=True)
    in_review(bench)
    bench.pass_time(1000)
    assert delegate(bench, "eve", "zoe").reason == "not_reviewer"
    assert delegate(bench, "bob", "zoe").status == "ok"


# Two votes of one person

TWO = ("user:bob", "group:ops")


def test_who_has_delegated_a_request_answers_no_other(bench: Bench) -> None:
    one = in_review(bench, "c", *TWO, required=2)
    delegate(bench, "bob", "eve")
    assert shown(bench, "bob", groups=["ops"]) == []
    assert told(bench, one, "bob", groups=["ops"]) == "answered"
    assert told(bench, one, "eve") == "recorded"
    assert told(bench, one, "bob", groups=["ops"]) == "answered"
    assert told(bench, one, "zoe", groups=["ops"]) == "approved"


def test_who_has_answered_a_request_delegates_no_other(bench: Bench) -> None:
    one = in_review(bench, "c", *TWO, required=2)
    assert told(bench, one, "bob", groups=["ops"], slot=2) == "recorded"
    assert delegate(bench, "bob", "eve").reason == "answered"
    instead(bench)
    assert (shown(bench, "eve"), told(bench, one, "eve")) == ([], "not_reviewer")


@pytest.mark.parametrize("begins", [0, 1000])
def test_who_has_delegated_by_a_delegation_answers_no_other_request(bench: Bench, begins: int) -> None:
    instead(bench, from_ms=bench.now + begins)
    one = in_review(bench, "c", *TWO, required=2)
    bench.pass_time(begins)
    assert told(bench, one, "bob", groups=["ops"]) == "answered"
    assert shown(bench, "bob", groups=["ops"]) == []
    assert told(bench, one, "eve") == "recorded"
    assert told(bench, one, "bob", groups=["ops"]) == "answered"


def test_who_takes_a_request_back_may_answer_either(bench: Bench) -> None:
    one = in_review(bench, "c", *TWO, required=2)
    delegate(bench, "bob", "eve")
    delegate(bench, "bob", None)
    assert told(bench, one, "bob", groups=["ops"], slot=2) == "recorded"
    assert told(bench, one, "eve") == "not_reviewer"


def test_the_person_behind_an_agent_that_has_delegated_answers_no_other(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bot", "group:ops", "user:bot2", required=2, agents_may_vote=True)
    delegate(bench, "bot", "eve", kind="agent", principal="bob")
    for who in {"actor": "bob"}, {"actor": "bot3", "kind": "agent", "principal": "bob"}:
        assert shown(bench, who["actor"], principal=who.get("principal"), groups=["ops"]) == []
        assert told(bench, one, **who, groups=["ops"]) == "answered"
    assert delegate(bench, "bot2", "zoe", kind="agent", principal="bob").reason == "answered"
    assert told(bench, one, "eve") == "recorded"
    assert told(bench, one, "bob", groups=["ops"]) == "answered"


def test_the_agent_of_who_has_answered_delegates_no_other_request(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bot", "group:ops", required=2, agents_may_vote=True)
    assert told(bench, one, "bot3", kind="agent", principal="bob", groups=["ops"]) == "recorded"
    assert delegate(bench, "bot", "eve", kind="agent", principal="bob").reason == "answered"
    assert delegate(bench, "bot", "eve", kind="agent", principal="zoe").status == "ok"
    assert told(bench, one, "eve") == "approved"


def test_a_revision_leads_no_request_to_its_author(bench: Bench) -> None:
    instead(bench, resources=["db:prod"])
    one = in_review(bench)
    bench.put("put", id="c", expect_rev=one["rev"], actor="eve", **CONTENT, resources=["db:prod"])
    assert (shown(bench, "eve"), shown(bench, "bob")) == ([], ["c/1"])
    bench.check()


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("ended", [True, False])
def test_a_request_that_an_older_version_has_delegated(bench: Bench, by_hand: bool, ended: bool) -> None:
    """The change does not say by which delegation: its record does."""
    if not by_hand:
        instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench)
    if by_hand:
        delegate(bench, "bob", "eve")
    slots = bench.ask("HGET", ":change:c", "slots").decode()
    older = re.sub(r" >[^,]*", "", slots)
    assert older != slots
    bench.client.hset(f"{bench.base}:change:c", "slots", older)
    bench.pass_time(1000 if ended else 0)
    only(bench, one, *(("eve", "bob") if by_hand or not ended else ("bob", "eve")))

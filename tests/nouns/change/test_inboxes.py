"""The order of an inbox, and its pages: most urgent first, and nothing is left out or shown twice."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.nouns.bench import NounBench
from tests.nouns.change.scenarios_of_delegations import misfits
from tests.nouns.change.states import answer, assess, in_review, instead, name_of, watched
from tests.nouns.script_bench import MakeAny


def pages(bench: NounBench, limit: int, **fields: Any) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    cursor = ""
    while True:
        page = bench.put("inbox", cursor=cursor, limit=limit, **fields)
        assert len(page.items) <= limit
        found += [(one.id, one.slot) for one in page.items]
        if not (cursor := page.cursor):
            return found


def test_an_inbox_is_in_the_order_of_risk_and_priority_then_time(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    weights = {"low": 0, "normal": 100, "high": 500, "urgent": 1000}
    wanted: list[tuple[int, int, str]] = []
    for priority, risk, timeout in product(weights, (0, 11, 97), (3600, 7200)):
        id = f"{priority}.{risk}.{timeout}"
        reviewer = ("user:bob", "group:a", "group:b")[len(wanted) % 3]
        assess(bench, in_review(bench, id, reviewer, priority=priority, timeout=timeout), risk)
        wanted.append((-(risk * 10 + weights[priority]), timeout, id))
    order = [id for *_, id in sorted(wanted, key=lambda one: one[:2])]
    for limit in (100, 5):
        assert [id for id, _ in pages(bench, limit, user="bob", groups=["a", "b"])] == order


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_of_equal_requests_leave_none_out(make_any: MakeAny, limit: int) -> None:
    """Of a person and of groups, of which one is asked several times by the same change."""
    bench = watched(make_any("change"))
    reviewers = ("user:bob", "group:a", "group:b", "group:a")
    wanted = []
    for number in range(6):
        asked = reviewers[number % 4 :]
        in_review(bench, f"c{number}", *asked)
        wanted += [(f"c{number}", slot + 1) for slot in range(len(asked))]
    found = pages(bench, limit, user="bob", groups=["a", "b"])
    assert found == sorted(wanted, key=lambda one: f"{one[0]}/{one[1]}", reverse=True)
    assert {slot for _, slot in found} == {1, 2, 3, 4}


def test_a_page_goes_on_behind_a_request_that_is_gone(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    seen = {f"c{number}": in_review(bench, f"c{number}") for number in range(5)}
    page = bench.put("inbox", user="bob", limit=2)
    assert [one.id for one in page.items] == ["c4", "c3"]
    answer(bench, seen["c3"], "bob")
    in_review(bench, "c5")  # before the place of the page
    assert [one.id for one in bench.put("inbox", user="bob", cursor=page.cursor).items] == ["c2", "c1", "c0"]


def test_what_a_user_cannot_answer_takes_no_place_on_a_page(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    for number in range(120):
        in_review(bench, f"c{number:03}", "group:a", content={"tags": [f"t{number}"]})
        if number % 2:
            one = bench.put("get", item=[f"c{number:03}"]).items[0].change
            own = {"rev": one["rev"], "digest": one["digest"], "id": f"c{number:03}"}
            answer(bench, own, "bob", groups=["a"])
    found = pages(bench, 25, user="bob", groups=["a"])
    assert [id for id, _ in found] == [f"c{number:03}" for number in reversed(range(0, 120, 2))]
    assert pages(bench, 25, user="ann", groups=["a"]) == []


def test_the_number_of_pending_requests_is_that_of_the_inbox(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    seen = [in_review(bench, f"c{number}") for number in range(3)]
    assert bench.put("inbox", user="bob").pending == 3
    answer(bench, seen[0], "bob")
    assert bench.put("inbox", user="bob").pending == 2
    assert bench.put("inbox", user="bob").stats["answers"] == 1


def test_a_call_that_has_compared_much_leaves_the_rest_to_the_next_one(make_any: MakeAny) -> None:
    """No request is left out, in the inbox or by a sweep."""
    bench = make_any("change")
    reviewers, seen = misfits(bench, 20)
    user = name_of(reviewers[3])
    instead(bench, user, "kim", "d15", from_ms=bench.now + 1000)
    bench.pass_time(1000)
    first = bench.put("inbox", user="kim", limit=100)
    assert 0 < len(first.items) < 20
    assert first.cursor
    assert sorted(pages(bench, 100, user="kim")) == sorted((one["id"], 4) for one in seen)
    assert pages(bench, 100, user=user) == []

    sweeps = 0
    while bench.put("sweep", limit=100).more:
        sweeps += 1
    assert sweeps > 32 * 20 // 100, "no call has ended before its limit"
    assert len(bench.ask("ZRANGE", ":inbox:user:kim", 0, -1)) == 20
    assert bench.put("inbox", user="kim", limit=100).cursor == ""


def test_answers_that_take_long_to_compare_are_for_later_calls(make_any: MakeAny) -> None:
    bench = make_any("change")
    reviewers, seen = misfits(bench, 20)
    left = [{**one, "action": "approve"} for one in seen]
    calls = 0
    while left:
        told = [one.status for one in bench.put("respond", actor=name_of(reviewers[3]), item=left).items]
        assert told == sorted(told), "approved, then later"
        assert told[0] == "approved"
        left = left[told.count("approved") :]
        calls += 1
    assert calls > 1

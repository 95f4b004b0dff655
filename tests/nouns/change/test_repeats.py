"""A call that is sent again within a minute gets its answer, refusals too, whatever has happened since."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.change.states import (
    CONTENT,
    answer,
    approved,
    draft,
    in_review,
    move,
    policy,
    revised,
    submit,
    watched,
)
from tests.nouns.script_bench import MakeAny

KNOWN = 60_000  # ms


def test_a_refusal_is_repeated_although_it_would_succeed_now(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = draft(bench)
    early = {"id": "c", "rev": 1, "actor": "ann", "policy": "p", "item": ["user:bob"]}
    assert bench.put("submit", rid="r", **early).status == "no_policy"
    policy(bench)
    bench.pass_time(KNOWN - 1)
    assert bench.put("submit", rid="r", **early).status == "no_policy"
    bench.pass_time(1)
    assert bench.put("submit", rid="r", **early).status == "reviewing"
    assert answer(bench, one, "bob").status == "approved"


def test_a_success_is_repeated_after_what_came_later(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    first = bench.call("put", rid="r", id="c", actor="ann", **CONTENT)
    told = bench.real(first)
    revised(bench, {"id": "c", "rev": 1})
    move(bench, {"id": "c"}, "cancel")
    again = bench.real(first)
    assert (again.status, again.state, again.rev, again.digest) == ("created", "draft", 1, told.digest)
    assert bench.put("get", item=["c"]).items[0].change["state"] == "cancelled"


def test_an_answer_is_given_once_also_if_it_was_taken_back_since(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = in_review(bench, "c", "user:bob", "user:eve", required=2)
    vote = bench.call("respond", rid="r", actor="bob", item=[{**one, "action": "approve"}])
    told = bench.real(vote)
    answer(bench, one, "bob", "retract")
    assert bench.real(vote) == told
    assert bench.put("get", item=["c"]).items[0].approved == 0


def test_each_kind_of_answer_is_remembered_as_it_was(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    seen = [in_review(bench, f"c{number}", "user:bob", "user:eve", required=1 + number % 2) for number in range(4)]
    answer(bench, seen[2], "eve", "reject")
    items: list[Any] = [{**one, "action": "approve"} for one in seen]
    items += [{**seen[1], "action": "approve"}, {**seen[3], "rev": 7, "action": "approve"}]
    items += [{**seen[3], "id": "none", "action": "approve"}, {**seen[3], "action": "comment", "reason": "a, b|c"}]
    call = bench.call("respond", actor="bob", item=items)
    told = bench.real(call)
    assert [one.status for one in told.items] == [
        "approved", "recorded", "closed", "recorded", "same", "outdated", "not_found", "commented",
    ]  # fmt: skip
    assert bench.real(call) == told
    assert bench.run(call) == told


@pytest.mark.parametrize("verb", ["begin", "finish", "override", "assess", "move"])
def test_where_nothing_is_stored_nothing_is_remembered(make_any: MakeAny, verb: str) -> None:
    bench = make_any("change", "server")
    own: dict[str, Any] = {
        "begin": {"rev": 1, "digest": "0" * 40, "agent": "bot"},
        "finish": {"token": "t", "result": "success"},
        "override": {"rev": 1, "digest": "0" * 40, "actor": "olga", "reason": "x"},
        "assess": {"rev": 1, "digest": "0" * 40, "actor": "meter", "score": 1},
        "move": {"to": "cancel", "actor": "ann"},
    }
    assert bench.put(verb, id="c", **own[verb]).status in ("not_found", "lost")
    assert bench.dump() == {}


def test_the_same_rid_of_another_script_is_another_call(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = approved(bench)
    assert bench.put("begin", rid="r", agent="bot", **one).status == "begun"
    assert bench.put("finish", rid="r", id="c", token="r", result="success").status == "completed"
    assert bench.put("begin", rid="r", agent="bot", **one).status == "begun", "the answer of the first"
    assert submit(bench, draft(bench, "d"), "user:bob").status == "reviewing"

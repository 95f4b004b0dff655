"""Answers to requests of changes that decide a review, and such that must not."""

from __future__ import annotations

import pytest

from tests.lua.bench import MakeAny
from tests.nouns.change.bench import Bench
from tests.nouns.change.states import CONTENT, answer, assess, draft, in_review, policy, submit, watched

AGENT = {"principal": "zoe", "kind": "agent"}


@pytest.fixture
def bench(make_any: MakeAny) -> Bench:
    made: Bench = watched(make_any("change"))
    return made


def test_a_wish_for_changes_that_is_taken_back_holds_nothing_up(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bob", "user:eve")
    assert answer(bench, one, "bob", "request_changes").status == "recorded"
    assert answer(bench, one, "eve").status == "recorded"
    told = answer(bench, one, "bob", "retract")
    assert (told.status, told.state) == ("approved", "approved")
    assert bench.ask("ZCARD", ":inbox:user:bob") == 0
    bench.check()


def test_a_timeout_approves_nothing_that_a_reviewer_wants_changed(bench: Bench) -> None:
    policy(bench, required=2, on_timeout="approve", timeout_approve_below=50, timeout=3600)
    one = draft(bench)
    assess(bench, one, 10)
    submit(bench, one, "user:bob", "user:eve")
    answer(bench, one, "bob", "request_changes")
    bench.pass_time(3_600_000)
    assert answer(bench, one, "eve").status == "closed"
    assert bench.ask("HGET", ":change:c", "state") == b"rejected"
    assert bench.ask("HGET", ":request:c/2", "status") == b"expired"


def test_who_edits_only_the_metadata_does_not_review(bench: Bench) -> None:
    one = draft(bench)
    assert bench.put("put", id="c", expect_rev=1, actor="bob", tags=["x"], **CONTENT).status == "edited"
    policy(bench)
    submit(bench, one, "user:eve", "group:ops")
    assert answer(bench, one, "bob", groups=["ops"]).reason == "contributor"


def test_an_agent_that_has_answered_does_not_write(bench: Bench) -> None:
    one = in_review(bench, "c", "group:ops", "user:eve", required=2, agents_may_vote=True)
    answer(bench, one, "bot", principal="zoe", kind="agent", groups=["ops"])
    told = bench.put("put", id="c", expect_rev=1, actor="bot", principal="max", kind="agent", tags=["x"], **CONTENT)
    assert (told.status, told.slot) == ("is_reviewer", 1)


def test_an_author_does_not_choose_through_its_agent_who_answers(bench: Bench) -> None:
    in_review(bench, "c", "user:bot", agents_may_vote=True)
    told = bench.put("delegate", id="c", actor="bot", principal="ann", kind="agent", to="zoe")
    assert (told.status, told.reason) == ("not_eligible", "contributor")


def test_an_inbox_of_an_agent_shows_what_it_may_answer(bench: Bench) -> None:
    in_review(bench, "c", "user:bot")
    in_review(bench, "d", "user:bot", agents_may_vote=True)
    assert [one.id for one in bench.put("inbox", user="bot", principal="zoe").items] == ["d"]
    assert [one.id for one in bench.put("inbox", user="bot").items] == ["d", "c"]


def test_for_whom_an_agent_has_delegated_a_request_does_not_write(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bot", agents_may_vote=True)
    for actor, to in ("bot", "eve"), ("eve", None), ("bot", "kim"):
        bench.put("delegate", id="c", actor=actor, to=to, **(AGENT if actor == "bot" else {}))
    assert bench.ask("HGET", ":request:c/1", "delegated_for") == b"zoe"
    told = bench.put("put", id="c", expect_rev=1, actor="zoe", tags=["x"], **CONTENT)
    assert (told.status, told.slot) == ("is_reviewer", 1)
    bench.put("delegate", id="c", actor="bot", **AGENT)
    told = bench.put("put", id="c", expect_rev=1, actor="zoe", tags=["x"], **CONTENT)
    assert told.status == "edited"
    assert answer(bench, one, "bot", **AGENT).reason == "contributor"

"""Answers to requests of changes that decide a review, and such that must not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.change.bench import Bench
from tests.nouns.change.states import (
    CONTENT,
    answer,
    assess,
    draft,
    in_review,
    move,
    policy,
    revised,
    seen,
    submit,
    watched,
)
from tests.nouns.script_bench import MakeAny

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


RITA = {"principal": "rita", "kind": "agent"}


@pytest.mark.parametrize("first", ["agent", "person"])
def test_who_answers_for_itself_and_for_another_is_behind_both(bench: Bench, first: str) -> None:
    one = in_review(bench, "c", "user:bob", "group:g", required=2, agents_may_vote=True)
    ways: list[dict[str, Any]] = [{"slot": 1, **RITA}, {"slot": 2}]
    now, then = ways if first == "agent" else ways[::-1]
    assert answer(bench, one, "bob", groups=["g"], **now).status == "recorded"
    shown = bench.put("inbox", user="bob", groups=["g"], principal=then.get("principal")).items
    assert shown == []
    told = answer(bench, one, "bob", groups=["g"], **then)
    assert (told.status, told.reason) == ("not_eligible", "answered")
    bench.check()


def test_who_answers_for_two_others_is_behind_both(bench: Bench) -> None:
    one = in_review(bench, "c", "group:g", "group:g", required=2, agents_may_vote=True)
    assert answer(bench, one, "bob", groups=["g"], **RITA).status == "recorded"
    assert answer(bench, one, "bob", groups=["g"], principal="sue", kind="agent").reason == "answered"


def test_who_has_answered_for_itself_does_not_change_the_answer_of_another(bench: Bench) -> None:
    one = in_review(bench, "c", *["group:g"] * 4, required=3, agents_may_vote=True)
    answer(bench, one, "rita", "abstain", groups=["g"])
    answer(bench, one, "bob", "request_changes", groups=["g"])
    assert answer(bench, one, "bob", groups=["g"], **RITA).reason == "answered"
    assert answer(bench, one, "bob", "retract", groups=["g"], **RITA).status == "recorded"
    assert answer(bench, one, "zoe", groups=["g"], slot=1, **RITA).status == "recorded"
    bench.check()


def test_who_has_answered_for_another_is_not_asked_again(bench: Bench) -> None:
    one = in_review(bench, "c", "group:g", "user:eve", "user:kim", required=3, agents_may_vote=True)
    answer(bench, one, "bob", groups=["g"], **RITA)
    told = bench.put("reassign", id="c", operation="add", reviewer="user:bob", actor="root", reason="ill")
    assert (told.status, told.reason) == ("not_eligible", "answered")
    told = bench.put("delegate", id="c", actor="eve", to="bob")
    assert (told.status, told.reason) == ("not_eligible", "answered")
    bench.put("set_delegations", user="kim", item=[{"name": "d", "to": "bob"}])
    assert [one.id for one in bench.put("inbox", user="kim").items] == ["c"]


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


def test_for_whom_an_agent_has_delegated_a_request_that_came_back_is_free(bench: Bench) -> None:
    """However often: `delegated_for` has at most one person for each of the chain."""
    one = in_review(bench, "c", "user:bot", "user:zoe", required=2, agents_may_vote=True, delegation_depth=4)
    for principal in "zoe", "max", "rik":
        bench.put("delegate", id="c", slot=1, actor="bot", principal=principal, kind="agent", to="dan")
        assert bench.ask("HGET", ":request:c/1", "delegated_for") == principal.encode()
        bench.put("delegate", id="c", slot=1, actor="bot", **AGENT)
    assert bench.ask("HGET", ":request:c/1", "delegated_for") == b""
    bench.put("delegate", id="c", slot=1, actor="bot", principal="rik", kind="agent", to="dan")
    assert answer(bench, one, "zoe").status == "recorded"


def test_who_is_behind_a_part_of_a_chain_stays_while_the_part_does(bench: Bench) -> None:
    in_review(bench, "c", "user:dan", agents_may_vote=True, delegation_depth=4)
    bench.put("delegate", id="c", actor="dan", to="bot")
    bench.put("delegate", id="c", actor="bot", to="bit", **AGENT)
    bench.put("delegate", id="c", actor="bit", to="eve", kind="agent", principal="max")
    assert bench.ask("HGET", ":request:c/1", "delegated_for") == b",zoe,max"
    bench.put("delegate", id="c", actor="bit", kind="agent", principal="max")
    assert bench.ask("HGET", ":request:c/1", "delegated_for") == b",zoe"
    told = bench.put("put", id="c", expect_rev=1, actor="max", tags=["x"], **CONTENT)
    assert told.status == "edited"
    told = bench.put("put", id="c", expect_rev=1, actor="zoe", tags=["y"], **CONTENT)
    assert (told.status, told.slot) == ("is_reviewer", 1)
    reassign = {"operation": "move", "slot": 1, "actor": "op", "reviewer": "user:kim", "reason": "away"}
    bench.put("reassign", id="c", **reassign)
    assert bench.ask("HGET", ":request:c/1", "delegated_for") == b""


def test_a_tag_forbids_until_the_next_submit_though_it_is_taken_away(bench: Bench) -> None:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, needs="risk", auto_below=20, deny_tags=["critical"])
    one = draft(bench, tags=["a", "critical"])
    submit(bench, one, "user:bob")
    for tags in (["a"], ["a", "b"]):
        assert bench.put("put", id="c", expect_rev=1, actor="ann", tags=tags, **CONTENT).status == "edited"
    assert assess(bench, one, 1, auto_approvable=True).state == "reviewing"
    assert answer(bench, one, "bob").status == "approved"
    move(bench, one, "withdraw")
    assert submit(bench, one, "user:bob").status == "approved"  # without the tag, as everybody can see


def test_a_tag_that_comes_after_the_submit_forbids(bench: Bench) -> None:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, needs="risk", auto_below=20, deny_tags=["critical"])
    one = draft(bench)
    submit(bench, one, "user:bob")
    for tags in (["critical"], None):
        bench.put("put", id="c", expect_rev=1, actor="ann", tags=tags, **CONTENT)
    assert assess(bench, one, 1, auto_approvable=True).state == "reviewing"


REFUSED = {
    "by a rejection": (1, [("bob", "reject")]),
    "by a rejection that is not enough": (2, [("bob", "reject")]),
    "by a wish for changes": (1, [("bob", "request_changes")]),
    "because too few are left": (0, [("bob", "abstain"), ("eve", "abstain")]),
}


@pytest.mark.parametrize("how", REFUSED)
def test_no_policy_approves_what_people_have_rejected(bench: Bench, how: str) -> None:
    rejections, answers = REFUSED[how]
    bench.put("configure", settings={"auto_approve_low_risk": True})
    fields: dict[str, Any] = {"auto_below": 20, "on_timeout": "approve", "timeout_approve_below": 20, "timeout": 3600}
    policy(bench, rejections=rejections, **fields)
    one = draft(bench)
    assess(bench, one, 50)
    submit(bench, one, "user:bob", "user:eve")
    for person, action in answers:
        answer(bench, one, person, action)
    state = bench.put("get", item=["c"]).items[0].change["state"]
    move(bench, one, "reopen" if state == "rejected" else "withdraw")
    assess(bench, one, 1, auto_approvable=True)
    assert submit(bench, one, "user:bob", "user:eve").status == "reviewing"
    bench.pass_time(3_600_000)
    bench.put("sweep")
    assert bench.put("get", item=["c"]).items[0].change["state"] == "rejected"  # the time does not approve it either
    move(bench, one, "reopen")
    new = revised(bench, one)
    assess(bench, new, 1, auto_approvable=True)
    assert submit(bench, new, "user:bob", "user:eve").status == "approved"  # another content
    move(bench, new, "withdraw")
    back = seen("c", bench.put("put", id="c", expect_rev=2, actor="ann", **CONTENT))
    assess(bench, back, 1, auto_approvable=True)
    assert submit(bench, back, "user:bob", "user:eve").status == "reviewing"  # the first one again
    assert answer(bench, back, "bob").status == "approved"
    bench.check()


def test_what_people_wanted_changed_is_known_though_its_author_edits_in_the_review(bench: Bench) -> None:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, auto_below=20)
    one = draft(bench)
    assess(bench, one, 50)
    submit(bench, one, "user:bob")
    answer(bench, one, "bob", "request_changes")
    revised(bench, one)
    back = seen("c", bench.put("put", id="c", expect_rev=2, actor="ann", **CONTENT))
    move(bench, back, "withdraw")
    assess(bench, back, 1, auto_approvable=True)
    assert submit(bench, back, "user:bob").status == "reviewing"
    bench.check()


def test_the_last_ten_contents_that_people_have_rejected_are_known(bench: Bench) -> None:
    policy(bench)
    one = draft(bench)
    for number in range(12):
        submit(bench, one, "user:bob")
        answer(bench, one, "bob", "reject")
        move(bench, one, "reopen")
        last, one = one, revised(bench, one, version=str(number))
    known = bench.ask("HGET", ":change:c", "rejected").decode().split(",")
    assert (len(known), len(set(known)), known[0]) == (10, 10, last["digest"])
    assert {len(digest) for digest in known} == {40}


TIMED: dict[str, Any] = {"on_timeout": "approve", "timeout_approve_below": 50, "timeout": 3600}


def test_an_author_does_not_shorten_a_review_that_a_timeout_approves(bench: Bench) -> None:
    policy(bench, **TIMED)
    policy(bench, "usual", on_timeout="approve", timeout_approve_below=50)
    policy(bench, "rejects", timeout=3600)
    wanted = (
        ("a", "p", 0.001, 3600),
        ("b", "p", 7200, 7200),
        ("c", "usual", 0.001, 172_800),
        ("d", "rejects", 0.001, 0.001),
    )
    for id, name, timeout, lasts in wanted:
        one = draft(bench, id)
        assess(bench, one, 10)
        submit(bench, one, "user:bob", policy=name, timeout=timeout)
        due = int(bench.ask("HGET", f":change:{id}", "timeout_at_ms"))
        assert due - bench.now == lasts * 1000, id
    bench.pass_time(1)
    bench.put("sweep")
    states = [bench.put("get", item=[id]).items[0].change["state"] for id in "abcd"]
    assert states == ["reviewing", "reviewing", "reviewing", "rejected"]


@pytest.mark.parametrize("tags", [(["critical"], None), (["a"], ["critical"], ["a"]), (["a"], ["critical"])])
def test_a_timeout_approves_nothing_with_a_tag_that_forbids_it(bench: Bench, tags: tuple[Any, ...]) -> None:
    policy(bench, deny_tags=["critical"], **TIMED)
    one = draft(bench, tags=tags[0])
    assess(bench, one, 10)
    submit(bench, one, "user:bob")
    for new in tags[1:]:
        assert bench.put("put", id="c", expect_rev=1, actor="ann", tags=new, **CONTENT).status == "edited"
    bench.pass_time(3_600_000)
    bench.put("sweep")
    assert bench.put("get", item=["c"]).items[0].change["state"] == "rejected"
    bench.check()


def test_a_timeout_that_rejects_is_no_rejection_by_people(bench: Bench) -> None:
    bench.put("configure", settings={"auto_approve_low_risk": True})
    policy(bench, auto_below=20, timeout=3600)
    one = draft(bench)
    assess(bench, one, 50)
    submit(bench, one, "user:bob")
    bench.pass_time(3_600_000)
    bench.put("sweep")
    move(bench, one, "reopen")
    assess(bench, one, 1, auto_approvable=True)
    assert submit(bench, one, "user:bob").status == "approved"


def test_for_whom_an_agent_has_stored_a_delegation_is_behind_the_answer(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bot", "user:rita", required=2, agents_may_vote=True)
    bench.put("set_delegations", user="bot", actor="bot", item=[{"name": "d", "to": "dan"}], **RITA)
    assert answer(bench, one, "rita").reason == "answered"  # as with a delegation by hand
    assert answer(bench, one, "dan").status == "recorded"
    assert answer(bench, one, "rita").reason == "answered"
    assert bench.put("inbox", user="rita").items == []
    bench.put("set_delegations", user="bot", actor="bot", item=[{"name": "d", "remove": True}], **RITA)
    assert answer(bench, one, "rita").reason == "answered"  # the answer of dan stays
    bench.check()


def test_an_agent_whose_person_has_answered_keeps_the_request(bench: Bench) -> None:
    one = in_review(
        bench, "c", "user:bot", "user:rita", required=3, rejections=0, agents_may_vote=True, reviewers=["user:x"]
    )
    assert answer(bench, one, "rita").status == "recorded"
    bench.put("set_delegations", user="bot", actor="bot", item=[{"name": "d", "to": "dan"}], **RITA)
    assert answer(bench, one, "dan").reason == "not_reviewer"
    assert answer(bench, one, "bot", principal="sue", kind="agent").status == "recorded"
    bench.check()


def test_an_author_does_not_choose_by_a_delegation_of_its_agent_who_answers(bench: Bench) -> None:
    bench.put(
        "set_delegations", user="bot", actor="bot", principal="ann", kind="agent", item=[{"name": "d", "to": "dan"}]
    )
    one = in_review(bench, "c", "user:bot", agents_may_vote=True)
    assert answer(bench, one, "dan").reason == "not_reviewer"
    bench.put("set_delegations", user="bot", actor="bot", item=[{"name": "d", "to": "dan"}], **RITA)
    told = bench.put("put", id="c", expect_rev=1, actor="rita", tags=["x"], **CONTENT)
    assert (told.status, told.slot) == ("is_reviewer", 1)
    assert answer(bench, one, "dan").status == "approved"
    bench.check()


def test_another_person_behind_a_delegation_counts_at_once(bench: Bench) -> None:
    one = in_review(bench, "c", "user:bot", "user:rita", "user:sue", required=3, agents_may_vote=True)
    for person in ("rita", "sue"):
        told = bench.put(
            "set_delegations",
            user="bot",
            actor="bot",
            principal=person,
            kind="agent",
            item=[{"name": "d", "to": "dan"}],
        )
        assert told.items[0].status == "stored"
    assert bench.put("get_delegations", user="bot").items[0].delegation["for"] == "sue"
    assert answer(bench, one, "rita").status == "recorded"
    assert answer(bench, one, "sue").reason == "answered"
    bench.check()

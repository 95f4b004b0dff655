"""Paths of `set_delegations` and `get_delegations`, and what delegations do with requests."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.change.states import (
    CONTENT,
    DAY,
    LARGE,
    Seen,
    about_to_be_over,
    answer,
    assess,
    delegate,
    draft,
    in_review,
    instead,
    let_them_be_over,
    name_of,
    people,
    policy,
    submitted,
)
from tests.nouns.scenario import AnyCall, scenario, sent


def set_one(bench: NounBench, user: str = "bob", name: str = "d", **fields: Any) -> AnyCall:
    return bench.call("set_delegations", user=user, item=[{"name": name, **fields}])


@scenario(0)
def set_delegations_of_a_person(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, to="eve")


@scenario(0, clock="server")
def set_delegations_first_of_all(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, set_one(bench, to="eve"))


@scenario(0)
def set_delegations_as_they_are(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_with_all_fields(bench: NounBench, _: int) -> AnyCall:
    own = {"from_ms": bench.now, "until_ms": bench.now + DAY, "types": ["deploy", "drop"], "tags": ["x"]}
    own |= {"resources": ["a:b"], "risk_above": 10, "risk_below": 60, "cascade": True, "inactive": True}
    by = {"actor": "olga", "caller": "web"}
    return bench.call("set_delegations", user="bob", item=[{"name": "d", "to": "eve", **own}], **by)


@scenario(0)
def set_delegations_to_another(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    return set_one(bench, to="zoe")


@scenario(0)
def set_delegations_away(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    items = [{"name": name, "remove": True} for name in ("d", "e")]
    return bench.call("set_delegations", user="bob", actor="olga", item=items)


@scenario(0)
def set_delegations_away_without_an_actor(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    return set_one(bench, remove=True)


@scenario(0)
def set_delegations_away_with_other_fields(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, remove=True, to="eve")


@scenario(0)
def set_delegations_to_nobody(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, cascade=True)


@scenario(0)
def set_delegations_that_end_before_they_begin(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, to="eve", from_ms=bench.now, until_ms=bench.now)


@scenario(0)
def set_delegations_of_a_user_whose_name_is_too_long(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, "b" * 196, to="eve")


@scenario(0)
def set_delegations_to_a_user_whose_name_is_too_long(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, to="e" * 196)


@scenario(0)
def set_delegations_to_oneself(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, to="bob")


@scenario(0)
def set_delegations_in_a_cycle(bench: NounBench, _: int) -> AnyCall:
    instead(bench, "eve", "zoe", "a")
    instead(bench, "eve", "dan", "b")
    instead(bench, "eve", "dan", "c")
    instead(bench, "zoe", "bob")
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_one_too_many(bench: NounBench, _: int) -> AnyCall:
    bench.put("set_delegations", user="bob", item=[{"name": f"d{number}", "to": "eve"} for number in range(16)])
    return bench.call("set_delegations", user="bob", item=[{"name": "x", "to": "eve"}, {"name": "d0", "to": "zoe"}])


@scenario(0)
def set_delegations_and_a_request_moves(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_and_a_request_moves_back(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return set_one(bench, remove=True)


@scenario(0)
def set_delegations_and_a_request_moves_to_another(bench: NounBench, _: int) -> AnyCall:
    instead(bench, cascade=True)
    in_review(bench)
    instead(bench, "eve", "zoe", "e")
    return set_one(bench, to="dan")


@scenario(0)
def set_delegations_and_what_was_delegated_by_hand_stays(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    delegate(bench, "bob", "zoe")
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_and_what_still_fits_stays(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return set_one(bench, name="e", to="zoe")


@scenario(0)
def set_delegations_and_answered_requests_stay(bench: NounBench, _: int) -> AnyCall:
    answer(bench, in_review(bench, "c", "user:bob", "user:zoe", required=2), "bob")
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_and_a_request_moves_before_its_review(bench: NounBench, _: int) -> AnyCall:
    """It is in no inbox yet, so only a later call finds it."""
    submitted(bench)
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_while_a_request_is_damaged(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    bench.ask("ZADD", ":inbox:user:bob", 1, "gone/1")
    bench.ask("ZADD", ":inbox:user:bob", 2, "c/7")
    return set_one(bench, to="eve")


@scenario(1, 100)
def set_delegations_of_who_has_many_requests(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        in_review(bench, f"c{number}")
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_of_who_has_more_requests_than_a_call_moves(bench: NounBench, _: int) -> AnyCall:
    for number in range(101):
        in_review(bench, f"c{number}")
    return set_one(bench, to="eve")


@scenario(1, 3200)
def set_delegations_of_the_greatest_size(bench: NounBench, n: int) -> AnyCall:
    """So many requests, 32 of each change."""
    slots, changes = min(n, 32), -(-n // 32)
    first, *others = people(slots, 500)
    for number in range(changes):
        in_review(bench, f"c{number}", *others, first, delegation_depth=4)
    for number in range(500, 503):
        names = [name_of(one) for one in people(2, number + 1000)]
        many = [{"name": f"d{at:02}", "to": names[1], "cascade": True, "types": ["t"] * 16} for at in range(15)]
        bench.put("set_delegations", user=names[0], item=[*many, {"name": "last", "to": names[1], "cascade": True}])
    to = name_of(people(1, 1500)[0])
    own = {"types": [f"{at:02}".ljust(200, "t") for at in range(15)] + ["deploy"], "cascade": True}
    return bench.call(
        "set_delegations", user=name_of(first), item=[{"name": f"d{at:02}", "to": to, **own} for at in range(16)]
    )


# What they do when a request is made


@scenario(0)
def submit_to_who_has_delegated(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    return _submitted(bench)


@scenario(0)
def submit_along_delegations(bench: NounBench, _: int) -> AnyCall:
    for user, to in ("bob", "eve"), ("eve", "zoe"), ("zoe", "dan"), ("dan", "kim"):
        instead(bench, user, to, cascade=True)
    return _submitted(bench)


@scenario(0)
def submit_along_a_delegation_that_does_not_cascade(bench: NounBench, _: int) -> AnyCall:
    instead(bench, "bob", "eve")
    instead(bench, "eve", "zoe")
    return _submitted(bench)


@scenario(0)
def submit_to_a_group_while_persons_have_delegated(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    return _submitted(bench, "group:bob", "user:zoe")


@scenario(0)
def submit_to_who_has_delegated_to_the_author(bench: NounBench, _: int) -> AnyCall:
    instead(bench, to="ann")
    return _submitted(bench)


@scenario(0)
def submit_to_two_who_have_delegated_to_the_same(bench: NounBench, _: int) -> AnyCall:
    instead(bench, "bob")
    instead(bench, "zoe")
    return _submitted(bench, "user:bob", "user:zoe")


@scenario(0)
def submit_without_any_step_of_delegation(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    return _submitted(bench, delegation_depth=0)


@scenario(0)
def submit_where_the_first_delegation_that_fits_counts(bench: NounBench, _: int) -> AnyCall:
    instead(bench, to="zoe", name="b")
    instead(bench, to="dan", name="a", inactive=True)
    instead(bench, to="eve", name="aa")
    return _submitted(bench)


def _submitted(bench: NounBench, *reviewers: str, **fields: Any) -> AnyCall:
    policy(bench, **fields)
    one = draft(bench, resources=["a:b", "a:c"], tags=["x", "y"])
    assess(bench, one, 30)
    asked = list(reviewers or ("user:bob",))
    return bench.call("submit", id="c", rev=1, actor="ann", policy="p", item=asked)


def _fits(bench: NounBench, **fields: Any) -> AnyCall:
    instead(bench, **fields)
    return _submitted(bench)


@scenario(0, 1, 2, 3)
def submit_where_a_delegation_has_times(bench: NounBench, n: int) -> AnyCall:
    """It begins now or later, it ends later or now."""
    times = {"from_ms": bench.now}, {"from_ms": bench.now + 1}, {"until_ms": bench.now + 1}, {"until_ms": bench.now}
    return _fits(bench, **times[n])


@scenario(29, 30, 31)
def submit_where_a_delegation_wants_a_risk_above(bench: NounBench, n: int) -> AnyCall:
    return _fits(bench, risk_above=n)


@scenario(29, 30, 31)
def submit_where_a_delegation_wants_a_risk_below(bench: NounBench, n: int) -> AnyCall:
    return _fits(bench, risk_below=n)


@scenario(0)
def submit_where_a_delegation_wants_a_risk_of_0(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, risk_above=0)


@scenario(0)
def submit_where_a_delegation_wants_a_risk_that_nobody_knows(bench: NounBench, _: int) -> AnyCall:
    instead(bench, risk_below=50)
    policy(bench)
    draft(bench)
    return bench.call("submit", id="c", rev=1, actor="ann", policy="p", item=["user:bob"])


@scenario(0)
def submit_where_a_delegation_wants_another_type(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, types=["drop", "deplo"])


@scenario(0)
def submit_where_a_delegation_wants_this_type(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, types=["drop", "deploy"])


@scenario(0)
def submit_where_a_delegation_wants_another_tag(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, tags=["z"])


@scenario(0)
def submit_where_a_delegation_wants_this_tag(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, tags=["z", "y"])


@scenario(0)
def submit_where_a_delegation_wants_another_resource(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, resources=["a:d"])


@scenario(0)
def submit_where_a_delegation_wants_this_resource(bench: NounBench, _: int) -> AnyCall:
    return _fits(bench, resources=["a:d", "a:c"])


@scenario(0)
def delegate_on_what_a_delegation_has_led_here(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return bench.call("delegate", id="c", actor="eve", to="zoe")


@scenario(0)
def delegate_on_what_a_delegation_with_cascade_has_led_here(bench: NounBench, _: int) -> AnyCall:
    instead(bench, cascade=True)
    in_review(bench)
    return bench.call("delegate", id="c", actor="eve", to="zoe")


@scenario(0)
def delegate_back_what_a_delegation_has_led_here(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return bench.call("delegate", id="c", actor="eve")


@scenario(0)
def put_a_new_round_of_what_was_delegated(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    answer(bench, one, "eve")
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "version": "3"})


@scenario(0)
def move_what_was_delegated_to_cancelled(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return bench.call("move", id="c", to="cancel", actor="ann")


@scenario(0)
def sweep_a_delegation_that_begins(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    instead(bench, from_ms=bench.now + 1000, until_ms=bench.now + 2000)
    bench.pass_time(1000)
    return bench.call("sweep")


@scenario(0)
def sweep_a_delegation_that_ends(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    instead(bench, until_ms=bench.now + 1000)
    instead(bench, to="zoe", name="e", from_ms=bench.now + 3000, inactive=True)
    instead(bench, to="zoe", name="f", from_ms=bench.now + 2000)
    bench.pass_time(1000)
    return bench.call("sweep")


@scenario(0)
def sweep_requests_that_another_call_left(bench: NounBench, _: int) -> AnyCall:
    for number in range(101):
        in_review(bench, f"c{number}")
    instead(bench)
    return bench.call("sweep", limit=1)


@scenario(0)
def sweep_requests_that_move_back_in_parts(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    for number in range(3):
        in_review(bench, f"c{number}")
    instead(bench, "zoe", "dan", from_ms=bench.now + 1000)
    instead(bench, until_ms=bench.now + 1000)
    bench.pass_time(1000)
    bench.put("sweep", limit=2)
    return bench.call("sweep", limit=2)


# What is stored


@scenario(0)
def get_delegations_of_a_person(bench: NounBench, _: int) -> AnyCall:
    for name in ("b", "a", "ab"):
        instead(bench, name=name)
    in_review(bench)
    return bench.call("get_delegations", user="bob")


@scenario(0)
def get_delegations_of_who_has_none(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get_delegations", user="bob")


@scenario(0)
def get_delegations_while_requests_move(bench: NounBench, _: int) -> AnyCall:
    for number in range(101):
        in_review(bench, f"c{number}")
    instead(bench)
    return bench.call("get_delegations", user="bob")


@scenario(1, 16)
def get_delegations_of_the_greatest_size(bench: NounBench, n: int) -> AnyCall:
    words = [f"{at:02}".ljust(200, "t") for at in range(16)]
    own = {"to": "e" * 195, "types": words, "tags": words, "resources": words}
    bench.put("set_delegations", user="b" * 195, item=[{"name": f"d{at:02}".ljust(100, "n"), **own} for at in range(n)])
    return bench.call("get_delegations", user="b" * 195)


@scenario(0)
def set_delegations_that_end_without_a_beginning(bench: NounBench, _: int) -> AnyCall:
    return set_one(bench, to="eve", until_ms=bench.now + 1000)


@scenario(0)
def set_delegations_in_a_chain_in_which_requests_move(bench: NounBench, _: int) -> AnyCall:
    for number in range(101):
        in_review(bench, f"c{number}", "user:eve")
    instead(bench, "eve", "zoe", cascade=True)
    return set_one(bench, to="eve", cascade=True)


@scenario(0)
def set_delegations_one_too_many_while_requests_move(bench: NounBench, _: int) -> AnyCall:
    for number in range(101):
        in_review(bench, f"c{number}")
    bench.put("set_delegations", user="bob", item=[{"name": f"d{number}", "to": "eve"} for number in range(15)])
    return set_one(bench, name="x", to="eve")


@scenario(0)
def set_delegations_after_an_answer_before_the_review_is_over(bench: NounBench, _: int) -> AnyCall:
    """The inbox has one that its call closes, because its time is over."""
    in_review(bench, timeout=60)
    bench.pass_time(60_000)
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_of_whom_another_led_to_without_cascade(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return set_one(bench, "eve", to="zoe")


def _by_way_of_eve(bench: NounBench) -> None:
    instead(bench, cascade=True)
    instead(bench, "eve", "zoe")
    in_review(bench)


@scenario(0)
def set_delegations_and_the_first_of_two_steps_stays(bench: NounBench, _: int) -> AnyCall:
    _by_way_of_eve(bench)
    return set_one(bench, name="z", to="dan")


@scenario(0)
def set_delegations_and_the_same_person_is_asked_directly(bench: NounBench, _: int) -> AnyCall:
    _by_way_of_eve(bench)
    return set_one(bench, to="zoe")


@scenario(0)
def set_delegations_under_another_name(bench: NounBench, _: int) -> AnyCall:
    instead(bench)
    in_review(bench)
    return bench.call("set_delegations", user="bob", item=[{"name": "d", "remove": True}, {"name": "e", "to": "eve"}])


def _half_moved(bench: NounBench, *others: dict[str, Any]) -> None:
    """A delegation of bob has begun, and one of two requests has moved."""
    later = {"name": "d", "to": "eve", "from_ms": bench.now + 1000}
    bench.put("set_delegations", user="bob", item=[later, *others])
    for id in ("c", "c2"):
        in_review(bench, id)
    bench.pass_time(1000)
    bench.put("sweep", limit=1)


@scenario(0)
def set_delegations_one_too_many_in_the_midst_of_moves(bench: NounBench, _: int) -> AnyCall:
    _half_moved(bench, *({"name": f"d{number}", "to": "zoe"} for number in range(15)))
    return set_one(bench, name="x", to="zoe")


@scenario(0)
def sweep_what_moves_while_another_request_opens(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c3", "user:bob", "user:carl")
    answer(bench, one, "bob", "abstain")
    _half_moved(bench)
    answer(bench, one, "bob", "retract")
    return bench.call("sweep")


@scenario(0)
def set_delegations_so_that_a_step_behind_them_ends(bench: NounBench, _: int) -> AnyCall:
    _by_way_of_eve(bench)
    return set_one(bench, to="eve")


@scenario(0)
def delegate_back_by_an_agent(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bot")
    delegate(bench, "bot", "eve", kind="agent", principal="zoe")
    return bench.call("delegate", id="c", actor="bot", kind="agent", principal="zoe")


@scenario(0)
def delegate_by_the_agents_of_two_persons(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bot")
    delegate(bench, "bot", "bot2", kind="agent", principal="zoe")
    return bench.call("delegate", id="c", actor="bot2", to="eve", kind="agent", principal="kim")


@scenario(0)
def delegate_twice_by_the_agent_of_a_person(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bot")
    delegate(bench, "bot", "eve", kind="agent", principal="zoe")
    delegate(bench, "bot", None, kind="agent", principal="zoe")
    return bench.call("delegate", id="c", actor="bot", to="eve", kind="agent", principal="zoe")


@scenario(0)
def put_by_a_person_whose_agent_has_delegated(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bot")
    delegate(bench, "bot", "eve", kind="agent", principal="zoe")
    return bench.call("put", id="c", expect_rev=one["rev"], actor="zoe", **CONTENT)


@scenario(0)
def put_by_an_agent_that_has_answered_for_another(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "group:g", required=2, reviewers=["user:kai"], agents_may_vote=True)
    answer(bench, one, "bot", kind="agent", principal="zoe", groups=["g"])
    return bench.call("put", id="c", expect_rev=one["rev"], actor="bot", kind="agent", principal="kim", **CONTENT)


# What holds when somebody answers


def _ended(bench: NounBench, **fields: Any) -> dict[str, Any]:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench, **fields)
    bench.pass_time(1000)
    return one


def _vote(bench: NounBench, one: dict[str, Any], actor: str, action: str = "approve", **fields: Any) -> AnyCall:
    return bench.call("respond", actor=actor, item=[{**one, "action": action}], **fields)


@scenario(0)
def respond_after_the_end_of_the_own_delegation(bench: NounBench, _: int) -> AnyCall:
    return _vote(bench, _ended(bench), "bob")


@scenario(0)
def respond_after_the_end_of_the_delegation_to_oneself(bench: NounBench, _: int) -> AnyCall:
    return _vote(bench, _ended(bench), "eve")


@scenario(0)
def respond_after_the_start_of_the_delegation_to_oneself(bench: NounBench, _: int) -> AnyCall:
    instead(bench, from_ms=bench.now + 1000)
    one = in_review(bench)
    bench.pass_time(1000)
    return _vote(bench, one, "eve")


@scenario(0)
def respond_otherwise_after_the_end_of_the_delegation(bench: NounBench, _: int) -> AnyCall:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    answer(bench, one, "eve")
    bench.pass_time(1000)
    return _vote(bench, one, "eve", "reject")


@scenario(0)
def respond_while_another_request_goes_back(bench: NounBench, _: int) -> AnyCall:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    instead(bench, "zoe", "eve", "z", from_ms=bench.now + 1000)
    bench.pass_time(1000)
    return _vote(bench, one, "eve")


@scenario(0)
def respond_while_another_request_moves_later(bench: NounBench, _: int) -> AnyCall:
    instead(bench, until_ms=bench.now + 1000)
    one = in_review(bench, "c", "user:bob", "user:zoe", required=2)
    instead(bench, "zoe", "dan", "z", from_ms=bench.now + 1000)
    bench.pass_time(1000)
    return _vote(bench, one, "dan")


@scenario(0)
def respond_by_who_has_delegated_another_request(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "group:g", required=2)
    delegate(bench, "bob", "eve")
    return _vote(bench, one, "bob", groups=["g"])


@scenario(0)
def respond_by_the_person_whose_agent_has_delegated_another(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bot", "group:g", "group:g", required=2)
    delegate(bench, "bot", "eve", kind="agent", principal="zoe")
    answer(bench, one, "eve")
    return _vote(bench, one, "zoe", groups=["g"])


@scenario(0)
def respond_to_what_one_who_has_answered_delegated_by_an_agent(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bot", "user:bot2", "group:g", required=3)
    delegate(bench, "bot", "eve", kind="agent", principal="zoe")
    delegate(bench, "bot2", "dan", kind="agent", principal="kim")
    answer(bench, one, "eve")
    return _vote(bench, one, "dan")


@scenario(0)
def delegate_by_who_has_answered_another_request(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "group:g", required=2)
    answer(bench, one, "bob", groups=["g"], slot=2)
    return bench.call("delegate", id="c", actor="bob", to="eve")


@scenario(0)
def set_delegations_of_who_has_answered_another_request(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:bob", "group:g", required=2)
    answer(bench, one, "bob", groups=["g"], slot=2)
    return set_one(bench, to="eve")


@scenario(0)
def set_delegations_under_another_name_after_the_end_of_one(bench: NounBench, _: int) -> AnyCall:
    """The request stays where it is, by another delegation."""
    instead(bench, until_ms=bench.now + 1000)
    in_review(bench)
    bench.pass_time(1000)
    return set_one(bench, name="e", to="eve")


@scenario(0)
def inbox_of_who_had_delegated_until_now(bench: NounBench, _: int) -> AnyCall:
    _ended(bench)
    return bench.call("inbox", user="bob")


@scenario(0)
def inbox_of_who_was_a_delegate_until_now(bench: NounBench, _: int) -> AnyCall:
    _ended(bench)
    return bench.call("inbox", user="eve")


@scenario(0)
def inbox_of_who_is_a_delegate_from_now_on(bench: NounBench, _: int) -> AnyCall:
    """Over another one; and two others have delegations that begin."""
    instead(bench, from_ms=bench.now + 1000, cascade=True)
    instead(bench, "eve", "zoe")
    instead(bench, "kim", "zoe", from_ms=bench.now + 1000, cascade=True)
    instead(bench, "eve", "kim", "k", inactive=True)
    in_review(bench)
    bench.pass_time(1000)
    return bench.call("inbox", user="zoe")


@scenario(0)
def inbox_with_a_request_in_two_of_its_sets(bench: NounBench, _: int) -> AnyCall:
    instead(bench, until_ms=bench.now + 1000, cascade=True)
    instead(bench, "eve", "zoe", "z", until_ms=bench.now + 1000)
    in_review(bench, "c", priority="urgent")
    in_review(bench, "d")
    instead(bench, to="dan", name="e", from_ms=bench.now + 1000, cascade=True)
    instead(bench, "dan", "zoe", "z")
    bench.pass_time(1000)
    return bench.call("inbox", user="zoe")


@scenario(0)
def inbox_of_who_has_delegated_another_request(bench: NounBench, _: int) -> AnyCall:
    in_review(bench, "c", "user:bob", "group:g", required=2)
    delegate(bench, "bob", "eve")
    return bench.call("inbox", user="bob", groups=["g"])


@scenario(1, 250)
def inbox_of_the_delegate_of_many_from_now_on(bench: NounBench, n: int) -> AnyCall:
    """Of more persons than a call looks at; all the others of each change have delegations that begin, too."""
    givers = people(min(n, 70))
    for at, giver in enumerate(givers):
        instead(bench, name_of(giver), "bob", from_ms=bench.now + 1000 + at)
    others = people(31, 100)
    for other in others:
        many = [
            {"name": f"d{at:02}", "to": "eve", "types": ["t"] * 16, "from_ms": bench.now + 1000} for at in range(16)
        ]
        bench.put("set_delegations", user=name_of(other), item=many)
    for number in range(n):
        in_review(bench, f"c{number}", *others, givers[number % len(givers)])
    bench.pass_time(2000)
    return bench.call("inbox", user="bob", groups=[f"{at}".ljust(194, "g") for at in range(32)], limit=100)


@scenario(1, 200)
def inbox_while_delegations_begin_that_do_not_fit(bench: NounBench, n: int) -> AnyCall:
    reviewers, _ = misfits(bench, n, 200)
    return bench.call("inbox", user=name_of(reviewers[-1]), limit=100)


@scenario(1, 100)
def sweep_while_delegations_begin_that_do_not_fit(bench: NounBench, n: int) -> AnyCall:
    misfits(bench, n, 200)
    return bench.call("sweep", limit=100)


@scenario(1, 100)
def set_delegations_while_others_begin_that_do_not_fit(bench: NounBench, n: int) -> AnyCall:
    misfits(bench, n, 200)
    return set_one(bench, "kim", to="eve")


@scenario(1, 100)
def respond_while_delegations_begin_that_do_not_fit(bench: NounBench, n: int) -> AnyCall:
    reviewers, seen = misfits(bench, n, 200)
    answers = [{**one, "action": "approve"} for one in seen]
    return bench.call("respond", actor=name_of(reviewers[-1]), item=answers)


@scenario(0)
def put_while_delegations_begin_that_do_not_fit(bench: NounBench, _: int) -> AnyCall:
    misfits(bench, 1, 200)
    return bench.call("put", id="c0", expect_rev=1, actor="ann", **CONTENT, tags=LARGE["tags"])


@scenario(0)
def assess_while_delegations_begin_that_do_not_fit(bench: NounBench, _: int) -> AnyCall:
    seen = misfits(bench, 1, 200)[1]
    return bench.call("assess", **seen[0], actor="meter", score=10)


@scenario(0)
def delegate_while_delegations_begin_that_do_not_fit(bench: NounBench, _: int) -> AnyCall:
    reviewers = misfits(bench, 1, 200)[0]
    return bench.call("delegate", id="c0", actor=name_of(reviewers[0]), to="kim")


@scenario(0)
def reassign_while_delegations_begin_that_do_not_fit(bench: NounBench, _: int) -> AnyCall:
    misfits(bench, 1, 200)
    return bench.call("reassign", id="c0", operation="dismiss", slot=1, actor="op", reason="so")


@scenario(0)
def respond_to_more_than_a_call_compares(bench: NounBench, _: int) -> AnyCall:
    reviewers, seen = misfits(bench, 20)
    return bench.call("respond", actor=name_of(reviewers[-1]), item=[{**one, "action": "approve"} for one in seen])


@scenario(1, 16)
def set_delegations_into_the_same_many_persons(bench: NounBench, n: int) -> AnyCall:
    """70 persons have 16 delegations each, which lead to four others."""
    for at in range(70):
        many = [{"name": f"d{one:02}", "to": f"p{4 * at + 1 + one % 4}"} for one in range(16)]
        bench.put("set_delegations", user=f"p{at}", item=many)
    return bench.call("set_delegations", user="me", item=[{"name": f"d{one:02}", "to": f"p{one}"} for one in range(n)])


def misfits(bench: NounBench, changes: int, width: int = 5, **fields: Any) -> tuple[list[str], list[Seen]]:
    """All 32 reviewers of so many changes have 16 delegations that begin, have most in common with the changes, and do
    not fit."""
    reviewers = people(32)
    content = {
        name: [one.replace("database", "d").rstrip("x").ljust(width, "x") for one in LARGE[name]]
        for name in ("tags", "resources")
    }
    seen = [in_review(bench, f"c{number}", *reviewers, content=content) for number in range(changes)]
    own: dict[str, Any] = {"tags": content["tags"], "resources": [f"o:{at:03}".ljust(width, "x") for at in range(16)]}
    many = [{"name": f"d{at:02}", "to": "eve", "from_ms": bench.now + 1000, **own, **fields} for at in range(16)]
    for reviewer in reviewers:
        bench.put("set_delegations", user=name_of(reviewer), item=many)
    bench.pass_time(2000)
    return reviewers, seen


def _far(bench: NounBench, slots: int, **fields: Any) -> list[str]:
    """These reviewers have delegations that lead on to four others each."""
    found = people(slots)
    for at in range(slots):
        way = [name_of(people(1, at + 100 * step)[0]) for step in range(5)]
        for step, (giver, to) in enumerate(pairwise(way)):
            instead(bench, giver, to, cascade=True, **(fields if step == 0 else {}))
    return found


@scenario(1, 32)
def assess_so_that_all_requests_go_back(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    reviewers = _far(bench, n, risk_below=50)
    policy(bench, delegation_depth=4)
    one = draft(bench)
    assess(bench, one, 10)
    bench.put("submit", id="c", rev=1, actor="ann", policy="p", item=reviewers)
    let_them_be_over(bench)
    return bench.call("assess", **one, actor="meter", score=90)


@scenario(1, 32)
def put_other_tags_so_that_all_requests_go_on(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    in_review(bench, "c", *_far(bench, n, tags=["x"]), delegation_depth=4)
    let_them_be_over(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **CONTENT, tags=["x"])


@scenario(1, 32)
def put_another_revision_so_that_all_requests_go_back(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    in_review(bench, "c", *_far(bench, n, types=["deploy"]), delegation_depth=4)
    let_them_be_over(bench)
    return bench.call("put", id="c", expect_rev=1, actor="ann", **{**CONTENT, "change_type": "drop"})


@scenario(1, 32)
def delegate_after_all_delegations_have_ended(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    reviewers = _far(bench, n, until_ms=bench.now + 1000)
    in_review(bench, "c", *reviewers, delegation_depth=4)
    let_them_be_over(bench)
    return bench.call("delegate", id="c", actor=name_of(reviewers[-1]), to="eve")


@scenario(1, 32)
def reassign_after_all_delegations_have_ended(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    in_review(bench, "c", *_far(bench, n, until_ms=bench.now + 1000), delegation_depth=4)
    let_them_be_over(bench)
    return bench.call("reassign", id="c", operation="move", slot=1, reviewer="user:eve", actor="op", reason="so")


@scenario(1, 100)
def respond_to_many_after_all_delegations_have_ended(bench: NounBench, n: int) -> AnyCall:
    about_to_be_over(bench, 32)
    reviewers = _far(bench, 32, until_ms=bench.now + 1000)
    seen = [in_review(bench, f"c{number:03}", *reviewers, delegation_depth=4) for number in range(n)]
    let_them_be_over(bench)
    items = [{**one, "action": "approve"} for one in seen]
    return bench.call("respond", actor=name_of(reviewers[-1]), item=items)

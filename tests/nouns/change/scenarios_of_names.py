"""Names of people with characters that nobody sees, which no script accepts, and names that are only foreign."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.change.states import in_review
from tests.nouns.scenario import AnyCall, scenario

HIDDEN = "bob\u200b"


@scenario(0)
def respond_by_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench)
    return bench.call("respond", actor=HIDDEN, item=[{**one, "action": "approve"}])


@scenario(0)
def respond_by_a_foreign_name(bench: NounBench, _: int) -> AnyCall:
    one = in_review(bench, "c", "user:søren")
    return bench.call("respond", actor="søren", item=[{**one, "action": "approve"}])


@scenario(0)
def delegate_to_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("delegate", id="c", actor="bob", to=HIDDEN)


@scenario(0)
def delegate_by_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("delegate", id="c", actor=HIDDEN, to="eve")


@scenario(0)
def inbox_of_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    return bench.call("inbox", user=HIDDEN)


@scenario(0)
def reassign_by_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("reassign", id="c", operation="remove", slot=1, actor=HIDDEN, reason="r")


@scenario(0)
def reassign_to_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    in_review(bench)
    return bench.call("reassign", id="c", operation="add", reviewer=f"user:{HIDDEN}", actor="olga", reason="r")


@scenario(0)
def set_delegations_of_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_delegations", user=HIDDEN, item=[{"name": "d", "to": "eve"}])


@scenario(0)
def set_delegations_to_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_delegations", user="bob", item=[{"name": "d", "to": HIDDEN}])


@scenario(0)
def set_policies_by_a_name_with_a_hidden_character(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_policies", actor=HIDDEN, item=[{"name": "p", "required": 1}])

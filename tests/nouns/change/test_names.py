"""Names of people and groups: no call takes one with a character that nobody sees, in whichever argument it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import category

import pytest

from pyadeq._core.change.people import HIDDEN
from pyadeq.errors import BadArgument
from tests.nouns.change.bench import Bench
from tests.nouns.change.states import CONTENT, answer, in_review, instead, watched
from tests.nouns.script_bench import MakeAny
from tests.nouns.watched import Refused

SEEN = {"id": "c", "rev": 1, "digest": "0" * 40}
GIVEN: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "put.actor": lambda name: ("put", {"id": "d", "actor": name, **CONTENT}),
    "put.principal": lambda name: ("put", {"id": "d", "actor": "bot", "kind": "agent", "principal": name, **CONTENT}),
    "submit.actor": lambda name: ("submit", {"id": "c", "rev": 1, "actor": name, "policy": "p"}),
    "submit.reviewer": lambda name: (
        "submit", {"id": "c", "rev": 1, "actor": "ann", "policy": "p", "item": ["user:" + name]},
    ),
    "move.actor": lambda name: ("move", {"id": "c", "to": "cancel", "actor": name}),
    "assess.actor": lambda name: ("assess", {**SEEN, "actor": name, "score": 1}),
    "respond.actor": lambda name: ("respond", {"actor": name, "item": [{**SEEN, "action": "approve"}]}),
    "override.actor": lambda name: ("override", {**SEEN, "actor": name, "reason": "so"}),
    "delegate.actor": lambda name: ("delegate", {"id": "c", "actor": name, "to": "eve"}),
    "delegate.to": lambda name: ("delegate", {"id": "c", "actor": "bob", "to": name}),
    "reassign.actor": lambda name: ("reassign", {
        "id": "c", "operation": "remove", "slot": 1, "actor": name, "reason": "so",
    }),
    "reassign.reviewer": lambda name: ("reassign", {
        "id": "c", "operation": "add", "reviewer": "group:" + name, "actor": "op", "reason": "so",
    }),
    "set_delegations.user": lambda name: ("set_delegations", {"user": name, "item": [{"name": "d", "to": "eve"}]}),
    "set_delegations.actor": lambda name: (
        "set_delegations", {"user": "bob", "actor": name, "item": [{"name": "d", "to": "eve"}]},
    ),
    "set_delegations.principal": lambda name: (
        "set_delegations",
        {"user": "bot", "actor": "bot", "principal": name, "kind": "agent", "item": [{"name": "d", "to": "eve"}]},
    ),
    "set_delegations.to": lambda name: ("set_delegations", {"user": "bob", "item": [{"name": "d", "to": name}]}),
    "set_policies.actor": lambda name: ("set_policies", {"actor": name, "item": [{"name": "p", "required": 1}]}),
    "set_policies.reviewers": lambda name: (
        "set_policies", {"item": [{"name": "p", "required": 1, "reviewers": ["user:bob", "user:" + name]}]},
    ),
    "set_policies.escalate_to": lambda name: (
        "set_policies", {"item": [{"name": "p", "required": 1, "escalate_ms": 1000, "escalate_to": ["user:" + name]}]},
    ),
    "inbox.user": lambda name: ("inbox", {"user": name}),
    "inbox.principal": lambda name: ("inbox", {"user": "bot", "principal": name}),
}  # fmt: skip


@pytest.fixture
def bench(make_any: MakeAny) -> Bench:
    made: Bench = watched(make_any("change"))
    return made


@pytest.mark.parametrize("where", GIVEN)
def test_no_argument_takes_a_name_with_an_invisible_character(bench: Bench, where: str) -> None:
    in_review(bench)
    before = bench.dump()
    verb, arguments = GIVEN[where]("bob\u200b")
    with pytest.raises(Refused, match=where.partition(".")[2] + r".*without invisible characters"):
        bench.put(verb, **arguments)
    assert bench.dump() == before


def test_all_invisible_characters_are_refused_and_no_others(bench: Bench) -> None:
    """As the client does; also the neighbours of each of them."""
    hidden = {code for code in range(0x110000) if HIDDEN.match(chr(code))}
    edges = {code for one in hidden for code in (one - 1, one, one + 1)}
    edges -= set(range(0xE0003, 0xE0FFD))  # as the others of this range
    for code in sorted(edges | {ord(one) for one in "aéßжあ漢\U0001f600"}):
        name = f"b{chr(code)}b"
        try:
            bench.put("inbox", user=name)
            accepted = True
        except BadArgument:  # the client: controls and spaces are no label
            continue
        except Refused:
            accepted = False
        assert accepted == (code not in hidden), f"U+{code:04X}"


def test_all_characters_of_format_are_hidden_but_signs_that_have_a_shape() -> None:
    signs = {*range(0x600, 0x606), 0x6DD, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    formats = {code for code in range(0x110000) if category(chr(code)) == "Cf"}
    assert {code for code in formats if not HIDDEN.match(chr(code))} == signs


def test_two_names_that_look_alike_are_not_two_voters(bench: Bench) -> None:
    one = in_review(bench, "c", "group:ops", "group:ops", required=2)
    answer(bench, one, "bob", groups=["ops"])
    for name in (
        "bob\u200b",
        "bob\u00ad",
        "\ufeffbob",
        "bob\u2800",
        "bob\U00016fe4",
        "bob\U0001d159",
        "bob\u070f",
        "bob\U00013430",
    ):
        with pytest.raises(Refused, match="invisible"):
            answer(bench, one, name, groups=["ops"])
    instead(bench, "eve", "zoé")

"""What the operators make of small pieces of Lua, and that each mutant of the sources has its place in the scripts."""

from __future__ import annotations

import re

import pytest

from pyadeq._core.kernel.manifest import library
from tests.mutation.by_hand import BY_HAND
from tests.mutation.operators import Mutant, mutants
from tests.mutation.report import Result, shortfalls, survivors
from tests.mutation.texts import all_mutants, mutated
from tests.nouns.sources import as_written, paths, text_of
from tests.unit.lua_tree import LUA

pytestmark = pytest.mark.any_engine


COUNTS = "kernel/counters/write_counts.lua"


def mutants_of(path: str) -> list[Mutant]:
    """Those of one source: to find all of them takes seconds."""
    return list(mutants(path, text_of(path)))


def made(text: str) -> set[str]:
    """The texts that become of one."""
    found = set()
    for one in mutants("include/x.lua", text):
        _, start, end, put = one.change
        found.add(text[:start] + put + text[end:])
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a then b() end", {"if true then b() end", "if false then b() end", "if a then  end"}),
        ("do a(); b() end", {"do do end; b() end", "do a();  end"}),
        ("while a do b() end", {"while false do b() end", "while a do  end"}),
        ("repeat local a = b() until a", {"repeat local a = b() until true"}),
        ("return a == b", {"return a ~= b"}),
        ("return a < b", {"return a >= b", "return a <= b"}),
        (
            "if a < b then b = a end",
            {
                "if true then b = a end",
                "if false then b = a end",
                "if a >= b then b = a end",
                "if a < b then  end",
            },
        ),
        (
            "if a ~= b then return a < b end",
            {
                "if true then return a < b end",
                "if false then return a < b end",
                "if a == b then return a < b end",
                "if a ~= b then return a >= b end",
            },
        ),
        ("return not a", {"return a"}),
        ("return a and b", {"return a", "return b"}),
        ("return a or b", set()),
        ("return not (a or b)", {"return (a or b)", "return not (a)", "return not (b)"}),
        ("return a and b or c", {"return b or c", "return c"}),
        ("local a = redis.call('GET', 'k')", set()),
        ("redis.call('DEL', 'k')", {""}),
        ("a = 1", {""}),
        ("a[b] = math.max(c, d)", {"", "a[b] = (c)", "a[b] = (d)"}),
        ("-- if a == b then", set()),
    ],
)
def test_what_becomes_of_a_text(text: str, expected: set[str]) -> None:
    assert made(text) == expected


def test_a_mutant_changes_each_script_that_holds_its_source() -> None:
    mutant = mutants_of(COUNTS)[0]
    holders = {id for id in library() if re.search(r"local function (\w+__)?write_counts\b", library()[id].text)}
    texts = mutated(mutant)
    assert texts.keys() == holders
    for id, text in texts.items():
        before, after = library()[id].text.splitlines(), text.decode().splitlines()
        assert [as_written(line) for line, other in zip(before, after, strict=True) if line != other] == [
            (LUA / mutant.source).read_text().splitlines()[mutant.line - 1]
        ]


def test_the_tenths_are_of_one_size() -> None:
    lots = [one.lot % 10 for path in paths()[::4] for one in mutants_of(path)]
    assert len(lots) > 1000
    assert all(0.07 < lots.count(lot) / len(lots) < 0.13 for lot in range(10))


def results(**outcomes: int) -> list[Result]:
    mutant = mutants_of(COUNTS)[0]
    return [Result(mutant, outcome) for outcome, number in outcomes.items() for _ in range(number)]


def test_93_of_100_are_enough_and_a_timeout_is_no_kill() -> None:
    assert list(shortfalls(results(killed=93, survived=7), 1)) == []
    short = list(shortfalls(results(killed=92, survived=7, timeout=1), 1))
    assert short == ["92.0 % of all mutants were killed, at least 93 % must be"]


def test_a_part_that_is_drawn_by_chance_may_have_some_more_survivors() -> None:
    assert not any("of all mutants" in line for line in shortfalls(results(killed=86, survived=14), 20))
    short = list(shortfalls(results(killed=85, survived=15), 20))
    assert short == ["85.0 % of all mutants were killed, at least 85.3 % must be"]


def test_each_script_needs_85_of_100() -> None:
    short = "\n".join(shortfalls(results(killed=84, survived=16), 1))
    assert "kernel/counters/write_counts.lua: 84.0 % were killed, at least 85 % must be" in short
    assert "queue.ack.v1: 84.0 % were killed" in short


def test_survivors_are_listed_with_their_places() -> None:
    listed = survivors(results(killed=1, survived=1, timeout=1))
    assert [line.startswith("lua/kernel/counters/write_counts.lua:") for line in listed] == [True, True]
    assert listed[1].endswith("(no end)")


@pytest.mark.slow
def test_names_are_of_one_mutant_each() -> None:
    names = [one.name for one in all_mutants()]
    assert len(set(names)) == len(names)


def test_mutants_by_hand_have_their_sources() -> None:
    assert set(BY_HAND) <= set(paths())

"""The scenarios together go every way of every decision of every source, and so run all that does something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
import redis

from pyadeq._core.kernel.manifest import Script, library
from tests.nouns.arguments import noun_of
from tests.nouns.branches import BranchClient
from tests.nouns.scenario import Prepare, acks
from tests.nouns.scenarios import Scenario, small
from tests.nouns.script_bench import START, MakeAny
from tests.nouns.sources import as_written, origins, paths
from tests.nouns.test_refusals import refusal
from tests.nouns.unreachable import UNREACHABLE, entry_for
from tests.nouns.watched import Refused

pytestmark = pytest.mark.any_engine

SEVERAL = 3
IS_ONE = {"`a == 1` is true", "`a == 1` is false"}
Place = tuple[str, int, int, str]  # a source, a line and a column of it, and a way that a decision there may go


@pytest.fixture
def branches(client: redis.Redis) -> BranchClient:
    return BranchClient(client)


@pytest.mark.slow
def test_the_scenarios_go_every_way(branches: BranchClient, make_any: MakeAny) -> None:
    places = {way: place for script in scripts() for way, place in ways(branches, script)}
    assert {source for source, *_ in places.values()} == set(paths())

    refuse(branches, make_any)
    acknowledge_without_info(branches, make_any)
    refuse_a_child_while_draining(branches, make_any)
    missed = set(places.values())
    for scenario in smallest_first():
        run(scenario, branches, make_any)
        missed -= {places[way] for way in branches.take() & places.keys()}
        if all(entry_for(source, way) for source, _, _, way in missed):
            break
    wanted = sorted(place for place in missed if not entry_for(place[0], place[3]))
    shown = [f"lua/{source}:{line}:{column}: {way}" for source, line, column, way in wanted]
    assert not wanted, "\n".join(["no scenario in tests/nouns/scenarios.py makes the scripts go these ways:", *shown])
    excused = {entry_for(source, way) for source, _, _, way in missed}
    listed = {entry for entries in UNREACHABLE.values() for entry in entries}
    assert listed <= excused, f"to be taken out of tests/nouns/unreachable.py: {listed - excused}"


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        ("local a if a then a = 1 end", {"`a` is true"}),
        ("local a, b = 1, nil if not a or (b and a == 1) then b = 1 end", {"`a` is false", "`b` is true"} | IS_ONE),
        ("local a = 1 a = a == 1 and 'x' or 'y'", {"`a == 1` is false"}),
        ("local a = {} for i = 1, #a do a = i end", {"a round over `#a`"}),
        ("local a = { 1 } for _, b in ipairs(a) do a = b end", {"no round over `a`"}),
        ("local a = 1 while a < 3 do a = a + 1 end", set()),
        ("local function f() return 1 end", {"a call of `f`"}),
    ],
)  # fmt: skip
def test_a_way_that_nothing_goes_is_known(branches: BranchClient, text: str, missed: set[str]) -> None:
    script = library()["queue.get.v1"]
    text += " return { 'ok', 1, 0, {} }"
    branches.run_text(script, text, [b"k"] * len(script.keys), [])
    went = branches.take()
    assert {way.what for number, way in branches.ways(text).items() if number not in went} == missed


def scripts() -> list[Script]:
    return [library()[script_id] for script_id in library()]


def ways(branches: BranchClient, script: Script) -> Iterator[tuple[int, Place]]:
    """The number and the place of each way of a script that has a source: what bundle.py writes has none."""
    lines, generated = origins(script.id, script.text), script.text.splitlines()
    for number, way in branches.ways(script.text).items():
        if way.line in lines:
            source, line = lines[way.line]
            before = of_source(script, source, generated[way.line - 1][: way.column])
            yield number, (source, line, len(before), of_source(script, source, way.what))


def of_source(script: Script, source: str, text: str) -> str:
    """As it is written there: what another noun has is under its own names in the scripts of that noun."""
    if source.partition("/")[0] != noun_of(script):
        for word in script.uses:
            text = text.replace(f"{word}__", "")
    return as_written(text)


def smallest_first() -> Iterator[Scenario]:
    """Each path at its smallest size, then with several items those that come in several sizes, then all others."""
    paths: dict[Prepare, list[Scenario]] = {}
    for scenario in sorted(small(), key=lambda one: one.items):
        paths.setdefault(scenario.prepare, []).append(scenario)
    yield from (sizes[0] for sizes in paths.values())
    yield from (replace(sizes[0], items=SEVERAL) for sizes in paths.values() if len(sizes) > 1)
    yield from sorted((one for sizes in paths.values() for one in sizes[1:]), key=lambda one: one.items)


def run(scenario: Scenario, branches: BranchClient, make_any: MakeAny) -> None:
    bench = make_any(scenario.noun, scenario.clock)
    call = scenario(bench)
    with suppress(Refused):
        branches.call(call)
    bench.remove()


def refuse(branches: BranchClient, make_any: MakeAny) -> None:
    """What every script refuses: a newer layout, and a time where the base has the server's clock."""
    for script in scripts():
        bench = make_any(noun_of(script))
        bench.watched = branches
        bench.ask("HSET", bench.config, "layout_min", 99)
        assert refusal(bench, script, START).startswith("ADEQ_LAYOUT")
        bench.ask("HSET", bench.config, "layout_min", 1, "clock", "server")
        assert refusal(bench, script, START).startswith("ADEQ_CLOCK")
        bench.remove()


def refuse_a_child_while_draining(branches: BranchClient, make_any: MakeAny) -> None:
    """One that would be made: all that it waits for is there."""
    bench = make_any("queue")
    (parent,) = bench.fill(1)
    bench.real(bench.calls.drain())
    own = {"after": [parent], "parent": parent, "needs_parent": True}
    with pytest.raises(Refused, match=r"^ADEQ_DRAINING"):
        branches.call(bench.calls.enqueue_items([("c", b"x", own)], "r"))
    bench.remove()


def acknowledge_without_info(branches: BranchClient, make_any: MakeAny) -> None:
    """A user who may not use INFO keeps large results, as if memory had no bound."""
    bench = make_any("queue")
    call = bench.calls.ack(acks(bench.lease(1), b"x" * 5_000))
    bench.ask("ACL", "SETUSER", "plain", "on", "nopass", "+@all", "-info", "~*", "&*")
    branches.server("AUTH", "plain", "")
    assert call.decode(branches.call(call)) == ["completed"]
    branches.server("AUTH", "default", "")
    bench.ask("ACL", "DELUSER", "plain")

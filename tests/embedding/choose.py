"""The vectors of a script: few and small ones that together show all that it does to a client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pyadeq._core.kernel.manifest import Script
from tests.embedding.candidates import candidates
from tests.embedding.printing import printed
from tests.embedding.record import ENTRIES, Recorded, record
from tests.embedding.stage import Stage
from tests.unit.lua_tree import vectors as checks

SEVERAL = (2, 3)  # items, or entries


def text_of(stage: Stage, script: Script) -> str:
    """The content of the script's file."""
    chosen = choose(script, [record(stage, one) for one in candidates(script)])
    names = [one.vector["name"] for one in chosen]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"{script.id}: several vectors have the name {', '.join(map(repr, sorted(twice)))}"
    return printed({"script": script.id, "vectors": [one.vector for one in chosen]})


def choose(script: Script, every: Sequence[Recorded]) -> list[Recorded]:
    """Those that show each status and error, then those that are always there, and what is refused last."""
    always = [one for one in every if one.chosen]
    refused = [one for one in always if "error" in one.vector]
    others = sorted((one for one in every if not one.chosen), key=lambda one: one.size)
    shown = set().union(*(one.shows for one in refused))
    wanted = [one for one in checks.wanted(ENTRIES[script.id]) if one not in shown]
    chosen = _without_needless(_showing(wanted, others))
    chosen += _with_several(script, chosen, others)
    chosen += [one for one in always if one not in refused]
    chosen += _sending(chosen, others)
    return chosen + refused


def _showing(wanted: Sequence[str], others: Sequence[Recorded]) -> list[Recorded]:
    """The smallest that shows it, of each that is not shown yet."""
    chosen: list[Recorded] = []
    for want in wanted:
        if not any(want in one.shows for one in chosen):
            chosen += [one for one in others if want in one.shows][:1]
    return chosen


def _without_needless(chosen: Sequence[Recorded]) -> list[Recorded]:
    """Without those whose all others show."""
    kept = list(chosen)
    for one in sorted(chosen, key=lambda one: one.size, reverse=True):
        if one.shows <= set().union(*(other.shows for other in kept if other is not one)):
            kept.remove(one)
    return kept


def _with_several(script: Script, chosen: Sequence[Recorded], others: Sequence[Recorded]) -> Iterator[Recorded]:
    """One call with several items, and one answer with several entries, if there may be; rather one that goes well."""
    best = {f"{shape}.{next(iter(statuses))}" for shape, statuses in script.shapes.items()}
    found = sorted(others, key=lambda one: (one.own_order, not best & one.shows, -one.items, one.size))
    kinds: list[Callable[[Recorded], bool]] = [lambda one: one.items in SEVERAL, lambda one: one.entries in SEVERAL]
    kept = list(chosen)
    for is_such in kinds:
        if not any(map(is_such, kept)):
            more = [one for one in found if is_such(one) and "answer" in one.vector][:1]
            kept += more
            yield from more


def _sending(chosen: Sequence[Recorded], others: Sequence[Recorded]) -> Iterator[Recorded]:
    """For each argument that none of the chosen gives, one that does, and adds an event with it if it can."""
    given = set().union(*(one.sends for one in chosen))
    answered = [one for one in others if "answer" in one.vector]
    for one in sorted(answered, key=lambda one: (":events" not in one.vector["after"], one.size)):
        if one.sends - given:
            given |= one.sends
            yield one

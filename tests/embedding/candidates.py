"""All that a vector may be recorded from, by its name: the scenarios, some more of our own, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from pyadeq._core.kernel.manifest import Argument, Script, library
from pyadeq.keys import PATTERNS
from tests.embedding import scenarios_of_arguments
from tests.embedding.vectors import Call, Json, decode, encode, typed
from tests.nouns.arguments import good, slots, values
from tests.nouns.scenario import Prepare, Scenario
from tests.nouns.scenarios import undamaged
from tests.nouns.script_bench import Bench
from tests.nouns.watched import wire

SEVERAL = 3
TRACED = {"trace": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "source": "tests"}
BAD = "not an id"  # nor a name, a lane or the key of a limit
Arrange = Callable[[Bench], list[bytes]]  # brings a bench into a state, and gives the ARGV of the call


@dataclass(frozen=True)
class Candidate:
    name: str
    script: Script
    arrange: Arrange
    chosen: bool = False  # whatever the others show


def candidates(script: Script) -> list[Candidate]:
    return [one for one in _all() if one.script is script]


@cache
def _all() -> list[Candidate]:
    found = [_of(one) for one in _scenarios()]
    own = [_of(one, chosen=True) for one in scenarios_of_arguments.SCENARIOS]
    refused = [one for script_id in library() for one in _refused(library()[script_id])]
    return [*found, *map(_traced, filter(_is_traceable, found)), *own, *refused]


def _scenarios() -> Iterator[Scenario]:
    """Each path at its smallest size, and with several items those that come in several sizes."""
    paths: dict[tuple[str, Prepare], list[Scenario]] = {}  # by the noun, too: nouns share those of the kernel's scripts
    for scenario in sorted(undamaged(), key=lambda one: one.items):
        paths.setdefault((scenario.noun, scenario.prepare), []).append(scenario)
    for first, *others in paths.values():
        yield first
        if others:
            name, _, _ = first.name.rpartition(", n=")
            yield replace(first, name=f"{name}, n={SEVERAL}", items=SEVERAL)


def _of(scenario: Scenario, chosen: bool = False) -> Candidate:
    def arrange(bench: Bench) -> list[bytes]:
        return list(map(wire, scenario(bench).args))

    return Candidate(scenario.name, library()[scenario.script_id], arrange, chosen)


# Where a call comes from


def _is_traceable(candidate: Candidate) -> bool:
    return TRACED.keys() <= {one.name for one in candidate.script.args}


def _traced(candidate: Candidate) -> Candidate:
    """The same with a call that says where it comes from."""

    def arrange(bench: Bench) -> list[bytes]:
        call = decode(candidate.script, candidate.arrange(bench))
        call["args"] |= TRACED
        return encode(candidate.script, call)

    return Candidate(f"{candidate.name}, traced", candidate.script, arrange)


# What every script refuses


def _refused(script: Script) -> Iterator[Candidate]:
    noun, verb, _ = script.id.split(".")
    title = verb if noun == "queue" else f"{noun} {verb}"
    early = _least_call(script)
    early["args"]["now_ms"] = -1
    yield Candidate(f"{title}: refused, a time before 1970", script, partial(_nowhere, script, early), True)
    if bad := _bad_call(script):
        yield Candidate(f"{title}: refused, no such text is allowed", script, partial(_nowhere, script, bad), True)
    yield Candidate(f"{title}: refused, a newer layout", script, partial(_newer_layout, script), True)
    timeless = _least_call(script)
    del timeless["args"]["now_ms"]
    yield Candidate(f"{title}: refused, a test clock but no time", script, partial(_sent, script, timeless), True)


def _least_call(script: Script) -> Call:
    """A valid call, from the declaration alone, that leaves out what it may."""
    groups = {group.name: [_least(group.fields) for _ in range(group.min)] for group in script.groups if group.min}
    return {"args": _least(script.args), "groups": groups}


def _least(arguments: Sequence[Argument]) -> dict[str, Json]:
    return {
        one.name: typed(one, good(one)) for one in arguments if one.default is None or one.name in ("rid", "now_ms")
    }


def _bad_call(script: Script) -> Call | None:
    """The same with a text that is refused, in an item if there is a place for it."""
    call = _least_call(script)
    for group in script.groups:
        for one in group.fields:
            if one.type in PATTERNS:
                call["groups"][group.name] = [{**_least(group.fields), one.name: BAD}]
                return call
    for one in script.args:
        if one.type in PATTERNS:
            call["args"][one.name] = BAD
            return call
    return None


def _nowhere(script: Script, call: Call, bench: Bench) -> list[bytes]:
    bench.remove()
    return encode(script, call)


def _sent(script: Script, call: Call, bench: Bench) -> list[bytes]:
    return encode(script, call)


def _newer_layout(script: Script, bench: Bench) -> list[bytes]:
    """Every argument is given, so that each is encoded once."""
    bench.ask("HSET", bench.config, "layout_min", 99)
    return values(slots(script))

"""Random KEYS and ARGV for every script, made from the valid calls of the scenarios.

Whatever is sent, a script answers in a declared form or refuses with an ADEQ_ error before its first write, and touches
no key but those it was sent: the watch sees to all of that. How many calls were sent is told at the end of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyadeq._core.kernel.call import MAX_ITEMS
from pyadeq._core.kernel.manifest import Script, library
from tests.nouns.arguments import bad, noun_of, slots, values
from tests.nouns.benches import BENCHES
from tests.nouns.scenarios import AnyCall, small
from tests.nouns.script_bench import START, Bench, MakeAny
from tests.nouns.watched import Refused, wire
from tests.quick import examples

EXAMPLES = examples(20, 100)
CALLS = 10  # of one example, from one state
# ms: where a test clock may go. Elsewhere a sum of times is no exact number: fences are in µs, and a lock domain adds
# up what its clock loses.
TIMES = {
    noun: range(START - 10**11, START + 10**11) if bench.monotonic else range(10**15) for noun, bench in BENCHES.items()
}

Draw = Callable[..., Any]

GARBAGE = [
    b"", b" ", b"\x00", b"\xff\xfe", "é".encode(), "😀".encode(), b"\r\n", b"'", b'"', b"%d", b"%s%n", b"[", b"^", b"%",
    b"-", b"-0", b"-1", b"0", b"1", b"2", b"01", b"0" * 15 + b"1", b"0" * 16 + b"1", b"1e3", b"1.0", b"0x10", b"+1",
    b"nan", b"NaN", b"inf", b"-inf", b"1" * 30, b"9007199254740991", b"9007199254740992", b"-9007199254740991",
    b"1000", b"1001", b"any", b"group/a", b"group/a/inst/b", b"a,b", b",", b"a" * 200, b"a" * 201, b"x" * 5000,
    b"priority", b"lane", b"unique", b"state 1 a", b"user 1 a", b"__index", b"nil", b"true", b"false",
]  # fmt: skip

PREPARED: dict[str, list[Callable[[Bench], AnyCall]]] = {script_id: [] for script_id in library()}


def prepare_calls() -> None:
    """For each script the scenarios that call it and are quickly made."""
    for one in small("test"):
        if one.items <= 10 and "4 MiB" not in one.name and "full" not in one.name:
            PREPARED[one.script_id].append(one)


prepare_calls()


def mutate(draw: Draw, args: list[bytes], others: list[bytes]) -> None:
    """Change one thing about a list of arguments."""
    index = st.integers(0, max(0, len(args) - 1))
    match draw(st.sampled_from(["drop", "double", "swap", "replace", "mix", "insert", "cut", "join", "digit"])):
        case "drop" if args:
            del args[draw(index)]
        case "double" if args:
            at = draw(index)
            args.insert(at, args[at])
        case "swap" if args:
            one, two = draw(index), draw(index)
            args[one], args[two] = args[two], args[one]
        case "replace" if args:
            args[draw(index)] = draw(st.sampled_from(others) | st.binary(max_size=40))
        case "mix" if args:
            args[draw(index)] = args[draw(index)]
        case "cut":
            del args[draw(index) :]
        case "join" if args:
            at = draw(index)
            args[at] += draw(st.sampled_from(others))
        case "digit" if args:
            args[draw(index)] = b"%d" % draw(st.integers(-1, MAX_ITEMS + 1))
        case _:
            args.insert(draw(index), draw(st.sampled_from(others)))


def mutate_keys(draw: Draw, base: bytes, keys: list[bytes]) -> None:
    """Change one thing about the keys: how many there are, or what one of them is called."""
    at = draw(st.integers(0, len(keys) - 1))
    match draw(st.sampled_from(["drop", "double", "rename", "exchange"])):
        case "drop":
            del keys[at]
        case "double":
            keys.insert(at, keys[at])
        case "rename":
            keys[at] = base + b":" + draw(st.sampled_from(GARBAGE))
        case "exchange":
            other = draw(st.integers(0, len(keys) - 1))
            keys[at], keys[other] = keys[other], keys[at]


def keep_the_clock(script: Script, args: list[bytes]) -> None:
    """A test clock is set by tests only: none of them goes to where times are no longer exact."""
    at = [argument.name for argument in script.args].index("now_ms")
    if len(args) > at and args[at].isdigit() and int(args[at]) not in TIMES[noun_of(script)]:
        args[at] = b"%d" % START


@pytest.mark.parametrize("script_id", PREPARED)
def test_no_call_breaks_a_script(
    script_id: str, make_any: MakeAny, record_property: Callable[[str, object], None]
) -> None:
    script = library()[script_id]
    assert PREPARED[script_id], "no scenario with a test clock calls it: write one without clock="
    found = {value for slot in slots(script) for value in bad(slot.argument) if len(value) <= 20_000}
    pool = [*GARBAGE, *sorted(found)]
    outcomes: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        bench = make_any(noun_of(script))
        call = data.draw(st.sampled_from(PREPARED[script_id]), label="scenario")(bench)
        for _ in range(CALLS):
            keys, args = list(map(wire, call.keys)), list(map(wire, call.args))
            if data.draw(st.booleans()):
                args = data.draw(st.sampled_from([args, values(slots(script))]))[:]
            for _ in range(data.draw(st.integers(0, 3))):
                mutate(data.draw, args, pool)
            if data.draw(st.integers(0, 4)) == 4:
                mutate_keys(data.draw, bench.base.encode(), keys)
            keep_the_clock(script, args)
            try:
                bench.watched.run(script_id, keys, args)
                assert keys == list(map(wire, call.keys))
                outcomes["answered"] += 1
            except Refused as refused:
                outcomes[refused.code] += 1
        bench.remove()

    fuzz()
    for outcome, calls in outcomes.items():
        record_property(f"fuzz: {outcome}", calls)
    assert all(outcome == "answered" or outcome.startswith("ADEQ_") for outcome in outcomes)
    assert outcomes["answered"] > 0
    assert outcomes["ADEQ_ARG"] > 0
    assert outcomes.total() >= EXAMPLES

"""The same call sent twice leaves the state of one, and answers the same but for what it says of the moment."""

from __future__ import annotations

from contextlib import suppress

import pytest

from pyadeq._core.call import Answer, parse_reply
from tests.lua import lock_checks
from tests.lua.bench import START, Bench, Dump, MakeAny
from tests.lua.checks import check_queue, left_over, let_all_pass
from tests.lua.lock_workbench import MakeLockBench
from tests.lua.scenarios import AnyCall, Scenario, small
from tests.lua.watched import Refused
from tests.lua.workbench import MakeBench

pytestmark = pytest.mark.any_engine

# What these scenarios take away, somebody else took; what is left then is not ours to find.
DAMAGED = ("without record", "without payload", "without state", "damaged", "evicted", "in no set")


def undamaged(noun: str) -> list[Scenario]:
    return [one for one in small("test", noun) if not any(word in one.name for word in DAMAGED)]


def answer(bench: Bench, call: AnyCall) -> Answer | str:
    try:
        found = parse_reply(call.script, bench.watched.call(call))
        found.fields.pop("next_ms", None)
        return found
    except Refused as refused:
        return str(refused)


def state(bench: Bench) -> Dump:
    """All but the counters of places and of requests, which may have gaps, and the time before which nothing is due."""
    found = bench.dump()
    with suppress(KeyError):
        found[":config"][1].pop("place")
    with suppress(KeyError):
        found[":requests"][1].pop("#seq")
        found[":requests"][1].pop("#due")
    return found


# A sweep that leaves some takes more of them when it is sent again: so do these, which reach their budget of work.
PARTIAL = {
    "claim: along a chain, n=100",
    *(
        f"claim: expired tasks {what}, n={n}"
        for what in ("that no sweep has reached", "with a follower each")
        for n in (1, 100)
    ),
    "claim: from the fallback, n=100",
    "claim: that leaves ends, n=1",
    "claim: that leaves no ends, n=1",
    "expire: to the fallback, n=100",
    "expire: where nobody came, n=100",
    "expire: with a reply, n=100",
    "expire: with a follower each, n=100",
    "reap: leases that hold many limits, n=10",
    "settle: that leaves ends, n=1",
    "settle: that leaves no ends, n=1",
    "trim: tasks with many tags",
}
ONCE = [one for one in small("test") if "some of many" not in one.name and one.name not in PARTIAL]


@pytest.mark.parametrize("scenario", ONCE, ids=lambda scenario: scenario.name)
def test_a_call_sent_twice_has_one_effect_and_one_answer(scenario: Scenario, make_any: MakeAny) -> None:
    bench = make_any(scenario.noun)
    call = scenario(bench)
    first = answer(bench, call)
    bench.settle()
    once = state(bench)
    second = answer(bench, call)
    if call.script.replay == "goes_on":
        return
    assert state(bench) == once
    if call.script.replay != "state":
        assert second == first


@pytest.mark.parametrize(
    "scenario", [one for one in undamaged("queue") if " dry" not in one.name], ids=lambda one: one.name
)
def test_a_call_leaves_each_task_in_one_place_and_nothing_that_stays(scenario: Scenario, make_bench: MakeBench) -> None:
    bench = make_bench()
    call = scenario(bench)
    with suppress(Refused):
        bench.watched.call(call)
    bench.full(False)
    check_queue(bench)
    bench.now = max(bench.now, START)
    bench.ask("HDEL", ":config", "layout_min")
    let_all_pass(bench)
    assert left_over(bench) == {}


@pytest.mark.parametrize("scenario", undamaged("lock"), ids=lambda one: one.name)
def test_a_call_leaves_a_sound_domain_and_nothing_that_stays(
    scenario: Scenario, make_lock_bench: MakeLockBench
) -> None:
    bench = make_lock_bench()
    call = scenario(bench)
    with suppress(Refused):
        bench.watched.call(call)
    bench.full(False)
    lock_checks.check_domain(bench)
    lock_checks.let_all_pass(bench)
    assert lock_checks.left_over(bench) == {}

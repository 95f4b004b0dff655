"""Each scenario makes one call under watch, and the same on the server itself, once the state before it is back.
The names of the checks say what must hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import pytest
import redis

from pyadeq._core.kernel.call import Answer, Reply, parse_reply
from tests.nouns.scenarios import SCENARIOS, AnyCall, Scenario, parameters, small, undamaged
from tests.nouns.script_bench import Bench, Dump, MakeAny
from tests.nouns.test_costs import UPDATE, check_costs, watched_reply
from tests.quick import is_quick

ENGINES = os.environ.get("ADEQ_TEST_ENGINES") == "1"  # only what depends on the server is repeated on every engine
WHOLE = small("test")  # of the others only the costs are compared
# A dry run changes nothing, so that what it looked for stays.
SOUND = {one for one in undamaged() if " dry" not in one.name}
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
AGAIN = {"rate hit: without a rid"}  # it counts again
ONCE = {one for one in WHOLE if "some of many" not in one.name and one.name not in PARTIAL | AGAIN}


@pytest.mark.parametrize("scenario", parameters(WHOLE if ENGINES else SCENARIOS))
def test_a_scenario(scenario: Scenario, make_any: MakeAny) -> None:
    bench = make_any(scenario.noun, scenario.clock)
    call = scenario(bench)
    restore = bench.saved() if scenario in WHOLE else None
    if ENGINES and restore:
        restore()  # sets of Redis have another order after it, and that of lanes decides in which order a purge tells
    reply = watched_reply(bench, call)
    after = bench.dump(stamps=False) if restore else {}
    if not (ENGINES or UPDATE):
        check_costs(scenario, bench, reply, after)
    if restore is None:
        return
    first = answer(call, reply)
    check_the_clock(bench, first)
    check_that_watched_and_real_agree(bench, call, first, after, restore)
    if ENGINES:
        return
    if scenario in SOUND:
        bench.check()
    if scenario in ONCE:
        check_that_a_call_sent_twice_has_one_effect_and_one_answer(bench, call, first)
    if scenario in SOUND and is_quick(scenario.name, 4):  # a quarter of the time of all scenarios
        check_that_nothing_stays(bench)


def check_the_clock(bench: Bench, first: Answer | str) -> None:
    """For those whose time never goes back, see test_clock.py."""
    if not bench.monotonic and isinstance(first, Answer):
        assert first.fields.get("now_ms", bench.now) == bench.now


def check_that_watched_and_real_agree(
    bench: Bench, call: AnyCall, first: Answer | str, after: Dump, restore: Callable[[], None]
) -> None:
    if not call.script.read_only:
        restore()
    assert first == answer(call, real_reply(bench, call))
    assert after == bench.dump(stamps=False)


def check_that_a_call_sent_twice_has_one_effect_and_one_answer(
    bench: Bench, call: AnyCall, first: Answer | str
) -> None:
    """The second answer may differ in what it says of the moment."""
    bench.settle()
    once = state(bench)
    second = answer(call, watched_reply(bench, call))
    if call.script.replay == "goes_on":
        return
    assert state(bench) == once
    if call.script.replay != "state":
        assert timeless(second) == timeless(first)


def check_that_nothing_stays(bench: Bench) -> None:
    bench.full(False)
    bench.let_all_pass()
    assert bench.left_over() == {}


def real_reply(bench: Bench, call: AnyCall) -> Reply | str:
    try:
        return bench.send(call)
    except redis.ResponseError as error:
        return str(error)


def answer(call: AnyCall, reply: Reply | str) -> Answer | str:
    return reply if isinstance(reply, str) else parse_reply(call.script, reply)


def timeless(answer: Answer | str) -> Answer | str:
    if isinstance(answer, Answer):
        answer.fields.pop("next_ms", None)
    return answer


def state(bench: Bench) -> Dump:
    """All but the counters of places and of requests, which may have gaps, and the time before which nothing is due."""
    found = bench.dump()
    with suppress(KeyError):
        found[":config"][1].pop("place")
    with suppress(KeyError):
        found[":requests"][1].pop("#seq")
        found[":requests"][1].pop("#due")
    return found

"""The watched Lua and the server's own do the same: the same calls on two bases, answers and keyspaces compared."""

from __future__ import annotations

import pytest
import redis

from pyadeq._core.call import Answer, parse_reply
from tests.lua.bench import Bench, MakeAny
from tests.lua.scenarios import AnyCall, Scenario, small
from tests.lua.watched import Refused


def watched(bench: Bench, call: AnyCall) -> Answer | str:
    try:
        return parse_reply(call.script, bench.watched.call(call))
    except Refused as refused:
        return str(refused)


def real(bench: Bench, call: AnyCall) -> Answer | str:
    try:
        return parse_reply(call.script, bench.send(call))
    except redis.ResponseError as error:
        return str(error)


@pytest.mark.parametrize("scenario", small("test"), ids=lambda scenario: scenario.name)
def test_watched_and_real_agree(scenario: Scenario, make_any: MakeAny) -> None:
    one, other = make_any(scenario.noun), make_any(scenario.noun)
    call = scenario(one)
    if call.script.read_only:  # on one base: HSCAN may find equal fields in another order in another hash
        other = one
    assert watched(one, call) == real(other, call if other is one else scenario(other))
    assert one.dump(stamps=False) == other.dump(stamps=False)

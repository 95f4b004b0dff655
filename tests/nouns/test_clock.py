"""The clock of a lock domain, which every script answers, never goes back."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import redis

from pyadeq._core.kernel.call import parse_reply
from tests.nouns.scenarios import Scenario, parameters, small
from tests.nouns.script_bench import MakeAny

pytestmark = pytest.mark.any_engine

BACK = 1_000  # ms by which the server's clock has stepped back before the call


def of_each_script() -> list[Any]:
    """All scenarios of locks. The first two of each script are quick."""
    seen: Counter[str] = Counter()
    found = parameters(small("test", "lock"))
    for at, param in enumerate(found):
        script_id = param.values[0].script_id
        seen[script_id] += 1
        if seen[script_id] > 2:
            found[at] = pytest.param(*param.values, id=param.id, marks=pytest.mark.slow)
    return found


@pytest.mark.parametrize("scenario", of_each_script())
def test_a_lock_script_answers_the_domains_clock_after_the_servers_stepped_back(
    scenario: Scenario, make_any: MakeAny
) -> None:
    bench = make_any("lock")
    call = scenario(bench)
    latest = bench.now + BACK
    bench.ask("HSET", ":requests", "#now", latest, "#offset", 0)
    with suppress(redis.ResponseError):
        assert parse_reply(call.script, bench.send(call))["now_ms"] == latest
        bench.ask("HSET", ":requests", "#now", latest, "#offset", BACK + 1)
        assert parse_reply(call.script, bench.send(call))["now_ms"] == latest + 1

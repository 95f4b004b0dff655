"""The state machine notices what it is there for: with each of these lines of Lua changed, it fails."""

from __future__ import annotations

import pytest
import redis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pyadeq._core.manifest import library
from tests.property.driver import load_scripts
from tests.property.test_queue_machine import QueueMachine

TOKEN = "if by ~= token or not answers[answer]"
MUTANTS = {
    "ack takes any token": (" or find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32", ""),
    "fail and release take any token": ("or lease.token ~= ", "or '' == "),
    "one call settles twice": (" or ended[id]", ""),
    "a settlement is not remembered": (TOKEN, TOKEN.replace("~=", "==")),
    "an older settlement answers": (TOKEN, "if not answers[answer]"),
    "release goes to the end of the line": ("lease.lane, lease.score, id)", "lease.lane, lease.score + 99, id)"),
    "a claim is not known again": ("if n == last then return 'replay', given end", ""),
    "a late claim is not stale": ("or n < last then return 'stale'", "then return 'stale'"),
    "an older incarnation is not stale": ("if row[1] ~= incarnation or", "if"),
    "promoted tasks stay delayed": ("redis.call('ZREM', delayed, unpack(ids))", ""),
    "sweeps are a millisecond late": ("tonumber(head[2]) <= conf.now", "tonumber(head[2]) < conf.now"),
    "an emptied lane keeps its token": ("redis.call('DEL', wake .. lane)", ""),
    "an emptied lane is still listed": ("redis.call('SREM', lanes, lane)", ""),
    "nobody is woken": ("then redis.call('LPUSH', wake .. lane, '1') end", "then return end"),
    "fences do not rise": ("redis.call('HINCRBY', config, 'fence', #next_ids)", "#next_ids"),
    "a failing task is not cancelled": ("if lease.cancelling then", "if false then"),
    "one attempt too many": ("lease.attempt < tonumber(own[1]", "lease.attempt <= tonumber(own[1]"),
    "an id is made twice in a call": ("known = seen[id] or", "known ="),
    "any rid is a replay": ("known == stamp and", "known and"),
    "ended leases are kept": ("redis.call('ZREM', leases, unpack(ids))", ""),
    "lanes in the wrong order": ("band < best_band", "band <= best_band"),
    "a finished task is cancelled": ("elseif state == 'completed' or", "elseif"),
}
EXAMPLES = 1500  # at the most; most mutants are noticed within a hundred


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_machine_notices(mutant: str, client: redis.Redis) -> None:
    old, new = MUTANTS[mutant]
    assert any(old in library()[id].text for id in library()), f"no script has the line any more: {old}"
    QueueMachine.client, QueueMachine.scripts = client, load_scripts(client, lambda text: text.replace(old, new))
    quick = settings(
        derandomize=True,
        max_examples=EXAMPLES,
        stateful_step_count=50,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises((AssertionError, redis.ResponseError)):
        run_state_machine_as_test(QueueMachine, settings=quick)

"""Random histories of calls, late duplicates and jumping time, on the lock scripts and on the oracle side by side.

ADEQ_SEED=<n>          only that history: what failed is told with its seed
ADEQ_SOAK_SECONDS=<s>  new histories for so long, in two processes (`make soak`)
"""

from __future__ import annotations

import itertools
import os
import secrets
import time
from collections.abc import Iterable, Iterator

import pytest
import redis

from tests.property.locks.driver import replay, shrink, write_history
from tests.property.locks.history import Step
from tests.property.locks.link import Scripts, load_scripts
from tests.quick import examples

SEED = os.environ.get("ADEQ_SEED")
SOAK = float(os.environ.get("ADEQ_SOAK_SECONDS", "0"))
PARTS = 20  # shares of the histories, so that several processes end at about one time
HISTORIES = examples(600, 10_000)
STEPS = 60


def seeds(part: int) -> Iterable[int]:
    if SEED:
        return [int(SEED)] if part == 0 else []
    if SOAK:
        return until(time.monotonic() + SOAK * 2 / PARTS, secrets.randbelow(2**40))
    return range(part, HISTORIES, PARTS)


def until(end: float, first: int) -> Iterator[int]:
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(first))


@pytest.mark.parametrize("part", range(PARTS))
def test_histories(part: int, client: redis.Redis) -> None:
    scripts = load_scripts(client)
    for seed in seeds(part):
        steps, error = write_history(client, scripts, seed, STEPS)
        if error:
            pytest.fail(told(client, scripts, seed, steps, error), pytrace=False)


def told(client: redis.Redis, scripts: Scripts, seed: int, steps: list[Step], error: Exception) -> str:
    fewer = shrink(client, scripts, steps, error)
    error = replay(client, scripts, fewer) or error
    lines = [f"  {number} {step}" for number, step in enumerate(fewer)]
    return "\n".join([f"ADEQ_SEED={seed}: after {len(steps)} steps, or after these {len(fewer)}:", *lines, str(error)])

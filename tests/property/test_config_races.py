"""Many processes that write one config."""

from __future__ import annotations

import json
import multiprocessing
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.errors import ConfigConflict

PROCESSES, ROUNDS = 20, 10
FORK: Any = multiprocessing.get_context("fork")  # 20 new interpreters would take long


def compete(url: str, name: str, barrier: Any, results: Any, own: int) -> None:
    """In each round all expect the same version. Then add 1 to a number, again and again until it is done."""
    won = []
    with Adeq.from_url(url) as adeq:
        config = adeq.config(name)
        for number in range(ROUNDS):
            seen = config.get(f"round{number}")
            barrier.wait()
            try:
                config.set_many(
                    {f"round{number}": own, "last": own}, expect={f"round{number}": seen.version if seen else 0}
                )
                won.append(number)
            except ConfigConflict:
                pass
            barrier.wait()
        added = 0
        while added < ROUNDS:
            sum = config.get("sum")
            try:
                config.set("sum", sum.json() + 1 if sum else 1, expect=sum.version if sum else 0)
                added += 1
            except ConfigConflict:
                continue
    results.put(json.dumps((own, won)))


@pytest.mark.slow
def test_of_many_writers_who_expect_the_same_one_wins(url: str, base_name: str) -> None:
    barrier, results = FORK.Barrier(PROCESSES), FORK.SimpleQueue()
    with Adeq.from_url(url) as adeq:
        config = adeq.config(base_name)
        for number in range(0, ROUNDS, 2):  # the others are made by the winner
            config.set(f"round{number}", -1)
        started = [
            FORK.Process(target=compete, args=(url, base_name, barrier, results, own)) for own in range(PROCESSES)
        ]
        for process in started:
            process.start()
        won = dict(json.loads(results.get()) for _ in started)
        for process in started:
            process.join()
        winners = {number: own for own, numbers in won.items() for number in numbers}
        assert sum(map(len, won.values())) == ROUNDS
        assert {name: one.json() for name, one in config.list().items()} == {
            **{f"round{number}": own for number, own in winners.items()},
            "last": winners[ROUNDS - 1],
            "sum": PROCESSES * ROUNDS,
        }

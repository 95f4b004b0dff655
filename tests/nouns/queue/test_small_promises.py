"""Promises that only rare histories test: each was broken once."""

from __future__ import annotations

from typing import Any

from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench


def enqueue(bench: Workbench, rid: str, id: str = "a", **task: Any) -> str:
    (receipt,) = bench.run(bench.calls.enqueue([(id, Task(payload=b"x", **task))], rid))
    return f"{receipt.status} {receipt.id}"


# progress, and what is next


def test_a_claim_says_that_ends_are_left_to_be_told(bench: Workbench) -> None:
    bench.limit("all", concurrency=1, policy="reject")
    bench.fill(1)
    (root,) = bench.fill(1)
    bench.fill(500, after=[root])
    bench.worker()
    claimed = bench.run(bench.calls.claim("w", "i", 0, 1, limit=10, lanes=["any"]))
    assert bench.ask("ZCARD", ":ends") == 1
    assert claimed.next_due == bench.now / 1000
    for n in range(2, 8):
        claimed = bench.run(bench.calls.claim("w", "i", 0, n, limit=1, lanes=["group/g"]))
    assert bench.ask("ZCARD", ":ends") == 0
    assert claimed.next_due != bench.now / 1000


# fair shares


def test_shares_from_before_the_first_fair_place_end_with_their_lane(bench: Workbench) -> None:
    enqueue(bench, "1", "a")
    enqueue(bench, "2", "b")
    bench.real(bench.calls.configure(fair=True))
    bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    bench.run(bench.calls.cancel(["b"], "c"))
    assert bench.ask("EXISTS", ":ready:any") == 0
    assert bench.ask("TTL", ":shares:any") in (-2, *range(86_401))

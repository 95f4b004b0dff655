"""Promote and reap: what the passing of time does to tasks and workers. Claim and settle do the same on their way."""

from __future__ import annotations

import pytest

from tests.nouns.queue.workbench import START, Workbench


def reap(bench: Workbench, limit: int = 100) -> int:
    return bench.run(bench.calls.reap(limit))


# reap


def test_reap_takes_back_at_most_its_limit_the_oldest_first(bench: Workbench) -> None:
    leases = bench.lease(5)
    bench.real(bench.calls.heartbeat(leases[:1], lease=20))
    bench.pass_time(20_000)
    assert [reap(bench, 3), reap(bench, 3)] == [3, 2]
    stalled = [event["id"].decode() for event in bench.events("task.stalled")]
    assert stalled == [lease.id for lease in [*leases[1:], leases[0]]]


# a budget of work


def test_a_claim_that_takes_back_leases_promotes_fewer(bench: Workbench) -> None:
    """20 leases are about 60 of its 300 commands, and a promotion is two."""
    bench.lease(20)
    bench.pass_time(16_000)
    bench.fill(100, delay=0.001)
    bench.pass_time(1)
    bench.worker("v")
    bench.run(bench.calls.claim("v", "i", 0, 1))
    assert bench.ask("ZCARD", ":delayed") == 0


def test_a_claim_expires_fewer_tasks_that_have_keys(bench: Workbench) -> None:
    for at in range(20):
        bench.fill(1, unique=f"q{at}", expires_at=START / 1000 + 1, lane="group/other")
    bench.pass_time(1_000)
    bench.worker()
    claims = [bench.run(bench.calls.claim("w", "i", 0, n, limit=1)) for n in (1, 2)]
    assert [one.next_due == one.now for one in claims] == [True, False]
    assert len(bench.events("task.expired")) == 20


@pytest.mark.parametrize(
    ("limit", "freed", "opened"),
    [(1, 0, 41), (10, 0, 50), (59, 0, 99), (60, 0, 100), (1000, 0, 100), (1000, 30, 71), (10, 60, 41), (10, 100, 20)],
)
def test_a_sweep_sees_to_fewer_of_a_line_after_an_ack_that_has_freed_many(
    bench: Workbench, limit: int, freed: int, opened: int
) -> None:
    """At 40 and the limit of the claim, 100 at most; or what the acks of the call have left of 100, 20 in any case."""
    bench.limit("user:u", concurrency=1)
    bench.limit("key:k", concurrency=1)
    bench.fill(251, user="u", lane="group/u")
    bench.fill(1 + freed, limits=["k"])
    for _ in range(3):
        leases = bench.claim(100, lanes=["group/u"])
    leases += bench.claim(100)
    bench.claim(100)
    lease = next(one for one in leases if "limits" in one.record)
    assert bench.ask("ZCARD", ":waiting:user:u") == 250
    assert bench.ask("ZCARD", ":waiting:key:k") == freed
    bench.limit("user:u")
    bench.limit("key:k")
    bench.worker("sweeper")
    call = bench.calls.settle("sweeper", "i", 0, 1, acks=[(lease, None)], limit=limit, lanes=["group/nobody"])
    assert bench.run(call).acks == ["completed"]
    assert bench.ask("ZCARD", ":waiting:key:k") == 0
    assert 250 - bench.ask("ZCARD", ":waiting:user:u") == opened

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Held
from tests.nouns.queue.workbench import START, Workbench


def heartbeat(bench: Workbench, *leases: Held, **fields: Any) -> list[tuple[str, float | None]]:
    answers = bench.run(bench.calls.heartbeat(list(leases), **fields))
    return [(one.status, one.deadline) for one in answers.renewals]


def at(ms: int) -> float:
    return (START + ms) / 1000


@pytest.mark.parametrize(("own", "queues", "holds"), [(0, 15, 15_000), (0, 60, 60_000), (2, 60, 2_000)])
def test_a_renewed_lease_lasts_as_the_call_or_else_the_queue_says(
    bench: Workbench, own: float, queues: float, holds: int
) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.configure(lease=queues))
    bench.pass_time(5_000)
    assert heartbeat(bench, lease, lease=own) == [("renewed", at(5_000 + holds))]
    assert int(bench.ask("ZSCORE", ":leases", lease.id)) == START + 5_000 + holds


def test_a_renewed_lease_is_not_reaped_at_its_old_deadline(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(14_999)
    heartbeat(bench, lease)
    bench.pass_time(14_999)
    assert bench.real(bench.calls.reap()) == 0
    bench.pass_time(1)
    assert bench.real(bench.calls.reap()) == 1


@pytest.mark.parametrize(("ms", "answer"), [(14_999, "renewed"), (15_000, "lease_lost"), (60_000, "lease_lost")])
def test_from_its_deadline_on_a_lease_is_lost_though_nobody_took_it_back(
    bench: Workbench, ms: int, answer: str
) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(ms)
    assert [status for status, _ in heartbeat(bench, lease)] == [answer]


def test_a_worker_hears_what_is_to_be_cancelled(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.cancel([two.id]))
    assert heartbeat(bench, one, two) == [("renewed", at(15_000)), ("cancelling", at(15_000))]
    assert heartbeat(bench, two) == [("cancelling", at(15_000))]


def test_wrong_tokens_unknown_ids_and_ended_leases_are_lost_and_change_nothing(bench: Workbench) -> None:
    one, two, three = bench.lease(3)
    bench.real(bench.calls.ack([(two, None)]))
    bench.real(bench.calls.release([three]))
    bench.pass_time(5_000)
    before = bench.dump()
    found = heartbeat(bench, (one.id, "other"), ("unknown", "x"), two, three)
    assert found == [("lease_lost", None)] * 4
    assert bench.dump() == before


def test_the_same_lease_twice_in_a_call_is_renewed_twice(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert heartbeat(bench, lease, lease) == [("renewed", at(15_000))] * 2


def test_a_heartbeat_is_a_sign_of_life_of_a_known_worker_only(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(5_000)
    heartbeat(bench, lease, worker="w")
    heartbeat(bench, lease, worker="nobody")
    assert bench.ask("ZRANGE", ":workers", 0, -1, "WITHSCORES") == [b"w", b"%d" % (START + 5_000)]


def test_a_heartbeat_tells_nothing_and_counts_nothing(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    before = bench.events(), bench.counters()
    heartbeat(bench, lease)
    assert (bench.events(), bench.counters()) == before

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Backoff, Settled
from tests.nouns.queue.workbench import START, Workbench


def settle(bench: Workbench, n: int = 1000, worker: str = "w", **fields: Any) -> Settled:
    fields["jitters"] = [500_000] * len(fields.get("fails", ()))
    return bench.run(bench.calls.settle(worker, "i", 0, n, **fields))


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """A queue with a worker."""
    bench.worker()
    return bench


def test_one_call_completes_fails_and_claims(bench: Workbench) -> None:
    done, lost, broken, fatal = bench.lease(4)
    line = bench.fill(3)
    settled = settle(
        bench,
        acks=[(done, b"r"), ((lost.id, "other"), None)],
        fails=[Failure(broken), Failure(fatal, retryable=False)],
        limit=2,
    )
    assert settled.acks == ["completed", "lease_lost"]
    assert [(one.status, one.due) for one in settled.fails] == [("retried", (START + 1000) / 1000), ("dead", None)]
    assert [(lease.id, lease.token) for lease in settled.claimed.leases] == [
        (line[0], "i.0.1000/1"),
        (line[1], "i.0.1000/2"),
    ]
    assert settled.claimed.next_due == (START + 1000) / 1000
    states = [bench.state(one.id) for one in (done, lost, broken, fatal)]
    assert states == ["completed", "running", "delayed", "dead"]
    counters = bench.counters()
    assert [counters[name] for name in ("completed", "retried", "dead", "claimed")] == [1, 1, 1, 6]


def test_a_limit_of_zero_claims_nothing(bench: Workbench) -> None:
    line = bench.fill(1)
    assert settle(bench).claimed.leases == []
    assert bench.ready() == line
    bench.raw_run("queue.settle.v1", "w", "i", 0, 1001, 0, "", "", "", "", "", bench.now, 0, 0, 1, "any")
    assert bench.ready() == line
    assert bench.tokens() == 1


def test_no_lanes_claim_nothing(bench: Workbench) -> None:
    line = bench.fill(1)
    bench.raw_run("queue.settle.v1", "w", "i", 0, 1000, 10, "", "", "", "", "", bench.now, 0, 0, 0)
    assert bench.ready() == line


def test_a_lane_named_twice_gives_its_tasks_once(bench: Workbench) -> None:
    line = bench.fill(2)
    settled = settle(bench, limit=10, lanes=["any", "any"])
    assert [lease.id for lease in settled.claimed.leases] == line


def test_a_lease_in_both_lists_is_completed(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    settled = settle(bench, acks=[(lease, None)], fails=[Failure(lease)])
    assert (settled.acks, settled.fails[0].status) == (["completed"], "lease_lost")
    assert bench.state(lease.id) == "completed"


def test_a_task_that_is_due_again_at_once_is_claimed_in_the_same_call(bench: Workbench) -> None:
    (lease,) = bench.lease(1, backoff=Backoff(base=0))
    settled = settle(bench, fails=[Failure(lease)], limit=1)
    (again,) = settled.claimed.leases
    assert (again.id, again.attempt, again.delivery) == (lease.id, 2, 2)
    assert bench.state(lease.id) == "running"
    assert settle(bench, fails=[Failure(lease)], limit=1).claimed.leases == [again]


@pytest.mark.parametrize(("worker", "n", "answer"), [("w", 999, "stale"), ("nobody", 1000, "unregistered")])
def test_without_standing_nothing_is_settled(bench: Workbench, worker: str, n: int, answer: str) -> None:
    (lease,) = bench.lease(1)
    settle(bench, 1000)
    before = bench.dump()
    settled = settle(bench, n, worker, acks=[(lease, None)], limit=1)
    assert (settled.claimed.status, settled.acks, settled.fails) == (answer, [], [])
    assert bench.dump() == before


def test_a_replaced_incarnation_settles_nothing(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.worker(incarnation="new")
    assert settle(bench, acks=[(lease, None)]).claimed.status == "stale"
    assert bench.state(lease.id) == "running"


def test_a_replay_settles_and_claims_once(bench: Workbench) -> None:
    done, broken = bench.lease(2)
    bench.fill(2)
    fields: dict[str, Any] = {"acks": [(done, None)], "fails": [Failure(broken)], "limit": 1}
    first = settle(bench, **fields)
    before = bench.dump()
    again = settle(bench, **fields)
    assert (again.acks, again.fails, again.claimed.leases) == (first.acks, first.fails, first.claimed.leases)
    assert bench.dump() == before


def test_settle_reaps_promotes_and_forgets_workers(bench: Workbench) -> None:
    bench.worker("other")
    (late,) = bench.lease(1)
    (delayed,) = bench.fill(1, delay=15)
    bench.pass_time(30_000)
    assert [lease.id for lease in settle(bench, limit=10).claimed.leases] == [late.id, delayed]
    settle(bench, 1001, limit=10)
    assert [event["id"] for event in bench.events("worker.lost")] == [b"other"]


def test_an_expired_lease_completes_before_it_can_be_reaped(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(15_000)
    assert settle(bench, acks=[(lease, None)]).acks == ["completed"]
    assert bench.state(lease.id) == "completed"


def test_trace_and_source_are_in_every_event_of_a_call(bench: Workbench) -> None:
    done, broken = bench.lease(2)
    bench.fill(1)
    before = len(bench.events())
    bench.raw_run(
        "queue.settle.v1", "w", "i", 0, 1000, 1, "", "", "", "00-trace", "me", bench.now,
        1, done.id, done.token, "", 1, broken.id, broken.token, 1, "", "", "", 0, 1, "any",
    )  # fmt: skip
    events = bench.events()[before:]
    assert {event["event"] for event in events} == {b"task.completed", b"task.retried", b"task.claimed"}
    assert {(event["trace"], event["source"]) for event in events} == {(b"00-trace", b"me")}

"""Tasks that run too long: told with the heartbeat, and after a grace no longer renewed."""

from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench


def beat(bench: Workbench, *leases: object, lease: float = 60) -> list[str]:
    return [one.status for one in bench.run(bench.calls.heartbeat(list(leases), lease=lease)).renewals]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ms", "answer"),
    [(9_999, "renewed"), (10_000, "timed_out"), (19_999, "timed_out"), (20_000, "lease_lost"), (50_000, "lease_lost")],
)
def test_a_run_times_out_and_after_the_grace_is_lost(bench: Workbench, ms: int, answer: str) -> None:
    (lease,) = bench.lease(1, timeout=10)
    assert beat(bench, lease) == ["renewed"]
    bench.pass_time(ms)
    assert beat(bench, lease) == [answer]
    deadline = START + (ms if answer != "lease_lost" else 0) + 60_000
    assert int(bench.ask("ZSCORE", ":leases", lease.id)) == deadline


@pytest.mark.parametrize(("grace", "ms", "answer"), [
    (0, 9_999, "renewed"), (0, 10_000, "lease_lost"), (1, 10_999, "timed_out"), (1, 11_000, "lease_lost"),
])  # fmt: skip
def test_the_grace_is_a_setting(bench: Workbench, grace: float, ms: int, answer: str) -> None:
    bench.real(bench.calls.configure(timeout_grace=grace))
    (lease,) = bench.lease(1, timeout=10)
    bench.pass_time(ms)
    assert beat(bench, lease) == [answer]


def test_a_run_that_was_lost_is_taken_back_at_its_deadline(bench: Workbench) -> None:
    (lease,) = bench.lease(1, timeout=1)
    bench.pass_time(11_000)
    assert beat(bench, lease) == ["lease_lost"]
    assert bench.state(lease.id) == "running"
    bench.pass_time(4_000)
    assert bench.run(bench.calls.reap()) == 1
    view = bench.view(lease.id)
    assert view
    assert (view.state, view.crashes) == ("ready", 1)
    check_queue(bench)


@pytest.mark.parametrize("how", ["ack", "fail"])
def test_until_then_it_can_still_be_settled(bench: Workbench, how: str) -> None:
    (lease,) = bench.lease(1, timeout=1)
    bench.pass_time(14_000)
    assert beat(bench, lease) == ["lease_lost"]
    if how == "ack":
        assert bench.run(bench.calls.ack([(lease, None)])) == ["completed"]
    else:
        (answer,) = bench.run(bench.calls.fail([Failure(lease, "too long", "timeout")], [0]))
        assert answer.status == "retried"
        view = bench.view(lease.id)
        assert view
        assert (view.reason, view.attempts) == ("timeout", 1)


def test_each_run_has_the_whole_time(bench: Workbench) -> None:
    (lease,) = bench.lease(1, timeout=10)
    bench.pass_time(9_000)
    bench.run(bench.calls.release([lease]))
    (lease,) = bench.claim(1)
    bench.pass_time(9_000)
    assert beat(bench, lease) == ["renewed"]
    bench.pass_time(1_000)
    assert beat(bench, lease) == ["timed_out"]


def test_a_cancel_is_told_before_a_timeout_until_the_grace_is_over(bench: Workbench) -> None:
    (lease,) = bench.lease(1, timeout=1)
    bench.run(bench.calls.cancel([lease.id]))
    bench.pass_time(1_000)
    assert beat(bench, lease) == ["cancelling"]
    bench.pass_time(10_000)
    assert beat(bench, lease) == ["lease_lost"]
    bench.pass_time(60_000)
    bench.run(bench.calls.reap())
    assert bench.state(lease.id) == "cancelled"


def test_each_lease_of_a_call_has_its_own_timeout(bench: Workbench) -> None:
    leases = bench.lease(1, timeout=1) + bench.lease(1, timeout=5) + bench.lease(1) + bench.lease(1, unique="u")
    beat(bench, *leases)
    bench.pass_time(11_000)
    assert beat(bench, *leases) == ["lease_lost", "timed_out", "renewed", "renewed"]


def test_a_wrong_token_is_lost_before_anything_else(bench: Workbench) -> None:
    (lease,) = bench.lease(1, timeout=1)
    bench.pass_time(1_000)
    before = bench.dump()
    assert beat(bench, (lease.id, "other")) == ["lease_lost"]
    assert bench.dump() == before


def test_a_task_whose_record_was_evicted_is_renewed(bench: Workbench) -> None:
    (lease,) = bench.lease(1, timeout=1)
    bench.ask("DEL", f":task:{lease.id}")
    bench.pass_time(10_000)
    assert beat(bench, lease) == ["renewed"]


def test_a_task_shows_its_timeout(bench: Workbench) -> None:
    (lease,) = bench.lease(1, timeout=1.5)
    view = bench.view(lease.id)
    assert view
    assert (lease.timeout, view.timeout) == (1.5, 1.5)


def test_a_task_without_a_timeout_has_that_of_the_queue(bench: Workbench) -> None:
    bench.real(bench.calls.configure(timeout=10))
    plain, tied = bench.lease(1) + bench.lease(1, unique="u")
    assert (plain.timeout, tied.timeout) == (10, 10)
    bench.pass_time(9_999)
    assert beat(bench, plain, tied) == ["renewed"] * 2
    bench.pass_time(1)
    assert beat(bench, plain, tied) == ["timed_out"] * 2
    bench.pass_time(10_000)
    assert beat(bench, plain, tied) == ["lease_lost"] * 2


@pytest.mark.parametrize("ties", [{}, {"unique": "u"}])
def test_a_timeout_that_is_over_when_it_is_set_is_told_first(bench: Workbench, ties: dict[str, str]) -> None:
    leases = bench.lease(1, **ties)
    for _ in range(6):
        bench.pass_time(10_000)
        assert beat(bench, *leases) == ["renewed"]
    bench.real(bench.calls.configure(timeout=30))
    assert beat(bench, *leases) == ["timed_out"]
    bench.pass_time(9_999)
    bench.real(bench.calls.configure(timeout=30, max_attempts=4))  # the same timeout
    assert beat(bench, *leases) == ["timed_out"]
    bench.pass_time(1)
    assert beat(bench, *leases) == ["lease_lost"]


@pytest.mark.parametrize(("own", "answers"), [(5, ["timed_out", "renewed"]), (15, ["renewed", "timed_out"])])
def test_the_timeout_of_a_task_wins_over_that_of_the_queue(bench: Workbench, own: float, answers: list[str]) -> None:
    bench.real(bench.calls.configure(timeout=10))
    leases = bench.lease(1, timeout=own) + bench.lease(1)
    assert [lease.timeout for lease in leases] == [own, 10]
    bench.pass_time(5_000 if own == 5 else 10_000)
    assert beat(bench, *leases) == answers


def test_a_claim_that_is_sent_again_tells_the_timeout_of_the_queue_too(bench: Workbench) -> None:
    bench.real(bench.calls.configure(timeout=10))
    bench.fill(1)
    bench.worker()
    call = bench.calls.claim("w", "i", 0, 10**6)
    first, again = bench.run(call), bench.run(call)
    assert [lease.timeout for lease in first.leases + again.leases] == [10, 10]


def test_a_timeout_of_zero_is_none(bench: Workbench) -> None:
    bench.real(bench.calls.configure(timeout=10))
    assert bench.real(bench.calls.configure(timeout=0)).timeout == 0
    (lease,) = bench.lease(1)
    bench.pass_time(14_000)
    assert (lease.timeout, beat(bench, lease)) == (None, ["renewed"])

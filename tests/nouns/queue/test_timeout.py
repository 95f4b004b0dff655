"""Tasks that run too long: told with the heartbeat, and after a grace no longer renewed."""

from __future__ import annotations

import pytest

from tests.nouns.queue.workbench import Workbench


def beat(bench: Workbench, *leases: object, lease: float = 60) -> list[str]:
    return [one.status for one in bench.run(bench.calls.heartbeat(list(leases), lease=lease)).renewals]  # type: ignore[arg-type]


@pytest.mark.parametrize(("grace", "ms", "answer"), [
    (0, 9_999, "renewed"), (0, 10_000, "lease_lost"), (1, 10_999, "timed_out"), (1, 11_000, "lease_lost"),
])  # fmt: skip
def test_the_grace_is_a_setting(bench: Workbench, grace: float, ms: int, answer: str) -> None:
    bench.real(bench.calls.configure(timeout_grace=grace))
    (lease,) = bench.lease(1, timeout=10)
    bench.pass_time(ms)
    assert beat(bench, lease) == [answer]


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

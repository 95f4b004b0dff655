from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Held
from pyadeq.models import Lease
from tests.nouns.queue.workbench import Workbench


def ack(bench: Workbench, *leases: Held, result: object = None) -> list[str]:
    return list(bench.run(bench.calls.ack([(lease, result) for lease in leases])))


def kept(bench: Workbench, lease: Lease) -> bytes | None:
    view = bench.view(lease.id)
    assert view is not None
    return view.result_data or None


def test_another_result_is_known_as_long_as_the_first_is_kept(bench: Workbench) -> None:
    (lease,) = bench.lease(1, result_ttl=1)
    assert ack(bench, lease, result=b"one") == ["completed"]
    assert ack(bench, lease, result=b"two") == ["already"]
    bench.ask("DEL", f":result:{lease.id}")
    assert ack(bench, lease, result=b"two") == ["completed"]


def test_of_two_results_in_one_call_the_first_is_kept(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    call = bench.calls.ack([(lease, b"one"), (lease, b"two"), (lease, b"one")])
    assert bench.run(call) == ["completed", "already", "completed"]
    assert bench.run(call) == ["completed", "already", "completed"]
    assert kept(bench, lease) == b"one"


@pytest.mark.parametrize(("ms", "bound"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1024, 1024), (1025, 2048)])
def test_run_times_are_counted_below_the_next_power_of_two(bench: Workbench, ms: int, bound: int) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(ms)
    ack(bench, lease)
    assert {name: n for name, n in bench.counters().items() if name.startswith("run_ms:")} == {f"run_ms:{bound}": 1}


def test_a_sum_never_falls_and_stays_an_integer(bench: Workbench) -> None:
    first, second, third = bench.lease(3)
    bench.pass_time(70)
    ack(bench, first)
    bench.pass_time(-1000)
    ack(bench, second)
    assert bench.counters()["run_ms_sum"] == 70
    bench.pass_time(2**52)
    ack(bench, third)
    assert bench.counters()["run_ms_sum"] == 70 + 10**15


@pytest.mark.parametrize("token", ["other", "i.0.1/1", "i"])
def test_a_wrong_token_is_lost_and_changes_nothing(bench: Workbench, token: str) -> None:
    (lease,) = bench.lease(1)
    before = bench.dump()
    assert token != lease.token
    assert ack(bench, (lease.id, token)) == ["lease_lost"]
    assert ack(bench, (lease.id, lease.token[:-1])) == ["lease_lost"]
    assert ack(bench, (lease.id, lease.token + "0")) == ["lease_lost"]
    assert bench.dump() == before


def test_the_same_lease_twice_in_a_call_completes_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert ack(bench, lease, lease, (lease.id, "other")) == ["completed", "completed", "lease_lost"]
    assert bench.counters()["completed"] == 1

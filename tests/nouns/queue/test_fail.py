from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure, Held
from pyadeq.models import Backoff
from tests.nouns.queue.workbench import START, Workbench


def fail(bench: Workbench, *leases: Held, jitter: int = 500_000, **fields: Any) -> list[tuple[str, float | None]]:
    call = bench.calls.fail([Failure(lease, **fields) for lease in leases], [jitter] * len(leases))
    return [(one.status, one.due) for one in bench.run(call)]


def at(ms: int) -> float:
    return (START + ms) / 1000


def delay(bench: Workbench, backoff: Backoff, attempt: int, jitter: int = 500_000) -> int:
    """Milliseconds until the retry of this attempt, with a backoff of the task's own."""
    bench.fill(1, backoff=backoff, max_attempts=1000)
    for number in range(attempt):
        (lease,) = bench.claim(1)
        ((_, due),) = fail(bench, lease, jitter=jitter)
        assert due is not None
        waits = round(due * 1000) - bench.now
        assert number < attempt
        bench.pass_time(waits)
    return waits


def test_jitter_never_passes_the_cap(bench: Workbench) -> None:
    assert delay(bench, Backoff(base=10, cap=10, jitter=1), 1, 1_000_000) == 10_000
    assert delay(bench, Backoff(base=10, cap=10, jitter=1), 1, 0) == 0


@pytest.mark.parametrize("base", [0, 1])
def test_the_delay_is_a_number_after_however_many_attempts(bench: Workbench, base: int) -> None:
    bench.fill(1, backoff=Backoff(base=base, multiplier=100, cap=604_800), max_attempts=1000)
    bench.ask("HSET", ":task:t000001", "attempts", 998, "deliveries", 998)
    (lease,) = bench.claim(1)
    assert lease.attempt == 999
    assert fail(bench, lease) == [("retried", at(604_800_000 * base))]

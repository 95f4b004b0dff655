from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Settled
from tests.nouns.queue.workbench import Workbench


def settle(bench: Workbench, n: int = 1000, worker: str = "w", **fields: Any) -> Settled:
    fields["jitters"] = [500_000] * len(fields.get("fails", ()))
    return bench.run(bench.calls.settle(worker, "i", 0, n, **fields))


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """A queue with a worker."""
    bench.worker()
    return bench


def test_a_replaced_incarnation_settles_nothing(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.worker(incarnation="new")
    assert settle(bench, acks=[(lease, None)]).claimed.status == "stale"
    assert bench.state(lease.id) == "running"

from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Held
from tests.nouns.queue.workbench import Workbench


def snooze(bench: Workbench, *leases: Held, delay: float = 5) -> list[tuple[str, float | None]]:
    answers = bench.run(bench.calls.snooze([(lease, delay) for lease in leases]))
    return [(one.status, one.due) for one in answers]


@pytest.mark.parametrize(("delay", "tokens"), [(9.999, 1), (10, 0)])
def test_a_due_time_within_the_longest_block_wakes_a_worker(bench: Workbench, delay: float, tokens: int) -> None:
    (lease,) = bench.lease(1)
    snooze(bench, lease, delay=delay)
    assert bench.tokens() == tokens

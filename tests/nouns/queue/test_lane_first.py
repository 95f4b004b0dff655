"""Claims that take the lanes in order, and the priority inside each."""

from __future__ import annotations

import pytest

from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


@pytest.mark.parametrize("limit", [1, 3, 4, 40])
def test_with_lane_first_a_lane_is_emptied_before_the_next(bench: Workbench, limit: int) -> None:
    last = bench.fill(2, lane="group/g", priority=9)
    middle = bench.fill(1, lane="group/h", priority=5)
    first = bench.fill(30, priority=0)
    bench.worker()
    call = bench.calls.claim("w", "i", 0, 1, limit=limit, lanes=["group/g", "group/h", "any"], lane_first=True)
    claimed = [lease.id for lease in bench.run(call).leases]
    assert claimed == [*last, *middle, *first][:limit]
    settle = bench.calls.settle("w", "i", 1, 1, limit=40, lanes=["any", "group/h", "group/g"], lane_first=True)
    rest = [id for id in [*first, *middle, *last] if id not in claimed]
    assert [lease.id for lease in bench.run(settle).claimed.leases] == rest
    check_queue(bench)


def test_with_lane_first_the_band_counts_inside_a_lane(bench: Workbench) -> None:
    late, early = (bench.fill(1, lane="group/g", priority=priority)[0] for priority in (9, 0))
    bench.worker()
    call = bench.calls.claim("w", "i", 0, 1, lanes=["group/g"], lane_first=True)
    assert [lease.id for lease in bench.run(call).leases] == [early, late]

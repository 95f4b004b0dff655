"""Where pages end, and that a cursor in another form is no reason to run for ever."""

from __future__ import annotations

import pytest

from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.workbench import Workbench

PAGE = 4 * 2**20  # bytes of an answer; 64 for each task are counted besides its result


@pytest.mark.parametrize("zeros", ["", "0", "000"])
def test_a_page_goes_on_behind_a_task_however_its_time_is_written(bench: Workbench, zeros: str) -> None:
    ids = bench.fill(3, user="u")
    assert bench.run(bench.calls.list(None, user="u", limit=1)).cursor == f"user {bench.now} {ids[0]}"
    page = bench.run(bench.calls.list(None, user="u", cursor=f"user {zeros}{bench.now} {ids[0]}"))
    assert [task.id for task in page.tasks][-2:] == ids[1:]


@pytest.mark.parametrize(("over", "answered"), [(0, 4), (1, 3)])
def test_an_answer_of_outcomes_may_be_as_large_as_a_page(bench: Workbench, over: int, answered: int) -> None:
    leases = bench.lease(4)
    sizes = [PAGE // 4 - 64] * 3 + [PAGE // 4 - 64 + over]
    done = [(lease, b"x" * size) for lease, size in zip(leases, sizes, strict=True)]
    bench.real(bench.calls.ack(done))
    assert len(bench.run(bench.calls.outcome([lease.id for lease in leases]))) == answered


@pytest.mark.parametrize(("over", "claimed"), [(0, 4), (1, 3)])
def test_a_claim_may_be_as_large_as_a_page(bench: Workbench, over: int, claimed: int) -> None:
    ids = [*bench.fill(3, payload=b"x" * (2**20 - 4096)), *bench.fill(1, payload=b"x" * (2**20 - 4096 + over))]
    # 2,048 are counted for each task besides its payload and the values of its record: headers fill up the rest.
    for id in ids:
        values = sum(map(len, bench.record(id).values()))
        bench.ask("HSET", f":task:{id}", "headers", "h" * (2048 - values))
    assert len(bench.claim(4)) == claimed


def test_a_page_of_edges_ends_with_the_line_that_fills_it(lock_bench: LockBench) -> None:
    for resource in ("a", "b"):
        lock_bench.hold(resource, "o")
        lock_bench.wait(resource, f"waiter-of-{resource}")
    page = lock_bench.run(lock_bench.calls.edges(limit=1))
    assert ([edge.resource for edge in page.edges], page.cursor) == (["a"], "a")

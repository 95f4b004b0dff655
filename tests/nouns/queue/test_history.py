"""Snapshots of the counters, one a minute: who takes them, what is kept, and what is made of them."""

from __future__ import annotations

from pyadeq._core.queue.history import points
from tests.nouns.queue.workbench import START, Workbench

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def snapshots(bench: Workbench, series: str = "minutes") -> list[tuple[int, dict[str, int]]]:
    found = bench.run(bench.calls.history(series))
    return [(round(at * 1000), {name: n for name, n in numbers.items() if name != "at_ms"}) for at, numbers in found]


def snapshot(bench: Workbench) -> bool:
    return bench.run(bench.calls.snapshot())


def test_a_queue_without_workers_has_a_call_for_it(bench: Workbench) -> None:
    bench.fill(3)
    assert [snapshot(bench) for _ in range(2)] == [True, False]
    bench.pass_time(MINUTE - START % MINUTE - 1)
    assert snapshot(bench) is False
    bench.pass_time(1)
    assert snapshot(bench) is True
    assert [numbers["enqueued"] for _, numbers in snapshots(bench)] == [3, 3]


def test_the_ready_tasks_of_more_than_200_lanes_are_not_counted(bench: Workbench) -> None:
    for at in range(200):
        bench.fill(1, lane=f"group/g{at}")
    snapshot(bench)
    bench.fill(1)
    bench.pass_time(MINUTE)
    snapshot(bench)
    assert [numbers["ready"] for _, numbers in snapshots(bench)] == [200, -1]
    assert [point.ready for point in points(bench.run(bench.calls.history("minutes")), 60)] == [None]


def test_the_first_of_an_hour_is_kept_for_30_days_and_minutes_for_a_day(bench: Workbench) -> None:
    for _ in range(31 * 24 + 5):
        snapshot(bench)
        bench.pass_time(HOUR)
    hours, minutes = snapshots(bench, "hours"), snapshots(bench)
    assert len({at // HOUR for at, _ in hours}) == len(hours)
    assert (len(hours), len(minutes)) == (30 * 24, 31 * 24 + 5)
    page = bench.run(bench.calls.history("hours", since_ms=hours[3][0], limit=2))
    assert [round(at * 1000) for at, _ in page] == [hours[3][0], hours[4][0]]

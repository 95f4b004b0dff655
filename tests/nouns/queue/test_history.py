"""Snapshots of the counters, one a minute: who takes them, what is kept, and what is made of them."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.history import points
from pyadeq._core.queue.items import Failure
from tests.nouns.queue.workbench import START, Workbench

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FIRST = START - START % MINUTE


def snapshots(bench: Workbench, series: str = "minutes") -> list[tuple[int, dict[str, int]]]:
    found = bench.run(bench.calls.history(series))
    return [(round(at * 1000), {name: n for name, n in numbers.items() if name != "at_ms"}) for at, numbers in found]


def snapshot(bench: Workbench) -> bool:
    return bench.run(bench.calls.snapshot())


def test_claims_take_one_snapshot_a_minute(bench: Workbench) -> None:
    taken = []
    for _ in range(6):
        bench.sweep()
        taken.append(len(snapshots(bench)))
        bench.pass_time(20_000)
    assert taken == [1, 1, 2, 2, 2, 3]  # the queue begins 23 s after a full minute
    assert [at for at, _ in snapshots(bench)] == [FIRST, FIRST + MINUTE, FIRST + 2 * MINUTE]
    assert [at for at, _ in snapshots(bench, "hours")] == [FIRST]


def test_an_idle_worker_pays_at_most_12_commands_a_minute_for_it(bench: Workbench) -> None:
    bench.worker()
    sent = []
    for n in range(1, 62):
        bench.run(bench.calls.claim("w", "i", 0, n, limit=1, lanes=["any"]))
        sent.append(len(bench.watched.last.commands))
        bench.pass_time(MINUTE if n % 2 else 10_000)
    with_snapshot, without = sent[2::2], sent[1::2]
    assert max(without) == min(without)
    assert max(with_snapshot) - max(without) <= 12  # also in the minutes that begin an hour
    assert len(snapshots(bench)) > 25


def test_a_queue_without_workers_has_a_call_for_it(bench: Workbench) -> None:
    bench.fill(3)
    assert [snapshot(bench) for _ in range(2)] == [True, False]
    bench.pass_time(MINUTE - START % MINUTE - 1)
    assert snapshot(bench) is False
    bench.pass_time(1)
    assert snapshot(bench) is True
    assert [numbers["enqueued"] for _, numbers in snapshots(bench)] == [3, 3]


def test_no_call_takes_a_snapshot_of_a_queue_that_does_not_exist(make_bench: Any) -> None:
    bench = make_bench("server")
    assert snapshot(bench) is False
    assert bench.dump() == {}


def test_a_snapshot_has_the_counters_and_the_numbers_of_tasks(bench: Workbench) -> None:
    bench.fill(5)
    bench.fill(1, delay=60)
    bench.fill(2, lane="group/g")
    bench.pass_time(3000)
    done, dead, _ = bench.claim(3)
    bench.pass_time(2000)
    bench.real(bench.calls.ack([(done, b"")]))
    bench.real(bench.calls.fail([Failure(dead, retryable=False)], [0]))
    bench.pass_time(MINUTE)
    snapshot(bench)
    assert snapshots(bench)[-1][1] == {
        "enqueued": 8, "claimed": 3, "completed": 1, "retried": 0, "dead": 1, "cancelled": 0, "stalled": 0,
        "wait_ms_sum": 9000, "run_ms_sum": 2000,
        "ready": 4, "delayed": 1, "blocked": 0, "running": 1, "buried": 1, "workers": 1,
    }  # fmt: skip


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


def test_at_most_1440_minutes_are_kept(bench: Workbench) -> None:
    for _ in range(1441):
        bench.real(bench.calls.snapshot())
        bench.pass_time(MINUTE)
    snapshot(bench)
    found = bench.ask("LRANGE", ":history:minutes", 0, -1)
    assert (len(found), int(found[0].split()[0])) == (1440, FIRST + 2 * MINUTE)


def test_a_clock_that_goes_back_takes_no_snapshot_twice(bench: Workbench) -> None:
    bench.pass_time(10 * MINUTE)
    snapshot(bench)
    bench.pass_time(-5 * MINUTE)
    assert snapshot(bench) is False
    bench.pass_time(6 * MINUTE)
    assert snapshot(bench) is True


@pytest.mark.parametrize(("step", "at"), [(60, [60, 120, 180, 240, 300, 600]), (300, [300, 600]), (3600, [3600])])
def test_a_step_is_the_sum_of_its_snapshots(step: int, at: list[int]) -> None:
    seen = [(minute * 60.0, {"completed": 10 * minute, "ready": minute}) for minute in (0, 1, 2, 3, 4, 5, 10)]
    found = points(seen, step)
    assert [point.at for point in found] == at
    assert sum(point.completed for point in found) == 100
    assert sum(point.seconds for point in found) == 600
    assert found[-1].ready == 10
    assert {point.rate("completed") for point in found} == {10 / 60}


def test_counters_that_begin_again_give_no_negative_rates() -> None:
    totals = [100, 150, 5, 25]
    found = points([(60.0 * at, {"completed": total}) for at, total in enumerate(totals)], 60)
    assert [point.completed for point in found] == [50, 5, 20]


@pytest.mark.parametrize("series", ["minutes", "hours"])
def test_an_empty_history(bench: Workbench, series: str) -> None:
    assert bench.run(bench.calls.history(series)) == []
    assert points([], 60) == points([(60.0, {})], 60) == []


def test_a_clock_that_was_set_back_stops_no_history(bench: Workbench) -> None:
    bench.fill(3)
    bench.now += 365 * DAY
    for _ in range(2):
        bench.sweep()
        bench.pass_time(MINUTE)
    bench.now -= 365 * DAY
    bench.fill(2)
    assert snapshot(bench) is True
    bench.pass_time(MINUTE)
    bench.sweep()
    found = snapshots(bench)
    assert [at for at, _ in found] == [FIRST + 2 * MINUTE, FIRST + 3 * MINUTE], "those of the future are left out"
    assert [at for at, _ in snapshots(bench, "hours")] == [FIRST + 2 * MINUTE]
    assert snapshot(bench) is False


def test_points_skip_a_step_back_of_the_clock() -> None:
    taken = [(60.0, {"enqueued": 1}), (120.0, {"enqueued": 3}), (60.0, {"enqueued": 4}), (120.0, {"enqueued": 9})]
    assert [(one.at, one.enqueued, one.seconds) for one in points(taken, 60)] == [(120, 7, 120)]
    taken = [(600.0, {}), (660.0, {"enqueued": 3}), (60.0, {"enqueued": 4}), (120.0, {"enqueued": 9})]
    assert [(one.at, one.enqueued) for one in points(taken, 60)] == [(120, 5), (660, 3)]

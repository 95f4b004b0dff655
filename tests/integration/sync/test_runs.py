# Generated from tests/integration/aio/test_runs.py by pyadeq/_unasync.py; do not edit.
"""The runs of a task, as users read them."""

import pytest

from pyadeq import TaskRun
from pyadeq import Adeq, Queue
from tests.integration.conftest import Clock


def test_runs_are_read_in_the_order_of_their_starts(timed: Queue, clock: Clock) -> None:
    timed.enqueue(1, id="t")
    timed.release((timed.claim("a"))[0])
    clock.tick(1)
    timed.snooze((timed.claim("b"))[0], 5)
    clock.tick(5)
    timed.admin.promote()
    timed.fail((timed.claim("c"))[0], ValueError("no route"), delay=1)
    clock.tick(1)
    timed.admin.promote()
    timed.ack((timed.claim("d"))[0], "done")
    runs = timed.inspect.runs("t")
    assert [(run.outcome, run.worker, run.delivery, run.attempt) for run in runs] == [
        ("released", "a", 1, 1),
        ("snoozed", "b", 2, 1),
        ("failed", "c", 3, 1),
        ("completed", "d", 4, 2),
    ]
    assert [run.started - runs[0].started for run in runs] == pytest.approx([0, 1, 6, 7])
    assert [run.seconds for run in runs] == pytest.approx([0, 0, 0, 0])
    assert runs[2].error is not None
    assert runs[2].error.endswith("ValueError: no route\n")
    assert timed.inspect.runs("nobody") == []


def test_runs_are_found_in_any_partition(adeq: Adeq, base_name: str) -> None:
    queue = adeq.partitioned(base_name)
    parts = [queue.part(one.tag) for one in queue.repartition(3)]
    ids = [(queue.enqueue(n)).id for n in range(12)]
    for part in parts:
        for lease in part.claim("w", 12):
            part.release(lease)
    found: list[list[TaskRun]] = [queue.inspect.runs(id) for id in ids]
    assert [[run.outcome for run in runs] for runs in found] == [["released"]] * 12

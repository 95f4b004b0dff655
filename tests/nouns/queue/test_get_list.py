"""What get and list show of a task in each state."""

from __future__ import annotations

from pyadeq.models import TaskView
from tests.nouns.queue.workbench import START, Workbench


def get(bench: Workbench, id: str) -> TaskView:
    (view,) = bench.run(bench.calls.get([id]))
    assert view is not None
    return view


def test_a_completed_task_shows_its_result_and_its_run(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(70)
    bench.real(bench.calls.ack([(lease, {"ok": True})]))
    view = get(bench, lease.id)
    assert (view.result, view.ended, view.started) == ({"ok": True}, (START + 70) / 1000, START / 1000)
    assert (view.worker, view.fence, view.attempts, view.deliveries) == ("w", 1, 1, 1)

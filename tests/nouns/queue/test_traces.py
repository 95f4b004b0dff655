"""The trace of a task's enqueue is in the events of its leases and of its end."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import Any

from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import Workbench

ONE, TWO = (f"00-{digit * 32}-{digit * 16}-01" for digit in "12")


def lease(bench: Workbench, *traces: str | None, **task: Any) -> list[Lease]:
    """Tasks that were enqueued under these traces, claimed in one call."""
    for at, trace in enumerate(traces):
        calls = replace(bench.calls, trace=repeat(trace or None).__next__)
        bench.real(calls.enqueue([(f"t{at}", Task(payload=b"x", **task))], f"r{at}"))
    return bench.claim(len(traces))


def traces(bench: Workbench, *names: str) -> list[bytes | None]:
    return [event.get("trace") for name in names for event in bench.events(f"task.{name}")]


def test_what_a_call_finds_after_a_task_does_not_have_its_trace(bench: Workbench) -> None:
    acked, *_ = lease(bench, ONE, ONE)
    bench.fill(1, expires_at=bench.now / 1000 + 1)
    bench.pass_time(1_000)
    bench.run(bench.calls.settle("w", "i", 0, 10**6, acks=[(acked, None)]))
    assert traces(bench, "completed", "expired") == [ONE.encode(), None]
    bench.pass_time(3_600_000)
    bench.run(bench.calls.reap(10))
    lost = bench.events("worker.lost")
    assert traces(bench, "stalled") == [ONE.encode()] * len(bench.events("task.stalled"))
    assert lost
    assert not any(event.get("trace") for event in lost)

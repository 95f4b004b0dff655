"""The trace of a task's enqueue is in the events of its leases and of its end."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([ONE], ONE),
        ([ONE, ONE], ONE),
        ([ONE, TWO], f"{ONE} {TWO}"),
        ([None, TWO, ONE], f"- {TWO} {ONE}"),
        ([ONE, None], f"{ONE} -"),
        ([None, None], None),
        (["no|trace"], None),
        (["no trace", ONE], f"- {ONE}"),
    ],
)
def test_claims_and_completions_have_the_traces_of_their_tasks(
    bench: Workbench, given: list[str | None], told: str | None
) -> None:
    leases = lease(bench, *given)
    bench.run(bench.calls.ack([(one, None) for one in leases]))
    assert traces(bench, "claimed", "completed") == [told.encode() if told else None] * 2
    assert all(event["id"] == " ".join(one.id for one in leases).encode() for event in bench.events("task.completed"))


def test_the_end_of_every_attempt_has_the_trace(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=2))
    retried, dead, released, snoozed, crashed, plain = lease(bench, ONE, ONE, ONE, ONE, ONE, None)
    fails = [Failure(retried, b"", delay=60), Failure(dead, b"", retryable=False, alert=True), Failure(plain, b"")]
    bench.run(bench.calls.fail(fails, [500_000] * 3))
    bench.run(bench.calls.release([released]))
    bench.run(bench.calls.snooze([(snoozed, 60)]))
    assert traces(bench, "retried", "dead", "alert", "released", "snoozed") == [
        ONE.encode(), None, *[ONE.encode()] * 4,
    ]  # fmt: skip
    for _ in range(2):
        bench.pass_time(15_000)
        bench.run(bench.calls.reap(10))
        bench.claim(10)
    for name, ids in (("stalled", {crashed.id, released.id, plain.id}), ("dead", {dead.id, crashed.id})):
        told = {event["id"].decode(): event.get("trace") for event in bench.events(f"task.{name}")}
        assert told == {id: None if id == plain.id else ONE.encode() for id in ids}


def test_a_cancelled_task_has_its_trace(bench: Workbench) -> None:
    leases = lease(bench, ONE, TWO)
    bench.run(bench.calls.cancel([one.id for one in leases]))
    bench.run(bench.calls.fail([Failure(leases[0], b"")], [0]))
    bench.run(bench.calls.release(leases[1:]))
    assert traces(bench, "cancelled") == [ONE.encode(), TWO.encode()]


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


def test_the_trace_of_a_task_is_more_than_that_of_the_call(bench: Workbench) -> None:
    leases = lease(bench, ONE, None)
    calls = replace(bench.calls, trace=lambda: TWO)
    bench.run(calls.ack([(leases[0], None)]))
    bench.run(calls.ack([(leases[1], None)]))
    assert traces(bench, "completed") == [ONE.encode(), TWO.encode()]


def test_limits_and_ties_know_nothing_of_it(bench: Workbench) -> None:
    bench.limit("user:u", concurrency=2)
    first, second = lease(bench, ONE, ONE, user="u", reply=True)
    bench.run(bench.calls.cancel([second.id]))
    (renewed, other), *_ = [bench.run(bench.calls.heartbeat([first, second], worker="w")).renewals]
    assert (renewed.status, other.status) == ("renewed", "cancelling")
    bench.run(bench.calls.ack([(first, None), (second, None)]))
    assert bench.ask("EXISTS", ":holding:user:u") == 0
    assert traces(bench, "completed") == [ONE.encode()]

"""The runs of a task: how each has ended, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from pyadeq.models.worker import RunOutcome, TaskRun
from tests.nouns.queue.scenarios_of_runs import run_again
from tests.nouns.queue.workbench import START, Workbench

END: dict[str, Callable[[Workbench, Lease], Any]] = {
    "completed": lambda bench, lease: bench.calls.ack([(lease, b"r")]),
    "failed": lambda bench, lease: bench.calls.fail([Failure(lease, b"e", reason="odd")], [0]),
    "released": lambda bench, lease: bench.calls.release([lease]),
    "snoozed": lambda bench, lease: bench.calls.snooze([(lease, 5)]),
}


def runs(bench: Workbench, id: str) -> list[TaskRun]:
    return bench.run(bench.calls.runs(id))


def outcomes(bench: Workbench, id: str) -> list[str]:
    return [run.outcome for run in runs(bench, id)]


def kept(bench: Workbench, id: str) -> int:
    return int(bench.ask("LLEN", f":ended_runs:{id}"))


@pytest.mark.parametrize("outcome", END)
def test_how_a_run_has_ended(bench: Workbench, outcome: RunOutcome) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(70)
    bench.run(END[outcome](bench, lease))
    bench.pass_time(1)
    (run,) = runs(bench, lease.id)
    reason, error = ("odd", "e") if outcome == "failed" else (None, None)
    assert run == TaskRun(
        outcome=outcome, delivery=1, attempt=1, fence=lease.fence, worker="w", started=START / 1000,
        ended=(START + 70) / 1000, reason=reason, error=error,
    )  # fmt: skip
    assert run.seconds == pytest.approx(0.07)


@pytest.mark.parametrize("outcome", END)
def test_a_repeated_call_adds_no_run(bench: Workbench, outcome: str) -> None:
    (lease,) = bench.lease(1)
    call = END[outcome](bench, lease)
    bench.run(call)
    before = bench.dump()
    bench.pass_time(10)
    bench.run(call)
    assert bench.dump() == before
    assert outcomes(bench, lease.id) == [outcome]


def test_a_run_that_goes_on(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (run,) = runs(bench, lease.id)
    assert (run.outcome, run.ended, run.seconds, run.fence) == ("running", None, None, lease.fence)


def test_success_writes_no_run(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.ack([(lease, b"r")]))
    assert kept(bench, lease.id) == 0


def test_runs_of_which_the_lease_ran_out(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=2))
    (lease,) = bench.crash(1)
    bench.pass_time(15_000)
    bench.run(bench.calls.reap())
    assert bench.state(lease.id) == "dead"
    assert [(run.outcome, run.reason, run.attempt) for run in runs(bench, lease.id)] == [
        ("stalled", None, 1),
        ("stalled", "crash_loop", 1),
    ]


def test_a_cancelled_run_says_what_its_worker_said(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.cancel([one.id, two.id]))
    bench.run(bench.calls.fail([Failure(one, b"stopped", reason="told")], [0]))
    bench.run(bench.calls.release([two]))
    assert [(run.outcome, run.reason, run.error) for run in runs(bench, one.id)] == [("cancelled", "told", "stopped")]
    assert [(run.outcome, run.reason, run.error) for run in runs(bench, two.id)] == [("cancelled", None, None)]


def test_a_worker_that_stops_returns_its_runs(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.deregister("w", "i", leases=[lease]))
    assert outcomes(bench, lease.id) == ["released"]


@pytest.mark.parametrize("number", [19, 20, 21, 25])
def test_the_last_20_are_kept_and_their_numbers_say_how_many_went(bench: Workbench, number: int) -> None:
    bench.real(bench.calls.configure(max_attempts=100))
    (id,) = bench.fill(1)
    for at in range(number):
        run_again(bench, id, b"%d" % at)
    found = runs(bench, id)
    assert [run.error for run in found] == [str(at) for at in range(number)][-20:]
    assert found[0].delivery - 1 == max(number - 20, 0)
    assert kept(bench, id) == min(number, 20)


def test_a_dead_task_that_is_retried_keeps_its_runs(bench: Workbench) -> None:
    (id,) = bench.die(1)
    bench.real(bench.calls.retry([id]))
    (lease,) = bench.claim(1)
    bench.real(bench.calls.ack([(lease, None)]))
    assert [(run.outcome, run.delivery, run.attempt) for run in runs(bench, id)] == [
        ("failed", 1, 1),
        ("completed", 2, 1),
    ]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (b"e" * 1024, b"e" * 1024),
        (b"f" + b"e" * 1024, b"e" * 1024),
        ("é".encode() * 512, "é".encode() * 512),
        ("é".encode() * 512 + b"e", "é".encode() * 511 + b"e"),
        ("\N{PILE OF POO}".encode() * 256 + b"eee", "\N{PILE OF POO}".encode() * 255 + b"eee"),
        (b"\x00 failed\n error", b"\x00 failed\n error"),
        (b"\xff" * 1100, b"\xff" * 1024),
        (b"\x80" * 1100, b"\x80" * 1021),
    ],
)
def test_an_error_is_cut_at_the_start_of_a_character(bench: Workbench, error: bytes, shown: bytes) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.fail([Failure(lease, error)], [0]))
    assert bench.send(bench.calls.runs(lease.id))[2][0][-1] == shown


def test_a_sealed_error_is_kept_whole_or_not_at_all(bench: Workbench) -> None:
    class Reversed:
        def seal(self, data: bytes, context: bytes) -> bytes:
            return data[::-1]

        open = seal

    sealed = replace(bench.calls, codec=Reversed())
    short, long = bench.lease(2)
    errors = [Failure(short, "ab" * 512), Failure(long, "ab" * 513)]
    bench.run(sealed.fail(errors, [0, 0]))
    assert [bench.run(sealed.runs(lease.id))[0].error for lease in (short, long)] == ["ab" * 512, None]


@pytest.mark.parametrize("how", ["purge", "abandon", "trim"])
def test_runs_go_with_their_task(bench: Workbench, how: str) -> None:
    (id,) = bench.die(1)
    assert kept(bench, id) == 1
    match how:
        case "purge":
            bench.run(bench.calls.purge("p", all=True))
        case "abandon":
            bench.run(bench.calls.abandon([id], "a"))
        case "trim":
            bench.real(bench.calls.configure(dead_keep=1))
            bench.pass_time(1_000)
            bench.run(bench.calls.trim())
    assert kept(bench, id) == 0
    assert runs(bench, id) == []


def test_a_cancelled_task_that_is_deleted_in_the_same_call_leaves_no_run(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    bench.run(bench.calls.release([lease]))
    assert kept(bench, lease.id) == 0


def test_runs_of_a_task_without_record_go_with_it(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.release([lease]))
    bench.ask("DEL", f":task:{lease.id}")
    assert bench.claim(1) == []
    assert kept(bench, lease.id) == 0


def test_a_new_task_with_the_same_id_has_no_runs(bench: Workbench) -> None:
    (id,) = bench.die(1)
    bench.real(bench.calls.abandon([id]))
    bench.pass_time(60_000)
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x"))], "again"))
    assert runs(bench, id) == []


def test_repair_deletes_runs_that_a_deleted_task_has_left(bench: Workbench) -> None:
    (id,) = bench.die(1)
    bench.ask("RPUSH", ":ended_runs:gone", f"{START} 1 1 0 1 w {START} failed error e")
    found = bench.run(bench.calls.repair([id, "gone"], dry_run=True))
    assert [(one.status, one.kind) for one in found.tasks] == [("sound", None), ("damaged", "runs")]
    assert kept(bench, "gone") == 1
    found = bench.run(bench.calls.repair([id, "gone"]))
    assert [(one.status, one.kind, one.state) for one in found.tasks] == [
        ("sound", None, None),
        ("repaired", "runs", "gone"),
    ]
    assert (kept(bench, id), kept(bench, "gone")) == (1, 0)

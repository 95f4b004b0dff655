"""queue.suspend: its paths, its largest calls, and what it promises."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.steps import StepValue, Wait
from pyadeq.models import Lease
from pyadeq.models.steps import Suspended
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.sizes_of_tasks import holding
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES, AnyCall, scenario, scenarios, sent
from tests.nouns.size import size


def waits(leases: list[Lease], delay: float = 600, **wait: Any) -> list[tuple[Lease, Wait]]:
    return [(lease, Wait("cool-off", delay=delay, **wait)) for lease in leases]


@scenario(1, 100, 1000)
def suspend_sleeping(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.suspend(waits(bench.lease(n)))


scenarios(
    (1, 100),
    suspend_tied=lambda bench, n: bench.calls.suspend(waits(bench.lease(n, **TIES))),
    suspend_due_soon=lambda bench, n: bench.calls.suspend(waits(bench.lease(n), 1)),
    suspend_due_already=lambda bench, n: bench.calls.suspend(waits(bench.lease(n), due=START / 1000 - 60)),
    suspend_again=lambda bench, n: sent(bench, bench.calls.suspend(waits(bench.lease(n)))),
    suspend_diverged=lambda bench, n: bench.calls.suspend(waits(bench.lease(n), kind="diverged")),
    suspend_unknown=lambda bench, n: bench.calls.suspend([((f"u{at}", "t"), Wait("w", delay=1)) for at in range(n)]),
)


@scenario(1, 100)
def suspend_for_two_waits(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    more = [(lease, Wait(name, number=2, delay=delay)) for lease in leases for name, delay in (("b", 60), ("c", 90))]
    return bench.calls.suspend(waits(leases) + more)


@scenario(1, 100)
def suspend_until_a_stored_time(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.suspend(waits(slept(bench, n), 1))


def slept(bench: Workbench, n: int, **task: Any) -> list[Lease]:
    """Leases of tasks whose sleep is not over, for they were run at once by hand, and set back."""
    leases = bench.lease(n, **task)
    bench.real(bench.calls.suspend(waits(leases)))
    bench.real(bench.calls.run_now([lease.id for lease in leases]))
    for lease in leases:
        bench.ask("HSET", f":steps:{lease.id}", "cool-off", f"1 sleep {START} 1\n{START + 600_000}")
    return bench.claim(n)


@scenario(1, 100)
def suspend_cancelled(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, **TIES)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.suspend(waits(leases))


@scenario(1, 100)
def suspend_what_is_full(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(steps_max=1))
    leases = bench.lease(n)
    return bench.calls.suspend(waits(leases) + [(lease, Wait(name, delay=1)) for lease in leases for name in "bc"])


@scenario(1, 100)
def suspend_by_the_name_of_a_step(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.step([StepValue(lease, "cool-off", 1, "step", b"") for lease in leases]))
    return bench.calls.suspend(waits(leases))


@scenario(1)
def suspend_past_the_deadline(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.suspend(waits(leases))


@scenario(1)
def suspend_an_older_lease(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.release(leases))
    bench.claim(n)
    return bench.calls.suspend(waits(leases))


@scenario(1)
def suspend_damaged_without_a_deadline(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("DEL", ":leases")
    return bench.calls.suspend(waits(leases))


@scenario(1)
def suspend_without_record(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(n)
    bench.ask("DEL", f":task:{lease.id}")
    return bench.calls.suspend(waits([lease]))


@scenario(1)
def suspend_in_an_older_layout(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("HSET", ":config", "layout", 1, "layout_min", 1)
    return bench.calls.suspend(waits(leases))


@scenario(1)
def suspend_in_a_newer_layout(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.suspend(waits(leases))


@size(1, 300)
def suspend_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.suspend([(lease, Wait("l" * 200, 10_000, delay=1)) for lease in holding(bench, n)[:n]])


# What it promises


def suspend(bench: Workbench, *some: tuple[Any, Wait]) -> list[Suspended]:
    return bench.run(bench.calls.suspend(some))


def test_a_suspended_task_holds_nothing_and_spends_no_attempt(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u", max_attempts=1)
    (other,) = bench.fill(1, user="u")
    assert bench.claim(1) == []
    assert suspend(bench, (lease, Wait("cool-off", delay=600))) == [
        Suspended(status="suspended", due=START / 1000 + 600)
    ]
    assert (bench.state(lease.id), bench.ask("EXISTS", ":leases")) == ("delayed", 0)
    assert [one.id for one in bench.claim(1)] == [other]
    assert bench.record(lease.id)["waits_for"] == b"1 cool-off"
    assert bench.run(bench.calls.runs(lease.id)) == []
    assert [one["payload"] for one in bench.events("task.suspended")] == [b"due_ms=%d" % (START + 600_000)]
    assert bench.counters()["suspended"] == 1
    check_queue(bench)


def test_it_wakes_in_time_with_the_same_attempt(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    suspend(bench, (lease, Wait("cool-off", delay=600)))
    bench.pass_time(599_999)
    assert bench.claim(1) == []
    bench.pass_time(1)
    (woken,) = bench.claim(1)
    assert (woken.id, woken.attempt, woken.delivery) == (lease.id, 1, 2)
    check_queue(bench)


def test_of_several_waits_the_earliest_wakes_and_each_keeps_its_time(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    answers = suspend(bench, (lease, Wait("a", delay=600)), (lease, Wait("b", delay=60)))
    assert [one.due for one in answers] == [START / 1000 + 60] * 2
    assert bench.record(lease.id)["waits_for"] == b"1 b"
    bench.pass_time(60_000)
    (lease,) = bench.claim(1)
    assert [one.due for one in suspend(bench, (lease, Wait("a", delay=600)))] == [START / 1000 + 600]
    assert [one.due for one in bench.run(bench.calls.steps(lease.id))] == [START / 1000 + 600, START / 1000 + 60]


def test_a_repeated_call_returns_the_same_even_after_the_task_was_woken(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    call = bench.calls.suspend([(lease, Wait("a", delay=1))])
    first = bench.run(call)
    bench.pass_time(500)
    assert bench.run(call) == first
    bench.pass_time(500)
    (woken,) = bench.claim(1)
    assert bench.run(call) == first
    assert bench.state(woken.id) == "running"
    check_queue(bench)


def test_a_sleeping_task_is_cancelled_at_once_and_run_now_ends_its_sleep(bench: Workbench) -> None:
    one, other = bench.lease(2)
    suspend(bench, (one, Wait("a", delay=600)), (other, Wait("a", delay=600)))
    assert bench.run(bench.calls.cancel([one.id])) == ["cancelled"]
    bench.pass_time(1_000)
    bench.run(bench.calls.run_now([other.id]))
    (step,) = bench.run(bench.calls.steps(other.id))
    assert (step.kind, step.due) == ("sleep", START / 1000 + 1)
    assert [lease.id for lease in bench.claim(2)] == [other.id]
    check_queue(bench)


def test_code_that_does_not_fit_waits_with_the_reason_and_stores_nothing(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    suspend(bench, (lease, Wait("plan", kind="diverged", delay=60)))
    record = bench.record(lease.id)
    assert (record["reason"], record["waits_for"], bench.state(lease.id)) == (b"diverged", b"1 plan", "delayed")
    assert bench.run(bench.calls.steps(lease.id)) == []


@pytest.mark.parametrize("refused", ["full", "diverged"])
def test_a_refused_wait_leaves_the_lease(bench: Workbench, refused: str) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.step([StepValue(lease, "a", 1, "step", b"")]))
    if refused == "full":
        bench.real(bench.calls.configure(steps_max=1))
    name = "b" if refused == "full" else "a"
    assert [one.status for one in suspend(bench, (lease, Wait(name, delay=5)))] == [refused]
    assert bench.state(lease.id) == "running"
    check_queue(bench)

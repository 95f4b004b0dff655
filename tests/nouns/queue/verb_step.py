"""queue.step and queue.steps: what is stored of a durable task, and how a claim brings it."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq._core.queue.steps import StepValue, Wait, brought_steps
from pyadeq.models import Lease
from pyadeq.models.steps import StepKept, TaskStep
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.sizes_of_tasks import holding
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES, AnyCall, scenario, scenarios, sent
from tests.nouns.size import size
from tests.nouns.watched import Refused


def step(lease: Lease, name: str = "plan", value: bytes = b"1", number: int = 1, kind: Any = "step") -> StepValue:
    return StepValue(lease, name, number, kind, value)


def stored(bench: Workbench, n: int, name: str = "plan", value: bytes = b"1", **task: Any) -> list[Lease]:
    """Leases of tasks that have a step."""
    leases = bench.lease(n, **task)
    keep(bench, *(step(lease, name, value) for lease in leases))
    return leases


def keep(bench: Workbench, *steps: StepValue) -> None:
    for at in range(0, len(steps), 100):
        bench.real(bench.calls.step(steps[at : at + 100]))


def again(bench: Workbench, leases: list[Lease]) -> None:
    bench.real(bench.calls.release(leases))


@scenario(1, 100)
def step_first_of_a_task(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.step([step(lease) for lease in bench.lease(n)])


@scenario(1, 100)
def step_several_of_a_task(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    return bench.calls.step([step(lease, number=at + 1) for at in range(n)])


scenarios(
    (1, 100),
    step_of_tied_tasks=lambda bench, n: bench.calls.step([step(lease) for lease in bench.lease(n, **TIES)]),
    step_again=lambda bench, n: sent(bench, bench.calls.step([step(lease) for lease in bench.lease(n)])),
    step_after_crashes=lambda bench, n: bench.calls.step([step(lease) for lease in bench.crash(1, n)]),
    step_known=lambda bench, n: bench.calls.step([step(lease, value=b"2") for lease in stored(bench, n)]),
    step_of_another_kind=lambda bench, n: bench.calls.step([step(it, kind="patch") for it in stored(bench, n)]),
    step_unknown=lambda bench, n: bench.calls.step(
        [StepValue((f"u{at}", "t"), "s", 1, "step", b"") for at in range(n)]
    ),
)


@scenario(1, 100)
def step_too_many(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(steps_max=1))
    return bench.calls.step([step(lease, "other") for lease in stored(bench, n)])


@scenario(1, 100)
def step_too_many_bytes(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(steps_bytes=1024))
    return bench.calls.step([step(lease, "other", b"x" * 600) for lease in stored(bench, n, value=b"x" * 400)])


@scenario(1, 100)
def step_in_time_and_late(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=5))
    leases = bench.lease(n) + bench.lease(n, timeout=3600)
    bench.pass_time(6_000)
    return bench.calls.step([step(lease) for lease in leases][:100])


@scenario(1)
def step_past_the_deadline(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.step([step(lease) for lease in leases])


@scenario(1)
def step_without_record(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(n)
    bench.ask("DEL", f":task:{lease.id}")
    return bench.calls.step([step(lease)])


@scenario(1)
def step_of_an_older_layout(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("HSET", ":config", "layout", 1, "layout_min", 1)
    return bench.calls.step([step(lease) for lease in leases])


@scenario(0)
def step_with_a_lease_of_its_own(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.ask("step", lambda answer: answer, item=[(*ids(bench), "s", 1, "step", b"")], lease_ms=60_000)


def ids(bench: Workbench) -> tuple[str, str]:
    (lease,) = bench.lease(1)
    return lease.id, lease.token


@scenario(1, 100)
def steps_of_a_task(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    keep(bench, *(step(lease, "edit", b"v%d" % at, at + 1) for at in range(n)))
    return bench.calls.steps(lease.id)


scenarios(
    steps_of_nobody=lambda bench: bench.calls.steps("nobody"),
)


@scenario(0)
def steps_of_a_newer_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.steps("t")


@scenario(1, 100)
def claim_with_steps(bench: Workbench, n: int) -> AnyCall:
    again(bench, stored(bench, n))
    bench.pass_time(1_000)  # it keeps house, and so makes all functions
    return bench.calls.claim("w", "i", 0, 999_999, limit=n)


@scenario(1)
def claim_with_more_steps_than_it_brings(bench: Workbench, n: int) -> AnyCall:
    again(bench, stored(bench, n, value=b"x" * 70_000))
    bench.pass_time(1_000)  # it keeps house, and so makes all functions
    return bench.calls.claim("w", "i", 0, 999_999, limit=n)


@scenario(1, 100)
def claim_with_steps_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, claim_with_steps(bench, n))


@scenario(1, 100)
def purge_tasks_with_steps(bench: Workbench, n: int) -> AnyCall:
    again(bench, stored(bench, n))
    return bench.calls.purge("p")


@scenario(1)
def claim_with_steps_without_record(bench: Workbench, n: int) -> AnyCall:
    (lease,) = stored(bench, n)
    again(bench, [lease])
    bench.ask("DEL", f":task:{lease.id}")
    return bench.calls.claim("w", "i", 0, 999_999, limit=1)


@scenario(1, 100)
def run_now_with_steps_and_sleeps(bench: Workbench, n: int) -> AnyCall:
    leases = stored(bench, n)
    sleeps = [("old", -60), ("new", 600)]
    bench.real(bench.calls.suspend([(one, Wait(name, due=START / 1000 + at)) for one in leases for name, at in sleeps]))
    return bench.calls.run_now([lease.id for lease in leases], "r")


@scenario(1)
def run_now_damaged_without_the_steps(bench: Workbench, n: int) -> AnyCall:
    (lease,) = stored(bench, n)
    bench.real(bench.calls.snooze([(lease, 600)]))
    bench.ask("DEL", f":steps:{lease.id}")
    return bench.calls.run_now([lease.id], "r")


@scenario(1)
def claim_damaged_without_the_steps(bench: Workbench, n: int) -> AnyCall:
    (lease,) = stored(bench, n)
    again(bench, [lease])
    bench.ask("DEL", f":steps:{lease.id}")
    bench.pass_time(1_000)  # it keeps house, and so makes all functions
    return bench.calls.claim("w", "i", 0, 999_999, limit=n)


@scenario(1)
def step_of_an_older_lease(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(n)
    again(bench, [lease])
    bench.claim(n)
    return bench.calls.step([step(lease)])


@size(1, 100)
def step_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=3600))
    return bench.calls.step([step(lease, "l" * 200, b"x" * 100_000, 10_000) for lease in holding(bench, n)[:n]])


def fill_with_steps(bench: Workbench, n: int) -> list[Lease]:
    """One task with so many steps, the most of them."""
    bench.real(bench.calls.configure(steps_max=10_000, steps_bytes=4_194_304))
    (lease,) = bench.lease(1)
    entries = [part for at in range(n) for part in (f"s#{at + 1}", f"{at + 1} step {START} 1\n{'x' * 300}")]
    for at in range(0, len(entries), 2000):
        bench.ask("HSET", f":steps:{lease.id}", *entries[at : at + 2000])
    size = sum(len(name) + 300 + 32 for name in entries[::2])
    bench.ask("HSET", f":task:{lease.id}", "durable", f"{n} {size}")
    return [lease]


@size(1, 10_000)
def steps_as_many_as_there_may_be(bench: Workbench, n: int) -> AnyCall:
    (lease,) = fill_with_steps(bench, n)
    return bench.calls.steps(lease.id)


# What it promises


def kept(bench: Workbench, *steps: StepValue) -> list[StepKept]:
    return bench.run(bench.calls.step(steps))


def names(bench: Workbench, id: str) -> list[tuple[str, str]]:
    return [(one.full_name, one.kind) for one in bench.run(bench.calls.steps(id))]


def test_a_stored_step_never_changes_and_the_lease_is_renewed(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(10_000)
    for _ in range(2):
        assert kept(bench, step(lease)) == [StepKept(status="stored", deadline=START / 1000 + 25)]
    (known,) = kept(bench, step(lease, value=b"other"))
    assert (known.status, known.value) == ("known", b"1")
    assert kept(bench, step(lease, kind="patch")) == [StepKept(status="diverged", kind="step")]
    assert int(bench.ask("ZSCORE", ":leases", lease.id)) == START + 25_000
    assert bench.run(bench.calls.steps(lease.id)) == [
        TaskStep(name="plan", kind="step", at=START / 1000 + 10, fence=lease.fence, data=b"1")
    ]
    check_queue(bench)


def test_it_never_shortens_a_lease_nor_renews_one_whose_time_is_up(bench: Workbench) -> None:
    (long,) = bench.fill(1)
    (lease,) = bench.claim(1, lease=600)
    assert (lease.id, kept(bench, step(lease))[0].deadline) == (long, START / 1000 + 600)
    (late,) = bench.lease(1, timeout=5)
    bench.pass_time(6_000)
    assert kept(bench, step(late))[0].deadline == START / 1000 + 15
    check_queue(bench)


def test_an_older_run_cannot_write(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    again(bench, [lease])
    (newer,) = bench.claim(1)
    assert [one.status for one in kept(bench, step(lease), step(newer))] == ["lease_lost", "stored"]
    bench.pass_time(15_000)
    assert kept(bench, step(newer, "more"))[0].status == "lease_lost"
    assert names(bench, lease.id) == [("plan", "step")]


def test_crashes_count_from_0_after_a_step(bench: Workbench) -> None:
    bench.real(bench.calls.configure(max_crashes=3))
    for _ in range(3):
        (lease,) = bench.claim(1) if bench.ask("EXISTS", ":ready:any") else bench.lease(1)
        for _ in range(2):
            bench.pass_time(15_000)
            bench.real(bench.calls.reap())
            bench.pass_time(300_000)
            (lease,) = bench.claim(1)
        kept(bench, step(lease, number=lease.delivery))
        again(bench, [lease])
        assert bench.state(lease.id) == "ready"
    check_queue(bench)


def test_a_claim_brings_the_steps_in_order_and_a_replay_brings_the_same(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    for at in range(12):
        kept(bench, step(lease, "edit", b"\n%d step\n" % at, at + 1))
    kept(bench, step(lease, "new", b"", kind="patch"))
    again(bench, [lease])
    call = bench.calls.claim("w", "i", 0, 999_999, limit=1)
    for _ in range(2):
        (found,) = bench.run(call).leases
        brought = brought_steps(found.record)
        assert brought == bench.run(bench.calls.steps(lease.id))
    assert brought is not None
    assert [one.data for one in brought[:2]] == [b"\n0 step\n", b"\n1 step\n"]
    assert [one.full_name for one in brought][-3:] == ["edit#11", "edit#12", "new"]


def test_64_KiB_of_steps_are_brought_and_more_are_read(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    room = 65_536 - 32 - len("plan")
    kept(bench, step(lease, value=b"x" * room))
    again(bench, [lease])
    (lease,) = bench.claim(1)
    assert brought_steps(lease.record) is not None
    kept(bench, step(lease, "one", b""))
    again(bench, [lease])
    (lease,) = bench.claim(1)
    assert brought_steps(lease.record) is None
    assert names(bench, lease.id) == [("plan", "step"), ("one", "step")]


def test_a_reply_of_4_MiB_counts_the_steps(bench: Workbench) -> None:
    leases = bench.lease(80)
    for lease in leases:
        kept(bench, step(lease, value=b"x" * 60_000))
    again(bench, leases)
    assert 60 < len(bench.claim(80)) < 70


def test_a_task_has_at_most_so_many_steps_and_bytes(bench: Workbench) -> None:
    bench.real(bench.calls.configure(steps_max=2, steps_bytes=1024))
    (lease,) = bench.lease(1)
    assert [one.status for one in kept(bench, step(lease), step(lease, "b"), step(lease, "c"), step(lease))] == [
        "stored", "stored", "full", "stored",
    ]  # fmt: skip
    (lease,) = bench.lease(1)
    room = 1024 - 32 - 1
    assert kept(bench, step(lease, "a", b"x" * (room + 1)))[0].status == "full"
    assert kept(bench, step(lease, "a", b"x" * room))[0].status == "stored"
    assert bench.record(lease.id)["durable"] == b"1 1024"
    check_queue(bench)


@pytest.mark.parametrize("end", ["ack", "dead", "cancelled"])
def test_steps_are_deleted_with_the_task(bench: Workbench, end: str) -> None:
    bench.real(bench.calls.configure(finished_keep=0, dead_keep=0))
    (lease,) = stored(bench, 1)
    if end == "ack":
        bench.run(bench.calls.ack([(lease, b"r")]))
    elif end == "dead":
        bench.run(bench.calls.fail([Failure(lease, "e", retryable=False)], [0]))
        assert names(bench, lease.id) == [("plan", "step")]
    else:
        again(bench, [lease])
        bench.run(bench.calls.cancel([lease.id]))
    bench.pass_time(1_000)
    bench.real(bench.calls.trim())
    assert bench.ask("EXISTS", f":steps:{lease.id}") == 0
    check_queue(bench)


def test_a_retried_task_keeps_its_steps(bench: Workbench) -> None:
    (lease,) = stored(bench, 1)
    bench.run(bench.calls.fail([Failure(lease, "e", retryable=False)], [0]))
    bench.run(bench.calls.retry([lease.id]))
    (lease,) = bench.claim(1)
    assert [one.name for one in brought_steps(lease.record) or ()] == ["plan"]
    bench.run(bench.calls.ack([(lease, b"")]))
    assert names(bench, lease.id) == [("plan", "step")]


def test_a_queue_of_an_older_layout_refuses_steps_and_says_what_to_do(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.ask("HSET", ":config", "layout", 1, "layout_min", 1)
    before = bench.dump()
    for call in (bench.calls.step([step(lease)]), bench.calls.suspend([(lease, Wait("s", delay=1))])):
        with pytest.raises(Refused, match=r"ADEQ_LAYOUT .* has layout 1, and steps need 2: .* `adeq scripts migrate`"):
            bench.run(call)
    assert bench.dump() == before
    bench.run(bench.calls.migrate())
    assert kept(bench, step(lease))[0].status == "stored"

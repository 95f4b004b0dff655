"""Paths of runs, and of what is kept for it."""

from __future__ import annotations

from dataclasses import replace

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, scenario


def run_again(bench: Workbench, id: str, error: bytes = b"e") -> None:
    """One more run of a waiting task, which fails."""
    bench.pass_time(400_000)
    bench.real(bench.calls.promote())
    (lease,) = bench.claim(1)
    assert lease.id == id
    bench.real(bench.calls.fail([Failure(lease, error)], [500_000]))


@scenario(1, 30)
def runs_that_failed(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(max_attempts=100))
    (id,) = bench.fill(1)
    for _ in range(n):
        run_again(bench, id)
    return bench.calls.runs(id)


@scenario(0)
def runs_of_every_outcome(bench: Workbench, _: int) -> AnyCall:
    (id,) = bench.fill(1)
    run_again(bench, id)
    bench.pass_time(400_000)
    bench.claim(1)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    bench.real(bench.calls.release(bench.claim(1)))
    bench.real(bench.calls.snooze([(lease, 1) for lease in bench.claim(1)]))
    bench.pass_time(1000)
    bench.real(bench.calls.ack([(lease, b"r") for lease in bench.claim(1)]))
    return bench.calls.runs(id)


@scenario(0)
def runs_while_it_runs(bench: Workbench, _: int) -> AnyCall:
    (lease,) = bench.lease(1)
    return bench.calls.runs(lease.id)


@scenario(0)
def runs_of_a_cancelled_task(bench: Workbench, _: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    bench.real(bench.calls.release([lease]))
    return bench.calls.runs(lease.id)


@scenario(0)
def runs_of_nothing(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.runs("unknown")


@scenario(0)
def fail_with_a_long_error(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.fail([Failure(lease, b"e" * 1025) for lease in bench.lease(1)], [500_000])


@scenario(0)
def fail_with_a_long_error_that_is_sealed(bench: Workbench, _: int) -> AnyCall:
    class Codec:
        def seal(self, data: bytes, context: bytes) -> bytes:
            return data

        open = seal

    (lease,) = bench.lease(1)
    return replace(bench.calls, codec=Codec()).fail([Failure(lease, b"e" * 1025)], [500_000])


@scenario(0)
def fail_for_the_21st_time(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(max_attempts=100))
    (id,) = bench.fill(1)
    for _ in range(20):
        run_again(bench, id)
    bench.pass_time(400_000)
    bench.real(bench.calls.promote())
    return bench.calls.fail([Failure(lease, b"e") for lease in bench.claim(1)], [500_000])


@scenario(1, 100)
def repair_what_is_left_of_runs(bench: Workbench, n: int) -> AnyCall:
    ids = [f"gone{at}" for at in range(n)]
    for id in ids:
        bench.ask("RPUSH", f":ended_runs:{id}", "1700000000000 1 1 0 1 w 1700000000001 failed error e")
    return bench.calls.repair(ids)


@scenario(0)
def runs_of_a_dropped_result(bench: Workbench, _: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.full()
    bench.real(bench.calls.ack([(lease, b"r" * 5000)]))
    bench.full(False)
    return bench.calls.runs(lease.id)


@scenario(0)
def runs_damaged(bench: Workbench, _: int) -> AnyCall:
    """A completed task that is in no set: when it ended is not known."""
    (lease,) = bench.lease(1)
    bench.real(bench.calls.ack([(lease, b"r")]))
    bench.ask("ZREM", ":finished", lease.id)
    return bench.calls.runs(lease.id)

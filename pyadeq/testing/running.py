"""Run all waiting tasks now and here, with the real scripts and without a worker."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from pyadeq import Lease, Queue
from pyadeq import asyncio as aio
from pyadeq._core.queue.failures import FAILURES, Failures, failure_of, timed_out
from pyadeq._core.queue.steps import refused_wait
from pyadeq._tasks.steps import TaskSuspended
from pyadeq._worker.runs import suspension_in
from pyadeq.errors import ConfigError
from pyadeq.models.queue import AckStatus, FailStatus
from pyadeq.testing.clock import Clock, clock_of
from pyadeq.testing.handling import Calls, Handler, Stopped
from pyadeq.testing.steps import Steps, drive

WORKER = "testing"
MOST_LANES = 64  # of one claim
SHOWN = 3  # of the last runs, in an error


@dataclass(frozen=True)
class Run:
    """One run of a handler, and what happened to its task.

    outcome: `completed`; `retried`: the task will run again later; `suspended`: it waits in one of its steps; `dead`;
    `cancelled`; `lease_lost`: the handler settled the task itself, or its lease ended on the virtual clock and was
    taken back.
    result: what the handler returned.
    error: what it raised.
    reason: of the failure, or for what a suspended task waits: one word.
    """

    id: str
    kind: str | None
    attempt: int
    delivery: int
    outcome: AckStatus | FailStatus | Literal["suspended"]
    result: Any = None
    error: BaseException | None = field(default=None, compare=False)
    reason: str | None = None


@overload
def run_all(
    queue: Queue,
    handler: Handler | None = None,
    *,
    advance: bool = True,
    limit: int = 1000,
    raise_errors: bool = True,
    failures: Failures = FAILURES,
) -> list[Run]: ...
@overload
def run_all(
    queue: aio.Queue,
    handler: Handler | None = None,
    *,
    advance: bool = True,
    limit: int = 1000,
    raise_errors: bool = True,
    failures: Failures = FAILURES,
) -> Coroutine[Any, Any, list[Run]]: ...
def run_all(
    queue: Queue | aio.Queue,
    handler: Handler | None = None,
    *,
    advance: bool = True,
    limit: int = 1000,
    raise_errors: bool = True,
    failures: Failures = FAILURES,
) -> list[Run] | Coroutine[Any, Any, list[Run]]:
    """Run all tasks of a queue, one after the other, until none is left. Returns the runs in order.

    Tasks of all lanes are leased in their order, and run in the test's own thread or asyncio task. They are completed
    or failed as a worker does it.

    handler: a function of one lease, async or not; a `Tasks`; or one function of it. None: the functions registered
    with the queue.
    advance: when nothing is ready, advance the virtual clock to the next retry, delayed task or end of a lease. If the
    queue uses the server's time and something is due later, this raises ConfigError. False leaves such tasks alone.
    limit: AssertionError after this many runs, for a handler that never ends.
    raise_errors: raise the first exception of a handler, after its attempt was failed; False records it.
    failures: as the worker has it.
    """
    __tracebackhide__ = True
    calls = Calls(queue, handler)
    return drive(queue, run_some(queue, Runner(queue, calls, failures, raise_errors), advance, limit))


def run_some(queue: Any, runner: Runner, advance: bool, limit: int, enough: int | None = None) -> Steps[list[Run]]:
    """Run tasks until none is left, or until these are enough."""
    __tracebackhide__ = True
    runs: list[Run] = []
    once_more = True
    while True:
        before = yield queue.stats()
        lanes = [lane for lane, ready in before.lanes.items() if ready][:MOST_LANES]
        claimed = yield queue.leases.claim_once(WORKER, 1, lanes=lanes or ["any"])
        for lease in claimed.leases:
            if len(runs) == limit:
                yield queue.release(lease)
                raise AssertionError(endless("run_all", runs, before.pending))
            runs.append((yield from runner.run(lease)))
        if len(runs) == enough:
            return runs
        if claimed.leases:
            once_more = True
            continue
        if claimed.next_firing and claimed.next_firing <= claimed.now:
            fired = yield queue.schedules.fire_due()
            if any(firing.status != "failed" for firing in fired.firings):
                once_more = True
                continue
        after = yield queue.stats()
        if after.ready and after.mode != "paused" and (once_more or after.ready < before.ready):
            once_more = False  # the claim has put something due into a lane that it did not look at, or tasks aside
            continue
        if after.ready or not claimed.next_due:
            return runs
        now = claimed.now
        if claimed.next_due > now:  # else the next claim sees to more of what is due
            if not advance:
                return runs
            moment = min(due for due in (claimed.next_due, claimed.next_firing) if due and due > now)
            passed = yield from runner.pass_time(now, moment)
            if not passed:
                return runs
        once_more = True


class Runner:
    """Runs tasks, and settles them as a worker would."""

    def __init__(self, queue: Any, calls: Calls, failures: Failures, raise_errors: bool) -> None:
        self.clock: Clock | None = clock_of(queue)
        self.queue = queue
        self._calls = calls
        self._failures = failures
        self._raise_errors = raise_errors

    def run(self, lease: Lease) -> Steps[Run]:
        """Run a task and settle it."""
        __tracebackhide__ = True
        about = (lease.id, lease.kind, lease.attempt, lease.delivery)
        began, context = self._now(), self._calls.context(lease)
        try:
            result = yield from self._calls.call(lease, context)
            data = self._calls.encode(lease, result)
            if self._late(lease, began):
                raise TimeoutError(f"the run took longer than the task's timeout of {lease.timeout:g} s")
        except (TaskSuspended, BaseExceptionGroup) as error:
            if (suspended := suspension_in(error)) is None:
                raise
            answers = yield self.queue.leases.suspend_many([(lease, wait) for wait in suspended.waits])
            if (refused := refused_wait(lease, answers)) is not None:
                (answer,) = yield self.queue.fail_many([refused])
                return Run(*about, answer.status, error=suspended, reason=refused.reason)
            return Run(*about, answers[0].status, reason=suspended.waits[0].kind)
        except Exception as error:
            late = self._late(lease, began)
            failure = (
                timed_out(lease, self._failures) if late else failure_of(lease, error, self._failures, context.rule)
            )
            (answer,) = yield self.queue.fail_many([failure])
            if self._raise_errors and not isinstance(error, Stopped):
                note = f"task {lease.id}, attempt {lease.attempt}; run_all(…, raise_errors=False) records it"
                error.add_note(note)
                raise
            return Run(*about, answer.status, error=error, reason=failure.reason)
        (status,) = yield self.queue.ack_many([(lease, data)])
        return Run(*about, status, result)

    def pass_time(self, now: float, moment: float) -> Steps[bool]:
        """Let time pass until something is due. Returns whether it has."""
        if self.clock is None:
            raise ConfigError(_server_time(moment - now))
        self.clock.advance_to(moment)
        return True
        yield

    def _now(self) -> tuple[float, float]:
        """Return the real time and the time of the virtual clock: both count."""
        return time.monotonic(), self.clock.now if self.clock else 0.0

    def _late(self, lease: Lease, began: tuple[float, float]) -> bool:
        if lease.timeout is None:
            return False
        return any(now - then >= lease.timeout for now, then in zip(self._now(), began, strict=True))


def endless(call: str, runs: list[Run], pending: int) -> str:
    """Return what an error says of a handler that never ends."""
    last = "".join(
        f"\n  {run.id}, kind {run.kind}, attempt {run.attempt}: {run.outcome}"
        + (f", {run.error!r}" if run.error else "")
        for run in runs[-SHOWN:]
    )
    return (
        f"{call}: {len(runs)} runs, and there are still tasks that wait ({pending}). Does the handler enqueue a task "
        f"for each that it ends? limit= allows more runs. The last of them:{last}"
    )


def _server_time(seconds: float) -> str:
    return (
        f"run_all: nothing is ready, and the next task is due in {seconds:.1f} s of the server's time. Ask for the "
        "fixture adeq_clock, whose time run_all lets pass; or give advance=False to leave the task where it is"
    )

"""Runs a handler for each lease, and keeps the outcomes until they are settled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyadeq._core.kernel.tracing import Tracing
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.failures import Failures, TaskFailed, UnknownKind, failure_of, timed_out
from pyadeq._core.queue.items import MAX_BATCH_BYTES, Failure, error_bytes
from pyadeq._tasks.context import CURRENT, TaskContext
from pyadeq._tasks.executors import is_ctrl_c
from pyadeq._tasks.steps import TaskSuspended
from pyadeq._worker.ends import Ends
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import Interruption
from pyadeq._worker.unknown import Aside, Unknown
from pyadeq.errors import AdeqError
from pyadeq.models.base import encode
from pyadeq.models.queue import Lease, TaskView
from pyadeq.tiers import may_show

Handler = Callable[[Lease], Awaitable[Any]]
Ack = tuple[Lease, bytes]

MOST_RESULT_BYTES = 1024 * 1024
# Links of a span to tasks whose results the task needs, and seconds to find them.
MOST_EARLIER, PATIENCE = 32, 1.0
log = logging.getLogger("pyadeq.worker")


class Run:
    """One handler at work."""

    __slots__ = ("cancelled", "claimed", "context", "expired", "interrupted", "lease", "task", "trace")

    def __init__(self, lease: Lease, context: TaskContext, claimed: float) -> None:
        self.lease = lease
        self.claimed = claimed  # by the server's clock
        self.context = context
        self.cancelled = self.expired = False
        self.interrupted: Interruption | None = None
        self.trace: str | None = None  # the traceparent of its span, if it is sampled
        self.task: asyncio.Task[None]


class Runs:
    """Starts handlers and keeps their outcomes until these are settled.

    clean_up: seconds that a cancelled handler may take before it is logged, and before its task is returned.
    changed: called when a handler has ended, or a place will be free.
    """

    def __init__(
        self,
        queue: WorkerQueue,
        worker: str,
        handler: Handler,
        *,
        failures: Failures,
        clean_up: float,
        timeout: float,
        unknown: Unknown,
        ends: Ends,
        group: str | None,
        changed: Callable[[], None],
    ) -> None:
        self.running: dict[str, Run] = {}
        """The runs whose lease this worker still holds, by token."""
        self.leaving: set[Run] = set()
        """Cancelled runs that have no lease any more and still clean up."""
        self.acks: list[Ack] = []
        self.fails: list[Failure] = []
        self.cut_short = False
        """Whether a handler was cancelled. Its thread, if it has one, may still run."""
        self.aside: list[Aside] = []
        """Tasks to put aside, because this worker does not know them."""
        self._queue = queue
        self._worker = worker
        self._handler = handler
        self._failures = failures
        self._unknown = unknown
        self._ends = ends
        self._tracing = queue.adeq.tracing
        self._about = {"queue": queue.name, "worker": worker, "group": group}
        self._clean_up = clean_up
        self._changed = changed
        self._timeout = b"%d" % round(timeout * 1000)
        self._closing = False

    @property
    def busy(self) -> int:
        """How many places are taken."""
        return len(self.running) + len(self.leaving) + len(self.aside)

    @property
    def unsettled(self) -> int:
        """The number of ended runs that are not settled yet."""
        return len(self.acks) + len(self.fails)

    def lease_of(self, task: asyncio.Task[Any]) -> Lease | None:
        """Return the lease whose handler runs as this asyncio task. Any thread may call it."""
        return next((run.lease for run in [*self.running.values(), *self.leaving] if run.task is task), None)

    def start(self, leases: Sequence[Lease], claimed: float) -> None:
        """Start a handler for each. claimed: when, by the server's clock."""
        create_task = asyncio.get_running_loop().create_task
        for lease in leases:
            if self._timeout != b"0":
                lease.record.setdefault("timeout_ms", self._timeout)
            self.running[lease.token] = run = Run(lease, TaskContext(lease, self._queue, self._worker), claimed)
            run.task = create_task(self._run(run))

    def take(self, most: int) -> tuple[list[Ack], list[Failure]]:
        """Take ended runs to settle: at most `most`, and at most 8 MiB of results, the limit of a call; but at least
        one.
        """
        size, count = 0, 0
        for _, result in self.acks[:most]:
            size += len(result)
            if count and size > MAX_BATCH_BYTES:
                break
            count += 1
        acks, self.acks = self.acks[:count], self.acks[count:]
        most -= count
        fails, self.fails = self.fails[:most], self.fails[most:]
        return acks, fails

    def put_back(self, acks: list[Ack], fails: list[Failure]) -> None:
        """Put runs back that could not be settled."""
        self.acks[:0], self.fails[:0] = acks, fails

    def interrupt(self, token: str, why: Interruption) -> None:
        """Cancel a handler: its lease is lost, its time is up, or its task is to be cancelled."""
        run = self.running.get(token)
        if run is None or run.interrupted == why:
            return
        if why != "cancelling":  # one that is cancelled keeps its lease while it cleans up
            del self.running[token]
            self.leaving.add(run)
        if why == "timed_out":
            self._fail(timed_out(run.lease, self._failures), run)
        elif why == "lease_lost":
            log.warning("task %s: the lease was lost while the handler ran; the handler is cancelled", run.lease.id)
            self._ends.forget(run.lease)
        if run.interrupted is None:
            run.task.add_done_callback(lambda _: self._left(run))
            asyncio.get_running_loop().call_later(self._clean_up, self._report_slow, run)
        run.interrupted = why
        if not run.cancelled:  # a second cancel would interrupt its cleanup
            self._cancel(run, why)
        self._changed()

    async def close(self) -> list[Lease]:
        """Cancel all handlers and wait for a while. Returns the leases of handlers that did not end by themselves."""
        self._closing = True
        for run in self.running.values():
            self._cancel(run, run.interrupted or "stopping")
        if tasks := [run.task for run in (*self.running.values(), *self.leaving)]:
            _, slow = await asyncio.wait(tasks, timeout=self._clean_up)
            if slow:
                log.warning("%d handlers still run %g s after they were cancelled", len(slow), self._clean_up)
        leases = [run.lease for run in self.running.values()]
        for lease in leases:
            self._ends.end(lease, "released")
        return leases

    async def _run(self, run: Run) -> None:
        lease, timer, result = run.lease, None, None
        self._ends.begin(lease)
        CURRENT.set(run.context)
        run.context.main = asyncio.current_task()
        try:
            if (timeout := lease.timeout) is not None:
                timer = asyncio.get_running_loop().call_later(timeout, self._time_is_up, run)
            if not lease.readable:
                len(lease.data)  # PayloadError, before anything runs
            try:
                result = await (self._handled(run) if self._tracing is None else self._traced(run, self._tracing))
            finally:
                run.context.close_steps()
                if timer:
                    timer.cancel()
                if run.context.talks:
                    await run.context.finish()
                if run.context.ignored:
                    self._unknown.note_ignored(lease, run.context.ignored)
            data = stored_result(self._queue.calls, result)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and is_ctrl_c(error):
                raise
            self._failed(run, error)
        else:
            if run.interrupted is None:
                del self.running[lease.token]
                self.acks.append((lease, data))
        self._changed()

    async def _handled(self, run: Run) -> Any:
        """Run the handler, and then look whether its steps have come to their end."""
        result = await self._handler(run.lease)
        if run.context.has_steps:
            await run.context.end_steps()
        return result

    async def _traced(self, run: Run, tracing: Tracing) -> Any:
        """Run the handler in a span."""
        lease = run.lease
        with tracing.process(lease, {**self._about, "claimed": run.claimed}) as running:
            run.context.running = running
            if trace := running.carrier.get("traceparent"):
                self._ends.follow(lease, trace)
                run.trace = trace if running.recording else None
            try:
                if running.recording and ("after" in lease.record or "gather" in lease.record):
                    running.link(await self._earlier(lease))
                result = await self._handled(run)
            except UnknownKind:
                running.end("put_aside")
                raise
            except TaskSuspended:
                running.end("suspended")
                raise
            except BaseException as error:
                if run.expired or run.interrupted == "timed_out":
                    running.fail("timeout", None)
                elif run.cancelled:
                    running.end(run.context.interrupted or "cancelled")
                else:
                    failure = self._failure(run, error)
                    running.fail(failure.reason, self._ends.shown(lease, failure))
                raise
            running.end("completed")
            return result

    async def _earlier(self, lease: Lease) -> list[tuple[str, str]]:
        """Return the ids and traces of some tasks whose results this one needs. It takes a second at most."""
        tasks: list[TaskView | None] = []
        with suppress(AdeqError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                if lease.after:
                    tasks += await self._queue.get_many(lease.after[:MOST_EARLIER])
                if "gather" in lease.record:
                    tasks += (await self._queue._gathered_page(lease.id, ""))[0]
        return [(task.id, task.trace) for task in tasks[:MOST_EARLIER] if task and task.trace]

    def _failed(self, run: Run, error: BaseException) -> None:
        if run.interrupted or (self._closing and isinstance(error, asyncio.CancelledError)):
            return  # cancelled by us: the outcome is already decided
        if (suspended := suspension_in(error)) is not None:
            del self.running[run.lease.token]
            self.aside.append(Aside(run.lease, 0.0, None, suspended.waits))
            if suspended.waits[0].kind == "diverged":
                shown = suspended if may_show(run.lease.tier, "words") else "hidden by its tier"
                log.warning("task %s: the code does not fit its stored steps: %s", run.lease.id, shown)
            return
        if isinstance(error, UnknownKind) and (aside := self._unknown.aside(run.lease, run.claimed, error)):
            del self.running[run.lease.token]
            self.aside.append(aside)
            return
        failure = self._failure(run, error)
        del self.running[run.lease.token]
        self._fail(failure, run)

    def _fail(self, failure: Failure, run: Run) -> None:
        self.fails.append(replace(failure, error=self._sealed(error_bytes(failure.error)), run_trace=run.trace))

    def _failure(self, run: Run, error: BaseException) -> Failure:
        """Return the failure to store. It is built here, inside a `try`, because a user's exception class may
        itself raise.
        """
        try:
            failure = (
                timed_out(run.lease, self._failures)
                if run.expired
                else failure_of(run.lease, error, self._failures, run.context.rule)
            )
            failure = replace(failure, error=self._sealed(error_bytes(failure.error)))
            self._queue.calls.fail([failure], [0])  # an invalid failure must not break the call of other tasks
            return failure
        except Exception as problem:
            text = f"{type(error).__name__}, without further details: {type(problem).__name__}"
            return self._failures.failure("error", run.lease, text)

    def _sealed(self, error: bytes) -> bytes:
        try:
            return self._queue.calls.sealing.error(error)
        except Exception as problem:  # the codec failed: the attempt must still be settled
            log.warning("an error is not kept: the codec has failed: %s", type(problem).__name__)
            return b""

    def _time_is_up(self, run: Run) -> None:
        run.expired = True
        self._cancel(run, "timed_out")

    def _cancel(self, run: Run, why: str) -> None:
        run.cancelled = self.cut_short = True
        run.context.interrupt(why)
        run.task.cancel()

    def _left(self, run: Run) -> None:
        self.leaving.discard(run)
        if self.running.pop(run.lease.token, None):
            self.fails.append(Failure(run.lease, reason="cancelled", retryable=False))
        self._changed()

    def _report_slow(self, run: Run) -> None:
        if not run.task.done():
            log.warning(
                "task %s: the handler still runs %g s after it was cancelled, and keeps its place",
                run.lease.id,
                self._clean_up,
            )


def suspension_in(error: BaseException) -> TaskSuspended | None:
    """Return what has suspended a run; None if an exception has ended it. A TaskGroup puts both into a group."""
    if isinstance(error, TaskSuspended):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    found, others = error.split(TaskSuspended)
    if found is None or (others is not None and others.subgroup(Exception)):
        return None
    first: BaseException = found
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    assert isinstance(first, TaskSuspended)
    return first


def stored_result(calls: QueueCalls, result: Any) -> bytes:
    """A result as it is stored: what goes wrong with it ends this attempt, and not the others of its batch."""
    data = b"" if result is None else calls.sealing.result(encode(result, "result"))
    if len(data) > MOST_RESULT_BYTES:
        raise TaskFailed(
            f"the result has {len(data)} bytes as it is stored; at most {MOST_RESULT_BYTES} are kept",
            reason="result_too_large",
            retryable=False,
        )
    return data

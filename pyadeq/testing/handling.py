"""One call of a handler, as a worker makes it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pyadeq import Queue
from pyadeq import asyncio as aio
from pyadeq._core.queue.failures import TaskFailed
from pyadeq._core.queue.items import Held
from pyadeq._core.queue.steps import StepValue
from pyadeq._tasks.context import CURRENT, TaskContext
from pyadeq._tasks.functions import TaskFunction, Tasks
from pyadeq._worker.runs import stored_result
from pyadeq.errors import ConfigError
from pyadeq.models.queue import Lease, Renewal, TaskView
from pyadeq.models.steps import StepKept, TaskStep
from pyadeq.models.worker import ProgressStatus
from pyadeq.testing.steps import Steps

Handler = Callable[[Lease], Any] | Tasks | TaskFunction[..., ..., Any, Any]
"""A function of one lease, async or not; a registry of tasks, or one function of it."""

MOST_RESULT_BYTES = 1024 * 1024


class Stopped(TaskFailed):
    """A handler ended because its TaskContext told it to."""


class _Awaited:
    """A sync queue as a TaskContext needs it. It keeps no progress."""

    def __init__(self, queue: Queue) -> None:
        self.name = queue.name
        self.leases = self
        self.sync = queue

    async def heartbeat_many(self, leases: Sequence[Held]) -> list[Renewal]:
        return self.sync.leases.heartbeat_many(leases)

    async def progress_many(self, notes: Sequence[Any]) -> list[ProgressStatus]:
        return ["noted" for _ in notes]

    async def keep_steps(self, steps: Sequence[StepValue]) -> list[StepKept]:
        return self.sync.leases.keep_steps(steps)

    async def _steps_of(self, lease: Lease) -> list[TaskStep]:
        return self.sync.leases._steps_of(lease)

    async def _gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]:
        return self.sync._gathered_page(id, cursor)


class _Context(TaskContext):
    """The context of a task of a sync queue: it finds the children of the task without an event loop."""

    __slots__ = ()

    def gathered_page_now(self, cursor: str) -> tuple[list[TaskView], str]:
        queue: Any = self._queue
        page: tuple[list[TaskView], str] = queue.sync._gathered_page(self.id, cursor)
        return page


class Calls:
    """Calls a handler for leases of a queue, in the test's own thread or asyncio task.

    handler: None: the functions that were registered with the queue. Raises ConfigError if the two do not fit together.
    """

    def __init__(self, queue: Any, handler: Handler | None) -> None:
        if not isinstance(queue, Queue | aio.Queue):
            raise ConfigError(
                f"queue: a {type(queue).__name__} is not accepted; allowed: a Queue of pyadeq or pyadeq.asyncio"
            )
        known = queue.tasks if handler is None else handler
        if isinstance(known, TaskFunction):
            task, known = known, Tasks()
            known.add(task)
        self._queue = queue
        self._tasks = known if isinstance(known, Tasks) else None
        self._function: Callable[[Lease], Any] = self._tasks.perform if self._tasks is not None else known
        if not callable(self._function):
            raise ConfigError(f"handler: {handler!r} is not accepted; allowed: a function of one lease, or Tasks")
        if isinstance(queue, Queue) and _is_async(self._function) and asyncio._get_running_loop():
            raise ConfigError("queue: in an async test, an async handler needs a queue of pyadeq.asyncio: aio_adeq's")

    def context(self, lease: Lease) -> TaskContext:
        """Return the context for one run."""
        queue = self._queue
        return TaskContext(lease, queue) if isinstance(queue, aio.Queue) else _Context(lease, _Awaited(queue))

    def call(self, lease: Lease, context: TaskContext) -> Steps[Any]:
        """Return what the handler returns, or raise what it raises."""
        __tracebackhide__ = True
        before = CURRENT.set(context)
        try:
            answer = self._function(lease)
            result = (yield _within(answer, context)) if isinstance(answer, Awaitable) else answer
            if context.has_steps:
                yield context.end_steps()
            return result
        finally:
            CURRENT.reset(before)

    def encode(self, lease: Lease, result: Any) -> bytes:
        """Encode a result. Raises TaskFailed if it is too large."""
        if self._tasks is not None:
            result = self._tasks.encode(lease, result)
        return stored_result(self._queue.calls, result)


async def _within(answer: Awaitable[Any], context: TaskContext) -> Any:
    __tracebackhide__ = True
    try:
        async with asyncio.timeout(context.lease.timeout):
            return await answer
    except asyncio.CancelledError as error:
        if not context.cancelled:
            raise
        raise Stopped(f"the handler ended, for the task is {context.interrupted}", reason="cancelled") from error
    finally:
        if context.talks:
            await context.finish()


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)

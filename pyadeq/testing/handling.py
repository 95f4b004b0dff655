"""One call of a handler, as a worker makes it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from pyadeq import Queue
from pyadeq import asyncio as aio
from pyadeq._core.queue.failures import TaskFailed
from pyadeq._tasks.context import CURRENT, TaskContext
from pyadeq._tasks.functions import TaskFunction, Tasks
from pyadeq._worker.runs import stored_result
from pyadeq.errors import ConfigError
from pyadeq.models.queue import Lease, TaskView
from pyadeq.testing.steps import Steps

Handler = Callable[[Lease], Any] | Tasks | TaskFunction[..., ..., Any, Any]
"""A function of one lease, async or not; a registry of tasks, or one function of it."""

MOST_RESULT_BYTES = 1024 * 1024


class Stopped(TaskFailed):
    """A handler ended because its TaskContext told it to."""


class _Context(TaskContext):
    """The context of a task of a sync queue: it finds the children of the task, and reports no progress."""

    __slots__ = ("_sync_queue",)

    def __init__(self, lease: Lease, queue: Queue) -> None:
        super().__init__(lease)
        self._sync_queue = queue

    async def gathered_page(self, cursor: str) -> tuple[list[TaskView], str]:
        return self.gathered_page_now(cursor)

    def gathered_page_now(self, cursor: str) -> tuple[list[TaskView], str]:
        return self._sync_queue._gathered_page(self.id, cursor)


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
        return TaskContext(lease, queue) if isinstance(queue, aio.Queue) else _Context(lease, queue)

    def call(self, lease: Lease, context: TaskContext) -> Steps[Any]:
        """Return what the handler returns, or raise what it raises."""
        __tracebackhide__ = True
        before = CURRENT.set(context)
        try:
            answer = self._function(lease)
            return (yield _within(answer, context)) if isinstance(answer, Awaitable) else answer
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

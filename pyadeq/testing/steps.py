"""One implementation for both kinds of queue: a generator yields calls, and receives their answers.

A call of a sync queue returns its answer, a call of an async queue an awaitable. A handler may do either.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Coroutine, Generator
from contextlib import closing
from typing import Any, TypeVar

from pyadeq import Queue
from pyadeq import asyncio as aio
from pyadeq._tasks.steps import TaskSuspended

T = TypeVar("T")
Steps = Generator[Any, Any, T]


def drive(queue: Queue | aio.Queue, steps: Steps[T]) -> T | Coroutine[Any, Any, T]:
    """Run the steps: at once for a sync queue, in a coroutine for an async one."""
    __tracebackhide__ = True
    if isinstance(queue, aio.Queue):
        return _drive_aio(steps)
    return _drive(steps)


def _drive(steps: Steps[T]) -> T:
    __tracebackhide__ = True
    # One event loop for all async handlers, made for the first of them.
    with closing(steps), closing(asyncio.Runner()) as runner:
        answer: Any = None
        try:
            while True:
                answer = steps.send(answer)
                while inspect.isawaitable(answer):
                    try:
                        answer = runner.run(_awaited(answer), context=contextvars.copy_context())
                    except (Exception, TaskSuspended, BaseExceptionGroup) as error:
                        answer = steps.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result


async def _drive_aio(steps: Steps[T]) -> T:
    __tracebackhide__ = True
    with closing(steps):
        answer: Any = None
        try:
            while True:
                answer = steps.send(answer)
                while inspect.isawaitable(answer):
                    try:
                        answer = await answer
                    except (Exception, TaskSuspended, BaseExceptionGroup) as error:
                        answer = steps.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result


async def _awaited(answer: Any) -> Any:
    __tracebackhide__ = True
    return await answer

"""Lists the tasks that a program has enqueued."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, overload

from pyadeq import Queue, TaskView
from pyadeq import asyncio as aio
from pyadeq.testing.steps import Steps, drive

PAGE = 1000


@overload
def enqueued(queue: Queue, *, kind: str | None = None) -> list[TaskView]: ...
@overload
def enqueued(queue: aio.Queue, *, kind: str | None = None) -> Coroutine[Any, Any, list[TaskView]]: ...
def enqueued(
    queue: Queue | aio.Queue, *, kind: str | None = None
) -> list[TaskView] | Coroutine[Any, Any, list[TaskView]]:
    """Return the waiting tasks with their payloads: all, or those of a kind.

    Ready tasks come first, in order; then delayed tasks, the next due first; then tasks that wait for others.
    """
    __tracebackhide__ = True
    return drive(queue, _enqueued(queue, kind))


def _enqueued(queue: Any, kind: str | None) -> Steps[list[TaskView]]:
    stats = yield queue.stats()
    ready: list[TaskView] = []
    for lane, count in stats.lanes.items():
        if count:
            ready += yield from _listed(queue, "ready", kind=kind, lane=lane)
    ready.sort(key=lambda task: (task.priority, task.place))
    delayed = yield from _listed(queue, "delayed", kind=kind)
    blocked = yield from _listed(queue, "blocked", kind=kind)
    tasks = yield queue.get_many([task.id for task in [*ready, *delayed, *blocked]])
    return [task for task in tasks if task is not None]


def _listed(queue: Any, state: str, **filter: str | None) -> Steps[list[TaskView]]:
    found: list[TaskView] = []
    cursor = ""
    while True:
        page = yield queue.list(state, cursor=cursor, limit=PAGE, **filter)
        found += page.tasks
        cursor = page.cursor
        if not cursor:
            return found

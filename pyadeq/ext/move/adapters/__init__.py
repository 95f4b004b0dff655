"""Interfaces of older programs on a queue, so that these programs keep their code. All of them are for asyncio."""

from pyadeq.ext.move.adapters.notifications import NOTIFICATION
from pyadeq.ext.move.adapters.queue_runtime import DequeuedBatch, OldRuntime, QueueItem, QueueRuntime, scope_of
from pyadeq.ext.move.adapters.task_queue import LANES, Task, TaskQueue, TaskStatus, TaskSummary
from pyadeq.ext.move.adapters.task_tool import OUTBOX, TaskResult, TaskTool

__all__ = [
    "LANES",
    "NOTIFICATION",
    "OUTBOX",
    "DequeuedBatch",
    "OldRuntime",
    "QueueItem",
    "QueueRuntime",
    "Task",
    "TaskQueue",
    "TaskResult",
    "TaskStatus",
    "TaskSummary",
    "TaskTool",
    "scope_of",
]

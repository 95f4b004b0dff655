"""Results of tasks that others wait for or gather, if the codec can read them."""

from __future__ import annotations

from pyadeq.errors import PayloadError
from pyadeq.models.queue import TaskView


def check_readable(id: str, unreadable: dict[str, str]) -> None:
    """PayloadError if the codec does not accept the result of a task."""
    if "result" in unreadable:
        raise PayloadError(f"task {id!r}: result: {unreadable['result']}")


def with_result(task: TaskView) -> TaskView:
    """The task, if its result can be read. PayloadError."""
    check_readable(task.id, task.unreadable)
    return task

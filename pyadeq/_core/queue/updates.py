"""What has changed in a task since it was last read."""

from __future__ import annotations

from pyadeq.models.queue import TaskView
from pyadeq.models.worker import LogLine, Outcome, TaskUpdate

ENDED = ("completed", "cancelled", "dead")
LOG_KEEPS = 100
"""Lines that the server keeps of a task's log."""


class Changes:
    """Compares a task with what was last read of it."""

    def __init__(self) -> None:
        self._seen: tuple[object, ...] | None = None
        self._log: list[LogLine] = []

    def update(self, task: TaskView, log: list[LogLine]) -> TaskUpdate | None:
        """Return what is new; None if nothing is."""
        lines, self._log = new_lines(self._log, log), log
        before, self._seen = self._seen, _visible(task)
        return TaskUpdate(task=task, log=tuple(lines)) if lines or self._seen != before else None

    def end(self, task: TaskView | None, log: list[LogLine], outcome: Outcome) -> TaskUpdate:
        """Return the last update."""
        return TaskUpdate(task=task, log=tuple(new_lines(self._log, log)), outcome=outcome)


def new_lines(before: list[LogLine], now: list[LogLine]) -> list[LogLine]:
    """Return the lines of a log that it did not have before. It keeps its last 100 lines.

    Lines have no numbers, so the longest end of the earlier log with which this one begins is taken as known.
    """
    if len(now) < LOG_KEEPS:
        return now[len(before) :]
    dropped = next(n for n in range(len(before) + 1) if before[n:] == now[: len(before) - n])
    return now[len(before) - dropped :]


def _visible(task: TaskView) -> tuple[object, ...]:
    """Return what an update is about. A renewed lease is not."""
    return (
        *(task.state, task.deliveries, task.attempts, task.worker, task.reason, task.limited_by, task.lane),
        *(task.progress, task.progress_text, task.output),
    )

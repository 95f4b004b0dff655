"""One log line for the end of each run of a task. It never has a payload or a result."""

from __future__ import annotations

import logging
import re
from time import monotonic
from typing import Any

from pyadeq._core.queue.items import Failure
from pyadeq.models.queue import Lease
from pyadeq.tiers import may_show

MOST_ERROR = 500  # characters
# How a settled task ended, at the level of a warning. All other ends are information.
WARN = frozenset({"retried", "dead", "result_dropped", "already", "lease_lost"})
WORDS = {
    "completed": "completed",
    "retried": "failed and will run again",
    "dead": "failed and is dead",
    "cancelled": "was cancelled",
    "released": "was returned",
    "put_aside": "was put aside",
    "suspended": "waits, and holds no worker",
    "result_dropped": "completed, but the server's memory is full and its result was not kept",
    "already": "was already completed with another result, which stays",
    "lease_lost": "lost its lease before it was settled; nothing was changed",
}
MODULE = re.compile(r"^(?:\w+\.)+(?=\w+(?::|$))")  # in front of the class of an exception
log = logging.getLogger("pyadeq.task")


class Ends:
    """Logs how runs end, after the server has answered, so that the outcome is the true one.

    The record has the fields as `data` for formatters, and the traceparent of the task, or of its span, as `trace`.
    """

    def __init__(self, queue: str, worker: str, *, sealed: bool) -> None:
        self._about = {"queue": queue, "worker": worker}
        self._sealed = sealed
        self._began: dict[str, tuple[float, str | None]] = {}

    @property
    def wanted(self) -> bool:
        """Whether ends of completed tasks are logged."""
        return log.isEnabledFor(logging.INFO)

    def begin(self, lease: Lease) -> None:
        """Note when a run begins."""
        if log.isEnabledFor(logging.WARNING):
            self._began[lease.token] = monotonic(), _text(lease.record.get("trace"))

    def follow(self, lease: Lease, trace: str) -> None:
        """Note the span of a run, in place of the trace of the enqueue."""
        if lease.token in self._began:
            self._began[lease.token] = self._began[lease.token][0], trace

    def forget(self, lease: Lease) -> None:
        """Forget a run whose end is not to be logged."""
        self._began.pop(lease.token, None)

    def end(self, lease: Lease, outcome: str, failure: Failure | None = None) -> None:
        """Log an end. outcome: the status of the answer, or `released` or `put_aside`."""
        began, trace = self._began.pop(lease.token, (None, None))
        level = logging.WARNING if outcome in WARN else logging.INFO
        if not log.isEnabledFor(level):
            return
        duration = None if began is None else round(monotonic() - began, 3)
        data: dict[str, Any] = {"task": lease.id, "kind": lease.kind, "attempt": lease.attempt}
        data |= {"duration": duration, "outcome": outcome, **self._about}
        message = f"task %s {WORDS[outcome]}:"
        args: list[Any] = [lease.id]
        if lease.kind is not None:
            message, args = f"{message} kind %s,", [*args, lease.kind]
        message, args = f"{message} attempt %d", [*args, lease.attempt]
        if duration is not None:
            message, args = f"{message}, %.3f s", [*args, duration]
        if failure is not None:
            data["reason"] = failure.reason
            message, args = f"{message}, reason %s", [*args, failure.reason]
            if shown := self.shown(lease, failure):
                data["error"] = shown
                message, args = f"{message}: %s", [*args, shown]
        log.log(level, message, *args, extra={"data": data, "trace": trace})

    def shown(self, lease: Lease, failure: Failure) -> str | None:
        """Return the last line of an error, if it may be shown."""
        error = failure.error
        if not isinstance(error, bytes) or not error or not may_show_error(lease, sealed=self._sealed):
            return None
        last = error.decode(errors="replace").rstrip().rpartition("\n")[2]
        last = MODULE.sub("", last)
        return "".join(one if one.isprintable() else "?" for one in last[:MOST_ERROR])


def may_show_error(lease: Lease, *, sealed: bool) -> bool:
    """Return whether the text of a task's error may leave the queue. It may contain parts of the payload.

    sealed: whether a codec encodes the data of the queue.
    """
    return not sealed and may_show(lease.tier, "error")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")

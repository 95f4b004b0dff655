"""How an attempt ends that went wrong: from an exception to what is kept of it."""

from __future__ import annotations

import re

from pyadeq._core.queue_items import Failure
from pyadeq.models import Lease


class TaskFailed(Exception):
    """Raise it in a handler to say how the attempt failed. Any other exception is retryable, its class the reason."""

    def __init__(self, message: str = "", *, reason: str = "error", retryable: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.retryable = retryable


def failure_of(lease: Lease, error: BaseException) -> Failure:
    """How an exception fails an attempt: with its traceback, and its class or its own word as the reason."""
    if isinstance(error, TaskFailed):
        return Failure(lease, error, word(str(error.reason)), bool(error.retryable))
    return Failure(lease, error, word(type(error).__name__))


def timed_out(lease: Lease) -> Failure:
    """How an attempt ends that took longer than the task's timeout."""
    return Failure(lease, f"the run took longer than its timeout of {lease.timeout:g} s", "timeout")


def word(text: str) -> str:
    """A text in the form of a reason: at most 100 of A-Z a-z 0-9 . _ @ + -"""
    return re.sub(r"[^A-Za-z0-9._@+-]+", "_", text)[:100] or "error"

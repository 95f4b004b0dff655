"""Tasks that follow steps of changes: which steps, and the payload of a task, byte for byte as the script writes it."""

from __future__ import annotations

from typing import Final

from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.base import encode
from pyadeq.models.queue import TaskView

FOLLOWED = frozenset({"approved", "rejected", "changes_requested", "completed", "failed", "cancelled"})
"""The steps that a policy may name a task for."""
SKEW: Final = 1.0
"""Seconds by which the clocks of two servers may differ."""


def follow_payload(domain: str, one: Result) -> bytes:
    """The payload of an entry of the outbox: words without secrets. The handler reads the rest."""
    fields = {
        "digest": one.digest,
        "domain": domain,
        "event": one.event,
        "id": one.id,
        "rev": one.rev,
        "seq": one.seq,
    }
    return encode(fields)


def is_follow(task: TaskView, one: Result, payload: bytes) -> bool:
    """Whether a task is the one of an entry of the outbox, and not another that has its id.

    A task from before the step is another, even if it has the same kind and payload: it may have run too early. If the
    queue keeps no payloads of completed tasks, the kind and the time decide.
    """
    if task.kind != one.kind or (task.created or 0.0) < one.at - SKEW:
        return False
    return task.data == payload or (task.state == "completed" and task.data == b"")

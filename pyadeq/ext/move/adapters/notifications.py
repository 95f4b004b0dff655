"""The notification that a task of a subagent has ended, as an agent reads it."""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeGuard

from pyadeq.asyncio import Queue, TaskView
from pyadeq.ext.move.adapters.task_queue import STATUS, exit_code_of

NOTIFICATION: Final = "task_notification"


def is_notification(payload: Any) -> TypeGuard[dict[str, Any]]:
    """Whether `TaskTool` has enqueued this."""
    return (
        isinstance(payload, dict)
        and payload.get("kind") == NOTIFICATION
        and re.fullmatch(r"[0-9a-f-]{36}", str(payload.get("task_id"))) is not None
    )


async def notification_text(queue: Queue, payload: dict[str, Any]) -> str:
    """Return the text of a notification. queue: that of its task, unless the text was stored when it was forwarded.

    A client in TypeScript writes the same text.
    """
    if isinstance(text := payload.get("text"), str):
        return text
    found = await queue.get(payload["task_id"])
    head = f'Agent "{payload.get("description", "")}"'
    if found is None:  # the agent reads it after the retention of the queue
        return f"{head}: ended (task {payload['task_id']}), and is no longer stored"
    lines = [f"{head}: {STATUS[found.state].value} (task {found.id})"]
    lines += [f"{name}: {_shown(value)}" for name, value in _about(found) if value is not None]
    return "\n".join(lines)


def _about(found: TaskView) -> list[tuple[str, Any]]:
    return [
        ("result", found.result),
        ("error", found.error),
        ("exit status", exit_code_of(found)),
        ("transcript", f"{found.output}/stdout" if found.output else None),
    ]


def _shown(value: Any) -> str:
    """A text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

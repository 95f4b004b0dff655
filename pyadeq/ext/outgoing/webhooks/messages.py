"""Messages: what is enqueued for an endpoint, and the body that is sent.

A message is a task of the queue `adeq-webhooks`. Its id names the endpoint, the stream and the event. So if a process
enqueues the message again, there is no second task. The id is also the `webhook-id`. A replay is another task with the
same `webhook-id`: `<webhook-id>+<replay>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from pyadeq import Event, EventGap, Task, tiers
from pyadeq.ext.outgoing.webhooks.endpoints import Endpoint
from pyadeq.models.base import flaw, given, iso
from pyadeq.models.queue import TaskView

RETRIES: Final = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds between the attempts of a message: with the first one, ten in about three days."""
IDS: Final = 20
"""Ids in a message, at most. An event of a call about more tasks becomes several messages."""
LARGEST: Final = 20_000
"""Bytes of a payload or a result that are sent, at most."""
KIND: Final = "deliver"
TEST: Final = "webhook.test"
GAP: Final = "webhook.gap"
STATE: Final = ("id", "kind", "state", "attempts", "reason", "created", "started", "ended")
TIMES: Final = ("created", "started", "ended")


def of_event(id: str, endpoint: Endpoint, stream: str, event: Event) -> Iterator[Task]:
    """Yield the messages about an event for one endpoint; mostly one."""
    parts = [event.ids[start : start + IDS] for start in range(0, len(event.ids), IDS)] or [()]
    for number, ids in enumerate(parts):
        payload = {"type": event.event, "at": event.timestamp, "stream": stream, "seq": event.id, "ids": list(ids)}
        yield _task(id, endpoint, stream, f"{event.id}{f'/{number}' if number else ''}", payload)


def of_gap(id: str, endpoint: Endpoint, stream: str, gap: EventGap, now: float) -> Task:
    """Return the message about events that were lost before they could be forwarded."""
    payload = {"type": GAP, "at": now, "stream": stream, **gap._asdict()}
    return _task(id, endpoint, stream, f"gap-{gap.number}", payload)


def again(task: Task, unique: str) -> Task:
    """Return the same message as another task."""
    return task.model_copy(update={"id": f"{webhook_id(task.id or '')}+{unique}"})


def webhook_id(task_id: str) -> str:
    """Return what receivers know a message by."""
    return task_id.partition("+")[0]


def _task(id: str, endpoint: Endpoint, stream: str, name: str, payload: dict[str, Any]) -> Task:
    of_stream = sha256(stream.encode()).hexdigest()[:12]  # a name may be long, and have a dot
    return Task(
        id=f"wh:{id}:{of_stream}:{name}",
        kind=KIND,
        user=id,
        ordering_key=id if endpoint.order == "fifo" else None,
        max_attempts=len(RETRIES) + 1,
        payload=payload,
    )


def tasks_of(payload: dict[str, Any]) -> tuple[str, Sequence[str]] | None:
    """Return the queue and the ids of the tasks that a message is about; None if it is about something else."""
    noun, _, name = payload.get("stream", "").partition(":")
    return (name, payload["ids"]) if noun == "queue" and payload["type"].startswith("task.") else None


def is_wanted(payload: Any, endpoint: Endpoint) -> bool:
    """Whether the endpoint wants this message. The endpoint may have changed, or another program made the message."""
    if not isinstance(payload, dict):
        return False
    type, stream = payload.get("type"), payload.get("stream")
    if type == TEST:
        return payload.keys() <= {"type", "at"}
    if not isinstance(stream, str) or not isinstance(type, str):
        return False
    return endpoint.wants_stream(stream) if type == GAP else endpoint.wants(stream, type)


def body_of(payload: dict[str, Any], endpoint: Endpoint, tasks: Sequence[TaskView | None]) -> bytes:
    """Return what is sent: what has happened, to what, and how these tasks are now.

    tasks: as a client without a codec reads them.
    """
    data = {name: value for name, value in payload.items() if name not in ("type", "at")}
    if tasks:
        data["tasks"] = [_about(one, endpoint.include) for one in tasks if one is not None]
    value = {"type": payload["type"], "timestamp": iso(payload["at"]), "data": data}
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _about(task: TaskView, include: Sequence[str]) -> dict[str, Any]:
    """What a message may say of a task."""
    task = tiers.shown(task)
    found = {name: getattr(task, name) for name in STATE if getattr(task, name) is not None}
    found |= {name: iso(found[name]) for name in TIMES if name in found}
    stored = {"payload": task.data, "result": task.result_data}
    for name in include:
        if (data := stored[name]) is not None and len(data) <= LARGEST and _is_json(data):
            found |= {field: value for field, value in given(name, data).items() if value and field != "unreadable"}
            if why := flaw(data):
                found["unreadable"] = {**found.get("unreadable", {}), name: why}
    return found


def _is_json(data: bytes) -> bool:
    """Whether it is JSON. What a codec has sealed is not."""
    try:
        json.loads(data)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True

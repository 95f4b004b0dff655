"""Checks that a message is genuine: it has the stamp of the service, or it reports an event that is still stored.

Older versions made messages without stamps. Such a message is sent if its event is still stored and says the same.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pyadeq import Event, Lease, TaskView
from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError
from pyadeq.ext.outgoing.stamps import is_stamped
from pyadeq.ext.outgoing.webhooks.endpoints import NAMESPACE, Endpoint
from pyadeq.ext.outgoing.webhooks.messages import of_event, webhook_id
from pyadeq.models.base import read_json

_SEQ: Final = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")


async def is_own(adeq: Adeq, key: bytes, task: Lease | TaskView) -> bool:
    """Whether the service has made a message, or would make it."""
    return is_stamped(key, task) or await is_of_event(adeq, task)


async def is_of_event(adeq: Adeq, task: Lease | TaskView) -> bool:
    """Whether a message is the one that the service makes of an event."""
    payload = read_json(task.data)
    stream, seq = (payload.get("stream"), payload.get("seq")) if isinstance(payload, dict) else (None, None)
    if not isinstance(stream, str) or not isinstance(seq, str) or not _SEQ.fullmatch(seq):
        return False
    id = task.user or ""
    endpoint = Endpoint.read(await adeq.config(NAMESPACE).get(id) if id else None)
    if endpoint is None or not endpoint.wants_stream(stream):
        return False
    noun, _, name = stream.partition(":")
    try:
        base = adeq.events(noun, name).base
    except AdeqError:
        return False
    found: Any = await adeq.client.xrange(f"{base}:events", seq, seq)
    events = [Event.from_entry(entry, fields) for entry, fields in found]
    return any(
        (one.id, one.kind, one.payload) == (webhook_id(task.id), task.kind, payload)
        for event in events
        if endpoint.since <= event.timestamp and endpoint.wants(stream, event.event)
        for one in of_event(id, endpoint, stream, event)
    )

"""Turns events into messages of webhooks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyadeq import Event, EventBatch, Task
from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.follower import Follower
from pyadeq.ext.outgoing.webhooks.endpoints import NAMESPACE, QUEUE, Endpoint, is_forwarded
from pyadeq.ext.outgoing.webhooks.messages import of_event, of_gap

GROUP: Final = "webhooks"


class Forwarder(Follower[Endpoint]):
    """Enqueues a message for each event and each endpoint that wants it.

    options: `find`, seconds between two looks for new streams. Their events are forwarded from their beginning.
    """

    def __init__(self, adeq: Adeq, **options: Any) -> None:
        super().__init__(adeq, namespace=NAMESPACE, queue=QUEUE, group=GROUP, endpoint=Endpoint, **options)

    async def messages_of(self, stream: str, batch: EventBatch, endpoints: Mapping[str, Endpoint]) -> Sequence[Task]:
        """Return the messages about some events, and about those that were lost before them."""
        found = []
        if batch.gap:
            for id, endpoint in endpoints.items():
                if endpoint.wants_stream(stream):
                    found.append(of_gap(id, endpoint, stream, batch.gap, time.time()))
        for event in batch.events:
            found += self.messages(stream, event, endpoints)
        return found

    @staticmethod
    def messages(stream: str, event: Event, endpoints: Mapping[str, Endpoint]) -> Iterator[Task]:
        """Yield the messages about an event for the endpoints that want it."""
        if is_forwarded(stream):
            for id, endpoint in endpoints.items():
                if endpoint.since <= event.timestamp and endpoint.wants(stream, event.event):
                    yield from of_event(id, endpoint, stream, event)

"""Posts on a virtual clock: what a process that makes and sends them does, step by step."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pyadeq import Adeq, TaskFailed
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.ext.outgoing.posts import Forwarder, Poster, Posts
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE, QUEUE
from pyadeq.ext.outgoing.posts.forwarder import GROUP
from tests.integration.outgoing.receivers import Receiver, allowed

MINUTE = 60_000


class Posting:
    """now: in ms; it begins ten seconds after a full minute of tomorrow."""

    def __init__(self, url: str, prefix: str) -> None:
        self.now = (round(time.time() * 1000) + 86_400_000) // MINUTE * MINUTE + 10_000
        self.client = Adeq.from_url(url, prefix=prefix, clock=lambda: self.now)
        self.aio = AsyncAdeq.from_url(url, prefix=prefix, clock=lambda: self.now)
        self.plain = AsyncAdeq.from_url(url, prefix=prefix)
        """Groups of events are on the clock of the server."""
        self.forwarder = Forwarder(self.aio)
        self.client.queue(QUEUE).configure(clock="test")
        self.client.config(NAMESPACE).configure(clock="test")

    def add(self, receiver: Receiver, id: str = "ops", **options: Any) -> None:
        Posts(self.client, allowed=allowed(receiver)).add(id, "json", receiver.url, **options)

    def fail(
        self, *ids: str, queue: str = "mail", reason: str = "failed", error: str = "it broke", **options: Any
    ) -> None:
        """Enqueue tasks that die at once."""
        found = self.client.queue(queue)
        found.configure(clock="test")
        for id in ids:
            found.enqueue({"n": id}, id=id, **options)
        for lease in found.claim(limit=len(ids)):
            found.fail(lease, error=error, reason=reason, retryable=False)

    async def forward(self, *streams: str, forwarder: Forwarder | None = None) -> None:
        """Do what is to be done about the new events of streams."""
        for stream in streams or ("queue:mail",):
            noun, _, name = stream.partition(":")
            events = self.plain.events(noun, name)
            await events.add(GROUP)
            while (batch := await events.read(GROUP, limit=100)).events or batch.gap:
                await (forwarder or self.forwarder)._forward(stream, events, batch)

    async def send(self, *receivers: Receiver, poster: Poster | None = None) -> list[Any]:
        """Send the posts that are due. Returns what came of each."""
        queue = self.client.queue(QUEUE)
        ends: list[Any] = []
        async with Poster(self.aio, allowed=allowed(*receivers)) as own:
            sender = poster or own
            sender.APART = 0.0
            while leases := queue.claim(limit=1):
                try:
                    ends.append(await sender.handle(leases[0]))
                    queue.ack(leases[0])
                except TaskFailed as failed:
                    ends.append(failed.reason)
                    queue.fail(
                        leases[0], reason=failed.reason, retryable=failed.retryable is not False, delay=failed.delay
                    )
        return ends

    async def minute(self, *receivers: Receiver, streams: tuple[str, ...] = ("queue:mail",)) -> list[Any]:
        """Forward, let the minute end, and send all that is due then."""
        await self.forward(*streams)
        found = await self.send(*receivers)
        self.now = self.now // MINUTE * MINUTE + MINUTE + 2000
        return found + await self.send(*receivers)

    def waiting(self) -> list[Any]:
        """The payloads of posts that are not sent yet."""
        queue = self.client.queue(QUEUE)
        ids = [one.id for state in ("ready", "delayed", "blocked") for one in queue.iterate(state)]
        return [one.payload for one in queue.get_many(ids) if one]


def said(receiver: Receiver, *posts: str) -> list[dict[str, Any]]:
    """The posts of a kind that a receiver has got."""
    return [body for one in receiver.seen if (body := json.loads(one.body))["post"] in posts]


def counted(post: dict[str, Any]) -> int:
    """How many tasks a digest tells."""
    title = post["title"]
    return 1 if title.startswith("Task ") else int(title.split()[0].replace(",", ""))


@asynccontextmanager
async def posting(url: str, prefix: str) -> AsyncIterator[Posting]:
    made = Posting(url, prefix)
    try:
        yield made
    finally:
        await made.aio.aclose()
        await made.plain.aclose()
        made.client.close()

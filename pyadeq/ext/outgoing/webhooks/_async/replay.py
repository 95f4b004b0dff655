"""Messages that are sent once more: one, or those about the events of a time that the server still has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pyadeq import Event, Task
from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.outgoing.stamps import aio_stamp_key, stamped
from pyadeq.ext.outgoing.webhooks._async.verified import is_own
from pyadeq.ext.outgoing.webhooks.endpoints import NAMESPACE, QUEUE, Endpoint
from pyadeq.ext.outgoing.webhooks.messages import again, of_event
from pyadeq.ids import new_ulid

PAGE: Final = 1000
TASKS: Final = 100
MOST: Final = 5000
"""Events of one part. It may have a page more."""
ENDED: Final = ("completed", "cancelled", "dead")
A_STREAM: Final = 10
"""The cost of a read of a stream, counted in events and added to those that it finds: it may find none."""
_CURSOR: Final = re.compile(r"(\d{1,14}) (\(?\d{1,14}(?:-\d{1,20})?) ([a-z_]+:[\w./@+:-]{1,300})", re.ASCII)


class Replayed(NamedTuple):
    """What was done. sent: messages that were enqueued again. waiting: those that are on their way anyway."""

    sent: int = 0
    waiting: int = 0

    def and_also(self, more: Replayed) -> Replayed:
        """Return the sums of both."""
        return Replayed(self.sent + more.sent, self.waiting + more.waiting)


async def replay_one(adeq: Adeq, id: str) -> Replayed:
    """Send one message again. id: a `webhook-id`. Raises AdeqError if the server does not have it any more."""
    queue = adeq.queue(QUEUE)
    found = await queue.get(id)
    if found is None:
        raise AdeqError(f"message: there is no {id!r}; if its event is still there, replay the time of the event")
    if not await is_own(adeq, await aio_stamp_key(adeq, NAMESPACE), found):
        raise AdeqError(
            f"message: the service has not made {id!r}; to send what has happened, replay the time of the event"
        )
    same = Task(
        id=id,
        kind=found.kind,
        user=found.user,
        ordering_key=found.ordering_key,
        max_attempts=found.max_attempts,
        payload=found.payload,
    )
    return await _replay(adeq, [same])


async def replay_part(
    adeq: Adeq, id: str, endpoint: Endpoint, since: float, until: float, cursor: str = ""
) -> tuple[Replayed, str]:
    """Send the messages about some events of a time that the endpoint wants. Returns also the cursor of the next part.

    cursor: of the part before, which also knows `until`; empty at first, and after the last part.
    """
    if not endpoint.enabled:
        raise ConfigError(f"endpoint: {id!r} is disabled; enable it first")
    end, begin, first = f"{round(until * 1000)}", f"{round(since * 1000)}", ""
    if cursor:
        known = _CURSOR.fullmatch(cursor)
        if not known:
            raise ConfigError("cursor: this is not accepted; allowed: that of the answer before, or none")
        end, after, first = known.groups()
    elif not 0 <= since < until:
        raise ConfigError("since: it is not before until")
    done, looked = Replayed(), 0
    for stream in await _streams(adeq, endpoint):
        if stream < first:
            continue
        start = after if stream == first else begin
        noun, _, name = stream.partition(":")
        key = f"{adeq.events(noun, name).base}:events"
        while True:
            page: Any = await adeq.client.xrange(key, start, f"({end}", PAGE)
            events = [Event.from_entry(entry, fields) for entry, fields in page]
            wanted = [event for event in events if endpoint.wants(stream, event.event)]
            messages = [message for event in wanted for message in of_event(id, endpoint, stream, event)]
            for at in range(0, len(messages), TASKS):
                done = done.and_also(await _replay(adeq, messages[at : at + TASKS]))
            start = f"({events[-1].id}" if events else start
            looked += len(page) + A_STREAM
            if looked >= MOST:
                return done, f"{end} {start} {stream}"
            if len(page) < PAGE:
                break
    return done, ""


async def _streams(adeq: Adeq, endpoint: Endpoint) -> list[str]:
    """The streams that the endpoint wants, in order."""
    nouns = sorted({pattern.partition(":")[0] for pattern in endpoint.streams})
    found = [f"{noun}:{name}" for noun in nouns async for name in adeq.names(noun, partitions=True)]
    return sorted(stream for stream in found if endpoint.wants_stream(stream))


async def _replay(adeq: Adeq, messages: Sequence[Task]) -> Replayed:
    """Send messages again that the service has made, or would make."""
    queue, key, unique = adeq.queue(QUEUE), await aio_stamp_key(adeq, NAMESPACE), new_ulid()
    dead: list[str] = []
    new: list[Task] = []
    for one, task in zip(messages, await queue.get_many([str(one.id) for one in messages]), strict=True):
        if task is None:
            new.append(one)
        elif task.state == "dead" and await is_own(adeq, key, task):
            dead.append(task.id)
        elif task.state in ENDED:  # also a dead one with this id that the service has not made
            new.append(again(one, unique))
    retried = sum(one.status == "retried" for one in await queue.dead.retry_many(dead)) if dead else 0
    if new:
        await queue.enqueue_many(stamped(key, new))
    return Replayed(retried + len(new), len(messages) - len(dead) - len(new))

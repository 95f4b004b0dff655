"""Messages that are sent once more: one, or those about the events of a time that the server still has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

from pyadeq import Event, Task
from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.webhooks.endpoints import QUEUE, Endpoint
from pyadeq.ext.webhooks.messages import again, of_event
from pyadeq.ids import new_ulid

PAGE: Final = 1000
TASKS: Final = 100


class Replayed(NamedTuple):
    """What was done. sent: messages that were enqueued again. waiting: those that are on their way anyway."""

    sent: int = 0
    waiting: int = 0

    def and_also(self, more: Replayed) -> Replayed:
        """Both together."""
        return Replayed(self.sent + more.sent, self.waiting + more.waiting)


async def replay_one(adeq: Adeq, id: str) -> Replayed:
    """Send one message again. id: a `webhook-id`. Raises AdeqError if the server does not have it any more."""
    queue = adeq.queue(QUEUE)
    found = await queue.get(id)
    if found is None:
        raise AdeqError(f"message: there is no {id!r}; if its event is still there, replay the time of the event")
    same = Task(
        id=id,
        kind=found.kind,
        user=found.user,
        ordering_key=found.ordering_key,
        max_attempts=found.max_attempts,
        payload=found.payload,
    )
    return await _replay(adeq, [same])


async def replay_range(adeq: Adeq, id: str, endpoint: Endpoint, since: float, until: float) -> Replayed:
    """Send the messages about all events of a time that the endpoint wants."""
    if not endpoint.enabled:
        raise ConfigError(f"endpoint: {id!r} is disabled; enable it first")
    if not 0 <= since < until:
        raise ConfigError("since: it is not before until")
    done, some = Replayed(), list[Task]()
    async for message in _messages(adeq, id, endpoint, since, until):
        some.append(message)
        if len(some) == TASKS:
            done, some = done.and_also(await _replay(adeq, some)), []
    return done.and_also(await _replay(adeq, some)) if some else done


async def _messages(adeq: Adeq, id: str, endpoint: Endpoint, since: float, until: float) -> AsyncIterator[Task]:
    for noun in sorted({pattern.partition(":")[0] for pattern in endpoint.streams}):
        for name in sorted([name async for name in adeq.names(noun, partitions=True)]):
            if endpoint.wants_stream(stream := f"{noun}:{name}"):
                async for event in _events(adeq, noun, name, since, until):
                    if endpoint.wants(stream, event.event):
                        for message in of_event(id, endpoint, stream, event):
                            yield message


async def _events(adeq: Adeq, noun: str, name: str, since: float, until: float) -> AsyncIterator[Event]:
    key = f"{adeq.events(noun, name).base}:events"
    start = f"{round(since * 1000)}"
    while True:
        page: Any = await adeq.client.xrange(key, start, f"({round(until * 1000)}", PAGE)
        for entry, fields in page:
            yield Event.from_entry(entry, fields)
        if len(page) < PAGE:
            return
        start = f"({page[-1][0].decode()}"


async def _replay(adeq: Adeq, messages: Sequence[Task]) -> Replayed:
    queue = adeq.queue(QUEUE)
    tasks = await queue.get_many([str(one.id) for one in messages])
    dead = [one.id for one in tasks if one is not None and one.state == "dead"]
    unique = new_ulid()
    new = [
        one if task is None else again(one, unique)
        for one, task in zip(messages, tasks, strict=True)
        if task is None or task.state in ("completed", "cancelled")
    ]
    retried = sum(one.status == "retried" for one in await queue.retry_many(dead)) if dead else 0
    if new:
        await queue.enqueue_many(new)
    return Replayed(retried + len(new), len(messages) - len(dead) - len(new))

"""What has happened: from events, and again from what is stored when a round reads it.

Dead tasks are read from the set of dead tasks, which is in the order of their deaths, and has their kinds and reasons.
A task that is not dead any more is in no post. Of changes, the events are read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Any, Final

from pyadeq import Event
from pyadeq.asyncio import Adeq, Queue, TaskView
from pyadeq.ext.outgoing.posts.endpoints import NOUNS, QUEUE, About, Endpoint, about_of
from pyadeq.ext.outgoing.posts.groups import Group, Happened
from pyadeq.ext.outgoing.streams import events_of, queue_of

PAGE: Final = 1000
MOST: Final = 100_000
"""What a round counts, and events that it reads from one stream, at most."""
FIRST_ID: Final = "!"
"""A text that comes before every id in the order of a set."""


async def of_events(adeq: Adeq, stream: str, events: Iterable[Event]) -> list[Happened]:
    """Return what some events of a stream are about."""
    noun, _, name = stream.partition(":")
    own = stream.partition("/")[0]
    found = [(about, event) for event in events if (about := about_of(noun, event))]
    if not found:
        return []
    if noun != "queue":
        return [one for about, event in found for one in of_change(own, about, event)]
    times = [round(event.timestamp * 1000) for _, event in found]
    died = {(id, event.timestamp) for _, event in found for id in event.ids}
    tasks = [one async for one in dead_tasks(queue_of(adeq, name), min(times), max(times) + 1)]
    return [of_task(own, one) for one in tasks if (one.id, one.ended) in died]


async def all_in(adeq: Adeq, endpoint: Endpoint, since: int, until: int) -> list[Happened]:
    """Return what has happened in a time that an endpoint wants; at most 100,000 events. since, until: in ms."""
    found: list[Happened] = []
    for noun in sorted({NOUNS[about] for about in endpoint.about}):
        for stream in sorted({f"{noun}:{name}" async for name in adeq.names(noun)}):
            if not endpoint.wants_stream(stream):
                continue
            async for one in happened_in(adeq, stream, since, until):
                if endpoint.wants(stream, one.group.about, one.at):
                    found.append(one)
                if len(found) == MOST:
                    return found
    return found


async def happened_in(adeq: Adeq, stream: str, since: int, until: int) -> AsyncIterator[Happened]:
    """Yield what has happened in a queue or domain in a time, the oldest first. since, until: in ms."""
    noun, _, name = stream.partition(":")
    if noun == "queue":
        parts = [dead_tasks(part, since, until) for part in await parts_of(adeq, name)]
        async for task in by_death(parts):
            yield of_task(stream, task)
    else:
        async for event in events_between(adeq, stream, since, until):
            if about := about_of(noun, event):
                for one in of_change(stream, about, event):
                    yield one


async def by_death(parts: Sequence[AsyncIterator[TaskView]]) -> AsyncIterator[TaskView]:
    """Merge the dead tasks of partitions, the oldest first."""
    heads: list[tuple[float, str, int, TaskView]] = []
    for number, part in enumerate(parts):
        if task := await anext(part, None):
            heads.append((task.ended or 0.0, task.id, number, task))
    heapify(heads)
    while heads:
        *_, number, task = heads[0]
        yield task
        if following := await anext(parts[number], None):
            heapreplace(heads, (following.ended or 0.0, following.id, number, following))
        else:
            heappop(heads)


def of_change(stream: str, about: About, event: Event) -> list[Happened]:
    """Return what an event says of changes."""
    return [Happened(Group(stream, about), id, event.timestamp) for id in event.ids]


def of_task(stream: str, task: TaskView) -> Happened:
    """Return the death of a task."""
    return Happened(Group(stream, "dead", task.kind or "", task.reason or ""), task.id, task.ended or 0.0)


async def parts_of(adeq: Adeq, name: str) -> Sequence[Queue]:
    """Return the partitions of a queue, or the queue itself."""
    if adeq.slot is not None:
        return [adeq.queue(name)]
    queue = adeq.partitioned(name)
    return [queue.part(one.tag) for one in await queue.partitions()] or [adeq.queue(name)]


async def server_now(adeq: Adeq) -> int:
    """The time of the server that has the posts, in ms."""
    return round((await adeq.queue(QUEUE).list("running", limit=1)).now * 1000)


async def dead_tasks(queue: Queue, since: int, until: int) -> AsyncIterator[TaskView]:
    """Yield the tasks of one partition that have died in a time, the oldest first, without payloads and errors.

    A cursor is the place of the last task: its set, the time of its death in ms, its id.
    """
    cursor = f"state {since} {FIRST_ID}"
    while cursor and int(cursor.split(" ")[1]) < until:
        page = await queue.list("dead", cursor=cursor, limit=PAGE)
        for one in page.tasks:
            if one.ended is None or round(one.ended * 1000) >= until:
                return
            yield one
        cursor = page.cursor


async def events_between(adeq: Adeq, stream: str, since: int, until: int) -> AsyncIterator[Event]:
    """Yield the events of a stream in a time, as far as the server has them; it reads 100,000.

    An id is never before the time of its event. It may be after it: if the clock of the server goes back, ids do not.
    """
    key = f"{events_of(adeq, stream).base}:events"
    start, read = f"{since}", 0
    while read < MOST:
        entries: Any = await adeq.client.xrange(key, start, "+", PAGE)
        for entry, fields in entries:
            event = Event.from_entry(entry, fields)
            if since <= round(event.timestamp * 1000) < until:
                yield event
        if len(entries) < PAGE:
            return
        start, read = f"({entries[-1][0].decode()}", read + PAGE

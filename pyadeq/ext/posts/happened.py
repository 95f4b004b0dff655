"""What has happened: from events, and again from what is stored when the post is made.

Dead tasks are read from the set of dead tasks, which is in the order of their deaths, and has their kinds and reasons.
A task that is not dead any more is in no post. Of changes, the events are read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

from pyadeq import Event
from pyadeq.asyncio import Adeq, Queue, TaskView
from pyadeq.ext.posts.endpoints import EVENTS, about_of
from pyadeq.ext.posts.groups import Group, Happened

PAGE: Final = 1000
MOST: Final = 100_000
"""Tasks of a digest that are counted, and events that are read for it."""
FIRST_ID: Final = "!"
"""No id is before it in the order of a set."""


async def of_events(adeq: Adeq, stream: str, events: Iterable[Event]) -> list[Happened]:
    """Return what some events of a stream are about."""
    noun, _, name = stream.partition(":")
    own = stream.partition("/")[0]
    found = [(about, event) for event in events if (about := about_of(noun, event))]
    if not found:
        return []
    if noun != "queue":
        return [Happened(Group(own, about), id, event.timestamp) for about, event in found for id in event.ids]
    times = [event.timestamp for _, event in found]
    died = {(id, event.timestamp) for _, event in found for id in event.ids}
    tasks = [one async for one in dead_tasks(queue_of(adeq, name), min(times), max(times) + 0.001)]
    return [of_task(own, one) for one in tasks if (one.id, one.ended) in died]


async def in_period(adeq: Adeq, group: Group, since: float, until: float) -> list[Happened]:
    """Return what belongs to a group and has happened in a time, the oldest first; the first 100,000."""
    found: list[Happened] = []
    if group.stream.startswith("queue:"):
        for queue in await parts_of(adeq, group.name):
            async for one in dead_tasks(queue, since, until, kind=group.kind, reason=group.reason):
                if (made := of_task(group.stream, one)).group == group:
                    found.append(made)
                if len(found) == MOST:
                    return found
    else:
        events = [one async for one in events_between(adeq, group.stream, since, until)]
        found = [one for one in await of_events(adeq, group.stream, events) if one.group == group]
    return sorted(found, key=lambda one: (one.at, one.id))


def of_task(stream: str, task: TaskView) -> Happened:
    """Return the death of a task."""
    return Happened(Group(stream, "dead", task.kind or "", task.reason or ""), task.id, task.ended or 0.0)


def queue_of(adeq: Adeq, name: str) -> Queue:
    """Return a queue, or one partition `<name>/<tag>`."""
    own, _, tag = name.partition("/")
    return adeq.partitioned(own).part(tag) if tag else adeq.queue(own)


async def parts_of(adeq: Adeq, name: str) -> Sequence[Queue]:
    """Return the partitions of a queue, or the queue itself."""
    if adeq.slot is not None:
        return [adeq.queue(name)]
    queue = adeq.partitioned(name)
    return [queue.part(one.tag) for one in await queue.partitions()] or [adeq.queue(name)]


async def dead_tasks(
    queue: Queue, since: float, until: float, *, kind: str = "", reason: str = ""
) -> AsyncIterator[TaskView]:
    """Yield the tasks of one partition that have died in a time, the oldest first, without payloads and errors.

    A cursor is the place of the last task: its set, the time of its death in ms, its id.
    """
    cursor, end = f"state {round(since * 1000)} {FIRST_ID}", round(until * 1000)
    while cursor and int(cursor.split(" ")[1]) < end:
        page = await queue.list("dead", cursor=cursor, limit=PAGE, kind=kind or None, reason=reason or None)
        for one in page.tasks:
            if one.ended is None or round(one.ended * 1000) >= end:
                return
            yield one
        cursor = page.cursor


async def events_between(adeq: Adeq, stream: str, since: float, until: float) -> AsyncIterator[Event]:
    """Yield the events of a stream in a time that can be about posts, as far as the server has them."""
    noun, _, name = stream.partition(":")
    key = f"{adeq.events(noun, name).base}:events"
    start, read = f"{round(since * 1000)}", 0
    while read < MOST:
        entries: Any = await adeq.client.xrange(key, start, f"({round(until * 1000)}", PAGE)
        for entry, fields in entries:
            event = Event.from_entry(entry, fields)
            if (noun, event.event) in EVENTS:
                yield event
        if len(entries) < PAGE:
            return
        start, read = f"({entries[-1][0].decode()}", read + PAGE

"""Turns events into posts in the queue `adeq-posts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pyadeq import EventBatch, EventGap, Task
from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.follower import Follower
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE, QUEUE, Endpoint
from pyadeq.ext.outgoing.posts.groups import (
    GRACE,
    TOLD,
    Group,
    Happened,
    Message,
    Period,
    Told,
    period_of,
    read_told,
    round_of,
    task,
)
from pyadeq.ext.outgoing.posts.happened import happened_in, of_events, server_now

GROUP: Final = "posts"
MOST_PAST: Final = 1000
"""Past periods of streams that a process remembers, at most."""


class Forwarder(Follower[Endpoint]):
    """Enqueues posts. options: `find`, seconds between two looks for new queues and so on."""

    def __init__(self, adeq: Adeq, **options: Any) -> None:
        super().__init__(adeq, namespace=NAMESPACE, queue=QUEUE, group=GROUP, endpoint=Endpoint, **options)
        self._past: dict[tuple[str, int, int], dict[Group, float]] = {}

    async def messages_of(self, stream: str, batch: EventBatch, endpoints: Mapping[str, Endpoint]) -> Sequence[Task]:
        """Return the rounds that some events need. Their first posts are enqueued before."""
        happened = await of_events(self._adeq, stream, batch.events)
        wanted = {
            id: [one for one in happened if endpoint.wants(stream, one.group.about, one.at)]
            for id, endpoint in endpoints.items()
            if endpoint.wants_stream(stream)
        }
        wanted = {id: some for id, some in wanted.items() if some or batch.gap}
        if not wanted:
            return []
        now = await server_now(self._adeq)
        stored = await self._config.get_many([TOLD + id for id in wanted])
        found: list[Task] = []
        for id, some in wanted.items():
            before = stored.get(TOLD + id)
            told = read_told(before, endpoints[id])
            if told.until > now:
                told = await self._turn_back(id, endpoints[id], told, before.version if before else 0, now)
            current = period_of(id, endpoints[id], told, now)
            rounds = await self._firsts(id, endpoints[id], told, now, some)
            if batch.gap:
                rounds.add(current)
                await self._tell_gap(current, stream.partition("/")[0], batch.gap)
            found += map(round_of, sorted(rounds))
        return found

    async def _turn_back(self, id: str, endpoint: Endpoint, told: Told, version: int, now: int) -> Told:
        """The clock of the server has gone back. What happens from now on is not told, whatever its time."""
        until = period_of(id, endpoint, told, now).start
        turned = Told(epoch=told.epoch + 1, since=until, until=until)
        self._log.warning("the clock of the server has gone back; endpoint %s may get some posts twice", id)
        await self._config.set(TOLD + id, turned.encoded(), expect=version, actor=self._group, reason="clock")
        return turned

    async def _firsts(
        self, id: str, endpoint: Endpoint, told: Told, now: int, happened: Iterable[Happened]
    ) -> set[Period]:
        """Enqueue the first posts about some events, and return the periods whose rounds tell the others.

        Events of a period that is over are late. They have no first posts. The round of the last period that is over
        tells them all.
        """
        oldest = period_of(id, endpoint, told, now - GRACE)
        rounds: set[Period] = set()
        fresh: dict[Period, dict[Group, Happened]] = {}
        for one in sorted(happened, key=lambda one: one.at):
            period = period_of(id, endpoint, told, round(one.at * 1000))
            if period < oldest:
                rounds.add(oldest.next(-1))
            else:
                rounds.add(period)
                fresh.setdefault(period, {}).setdefault(one.group, one)
        for period, firsts in fresh.items():
            messages = []
            for group, one in firsts.items():
                past = await self._before(group.stream, period)
                if past.get(group, -1.0) < endpoint.since:
                    messages.append(Message(post="first", **group._asdict(), id=one.id, at=one.at))
            await self._claim(period, messages)
        return rounds

    async def _tell_gap(self, period: Period, stream: str, gap: EventGap) -> None:
        message = Message(post="lost", stream=stream, id=str(gap.number), count=gap.lost or 0)
        if not await self._claim(period, [message]):
            await self._enqueue([task(period.endpoint, period.lost, post="lost")])

    async def _claim(self, period: Period, messages: Sequence[Message]) -> bool:
        """Enqueue first posts while there are numbers for them. Returns whether all of them are there.

        Other processes claim numbers, too. If a number was taken in the meantime, this one looks again.
        """
        while messages:  # at most 11 times: each time, a process has taken a number
            taken = await self._queue.get_many(period.firsts)
            known = {Message.model_validate(one.payload).topic for one in taken if one}
            messages = [one for one in messages if one.topic not in known]
            free = [id for id, one in zip(period.firsts, taken, strict=True) if one is None]
            if not free:
                break
            some = [task(period.endpoint, id, **one.model_dump()) for id, one in zip(free, messages, strict=False)]
            if some:
                await self._enqueue(some)
        return not messages

    async def _before(self, stream: str, period: Period) -> Mapping[Group, float]:
        """Return when each group of a stream has last happened in the period before."""
        before = period.next(-1)
        key = stream, before.start, before.length
        if key not in self._past:
            if len(self._past) >= MOST_PAST:
                self._past.clear()
            found = happened_in(self._adeq, stream, before.start, before.end)
            self._past[key] = {one.group: one.at async for one in found}
        return self._past[key]

"""Events of a partitioned queue: a group is in each of its partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from time import monotonic
from typing import Any, Literal

from pyadeq._async.events import PAUSE, Events, Look
from pyadeq._async.queue import Queue
from pyadeq._async.queue.partitions.base import PartitionedBase
from pyadeq._async.queue.partitions.waits import Waits
from pyadeq._core.events.partitions import by_partition, no_events, tagged_batch, total
from pyadeq._core.kernel.migration import together
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.queue.partitions import WHOLE
from pyadeq.errors import BadArgument, ClockError, TransportError, UnknownGroup
from pyadeq.keys import shown
from pyadeq.models.base import Migration, Moment, Seconds, to_ms
from pyadeq.models.events import Event, EventBatch, EventGap, EventGroups, EventsTrimmed


class PartitionedEvents(Events):
    """The events of all partitions of a queue, for groups of readers: `queue.events` of a partitioned queue.

    A group is in each partition. A new partition gets the groups of the queue with its first event, so they miss none.
    A batch has events of one partition, in its order. Between partitions there is no order. `Event.id` names the
    partition: `<partition>:<id>`.
    """

    def __init__(self, queue: PartitionedBase) -> None:
        whole = queue.part(WHOLE)
        super().__init__(queue._runner, queue.name, whole.base)
        self._queue = queue
        self._parts: dict[str, Events] = {}
        self._turn = 0
        self._waits = Waits(self._listen, self._forget)

    def part(self, tag: str) -> Events:
        """Return the events of one partition. Their ids do not name it."""
        return self._events_of(self._queue.part(tag))

    def _events_of(self, part: Queue) -> Events:
        known = self._parts.get(part.base)
        return known or self._parts.setdefault(part.base, Events(self._runner, part.name, part.base))

    # Groups

    async def add(
        self, group: str, *, start: Literal["oldest", "now", "first"] = "oldest", create: bool = False
    ) -> bool:
        """Add a group in each partition; see `Events.add`. False: it exists in all of them."""
        made = False
        # The queue's own base comes last: a reader that finds the group there adds it to partitions that lack it.
        for tag in reversed((await self._queue._read()).by_age):
            made = await self.part(tag).add(group, start=start, create=create) or made
        return made

    async def remove(self, *groups: str) -> list[str]:
        """Drop groups in each partition. Returns the names of those that there were."""
        # The queue's own base comes first: from then on no reader adds the group to a partition.
        dropped = await self._queue._in_each_part(lambda part: self._events_of(part).remove(*groups))
        there = set(chain.from_iterable(dropped))
        return [name for name in groups if name in there]

    async def groups(self) -> EventGroups:
        """Return the groups with the sums of their partitions. `partitions` of a group has it in each of them."""
        return total({tag: await self.part(tag).groups() for tag in (await self._queue._read()).all})

    async def copy_groups(self, part: Queue) -> None:
        """Register the groups of the queue in a new partition, before it has events.

        If the user may not do this, the next reader does it.
        """
        try:
            groups = [one.name for one in (await self.part(WHOLE).groups()).groups if not one.lapsed]
            await self._add(self._events_of(part), groups)
        except ClockError:  # the queue has a clock for tests, and its events have none: no group reads them
            return
        except TransportError as error:
            if error.retryable:
                raise

    async def _add(self, events: Events, groups: Sequence[str]) -> None:
        """Give a partition groups of the queue, with their settings, from its first event on."""
        if groups:
            settings = await self.part(WHOLE).configure()
            await events.configure(**{name: settings[name] for name in ("clock", "keep", "lapse")})
        for group in groups:
            await events.add(group, start="first")  # what was trimmed before a reader comes is a gap

    # Reading

    async def read(self, group: str, *, limit: int = 100, hold: Seconds = 60.0, wait: Seconds = 0.0) -> EventBatch:
        """Read events of one partition, and next time of the next one; see `Events.read`.

        `lag` and `due` are those of this partition. Without events, `lag` is the sum. If a partition does not answer,
        the others are read; TransportError if these have no events.
        """
        until = monotonic() + to_ms("wait", wait) / 1000
        looks: dict[str, Look] = {}

        def patience() -> float | None:
            return self._runner.retry_until(until) if wait else None

        tags = await self._in_turn(patience())
        while True:
            away: TransportError | None = None
            for tag in tags:
                try:
                    look = looks[tag] = await self._look_in(tag, group, limit, hold, patience())
                except TransportError as error:
                    if not error.retryable:
                        raise
                    away = error
                    continue
                if look.batch.events or look.batch.gap:
                    return tagged_batch(tag, look.batch)
            left = until - monotonic()
            if left <= 0:
                if away:
                    raise away
                return no_events([one.batch for one in looks.values()])
            places = [f"{tag} {one.last}" for tag, one in looks.items()]
            rest = min((one.rest for one in looks.values()), default=PAUSE)
            heard = await self._waits.wait(places, min(left, rest))
            tags = [place.split(" ")[0] for place in heard] or await self._in_turn()

    async def _in_turn(self, retry_for: float | None = None) -> list[str]:
        """Return all partitions, starting with the next one each time, so that none starves."""
        known = await self._queue._fresh(retry_for)
        self._turn = first = (self._turn + 1) % len(known.all)
        tags = [*known.all[first:], *known.all[:first]]
        return sorted(tags, key=self._queue._is_away)

    async def _look_in(self, tag: str, group: str, limit: int, hold: Seconds, retry_for: float | None) -> Look:
        events, began = self.part(tag), monotonic()
        patience = self._queue._patience(self._queue._map.all, retry_for)
        try:
            return await events._look(group, limit, hold, patience)
        except TransportError as error:
            if error.retryable:
                self._queue._note_away(tag, began)
            raise
        except UnknownGroup:
            known = await self.part(WHOLE).groups()
            if tag == WHOLE or not any(one.name == group for one in known.groups):
                raise UnknownGroup(self.base, group) from None
            await self._add(events, [group])  # a partition that is newer than the group
            return await events._look(group, limit, hold, patience)

    async def _listen(self, place: str, seconds: float) -> str | None:
        tag, last = place.split(" ")
        await self.part(tag)._block(last, seconds)
        return "look"

    async def _forget(self, place: str, word: str) -> None:
        """Called when no read is left that waits. The next read looks in all partitions."""

    async def ack(
        self, group: str, events: EventBatch | Iterable[Event | str] = (), *, gap: EventGap | None = None
    ) -> int:
        """Acknowledge events of any partitions; see `Events.ack`. `after` of a gap names its partition."""
        if isinstance(events, EventBatch):
            gap = gap or events.gap
        given: Iterable[Event | str] = events.events if isinstance(events, EventBatch) else events
        ids = by_partition(one.id if isinstance(one, Event) else one for one in checked_list("events", given))
        if gap:
            ids.setdefault(gap.partition, [])
        acked = 0
        for tag in ids:
            await self._check(tag)
        for tag, own in (ids or {WHOLE: []}).items():
            acked += await self.part(tag).ack(group, own, gap=gap if gap and tag == gap.partition else None)
        return acked

    async def _check(self, tag: str) -> None:
        if tag not in (await self._queue._fresh()).all and tag not in (await self._queue._read()).all:
            allowed = "<partition>:<id>, as `read` returns it"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"events: there is no partition {shown(tag)}; allowed: {allowed}")

    # Retention

    async def trim(self, before: Moment | None = None) -> EventsTrimmed:
        """Delete old events in each partition; see `Events.trim`. held_by: a group that keeps older ones in one."""
        done = await self._queue._in_each_part(lambda part: self._events_of(part).trim(before))
        return EventsTrimmed(sum(one.removed for one in done), next((one.held_by for one in done if one.held_by), None))

    async def configure(self, *, clock: str | None = None, **settings: Any) -> dict[str, Any]:
        """Change settings in each partition, and return those of the last; see `Events.configure`."""
        change = {"clock": clock, **settings}
        return (await self._queue._in_each_part(lambda part: self._events_of(part).configure(**change)))[-1]

    async def migrate(self, *, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data of each partition to the layout of this release; see `Events.migrate`."""
        return together(await self._queue._in_each_part(lambda part: self._events_of(part).migrate(progress=progress)))

"""Events of queues, locks and so on, read at least once by named groups."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from time import monotonic
from typing import Any, Literal, NamedTuple

from pyadeq._async.kernel.noun import Noun
from pyadeq._async.kernel.runner import LONGEST_BLOCK
from pyadeq._core.events import replies
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_list
from pyadeq._twins import aio_sleep
from pyadeq.errors import AdeqError, UnknownGroup
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, to_ms
from pyadeq.models.events import Event, EventBatch, EventGap, EventGroups, EventsTrimmed

PAUSE = 0.1
"""Seconds between two reads of a group whose events are due, or that has too many pending ones."""


class Look(NamedTuple):
    """What one call has delivered.

    last: the newest event that the group has got. rest: seconds until it is time to look again without a newer one.
    """

    batch: EventBatch
    last: str
    rest: float


class Events(Noun):
    """The events of one queue, lock domain and so on, for groups of readers.

    Each event goes to one reader of each group, and is delivered again if that reader does not acknowledge it in time.
    So a reader may get an event twice; `Event.id` tells.
    """

    noun = "events"

    # Groups

    async def add(
        self, group: str, *, start: Literal["oldest", "now", "first"] = "oldest", create: bool = False
    ) -> bool:
        """Add a group. False: it exists already, and goes on where it is.

        From now on no event is trimmed by age before the group has acknowledged it. The bound of memory (`events_max`
        of the noun) holds all the same: what a group loses to it is reported as a gap.
        start: the first event to read: the oldest that there is; the next one (`now`); or the very first one, so that
        what has been trimmed is a gap (`first`).
        create: add it even if nothing is stored under this name yet, for instance at a deploy. Without, this is
        an error, because the name may be wrong. Sessions have events in their partitions only.
        """
        status = (await self._call("register", group=group, start=start, create=create)).status
        if status == "missing":
            raise AdeqError(
                f"nothing is stored under {self.base} yet; check the name, or give create=True (--create) to add "
                "the group before the first event"
            )
        if status == "full":
            raise AdeqError(f"{self.base} has 100 groups already; remove one")
        return bool(status == "registered")

    async def remove(self, *groups: str) -> list[str]:
        """Remove groups. They hold no events any more. Returns the names of those that there were."""
        items = (await self._call("drop", item=list(groups))).items
        return [name for name, one in zip(groups, items, strict=True) if one.status == "dropped"]

    async def groups(self) -> EventGroups:
        """Return the groups with their lag, and the size of the stream."""
        return replies.groups(await self._call("groups"))

    # Reading

    async def read(self, group: str, *, limit: int = 100, hold: Seconds = 60.0, wait: Seconds = 0.0) -> EventBatch:
        """Read events: first those that were not acknowledged in time, then new ones, in order.

        limit: how many, 1 to 1000. There may be fewer, and still more to read.
        hold: seconds after which an event is delivered again, unless it is acknowledged: longer than the work takes.
        wait: seconds to wait for events, if there are none.

        Raises UnknownGroup if the group is not registered.
        """
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            look = await self._look(group, limit, hold, self._runner.retry_until(until) if wait else None)
            left = until - monotonic()
            if look.batch.events or look.batch.gap or left <= 0:
                return look.batch
            if look.batch.lag:
                await aio_sleep(min(left, look.rest))
            else:
                await self._block(look.last, min(left, look.rest))

    async def _look(self, group: str, limit: int, hold: Seconds, retry_for: float | None = None) -> Look:
        """Read once."""
        call = self.calls.build("read", group=group, limit=limit, hold=hold)
        answer = self._known(group, await self._runner.send(call, retry_for))
        found = replies.batch(answer)
        rest = LONGEST_BLOCK if found.due is None else max(found.due - answer.now, PAUSE)
        if found.lag:  # all that there is may be pending, or was trimmed meanwhile
            rest = min(rest, PAUSE)
        return Look(found, answer.last, rest)

    async def _block(self, last: str, seconds: float) -> None:
        """Wait for an event after this one."""
        await self._runner.block_on(f"{self.base}:events", last, seconds)

    async def ack(
        self, group: str, events: EventBatch | Iterable[Event | str] = (), *, gap: EventGap | None = None
    ) -> int:
        """Acknowledge events: they are not delivered again. Returns how many of them were still pending.

        events: a batch with its gap, or events, or their ids. gap: a gap. Acknowledging again changes nothing.
        """
        if isinstance(events, EventBatch):
            gap = gap or events.gap
        given: Iterable[Event | str] = events.events if isinstance(events, EventBatch) else events
        ids = [one.id if isinstance(one, Event) else one for one in checked_list("events", given)]
        acked = 0
        for start in range(0, max(len(ids), 1), 1000):
            number = gap.number if gap and not start else None
            answer = await self._call("ack", group=group, gap=number, item=ids[start : start + 1000])
            acked += self._known(group, answer).acked
        return acked

    async def follow(
        self, group: str, *, limit: int = 100, hold: Seconds = 60.0, idle: Seconds | None = None
    ) -> AsyncIterator[EventBatch]:
        """Iterate over batches. A batch is acknowledged when the next one is asked for.

        If the body of the loop raises an error or ends the loop, its batch is delivered again after `hold`.
        idle: end after this many seconds without events; None: never. limit, hold: see `read`.
        """
        wait = LONGEST_BLOCK if idle is None else idle
        while True:
            found = await self.read(group, limit=limit, hold=hold, wait=wait)
            if found.events or found.gap:
                yield found
                await self.ack(group, found)
            elif idle is not None:
                return

    # Retention

    async def trim(self, before: Moment | None = None) -> EventsTrimmed:
        """Delete events that are older than the setting `keep`, and that all groups have acknowledged.

        Reads do so once an hour by themselves. A group without a reader for the time `lapse` holds none.
        before: delete those before this time, in place of the setting.
        """
        removed, more, held_by = 0, True, ""
        while more:
            before_ms = None if before is None else to_epoch_ms("before", before)
            answer = await self._call("trim", before_ms=before_ms)
            removed, more, held_by = removed + answer.removed, bool(answer.more), answer.held_by
        return EventsTrimmed(removed, held_by or None)

    def _known(self, group: str, answer: Result) -> Any:
        if answer.status == "unknown":
            raise UnknownGroup(self.base, group)
        return answer

"""From events to posts in the queue `adeq-posts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyadeq import EventBatch, Task
from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.follower import Follower
from pyadeq.ext.posts.endpoints import NAMESPACE, QUEUE, Endpoint, read_endpoint
from pyadeq.ext.posts.groups import digest, first_ones, first_post, read_told
from pyadeq.ext.posts.happened import of_events

GROUP: Final = "posts"


class Forwarder(Follower[Endpoint]):
    """Enqueues posts. options: `find`, seconds between two looks for new queues and so on."""

    def __init__(self, adeq: Adeq, **options: Any) -> None:
        super().__init__(adeq, namespace=NAMESPACE, queue=QUEUE, group=GROUP, read=read_endpoint, **options)

    async def messages_of(self, stream: str, batch: EventBatch, endpoints: Mapping[str, Endpoint]) -> Sequence[Task]:
        """Return the posts about some events: a digest for each period, and before it a first post if it was quiet.

        Another process may see a quiet period where this one does not. Then there is one first post more, and the
        digest leaves out its task.
        """
        happened = await of_events(self._adeq, stream, batch.events)
        if not happened:
            return []
        firsts = {
            period: first
            for id, endpoint in endpoints.items()
            for period, first in first_ones(
                id, endpoint, [one for one in happened if endpoint.wants(stream, one.group.about, one.at)]
            ).items()
        }
        before = [id for period in firsts for id in (period.before.digest, period.before.first)]
        known = {one.id for one in await self._queue.get_many(before) if one is not None} if before else set()
        told = await self._config.get_many([*{period.told for period in firsts}])
        found: list[Task] = []
        for period, first in firsts.items():  # the oldest first, so what is before is known
            stored = told.get(period.told)
            is_quiet = known.isdisjoint((period.before.digest, period.before.first))
            if is_quiet and not read_told(stored and stored.value).has(period.start, period.end):
                found.append(first_post(period, first))
            found.append(digest(period))
            known.add(period.digest)
        return found

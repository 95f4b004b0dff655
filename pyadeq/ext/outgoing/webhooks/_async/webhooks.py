"""What operators do with endpoints: add, remove, switch on and off, rotate secrets, test, replay."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Unpack

from pyadeq import ConfigConflict, Task
from pyadeq.asyncio import Adeq
from pyadeq.codec import Codec
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.outgoing.addresses import Allowed, aio_check_url
from pyadeq.ext.outgoing.patterns import check_id
from pyadeq.ext.outgoing.plain import aio_without_codec
from pyadeq.ext.outgoing.stamps import aio_stamp_key, stamped
from pyadeq.ext.outgoing.times import aio_server_time
from pyadeq.ext.outgoing.webhooks._async.replay import Replayed, replay_one, replay_part
from pyadeq.ext.outgoing.webhooks.endpoints import (
    CONCURRENCY,
    FAILING,
    NAMESPACE,
    QUEUE,
    Content,
    Endpoint,
    Failing,
    Order,
    Settings,
    new_endpoint,
)
from pyadeq.ext.outgoing.webhooks.messages import KIND, TEST
from pyadeq.ext.outgoing.webhooks.signing import stored_secret
from pyadeq.ids import new_ulid
from pyadeq.keys import hint
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, to_ms
from pyadeq.models.queue import State, TaskView
from pyadeq.models.worker import Outcome

DAY: Final = 86_400.0
TRIES: Final = 10
"""How often a change is tried if others change the endpoint at the same moment."""


class Known(NamedTuple):
    """An endpoint as it is stored.

    failing: since when each delivery to it fails; None: they do not. version: changes with each change of the endpoint.
    """

    endpoint: Endpoint
    failing: Failing | None
    version: int = 0


class Webhooks:
    """The endpoints of an installation.

    allowed: where messages may go, besides public addresses by https. The process that sends checks it again, by its
    own settings.
    codec: seals secrets that are given as texts; None: that of the client.
    """

    def __init__(self, adeq: Adeq, *, allowed: Allowed | None = None, codec: Codec | None = None) -> None:
        self._adeq = adeq
        self._config = adeq.config(NAMESPACE)
        self._allowed = allowed or Allowed()
        self._codec = codec or adeq.codec

    async def add(
        self,
        id: str,
        url: str,
        *,
        secret: str,
        events: Iterable[str],
        streams: Iterable[str] = ("queue:*",),
        order: Order = "none",
        include: Iterable[Content] = (),
        concurrency: int = CONCURRENCY,
        starts: int | None = None,
        actor: str | None = None,
    ) -> Endpoint:
        """Add an endpoint. It gets the events that happen from now on.

        url: its host is resolved and checked, now and before each message. secret: where senders find it, or its text,
        which the codec seals. The other arguments are those of Endpoint. Raises ConfigError if something is not
        accepted, or if the id is taken.
        """
        made = new_endpoint(
            url,
            secret=stored_secret(check_id(id), secret, self._codec),
            events=events,
            streams=streams,
            order=order,
            include=include,
            concurrency=concurrency,
            starts=starts,
            now=await self._now(),
        )
        await aio_check_url(url, self._allowed)
        try:
            await self._config.set(id, made.encoded(), expect=0, actor=actor, reason="added")
        except ConfigConflict:
            raise ConfigError(f"endpoint: there is one with the id {id!r}; remove it, or choose another id") from None
        return made

    async def change(
        self, id: str, *, expect: int | None = None, actor: str | None = None, **settings: Unpack[Settings]
    ) -> Endpoint:
        """Change what an endpoint gets, and where. What is not given stays.

        expect: the version that it has; ConfigConflict if it has another one.
        """
        if "url" in settings:
            await aio_check_url(settings["url"], self._allowed)
        return await self._change(id, lambda one: one.with_settings(**settings), actor, "changed", expect=expect)

    async def get(self, id: str) -> Known:
        """Return an endpoint. Raises AdeqError if there is none with this id."""
        found = await self._config.get_many([check_id(id), FAILING + id])
        endpoint = Endpoint.read(found.get(id))
        if endpoint is None:
            raise await self._unknown(id)
        return Known(endpoint, Failing.read(found.get(FAILING + id)), found[id].version)

    async def list(self) -> dict[str, Known]:
        """Return all endpoints by their ids."""
        stored = await self._config.list()
        found = {}
        for id in sorted(stored):
            if not id.startswith(FAILING) and (endpoint := Endpoint.read(stored[id])):
                found[id] = Known(endpoint, Failing.read(stored.get(FAILING + id)), stored[id].version)
        return found

    async def remove(self, id: str, *, expect: int | None = None, actor: str | None = None) -> None:
        """Remove an endpoint. Messages that wait are not sent any more. Raises AdeqError if there is none."""
        if await self._config.get(check_id(id)) is None:
            raise await self._unknown(id)
        expected = {} if expect is None else {id: expect}
        await self._config.set_many({}, remove=[id, FAILING + id], expect=expected, actor=actor, reason="removed")

    async def enable(self, id: str, *, actor: str | None = None) -> Endpoint:
        """Send to it again, what happens from now on. What happened before can be replayed."""
        now = await self._now()
        return await self._change(id, lambda one: one if one.enabled else one.on(now), actor, "enabled", [FAILING + id])

    async def disable(self, id: str, *, why: str = "switched off", actor: str | None = None) -> Endpoint:
        """Send nothing to it any more. Messages that wait die."""
        return await self._change(id, lambda one: one.off(why) if one.enabled else one, actor, why)

    async def rotate(self, id: str, secret: str, *, keep: Seconds = DAY, actor: str | None = None) -> Endpoint:
        """Sign with another secret, and for `keep` seconds also with the one before."""
        new = stored_secret(check_id(id), secret, self._codec)
        until = await self._now() + to_ms("keep", keep) / 1000
        return await self._change(id, lambda one: one.rotated(new, until), actor, "rotated")

    async def test(self, id: str, *, wait: Seconds = 30.0) -> Outcome:
        """Have a message of type `webhook.test` sent, and return how that ended. It is tried once.

        Raises WaitTimeout if no process sends messages.
        """
        await self.get(id)
        key = await aio_stamp_key(self._adeq, NAMESPACE)
        new = Task(id=f"wh:{id}:test:{new_ulid()}", kind=KIND, user=id, payload={"type": TEST, "at": await self._now()})
        (made,) = stamped(key, [new])
        async with aio_without_codec(self._adeq) as plain:
            _, outcome = await plain.queue(QUEUE)._run_to_end(
                made.payload, id=made.id, kind=KIND, user=id, headers=made.headers, max_attempts=1, wait=wait
            )
            return outcome

    async def messages(
        self, id: str, state: State | None = None, *, cursor: str = "", limit: int = 50
    ) -> tuple[builtins.list[TaskView], str]:
        """Return a page of the messages of an endpoint, as tasks with payloads, and the cursor of the next page."""
        async with aio_without_codec(self._adeq) as plain:
            queue = plain.queue(QUEUE)
            page = await queue.list(state, user=check_id(id), cursor=cursor, limit=limit)
            found = await queue.get_many([one.id for one in page.tasks])
            return [one for one in found if one is not None], page.cursor

    async def message(self, message: str) -> TaskView | None:
        """Return one message, by its `webhook-id`, or the id of its task."""
        async with aio_without_codec(self._adeq) as plain:
            return await plain.queue(QUEUE).get(message)

    async def replay(self, message: str) -> Replayed:
        """Send one message again. It has the same `webhook-id`, so a receiver knows it.

        message: its `webhook-id`. A dead one begins again with all its attempts.
        """
        async with aio_without_codec(self._adeq) as plain:
            return await replay_one(plain, message)

    async def replay_range(self, id: str, since: Moment, until: Moment | None = None) -> Replayed:
        """Send the messages about all events since a time again, as far as the server has the events.

        They have the same `webhook-id` as before. Messages that are on their way are left alone. until: None: now.
        """
        done, cursor = await self.replay_part(id, since, until)
        while cursor:
            more, cursor = await self.replay_part(id, since, until, cursor)
            done = done.and_also(more)
        return done

    async def replay_part(
        self, id: str, since: Moment, until: Moment | None = None, cursor: str = ""
    ) -> tuple[Replayed, str]:
        """Replay as `replay_range` does, but look at some 5,000 events only. Returns also a cursor for the next call.

        The cursor is empty after the last part.
        """
        end = await self._now() if until is None else to_epoch_ms("until", until) / 1000
        begin = to_epoch_ms("since", since) / 1000
        known = await self.get(id)
        async with aio_without_codec(self._adeq) as plain:
            return await replay_part(plain, id, known.endpoint, begin, end, cursor)

    async def _change(
        self,
        id: str,
        change: Callable[[Endpoint], Endpoint],
        actor: str | None,
        reason: str,
        remove: Iterable[str] = (),
        expect: int | None = None,
    ) -> Endpoint:
        check_id(id)
        for _ in range(TRIES):
            stored = await self._config.get(id)
            before = Endpoint.read(stored)
            if stored is None or before is None:
                raise await self._unknown(id)
            if expect is not None and expect != stored.version:
                raise ConfigConflict({id: stored.version})
            after = change(before)
            if after == before:
                return before
            try:
                await self._config.set_many(
                    {id: after.encoded()},
                    remove=[*remove],
                    expect={id: stored.version},
                    actor=actor,
                    reason=reason,
                )
            except ConfigConflict:
                continue  # which raises it again if a version was expected
            return after
        raise AdeqError(f"endpoint: {id!r} was changed by others {TRIES} times; try again")

    async def _unknown(self, id: str) -> AdeqError:
        return AdeqError(f"endpoint: there is no {id!r}{hint(id, [*await self.list()])} See adeq webhook ls")

    async def _now(self) -> float:
        return await aio_server_time(self._adeq)

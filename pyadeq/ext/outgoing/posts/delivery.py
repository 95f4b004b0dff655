"""Sends posts to chat services: the handler of the queue `adeq-posts`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from pyadeq import ConfigConflict, Lease, TaskFailed
from pyadeq.errors import ConfigFull
from pyadeq.ext.outgoing.delivery import Delivery
from pyadeq.ext.outgoing.posts import content
from pyadeq.ext.outgoing.posts.codes import new_codes
from pyadeq.ext.outgoing.posts.content import Post
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE, QUEUE, Endpoint
from pyadeq.ext.outgoing.posts.groups import (
    DIGESTS,
    GRACE,
    RETRIES,
    TOLD,
    Group,
    Happened,
    Message,
    Told,
    is_timely,
    period_of,
    read_told,
)
from pyadeq.ext.outgoing.posts.happened import MOST, all_in, happened_in, parts_of, server_now
from pyadeq.ext.outgoing.posts.services import SERVICES
from pyadeq.ext.outgoing.references import read_reference
from pyadeq.ext.outgoing.sending import Answer
from pyadeq.models.base import read_json
from pyadeq.models.queue import TaskView

ACTOR: Final = "adeq-posts"
CONCURRENCY: Final = 16
MOST_NAMES: Final = 100
"""Names that one call removes, at most."""
WAITS: Final = ("asked", "waiting", "escalated")
FULL: Final = (
    "The config _posts is full: adeq cannot store what it has told. "
    "Later digests repeat these tasks and changes. Remove names from the config."
)
CUT: Final = f"More has happened: adeq counts only {MOST:,} tasks and changes at a time."


class Poster(Delivery):
    """Sends posts. Use it in an `async with` block.

    allowed: where posts may go, besides public addresses by https. timeout: seconds for one post. tls: what
    certificates are checked with.
    """

    NAMESPACE, QUEUE, CONCURRENCY, RETRIES = NAMESPACE, QUEUE, CONCURRENCY, RETRIES
    APART = 1.0
    """Seconds between two posts of a round. Slack accepts no more than one in a second."""

    async def _is_true(self, lease: Lease) -> bool:
        """A round tells what has happened, once, whoever asks for it. A first post is true if its event is."""
        id = lease.user or ""
        endpoint = Endpoint.read(await self._config.get(id) if id else None)
        try:
            message = Message.model_validate(read_json(lease.data))
        except ValidationError:
            return False
        if endpoint is None or not _is_wanted(endpoint, message):
            return False
        if message.post == "round":
            return re.fullmatch(f"post:{id}:[0-9a-f]+:{round(message.since * 1000)}", lease.id) is not None
        at = round(message.at * 1000)
        start = period_of(id, endpoint, Told(), at).start
        if message.post != "first" or not re.fullmatch(f"post:{id}:[0-9a-f]+:{start}:[0-9]", lease.id):
            return False
        event = Happened(message.group, message.id, message.at)
        return event in [one async for one in happened_in(self._adeq, message.stream, at, at + 1)]

    async def _send_message(self, lease: Lease) -> dict[str, Any]:
        id = lease.user or ""
        endpoint = Endpoint.read(await self._config.get(id) if id else None)
        if endpoint is None or not endpoint.enabled:
            raise TaskFailed(f"there is no endpoint {id!r}", reason="removed", retryable=False)
        try:
            message = Message.model_validate(lease.payload)
        except ValidationError:
            raise TaskFailed("this is no post", reason="unwanted", retryable=False) from None
        if not _is_wanted(endpoint, message):
            raise TaskFailed(f"endpoint {id!r} does not want this", reason="unwanted", retryable=False)
        if message.post == "round":
            return await self._round(lease, id, endpoint)
        post = await self._post(lease, id, endpoint, message)
        if post is None:
            return {"status": "nothing to say"}
        return {"status": (await self._send(lease, endpoint, message, post)).status}

    async def _send(self, lease: Lease, endpoint: Endpoint, message: Message, post: Post) -> Answer:
        with self._attempt(lease):
            secret = None if endpoint.secret is None else read_reference("secret", endpoint.secret)
            sent = SERVICES[endpoint.service](endpoint, endpoint.address(), secret, message, post)
            answer = await self._sender.post(sent.url, sent.headers, sent.body, media_type=sent.media_type)
        if not 200 <= answer.status < 300:
            raise self._refused(lease, answer)
        return answer

    async def _post(self, lease: Lease, id: str, endpoint: Endpoint, message: Message) -> Post | None:
        """What to say at once; None if it is not so any more, or if a round says it."""
        if message.post == "test":
            return content.of_test()
        if message.post == "lost":
            return content.of_lost(endpoint, message)
        made = await self._adeq.queue(QUEUE).get(lease.id)
        period = period_of(id, endpoint, Told(), round(message.at * 1000))
        if made and made.created and not is_timely(period, made.created):
            return None
        return await self._about_one(id, endpoint, message.group, message.id)

    async def _about_one(self, id: str, endpoint: Endpoint, group: Group, about: str) -> Post | None:
        """The post about one task or change; None if it is not so any more."""
        if group.about == "dead":
            task = await self._task(group.name, about)
            if task is None or task.state != "dead":
                return None
            codes = await new_codes(self._adeq, id, group.name, task) if endpoint.actions == "code" else {}
            return content.of_task(endpoint, group, task, codes, sealed=self._sealed)
        change = await self._adeq.changes(group.name).get(about)
        is_so = change is not None and (change.state == "reviewing" or group.about not in WAITS)
        return content.of_change(endpoint, group, change) if change is not None and is_so else None

    async def _round(self, lease: Lease, id: str, endpoint: Endpoint) -> dict[str, Any]:
        """Tell what has happened since the last round. Another attempt goes on where this one ends."""
        begun = await self._begin(lease, id, endpoint)
        if begun is None:
            return {"status": "nothing to say"}
        told, version = begun
        happened = await all_in(self._adeq, endpoint, told.since, told.until)
        notes = ([FULL] if version is None else []) + ([CUT] if len(happened) == MOST else [])
        groups, more = await self._groups(id, endpoint, told, happened)
        left = {group: found for group, found in groups.items() if group.key not in told.done}
        sent: list[int] = []
        try:
            for group in [*left][: DIGESTS - len(told.done)]:
                found = left.pop(group)
                message = Message(post="digest", **group._asdict(), since=told.since / 1000, until=told.until / 1000)
                post = await self._digest(id, endpoint, message, found, more=group in more)
                if post is not None:
                    await self._send_next(lease, endpoint, message, post.with_notes(notes), sent)
                told = told.model_copy(update={"done": (*told.done, group.key)})
                version = await self._store(id, told, version)
            if left:
                streams = {group.stream for group in left}
                message = Message(
                    post="others",
                    stream=streams.pop() if len(streams) == 1 else "",
                    since=told.since / 1000,
                    until=told.until / 1000,
                    count=sum(map(len, left.values())),
                )
                post = content.of_others(endpoint, message, left).with_notes(notes)
                await self._send_next(lease, endpoint, message, post, sent)
        except TaskFailed as failed:
            if failed.retryable is False or lease.attempt > len(RETRIES):
                # This round dies. The next one tells all of this, too.
                await self._store(id, Told(epoch=told.epoch, since=told.since, until=told.since), version)
            raise
        return {"status": sent[-1], "posts": len(sent)} if sent else {"status": "nothing to say"}

    async def _send_next(self, lease: Lease, endpoint: Endpoint, message: Message, post: Post, sent: list[int]) -> None:
        if sent:
            await asyncio.sleep(self.APART)
        sent.append((await self._send(lease, endpoint, message, post)).status)

    async def _begin(self, lease: Lease, id: str, endpoint: Endpoint) -> tuple[Told, int | None] | None:
        """Store what this round tells: all until now. None if an earlier round has told it.

        The version is None if the config is full.
        """
        stored = await self._config.get(TOLD + id)
        told = read_told(stored, endpoint)
        if stored and told.by == lease.id:
            return told, stored.version
        until = period_of(id, endpoint, told, await server_now(self._adeq) - GRACE).start
        if until <= told.until:
            return None
        told = Told(epoch=told.epoch, since=told.until, until=until, by=lease.id)
        return told, await self._store(id, told, stored.version if stored else 0)

    async def _store(self, id: str, told: Told, version: int | None) -> int | None:
        """Store it, and return its version; None if the config is full, even without what is about no endpoint."""
        for _ in range(2):
            if version is None:
                break
            try:
                return await self._config.set(TOLD + id, told.encoded(), expect=version, actor=ACTOR, reason="told")
            except ConfigConflict:
                raise TaskFailed("another process tells it, or the endpoint was removed", reason="changed") from None
            except ConfigFull:
                await self._forget()
        return None

    async def _forget(self) -> None:
        """Remove what is stored about endpoints that were removed."""
        stored = await self._config.list()
        names = [one for one in stored if one.startswith(TOLD) and one.removeprefix(TOLD) not in stored]
        for start in range(0, len(names), MOST_NAMES):
            await self._config.set_many({}, remove=names[start : start + MOST_NAMES], actor=ACTOR, reason="forgotten")

    async def _groups(
        self, id: str, endpoint: Endpoint, told: Told, happened: Sequence[Happened]
    ) -> tuple[Mapping[Group, Sequence[Happened]], set[Group]]:
        """What the first posts have not said, by groups, the largest first; and the groups that have a first post."""
        periods = dict.fromkeys(period_of(id, endpoint, told, round(one.at * 1000)) for one in happened)
        firsts = await self._adeq.queue(QUEUE).get_many([first for one in periods for first in one.firsts])
        said: dict[tuple[str, float], Group] = {}
        for first in filter(None, firsts):
            message = Message.model_validate(first.payload)
            period = period_of(id, endpoint, told, round(message.at * 1000))
            if message.post == "first" and is_timely(period, first.created or 0.0):
                said[message.id, message.at] = message.group
        groups: dict[Group, list[Happened]] = {}
        for one in happened:
            if said.get((one.id, one.at)) != one.group:
                groups.setdefault(one.group, []).append(one)
        order = sorted(groups, key=lambda group: (-len(groups[group]), group))
        return {group: groups[group] for group in order}, set(said.values())

    async def _digest(
        self, id: str, endpoint: Endpoint, message: Message, found: Sequence[Happened], *, more: bool
    ) -> Post | None:
        if len(found) == 1:
            return await self._about_one(id, endpoint, message.group, found[0].id)
        if message.about != "dead":
            return content.of_changes(endpoint, message, found, more=more)
        newest = await self._task(message.group.name, found[-1].id)
        return content.of_tasks(endpoint, message, found, newest, more=more, sealed=self._sealed)

    async def _task(self, queue: str, id: str) -> TaskView | None:
        """A task, in whichever partition it is."""
        for part in await parts_of(self._adeq, queue):
            if (task := await part.get(id)) is not None:
                return task
        return None

    @property
    def _sealed(self) -> bool:
        return self._adeq.codec is not None


def _is_wanted(endpoint: Endpoint, message: Message) -> bool:
    """Whether an endpoint wants a post. The endpoint may have changed, or another program has made the task."""
    if message.post == "first":
        return endpoint.wants(message.stream, message.about, message.at)
    if message.post == "lost":
        return not message.stream or endpoint.wants_stream(message.stream)
    return message.post in ("round", "test")

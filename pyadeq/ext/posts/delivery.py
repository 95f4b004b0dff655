"""From posts to chat services: the handler of the queue `adeq-posts`."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from pyadeq import Lease, TaskFailed
from pyadeq.ext.outgoing.delivery import Delivery
from pyadeq.ext.outgoing.references import read_reference
from pyadeq.ext.outgoing.sending import Answer
from pyadeq.ext.posts.codes import new_codes
from pyadeq.ext.posts.content import Post, of_change, of_changes, of_task, of_tasks, of_test
from pyadeq.ext.posts.endpoints import NAMESPACE, QUEUE, Endpoint, read_endpoint
from pyadeq.ext.posts.groups import GRACE, RETRIES, Message, Told, period_of, read_told
from pyadeq.ext.posts.happened import in_period, parts_of
from pyadeq.ext.posts.services import SERVICES
from pyadeq.models.queue import TaskView

ACTOR: Final = "adeq-posts"
CONCURRENCY: Final = 16
WAITS: Final = ("asked", "waiting", "escalated")


class Poster(Delivery):
    """Sends posts. Use it in an `async with` block.

    allowed: where posts may go, besides public addresses by https. timeout: seconds for one post. tls: what
    certificates are checked with.
    """

    NAMESPACE, QUEUE, CONCURRENCY, RETRIES = NAMESPACE, QUEUE, CONCURRENCY, RETRIES

    async def handle(self, lease: Lease) -> dict[str, Any]:
        """Send the post of a task. Raises TaskFailed if it is not sent."""
        id = lease.user or ""
        stored = await self._config.get(id) if id else None
        endpoint = read_endpoint(stored.value) if stored else None
        if endpoint is None or not endpoint.enabled:
            raise TaskFailed(f"there is no endpoint {id!r}", reason="removed", retryable=False)
        try:
            message = Message.model_validate(lease.payload)
        except ValidationError:
            raise TaskFailed("this is no post", reason="unwanted", retryable=False) from None
        if message.post != "test" and not endpoint.wants(message.stream, message.about, max(message.at, message.until)):
            raise TaskFailed(f"endpoint {id!r} does not want this", reason="unwanted", retryable=False)
        whole = await self._until_now(lease, endpoint, message) if message.post == "digest" else message
        post = await self._post(id, endpoint, whole) if whole else None
        if whole is None or post is None:
            return {"status": "nothing to say"}
        try:
            answer = await self._send(lease, endpoint, whole, post)
        except TaskFailed as failed:
            if whole != message and (failed.retryable is False or lease.attempt > len(RETRIES)):
                # This one dies. The next one is about the periods after its own.
                await self._config.remove(period_of(id, endpoint, whole.group, whole.since).told, actor=ACTOR)
            raise
        return {"status": answer.status}

    async def _send(self, lease: Lease, endpoint: Endpoint, message: Message, post: Post) -> Answer:
        with self._attempt(lease):
            secret = None if endpoint.secret is None else read_reference("secret", endpoint.secret)
            sent = SERVICES[endpoint.service](endpoint, endpoint.address(), secret, message, post)
            answer = await self._sender.post(sent.url, sent.headers, sent.body, media_type=sent.media_type)
        if not 200 <= answer.status < 300:
            raise self._refused(lease, answer)
        return answer

    async def _post(self, id: str, endpoint: Endpoint, message: Message) -> Post | None:
        """What to say; None if it is not so any more."""
        if message.post == "test":
            return of_test()
        if message.post == "digest":
            return await self._digest(id, endpoint, message)
        group = message.group
        if message.about == "dead":
            task = await self._task(group.name, message.id)
            if task is None or task.state != "dead":
                return None
            codes = await new_codes(self._adeq, id, group.name, task) if endpoint.actions == "code" else {}
            return of_task(endpoint, group, task, codes, sealed=self._sealed)
        change = await self._adeq.changes(group.name).get(message.id)
        is_so = change is not None and (change.state == "reviewing" or message.about not in WAITS)
        return of_change(endpoint, group, change) if change is not None and is_so else None

    async def _digest(self, id: str, endpoint: Endpoint, message: Message) -> Post | None:
        happened = await in_period(self._adeq, message.group, max(message.since, endpoint.since), message.until)
        periods = dict.fromkeys(period_of(id, endpoint, message.group, one.at) for one in happened)
        firsts = await self._adeq.queue(QUEUE).get_many([one.first for one in periods])
        told = {(one.payload.get("id"), one.payload.get("at")) for one in firsts if one}
        found = [one for one in happened if (one.id, one.at) not in told]
        if not found:
            return None
        if message.about != "dead":
            return of_changes(endpoint, message, found, more=bool(told))
        newest = await self._task(message.group.name, found[-1].id)
        return of_tasks(endpoint, message, found, newest, more=bool(told), sealed=self._sealed)

    async def _until_now(self, lease: Lease, endpoint: Endpoint, message: Message) -> Message | None:
        """The digest with all periods that have ended since; None if a late digest is about it."""
        period = period_of(lease.user or "", endpoint, message.group, message.since)
        stored = await self._config.get(period.told)
        told = read_told(stored and stored.value)
        if told.by == lease.id:  # another attempt says the same
            return message.model_copy(update={"until": told.end / 1000})
        if told.has(period.start, period.end):
            return None
        now = (await self._adeq.queue(QUEUE).list("running", limit=1)).now
        last = round((now - GRACE) * 1000) // period.length * period.length
        if last <= period.end or period.end <= told.start:  # the second: a dead digest is sent again
            return message
        told = Told(start=period.start, end=last, by=lease.id)
        await self._config.set(period.told, told.model_dump_json().encode(), actor=ACTOR, reason="late")
        return message.model_copy(update={"until": last / 1000})

    async def _task(self, queue: str, id: str) -> TaskView | None:
        """A task, in whichever partition it is."""
        for part in await parts_of(self._adeq, queue):
            if (task := await part.get(id)) is not None:
                return task
        return None

    @property
    def _sealed(self) -> bool:
        return self._adeq.codec is not None

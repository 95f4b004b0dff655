"""Sends messages to receivers: the handler of the queue `adeq-webhooks`.

| answer                             | what happens                                                                    |
| ---------------------------------- | ------------------------------------------------------------------------------- |
| 2xx                                | the message is delivered                                                        |
| 410                                | the endpoint is disabled, and the message is dead                               |
| 429, 502, 503, 504                 | retried, not before `Retry-After`                                               |
| others, redirects, no answer       | retried, ten attempts in about three days; then dead                            |
| the URL or an address is forbidden | dead at once                                                                    |
| all deliveries fail for five days  | the endpoint is disabled                                                        |
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Final, Self

from pyadeq import ConfigConflict, ConfigValue, Lease, TaskFailed, TaskView
from pyadeq.asyncio import Adeq
from pyadeq.codec import Codec
from pyadeq.errors import AdeqError
from pyadeq.ext.outgoing.addresses import Allowed
from pyadeq.ext.outgoing.delivery import Delivery
from pyadeq.ext.outgoing.plain import aio_without_codec
from pyadeq.ext.outgoing.sending import Answer
from pyadeq.ext.outgoing.streams import queue_of
from pyadeq.ext.outgoing.webhooks._async.verified import is_of_event
from pyadeq.ext.outgoing.webhooks.endpoints import FAILING, NAMESPACE, QUEUE, Endpoint, Failing
from pyadeq.ext.outgoing.webhooks.messages import RETRIES, body_of, is_wanted, tasks_of, webhook_id
from pyadeq.ext.outgoing.webhooks.signing import read_secret, sign

ACTOR: Final = "adeq-webhooks"
GONE: Final = 410
GIVEN_UP: Final = 5 * 86_400.0
"""Seconds of nothing but failures after which an endpoint is disabled."""
CONCURRENCY: Final = 64
TRIES: Final = 10

log = logging.getLogger("pyadeq.webhooks")


class Deliverer(Delivery):
    """Sends messages. Use it in an `async with` block.

    allowed: where messages may go, besides public addresses by https. timeout: seconds for one message. tls: what
    certificates are checked with. codec: opens sealed secrets; None: that of the client. clock: seconds since the
    epoch.
    """

    NAMESPACE, QUEUE, CONCURRENCY, RETRIES = NAMESPACE, QUEUE, CONCURRENCY, RETRIES

    def __init__(
        self,
        adeq: Adeq,
        *,
        allowed: Allowed | None = None,
        timeout: float = 20.0,
        tls: ssl.SSLContext | None = None,
        codec: Codec | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(adeq, allowed=allowed, timeout=timeout, tls=tls)
        self._codec = codec or adeq.codec
        self._open = AsyncExitStack()
        self._clock = clock

    async def __aenter__(self) -> Self:
        self._adeq = await self._open.enter_async_context(aio_without_codec(self._adeq))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._open.aclose()
        await super().__aexit__(kind, error, traceback)

    async def _is_true(self, lease: Lease) -> bool:
        return await is_of_event(self._adeq, lease)

    async def _send_message(self, lease: Lease) -> dict[str, int]:
        id = lease.user or ""
        # They are read anew for each message: what is switched off gets nothing, what was just added is there.
        found = await self._config.get_many([id, FAILING + id])
        endpoint = _usable(id, found.get(id))
        failing = found.get(FAILING + id)
        if not is_wanted(lease.payload, endpoint):
            raise TaskFailed(f"endpoint {id!r} does not want this", reason="unwanted", retryable=False)
        try:
            answer = await self._send(lease, id, endpoint)
            if answer.status != GONE and not 200 <= answer.status < 300:
                raise self._refused(lease, answer)
        except TaskFailed as failed:
            await self._fails(id, failing, failed.reason)
            raise
        if answer.status == GONE:
            what = f"the receiver has answered {GONE}"
            await self._disable(id, f"{what} Gone")
            raise TaskFailed(what, reason="gone", retryable=False)
        await self._works(id, failing)
        return {"status": answer.status}

    async def _send(self, lease: Lease, id: str, endpoint: Endpoint) -> Answer:
        now = self._clock()
        with self._attempt(lease):
            secrets = [read_secret(id, stored, self._codec) for stored in endpoint.secrets(now)]
        body = await self._body(lease, endpoint)
        message, timestamp = webhook_id(lease.id), int(now)
        headers = [
            ("Webhook-Id", message),
            ("Webhook-Timestamp", str(timestamp)),
            ("Webhook-Signature", sign(secrets, message, timestamp, body)),
        ]
        with self._attempt(lease):
            return await self._sender.post(endpoint.url, headers, body)

    async def _body(self, lease: Lease, endpoint: Endpoint) -> bytes:
        tasks: list[TaskView | None] = []
        if about := tasks_of(lease.payload):
            name, ids = about
            tasks = await queue_of(self._adeq, name).get_many(ids)
        return body_of(lease.payload, endpoint, tasks)

    async def _fails(self, id: str, stored: ConfigValue | None, reason: str) -> None:
        """Store since when the endpoint fails, unless it is stored. After five days of only failures, disable it."""
        now = self._clock()
        failing = Failing.read(stored)
        if failing is None:
            value = Failing(since=now, reason=reason).encoded()
            with suppress(ConfigConflict):
                await self._config.set(
                    FAILING + id, value, expect=stored.version if stored else 0, actor=ACTOR, reason=reason
                )
                log.warning("endpoint %s fails: %s", id, reason)
        elif now - failing.since >= GIVEN_UP:
            await self._disable(id, f"nothing was delivered for five days: {reason}")

    async def _works(self, id: str, stored: ConfigValue | None) -> None:
        if stored:
            with suppress(ConfigConflict):
                await self._config.remove(FAILING + id, expect=stored.version, actor=ACTOR, reason="works again")
                log.info("endpoint %s works again", id)

    async def _disable(self, id: str, why: str) -> None:
        """Disable an endpoint. The event of its config says so, with the reason."""
        for _ in range(TRIES):
            stored = await self._config.get(id)
            endpoint = Endpoint.read(stored)
            if stored is None or endpoint is None or not endpoint.enabled:
                return
            value = endpoint.off(why).encoded()
            try:
                await self._config.set(id, value, expect=stored.version, actor=ACTOR, reason=why)
            except ConfigConflict:
                continue
            log.error("endpoint %s is disabled: %s", id, why)
            return
        raise AdeqError(f"endpoint {id!r} was changed by others {TRIES} times")


def _usable(id: str, stored: ConfigValue | None) -> Endpoint:
    endpoint = Endpoint.read(stored)
    if endpoint is None:
        raise TaskFailed(f"there is no endpoint {id!r}", reason="removed", retryable=False)
    if not endpoint.enabled:
        raise TaskFailed(f"endpoint {id!r}: {endpoint.disabled_for}", reason="disabled", retryable=False)
    return endpoint

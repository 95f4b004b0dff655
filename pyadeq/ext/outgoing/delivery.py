"""Sends the messages of a queue as requests: what the handlers of webhooks and posts share."""

from __future__ import annotations

import asyncio
import logging
import ssl
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Self

from pyadeq import Lease, TaskFailed
from pyadeq.asyncio import Adeq, Worker
from pyadeq.errors import ConfigError
from pyadeq.ext.outgoing.addresses import Allowed, RefusedTarget
from pyadeq.ext.outgoing.sending import Answer, NotSent, Sender, delay_after
from pyadeq.ext.outgoing.stamps import UNVERIFIED, aio_stamp_key, is_stamped

log = logging.getLogger("pyadeq.outgoing")


class Delivery(ABC):
    """Sends the messages of a queue. Use it in an `async with` block.

    allowed: where they may go, besides public addresses by https. timeout: seconds for one. tls: what certificates are
    checked with.
    """

    NAMESPACE: ClassVar[str]
    """The config namespace with the endpoints."""
    QUEUE: ClassVar[str]
    CONCURRENCY: ClassVar[int]
    RETRIES: ClassVar[Sequence[float]]
    """Seconds until each retry."""

    def __init__(
        self, adeq: Adeq, *, allowed: Allowed | None = None, timeout: float = 20.0, tls: ssl.SSLContext | None = None
    ) -> None:
        self._adeq = adeq
        self._config = adeq.config(self.NAMESPACE)
        self._key: bytes | None = None
        self._reading = asyncio.Lock()
        self._sender = Sender(allowed or Allowed(), timeout=timeout, tls=tls)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._sender.close()

    def worker(self, *, concurrency: int | None = None, **options: Any) -> Worker:
        """Return a worker that sends.

        concurrency: messages at a time; None: CONCURRENCY of the class. options: those of Worker.
        """
        concurrency = self.CONCURRENCY if concurrency is None else concurrency
        return Worker(self._adeq.queue(self.QUEUE), self.handle, concurrency=concurrency, **options)

    async def handle(self, lease: Lease) -> dict[str, Any]:
        """Send the message of a task, if the service has made it. Raises TaskFailed if it is not sent."""
        if not await self._is_own(lease):
            log.error("task %s of %s is not sent: the service has not made it", lease.id, self.QUEUE)
            why = "the service has not made this task, so it is not sent"
            raise TaskFailed(why, reason=UNVERIFIED, retryable=False)
        return await self._send_message(lease)

    async def _is_own(self, lease: Lease) -> bool:
        if self._key is not None and is_stamped(self._key, lease):
            return True
        # One at a time: a pool refuses more than it has connections. A server that has lost the key has a new one.
        async with self._reading:
            self._key = await aio_stamp_key(self._adeq, self.NAMESPACE)
            return is_stamped(self._key, lease) or await self._is_true(lease)

    @abstractmethod
    async def _send_message(self, lease: Lease) -> dict[str, Any]:
        """Send the message of a task. Raises TaskFailed if it is not sent."""

    @abstractmethod
    async def _is_true(self, lease: Lease) -> bool:
        """Whether a task without a stamp says what the service would say. Tasks of older versions have no stamps."""

    @contextmanager
    def _attempt(self, lease: Lease) -> Iterator[None]:
        """A block that reads secrets and sends. Its errors end the attempt: they become TaskFailed."""
        try:
            yield
        except RefusedTarget as error:
            raise TaskFailed(str(error), reason="refused", retryable=False) from None
        except ConfigError as error:
            raise self._failed(lease, "secret", str(error)) from None
        except NotSent as error:
            raise self._failed(lease, error.reason, str(error)) from None

    def _refused(self, lease: Lease, answer: Answer) -> TaskFailed:
        """Return how an attempt ends after an answer that is not 2xx."""
        return self._failed(lease, f"http_{answer.status}", f"the receiver has answered {answer.status}", answer)

    def _failed(self, lease: Lease, reason: str, message: str, answer: Answer | None = None) -> TaskFailed:
        delay = delay_after(lease.attempt, self.RETRIES, answer)
        return TaskFailed(message, reason=reason, retryable=True, delay=delay)

"""Publishing the kinds that a worker knows, so that other programs find their schemas."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pyadeq._async.kind import Kinds
from pyadeq._tasks.functions import Tasks
from pyadeq._worker.queue import WorkerQueue
from pyadeq.errors import AdeqError, TransportError

EVERY = 6 * 3600.0  # seconds; kinds are kept for a day
AGAIN = 60.0  # seconds after a lost connection
log = logging.getLogger("pyadeq.worker")


class Publishing:
    """Publishes the kinds of a registry of tasks, from time to time. Nothing depends on it: errors are logged."""

    def __init__(self, queue: WorkerQueue, tasks: Tasks | None) -> None:
        self._queue = queue
        self._tasks = tasks
        self._work: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._tasks:
            self._work = asyncio.create_task(self._publish(self._tasks))

    async def stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work

    async def _publish(self, tasks: Tasks) -> None:
        kinds: Kinds = self._queue.adeq.noun("kind", self._queue.name)
        while True:
            pause = EVERY
            try:
                found = await kinds.publish(list(_schemas(tasks)))
                if full := [kind for kind, status in found.items() if status == "full"]:
                    log.warning("kinds: %s: not published, for the catalog is full", ", ".join(full))
            except AdeqError as error:
                log.info("the kinds of queue %s were not published: %s", self._queue.name, error)
                pause = AGAIN if isinstance(error, TransportError) else EVERY
            await asyncio.sleep(pause)


def _schemas(tasks: Tasks) -> Iterator[dict[str, Any]]:
    for task in tasks:
        try:
            yield task.schema()
        except Exception as error:  # not every type has a JSON schema, and types may make theirs themselves
            log.info("kind %s: its schema was not published: %s", task.kind, error)
            yield {"kind": task.kind, "version": task.version}

"""Keeps the registries of names complete while the service runs, so that no page and no list lacks a name."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, ClientClosed

EVERY: Final = 60.0
"""Seconds between two scans of all keys, by whatever process."""

log = logging.getLogger("pyadeq.server")


class Naming:
    """The background work of one service. It begins with the service, or with the first list of a mounted one."""

    def __init__(self, adeq: Adeq) -> None:
        self._adeq = adeq
        self._work: asyncio.Task[None] | None = None
        self.is_complete = False
        """Whether a list of names has all of them, and is read without a scan."""

    def start(self) -> None:
        """Begin to read names, unless that runs already."""
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._run())

    def stop(self) -> None:
        """Stop reading names."""
        if self._work is not None:
            self._work.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._adeq.update_registries(every=EVERY)
                # Another process may scan now, for the first time.
                self.is_complete = (await self._adeq.registry("queue").page(limit=1)).is_fresh
            except ClientClosed:
                return
            except AdeqError as error:
                self.is_complete = False
                log.info("the names of queues and so on could not be completed: %s", error)
            await asyncio.sleep(EVERY)

"""Reads that all open pages share, so that two hundred pages cost the server as much as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from time import monotonic
from typing import Any, Final

from pyadeq.asyncio import HistoryPoint, QueueOverview
from pyadeq.errors import AdeqError
from pyadeq.ext.operations.rights import Principal
from pyadeq.ext.server.gate import Gate
from pyadeq.ext.server.naming import Naming

NAMES_FOR: Final = 1.0
"""Seconds for which names are remembered, if they come from the registries."""
SCANNED_FOR: Final = 60.0
"""Seconds for which names are remembered, if all keys had to be scanned."""
LOOK: Final = 2.0
"""Seconds for such a scan."""
NUMBERS_FOR: Final = 1.0
HISTORY_FOR: Final = 30.0
PAST: Final = 30
"""Minutes of a spark line."""
MOST: Final = 1000
"""Reads that are remembered. Each may hold a page of tasks, or a payload."""
TIDY: Final = 1.0
"""Seconds after which those that are too old are forgotten."""
MOST_NAMES: Final = 100_000

lacks_names: ContextVar[bool] = ContextVar("lacks_names", default=False)
"""Whether a list of names of this page may lack some."""


class Looks:
    """The recent reads of one process. Requests for the same data at the same time wait for the same read."""

    def __init__(self, gate: Gate, naming: Naming) -> None:
        self._gate = gate
        self._naming = naming
        self._last: dict[str, list[str]] = {}
        self._found: dict[Any, tuple[float, asyncio.Task[Any]]] = {}
        self._tidied = 0.0

    async def shared(self, key: Any, seconds: float, read: Callable[[], Awaitable[Any]]) -> Any:
        """What `read` returns, or what it returned at most so many seconds ago. Errors are not remembered."""
        now = monotonic()
        until, task = self._found.get(key, (0.0, None))
        if task is None or now >= until or (task.done() and (task.cancelled() or task.exception())):
            if now >= self._tidied + TIDY or len(self._found) >= MOST:
                self._found = {key: one for key, one in self._found.items() if one[0] > now}
                self._tidied = now
            while len(self._found) >= MOST:  # the one that was read first; mostly one
                del self._found[next(iter(self._found))]
            self._found.pop(key, None)  # so that it is the newest
            task = asyncio.ensure_future(_awaited(read))
            self._found[key] = now + seconds, task
        return await asyncio.shield(task)

    def forget(self) -> None:
        """Read all anew, but for names: somebody has changed something and wants to see it."""
        self._found = {key: one for key, one in self._found.items() if key[0] == "names"}

    async def names(self, noun: str) -> list[str]:
        """The names of a noun, in order, at most 100,000. `lacks_names` says whether these are all."""
        self._naming.start()
        is_complete = self._naming.is_complete

        async def read() -> tuple[list[str], bool]:
            found: set[str] = set()
            whole = False
            try:
                async for name in self._gate.adeq.names(noun, timeout=LOOK):
                    if not name.startswith("_"):
                        found.add(name)
                    if len(found) >= MOST_NAMES:
                        break
                else:
                    whole = True
            except AdeqError:
                if not found and noun not in self._last:
                    raise
            if not whole:  # while the server is away, pages show what they knew
                found.update(self._last.get(noun, ()))
            self._last[noun] = sorted(found)
            return self._last[noun], whole

        key = ("names", noun, is_complete)
        names, whole = await self.shared(key, NAMES_FOR if is_complete else SCANNED_FOR, read)
        if not whole:
            lacks_names.set(True)
        return list(names)

    async def seen(self, principal: Principal, noun: str, text: str = "") -> list[str]:
        """The names of a noun that somebody may look at, for all users. text: what the names contain."""
        return [
            name
            for name in await self.names(noun)
            if text.lower() in name.lower()
            and any(f"{noun}.observe" in scope.rights and scope.user is None for scope in principal.scopes_of(name))
        ]

    async def overview(self, queue: Any) -> QueueOverview:
        """The numbers of a queue, at most a second old."""
        found: QueueOverview = await self.shared(("overview", queue.name), NUMBERS_FOR, queue.inspect.overview)
        return found

    async def past(self, queue: Any) -> list[HistoryPoint]:
        """The last half hour of a queue, minute by minute."""

        async def read() -> list[HistoryPoint]:
            now = (await self.overview(queue)).now
            found: list[HistoryPoint] = await queue.inspect.history(now - 60 * PAST)
            return found[-PAST:]

        found: list[HistoryPoint] = await self.shared(("past", queue.name), HISTORY_FOR, read)
        return found


async def _awaited(read: Callable[[], Awaitable[Any]]) -> Any:
    return await read()

"""Waiting for tasks in several hash slots at once: a blocking connection for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from time import monotonic
from typing import TypeAlias

from pyadeq._twins import aio_Event, aio_spawn
from pyadeq.errors import AdeqError

Block: TypeAlias = Callable[[str, float], Awaitable[object]]
"""Waits for a word in one place, for so many seconds; true if there was one."""


class Waits:
    """Waits in places, which outlive the call that needs them: the next one finds what they have heard."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._waiting: set[str] = set()
        self._heard: set[str] = set()
        self._bell = aio_Event()
        self._error: AdeqError | None = None

    async def wait(self, places: Iterable[str], seconds: float) -> list[str]:
        """Where there was a word, as soon as there is one; nowhere after so many seconds."""
        until = monotonic() + seconds
        for place in places:
            if place not in self._waiting:
                self._waiting.add(place)
                aio_spawn(partial(self._listen, place, seconds))
        while True:
            self._bell.clear()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            heard = [place for place in places if place in self._heard]
            self._heard.difference_update(heard)
            left = until - monotonic()
            if heard or left <= 0:
                return heard
            await self._bell.wait(left)

    async def _listen(self, place: str, seconds: float) -> None:
        try:
            if await self._block(place, seconds):
                self._heard.add(place)
        except AdeqError as error:
            self._error = error
        finally:
            self._waiting.discard(place)
            self._bell.set()

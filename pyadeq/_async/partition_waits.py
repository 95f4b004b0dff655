"""Waiting for tasks in several hash slots at once: a blocking connection for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import TypeAlias

from pyadeq._twins import aio_Event, aio_spawn
from pyadeq.errors import AdeqError

Block: TypeAlias = Callable[[str, float], Awaitable[object]]
"""Waits for a word in one place, for so many seconds; true if there was one."""

GiveBack: TypeAlias = Callable[[str], Awaitable[object]]
"""Says a word again, for others."""


class Waits:
    """Waits in places, which outlive the call that needs them; what they hear while nobody waits is given back."""

    def __init__(self, block: Block, give_back: GiveBack) -> None:
        self._block = block
        self._give_back = give_back
        self._listening: set[str] = set()
        self._heard: set[str] = set()
        self._callers: dict[aio_Event, Sequence[str]] = {}  # with a bell for each
        self._error: AdeqError | None = None

    async def wait(self, places: Sequence[str], seconds: float) -> list[str]:
        """Where there was a word, as soon as there is one; nowhere after so many seconds."""
        until = monotonic() + seconds
        bell = aio_Event()
        self._callers[bell] = places
        try:
            while True:
                bell.clear()
                if self._error is not None:
                    error, self._error = self._error, None
                    raise error
                heard = [place for place in places if place in self._heard]
                self._heard.difference_update(heard)
                left = until - monotonic()
                if heard or left <= 0:
                    return heard
                for place in places:
                    if place not in self._listening:
                        self._listening.add(place)
                        aio_spawn(partial(self._listen, place, left))
                await bell.wait(left)
        finally:
            del self._callers[bell]

    async def _listen(self, place: str, seconds: float) -> None:
        try:
            if await self._block(place, seconds):
                if any(place in places for places in list(self._callers.values())):
                    self._heard.add(place)
                else:
                    await self._give_back(place)
        except AdeqError as error:
            self._error = error
        finally:
            self._listening.discard(place)
            for bell in list(self._callers):
                bell.set()

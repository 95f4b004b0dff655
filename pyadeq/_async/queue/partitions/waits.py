"""Waiting for tasks in several hash slots at once, with a blocking connection for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, TypeAlias

from pyadeq._twins import aio_Event, aio_spawn
from pyadeq.errors import AdeqError, TransportError

Listen: TypeAlias = Callable[[str, float], Awaitable[str | None]]
"""Waits for a message in one partition, for at most this many seconds."""

GiveBack: TypeAlias = Callable[[str, str], Awaitable[object]]
"""Puts a message of a partition back, for other waiters."""


class Waits:
    """Blocking waits in several partitions. A wait outlives the call that started it, and serves the next call. Unused
    messages are given back.

    listening: the running wait of each partition.
    """

    def __init__(self, listen: Listen, give_back: GiveBack) -> None:
        self._listen_to = listen
        self._give_back = give_back
        self.listening: dict[str, Any] = {}
        self._heard: dict[str, str] = {}
        self._callers: dict[aio_Event, Sequence[str]] = {}  # an event for each caller
        self._error: AdeqError | None = None

    async def wait(self, places: Sequence[str], seconds: float) -> dict[str, str]:
        """Return the messages by place as soon as there is one; none after this many seconds."""
        until = monotonic() + seconds
        bell = aio_Event()
        self._callers[bell] = places
        try:
            while True:
                bell.clear()
                if self._error is not None:
                    error, self._error = self._error, None
                    raise error
                heard = {place: self._heard.pop(place) for place in places if place in self._heard}
                left = until - monotonic()
                if heard or left <= 0:
                    return heard
                for place in places:  # also restart waits that have ended
                    if place not in self.listening:
                        self.listening[place] = aio_spawn(partial(self._listen, place, left))
                await bell.wait(left)
        finally:
            del self._callers[bell]

    def tell(self, place: str, word: str) -> None:
        """Deliver a message to the current or next waiter of a place."""
        self._heard[place] = word
        for bell in list(self._callers):
            bell.set()

    async def _listen(self, place: str, seconds: float) -> None:
        try:
            word = await self._listen_to(place, seconds)
            if word is not None:
                if any(place in places for places in list(self._callers.values())):
                    self.tell(place, word)
                else:
                    await self._give_back(place, word)
        except AdeqError as error:
            if not (isinstance(error, TransportError) and error.retryable):  # the calls report such errors themselves
                self._error = error
        finally:
            self.listening.pop(place, None)
            for bell in list(self._callers):
                bell.set()

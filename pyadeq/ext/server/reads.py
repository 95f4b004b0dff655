"""Commands that read and are no scripts, on the connections of the client itself."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

from redis.exceptions import RedisError

from pyadeq.asyncio import Adeq
from pyadeq.errors import DamagedError, TransportError

BLOCK: Final = 10.0
"""Seconds of one blocking wait, at most."""
MOST: Final = 20
"""Blocking reads of one client at a time. Its pool refuses more than it has connections, so the others wait here."""
_turns: WeakKeyDictionary[Adeq, asyncio.Semaphore] = WeakKeyDictionary()


async def ask(adeq: Adeq, command: str, *arguments: Any, **options: Any) -> Any:
    """Call a method of the redis-py client, when it is our turn. TransportError if the server does not answer.

    DamagedError if a key has another type than pyadeq gives it.
    """
    async with _turns.setdefault(adeq, asyncio.Semaphore(MOST)):
        try:
            return await getattr(adeq.client, command)(*arguments, **options)
        except RedisError as error:
            if str(error).startswith("WRONGTYPE"):
                what = f"{command}: a key has a type that pyadeq never gives it, so another program wrote it ({error})"
                raise DamagedError(what, retryable=False, may_have_applied=False) from error
            what = f"{command}: {type(error).__name__}: the server did not answer"
            raise TransportError(what, retryable=True, may_have_applied=False) from error

"""Commands that read and are no scripts, on the connections of the client itself."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyadeq.asyncio import Adeq

MOST: Final = 20
"""Such reads of one client at a time. Its pool refuses more than it has connections, so the others wait here."""
_turns: WeakKeyDictionary[Adeq, asyncio.Semaphore] = WeakKeyDictionary()


async def ask(adeq: Adeq, command: str, *arguments: Any, **options: Any) -> Any:
    """Call a method of the redis-py client, when it is our turn."""
    async with _turns.setdefault(adeq, asyncio.Semaphore(MOST)):
        return await getattr(adeq.client, command)(*arguments, **options)

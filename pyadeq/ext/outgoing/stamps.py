"""Stamps: how a service knows the tasks that it has made itself.

Each task of a service has a stamp in its headers, an HMAC of what is sent. Whatever else comes into the queue, by a
schedule, a chain, a client of the server or another way, has none, and is not sent.

The key of the stamps is random, and the first process that needs it makes it. It is at a place that only the role
`config.operate` can read, see `pyadeq.access`: `<base>!operate` of a config namespace that is empty otherwise, such as
`_webhooks.stamps`. Who has this role may change the endpoints anyway. The namespace is apart, because a cluster must
find nothing at the `!operate` of a namespace in use: so it refuses calls while their slot moves.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable
from typing import Any, Final

from redis.exceptions import ConnectionError, RedisError, TimeoutError

from pyadeq import Adeq, Lease, Task, TaskView
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.errors import TransportError
from pyadeq.models.base import read_json

STAMP: Final = "adeq-stamp"
"""The header with the stamp."""
TRIES: Final = 5
"""How often the key is asked for, if connections are lost."""
LOST: Final = (ConnectionError, TimeoutError)
UNVERIFIED: Final = "unverified"
"""The reason of dead tasks that the service has not made."""


def place_of(namespace: str) -> str:
    """Return the config namespace with the key of the stamps. namespace: with the endpoints."""
    return f"{namespace}.stamps"


def stamped(key: bytes, tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks with their stamps. They have ids."""
    return [
        one.model_copy(update={"headers": {STAMP: _stamp(key, one.id, one.user, one.kind, one.payload)}})
        for one in tasks
    ]


def is_stamped(key: bytes, task: Lease | TaskView) -> bool:
    """Whether the service has made this task."""
    found = task.headers.get(STAMP) if isinstance(task.headers, dict) else None
    made = _stamp(key, task.id, task.user, task.kind, read_json(task.data))
    return isinstance(found, str) and hmac.compare_digest(found.encode(errors="replace"), made.encode())


def stamp_key(adeq: Adeq, namespace: str) -> bytes:
    """Return the key of the stamps. If there is none, make it."""
    name = f"{adeq.config(place_of(namespace)).base}!operate"
    for left in reversed(range(TRIES)):
        try:
            found: Any = adeq.client.get(name)
            if found:
                return bytes(found)
            adeq.client.set(name, secrets.token_bytes(32), nx=True)
        except RedisError as error:
            if not left or not isinstance(error, LOST):
                raise _unread(error) from error
    raise _unread(None)


async def aio_stamp_key(adeq: AsyncAdeq, namespace: str) -> bytes:
    """Return the key of the stamps. If there is none, make it. An async twin of `stamp_key`."""
    name = f"{adeq.config(place_of(namespace)).base}!operate"
    for left in reversed(range(TRIES)):
        try:
            found: Any = await adeq.client.get(name)
            if found:
                return bytes(found)
            await adeq.client.set(name, secrets.token_bytes(32), nx=True)
        except RedisError as error:
            if not left or not isinstance(error, LOST):
                raise _unread(error) from error
    raise _unread(None)


def _unread(error: RedisError | None) -> TransportError:
    what = (
        f"the key of the stamps cannot be read; it needs the role config.operate: {error or 'it is deleted each time'}"
    )
    return TransportError(what, retryable=True, may_have_applied=False)


def _stamp(key: bytes, id: str | None, user: str | None, kind: str | None, payload: Any) -> str:
    what = json.dumps([id, user, kind, payload], sort_keys=True)
    return hmac.digest(key, what.encode(), "sha256").hex()

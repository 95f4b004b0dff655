"""Which queues and lock domains a server has: there is no list of them, so their keys are looked for."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

from redis import Redis, RedisCluster

from pyadeq import Adeq
from pyadeq.keys import PATTERNS, lock_base, queue_base

SCAN_COUNT = 1000  # keys looked at in one command


class Found(NamedTuple):
    """Names in order. complete: False if the time was over before all keys were looked at."""

    names: list[str]
    complete: bool


def find_queues(adeq: Adeq, seconds: float, most: int = 100_000) -> Found:
    """The queues under the client's prefix and slot. It looks at every key of the server, for so many seconds."""
    return _find(adeq, queue_base("-", adeq.prefix, adeq.slot), seconds, most)


def find_domains(adeq: Adeq, seconds: float, most: int = 100_000) -> Found:
    """The lock domains under the client's prefix and slot, looked for alike."""
    return _find(adeq, lock_base("-", adeq.prefix, adeq.slot), seconds, most)


def _find(adeq: Adeq, base: str, seconds: float, most: int) -> Found:
    """Those whose base is this one with another name in the place of the last `-`."""
    head, tail = f"{base}:config".rsplit("-", 1)
    names: set[str] = set()
    until = monotonic() + seconds
    for node in _nodes(adeq.client):
        cursor = -1
        while cursor:
            if cursor > 0 and (monotonic() > until or len(names) > most):
                return Found(sorted(names), False)
            cursor, keys = node.scan(max(cursor, 0), match=f"{head}*{tail}", count=SCAN_COUNT)
            for key in keys:
                text = key.decode(errors="replace") if isinstance(key, bytes) else str(key)
                name = text[len(head) : -len(tail)]
                if PATTERNS["name"].fullmatch(name):  # anything else is a key of somebody else
                    names.add(name)
    return Found(sorted(names), True)


def _nodes(client: Redis | RedisCluster) -> list[Redis]:
    """The servers that hold keys: all primaries of a cluster."""
    if isinstance(client, RedisCluster):
        return [client.get_redis_connection(node) for node in client.get_primaries()]  # type: ignore[no-untyped-call]
    return [client]

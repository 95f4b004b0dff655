"""The messages that wait on the old server, read and not taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final, cast

from redis import Redis

from pyadeq.ext.move.migrate.source import Place

SOON: Final = 60
"""Seconds: what is due within them is left to the old program that enqueues it. `lua/ends.lua` has it, too."""
PAGE: Final = 200
"""Messages that one call reads."""
GROUP: Final = "ade-workers"
"""The consumer group of a stream. Entries that it was given do not wait. `lua/ends.lua` has it, too."""
MOST_FIELDS: Final = 500
"""Fields of an entry that is taken out of a stream. Others stay where they are."""


def messages(client: Redis, place: Place) -> Iterator[list[bytes]]:
    """Yield the waiting messages of a place in parts, first the next one."""
    if place.kind == "stream":
        yield from _entries(client, place)
        return
    if not place.lists:
        for start in range(0, length(client, place), PAGE):
            rows: Any = client.zrange(place.key, start, start + PAGE - 1, withscores=True)
            yield [_score(score) + b" " + member for member, score in rows]
    for key, end in place.lists:
        for start in range(0, int(client.llen(key)), PAGE):
            if end == "left":
                yield client.lrange(key, start, start + PAGE - 1)  # type: ignore[misc]
            else:
                found: Any = client.lrange(key, -start - PAGE, -start - 1)
                yield found[::-1]


def length(client: Redis, place: Place) -> int:
    """Return how many messages wait in a place."""
    if place.kind == "stream":
        return sum(map(len, _entries(client, place)))
    if place.lists:
        return sum(int(client.llen(key)) for key, _ in place.lists)
    return int(client.zcard(place.key))


def first_waiting(client: Redis, place: Place) -> bytes | None:
    """Return the next message of a list or a stream."""
    if place.kind == "stream":
        found = chain.from_iterable(_entries(client, place))
        return next((one for one in found if not stays(one)), None)
    ends: Any = (client.lindex(key, -1 if end == "right" else 0) for key, end in place.lists)
    return next((one for one in ends if one is not None), None)


def staying(client: Redis, place: Place) -> Iterator[list[bytes]]:
    """Yield messages that wait and are never taken: the entries of a stream with too many fields."""
    for found in _entries(client, place) if place.kind == "stream" else ():
        if some := [one for one in found if stays(one)]:
            yield some


def due(client: Redis, place: Place) -> Iterator[list[bytes]]:
    """Yield messages of a sorted set that are due within a minute, if programs of the old system may enqueue them."""
    if not place.guard:
        return
    now: Any = client.time()
    last, start = (now[0] + SOON) * (1000 if place.kind == "ms" else 1), 0
    while rows := cast(Any, client.zrangebyscore(place.key, "-inf", last, start, PAGE, withscores=True)):
        yield [_score(score) + b" " + member for member, score in rows]
        start += PAGE


def stays(message: bytes) -> bool:
    """Whether the entry of a stream has too many fields to be taken."""
    return len(_unpacked(message)) > 2 * MOST_FIELDS


def packed(fields: Sequence[bytes]) -> bytes:
    """Return the fields of an entry, names and values in turn, as a message."""
    return b"".join(b"%d:%s" % (len(field), field) for field in fields)


def fields_of(message: bytes) -> dict[bytes, bytes]:
    """Return the fields of the entry of a stream."""
    found = _unpacked(message)
    return dict(zip(found[::2], found[1::2], strict=True))


def _unpacked(message: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(message):
        colon = message.index(b":", at)
        end = colon + 1 + int(message[at:colon])
        found.append(message[colon + 1 : end])
        at = end
    return found


def _entries(client: Redis, place: Place) -> Iterator[list[bytes]]:
    plain = Redis(connection_pool=client.connection_pool)
    plain.response_callbacks.pop("XRANGE", None)  # it makes a dict of the fields, which has each name once
    start = "-"
    groups: Any = client.xinfo_groups(place.key) if client.exists(place.key) else []
    for group in groups:
        if group["name"] == GROUP.encode():
            start = f"({group['last-delivered-id'].decode()}"
    while True:
        rows: Any = plain.xrange(place.key, min=start, count=PAGE)
        if not rows:
            return
        yield [packed(fields) for _, fields in rows]
        start = f"({rows[-1][0].decode()}"


def _score(score: float) -> bytes:
    return f"{score!r}".encode()

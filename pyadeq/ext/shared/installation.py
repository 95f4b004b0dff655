"""What the doctor and the metrics look for on a whole installation, one server or one cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import inf
from time import monotonic
from typing import Any, Final, NamedTuple

from pyadeq import Adeq, EventGroup
from pyadeq.errors import AdeqError, DamagedError, TransportError

PAGE: Final = 1000  # keys
MOST_STREAMS: Final = 1000


class Primary(NamedTuple):
    """A server that holds keys. name: `host:port`, or the path of its socket. client: of redis-py."""

    name: str
    client: Any


class Stream(NamedTuple):
    """An event stream with groups. name: `<noun>:<name>`, and `/<tag>` of a partition. now: its time."""

    name: str
    length: int
    now: float
    groups: Sequence[EventGroup]


def primaries(client: Any) -> list[Primary]:
    """All primaries of a cluster, or the one server."""
    if hasattr(client, "get_primaries"):
        return [Primary(node.name, client.get_redis_connection(node)) for node in client.get_primaries()]
    at = client.connection_pool.connection_kwargs
    return [Primary(at.get("path") or f"{at.get('host', 'localhost')}:{at.get('port', 6379)}", client)]


def spoils_one(error: AdeqError) -> bool:
    """Whether an error is about one name: a newer layout, or damaged data. Else it is about the server or the user."""
    return isinstance(error, DamagedError) or not isinstance(error, TransportError)


def event_streams(
    adeq: Adeq, seconds: float = inf, refused: Callable[[str], None] = lambda _: None
) -> Iterator[Stream]:
    """Yield the event streams that have groups, at most 1,000. seconds: the longest time of the search.

    refused: is called with each stream that cannot be read: `queue:mail`.
    """
    until = monotonic() + seconds
    head = adeq.prefix if adeq.slot is None else f"{adeq.prefix}:{{{adeq.slot}}}"
    name = r"\{(\w+):([^}]+)\}" if adeq.slot is None else r"(\w+):([^:]+)"
    key_of_groups = re.compile(rf"{re.escape(head)}:{name}:events:groups")
    found: set[tuple[str, str]] = set()
    for primary in primaries(adeq.client):
        cursor = -1
        while cursor and monotonic() <= until:
            cursor, keys = primary.client.scan(max(cursor, 0), f"{head}:*:events:groups", PAGE)
            for key in keys:
                text = key.decode(errors="replace") if isinstance(key, bytes) else key
                if match := key_of_groups.fullmatch(text):
                    found.add((match[1], match[2]))
    for noun, own in sorted(found)[:MOST_STREAMS]:
        try:
            answer = adeq.events(noun, own).groups()
        except AdeqError as error:  # the clock of a test, a newer layout, a noun of a newer release, or damaged data
            if not spoils_one(error):
                raise
            refused(f"{noun}:{own}")
            continue
        yield Stream(f"{noun}:{own}", answer.length, answer.now, answer.groups)

"""Ids of endpoints, the streams that they want, and the queues of their messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from pyadeq.errors import ConfigError
from pyadeq.ext.shared.finding import nouns_with_events
from pyadeq.keys import shown

WEBHOOKS: Final = "adeq-webhooks"
POSTS: Final = "adeq-posts"
QUEUES: Final = frozenset({WEBHOOKS, POSTS})
"""Queues of messages. Only the services write to them."""
MOST_PATTERNS: Final = 32
_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_STREAM: Final = re.compile(r"([a-z]+):([A-Za-z0-9._@+*-]{1,100})")


def check_id(id: str) -> str:
    """Return it if it can be the id of an endpoint: it is a part of ids of messages, which must not have a dot."""
    if not _ID.fullmatch(id):
        raise ConfigError(f"endpoint: {shown(id)} is not accepted; allowed: 1 to 40 of a-z 0-9 -, not beginning with -")
    return id


def stream_patterns(patterns: Iterable[str], never: Collection[str]) -> tuple[str, ...]:
    """Return them, each once, checked. never: streams that cannot be wanted."""
    found = few("streams", patterns)
    nouns = nouns_with_events()
    for pattern in found:
        match = _STREAM.fullmatch(pattern)
        if not match or match[1] not in nouns or match[2].startswith("_") or pattern in never:
            allowed = f"<noun>:<name>, such as queue:mail-*; nouns: {', '.join(nouns)}"
            raise ConfigError(f"streams: {shown(pattern)} is not accepted; allowed: {allowed}")
    return found


def few(field: str, patterns: Iterable[str]) -> tuple[str, ...]:
    """Return them, each once. ConfigError if they are none or too many."""
    found = tuple(dict.fromkeys([patterns] if isinstance(patterns, str) else patterns))
    if not 1 <= len(found) <= MOST_PATTERNS:
        raise ConfigError(f"{field}: {len(found)} patterns are not accepted; allowed: 1 to {MOST_PATTERNS}")
    return found

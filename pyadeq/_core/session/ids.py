"""Ids of sessions, and what is derived from them.

An id is `<tag>.<43 characters>`, 32 random bytes. It never leaves the process: the server gets its hash, and people see
its handle.
"""

from __future__ import annotations

import re
from hashlib import sha1, sha256
from typing import Any, Final

from pyadeq.errors import BadArgument

TAGS: Final = tuple(f"{number:02x}" for number in range(256))
HANDLE: Final = re.compile("[0-9a-f]{16}")
_ID: Final = re.compile(r"([0-9a-f]{2})\.[A-Za-z0-9_-]{43}")


def tag_of(realm: str, user: str) -> str:
    """Return the partition of a user."""
    return sha256(f"{realm}\0{user}".encode(errors="surrogatepass")).hexdigest()[:2]  # the call refuses surrogates


def hash_of(realm: str, id: Any) -> str:
    """Return what the server knows of an id."""
    if not isinstance(id, str):  # the value is not shown: it may be an id in another form
        raise BadArgument("ADEQ_ARG", "pyadeq", f"id: {type(id).__name__} is not accepted; allowed: the text of an id")
    return sha256(f"{realm}\0{id}".encode(errors="surrogatepass")).hexdigest()


def tag_of_id(id: str, hash: str) -> str:
    """Return the partition that an id names. For a text that is no id, return any: there is no session, and the server
    says so, as for any other unknown id.
    """
    found = _ID.fullmatch(id)
    return found[1] if found else hash[:2]


def handle_of(hash: str) -> str:
    """Return the handle of a session, for people, events and logs."""
    return sha1(hash.encode()).hexdigest()[:16]

"""What a server says of itself in INFO, as far as clients look at it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Server(NamedTuple):
    """A server's name and version, as INFO has them."""

    name: str
    version: str


def read_server(info: Any) -> Server | None:
    """Return the name and the version of the server from the answer of INFO; None if it does not say."""
    for name in ("dragonfly", "valkey", "redis"):
        if version := _field(info, f"{name}_version"):
            return Server(name.capitalize(), version)
    return None


def eviction_warning(address: str, info: Any) -> str | None:
    """Return a warning if the server deletes keys when its memory is full; None if it does not, or if unknown."""
    policy = _field(info, "maxmemory_policy")
    if policy in ("", "noeviction"):
        return None
    what = "results, wake-ups and what makes retries safe" if policy.startswith("volatile") else "tasks and locks"
    return (
        f"{address}: maxmemory-policy is {policy}: when its memory is full, the server deletes {what} without an "
        "error; set maxmemory-policy to noeviction (adeq doctor shows how)"
    )


def _field(info: Any, name: str) -> str:
    if not isinstance(info, bytes):  # this user may not run INFO
        return ""
    found = re.search(rb"^%s:([^\r\n]+)" % name.encode(), info, re.MULTILINE)
    return found[1].decode(errors="replace") if found else ""

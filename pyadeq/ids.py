"""Ids: ULIDs for tasks and requests, short random words for incarnations."""

from __future__ import annotations

import os
import secrets
import socket
import time

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _CROCKFORD for b in _CROCKFORD]
_latest = [(-1, "")]  # a millisecond, and how its ULIDs begin


def new_ulid() -> str:
    """Return a new ULID: 48 bits of milliseconds, 80 random bits, 26 characters that sort by time.

    The time comes from this machine. It only makes ids sort well; nothing depends on it.
    """
    ms, prefix = _latest[0]
    if (now := time.time_ns() // 1_000_000) != ms:
        prefix = "".join([_PAIRS[now >> shift & 1023] for shift in range(40, -10, -10)])
        _latest[0] = now, prefix  # in one step: threads may read it meanwhile
    random, pairs = os.urandom(10), _PAIRS
    high, low = int.from_bytes(random[:5]), int.from_bytes(random[5:])
    return (
        f"{prefix}{pairs[high >> 30]}{pairs[high >> 20 & 1023]}{pairs[high >> 10 & 1023]}{pairs[high & 1023]}"
        f"{pairs[low >> 30]}{pairs[low >> 20 & 1023]}{pairs[low >> 10 & 1023]}{pairs[low & 1023]}"
    )


def new_incarnation() -> str:
    """Return a name for one start of a worker: 60 random bits in 12 characters."""
    return "".join([secrets.choice(_CROCKFORD) for _ in range(12)])


def default_worker_name() -> str:
    """Return `<host>.<pid>.<random>`: unique, and short enough to stay in a small hash."""
    host = "".join([c for c in socket.gethostname().split(".")[0] if c.isalnum() or c in "-_"])[:20] or "host"
    return f"{host}.{os.getpid()}.{new_incarnation()[:4]}"

"""Failed attempts to get in, counted in this process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fastapi import Request

MOST: Final = 10
"""Failed attempts within a period, at most; further ones are refused unseen."""
PERIOD: Final = 60.0
MOST_KEYS: Final = 10_000
NETWORK_V6: Final = 64
"""Bits of an IPv6 address that count: one client often has all addresses of such a network."""
NO_ADDRESS: Final = "unix"


class Attempts:
    """How many attempts have failed lately, by address and by what was tried. The oldest of 10,000 are forgotten."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def wait(self, key: tuple[str, str]) -> int:
        """Seconds until the next attempt is allowed; 0: now."""
        since, count = self._failed.get(key, (0.0, 0))
        left = since + PERIOD - self._clock()
        return ceil(left) if count >= MOST and left > 0 else 0

    def failed(self, key: tuple[str, str]) -> None:
        """Count an attempt."""
        now = self._clock()
        since, count = self._failed.get(key, (now, 0))
        if now - since >= PERIOD:
            del self._failed[key]
            since, count = now, 0
        self._failed[key] = since, count + 1
        if len(self._failed) > MOST_KEYS:
            self._failed.popitem(last=False)


def address_of(request: Request) -> str:
    """Return the origin of a request: an IPv4 address, an IPv6 network, or `unix` for a socket."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host or NO_ADDRESS
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or ip_network((address, NETWORK_V6), strict=False))
    return str(address)

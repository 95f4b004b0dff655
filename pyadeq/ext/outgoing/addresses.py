"""The hosts that a request may reach. A user who adds a URL must not reach hosts that only this machine reaches (SSRF).

A host is resolved once. If one of its addresses is forbidden, nothing is sent. The connection goes to an address that
was checked, so a second answer of the DNS changes nothing.

| what              | accepted                                                                              |
| ----------------- | ------------------------------------------------------------------------------------- |
| scheme, port      | https and 443; others only if they are allowed                                        |
| host              | a name, or an address in its usual spelling                                           |
| addresses         | public ones, and networks that are allowed                                            |
| never an address  | link-local, metadata services, multicast, and forms of IPv6 that contain an IPv4 address |
| user and password | refused                                                                               |
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pyadeq.errors import ConfigError
from pyadeq.keys import shown

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LONGEST_URL: Final = 2000


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(map(ip_network, texts))


NEVER: Final = _networks(
    "0.0.0.0/8",  # this host
    "169.254.0.0/16",  # link-local, with the metadata services of most clouds
    "100.100.100.200/32",  # metadata: Alibaba
    "168.63.129.16/32",  # metadata: Azure, in a public network
    "192.0.0.192/32",  # metadata: Oracle
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
    "::/96",  # IPv4 in IPv6, and "any address"; ::1 is an exception, see `forbidden`
    "::ffff:0:0:0/96",  # IPv4 translated
    "64:ff9b::/96",  # NAT64
    "64:ff9b:1::/48",
    "2001::/32",  # Teredo
    "2002::/16",  # 6to4
    "fe80::/10",  # link-local
    "fec0::/10",  # site-local
    "ff00::/8",  # multicast
    "fd00:ec2::/32",  # metadata: AWS
    "fd20:ce::/32",  # metadata: Google
)
"""No setting allows these. A mapped address, ::ffff:1.2.3.4, is judged as the IPv4 address that it is."""

CLOSED: Final = _networks(
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # carrier-grade NAT
    "127.0.0.0/8",  # loopback
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # IETF
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",  # private
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "2001::/23",  # IETF
    "2001:db8::/32",  # documentation
    "3fff::/20",  # documentation
)
PUBLIC_V6: Final = ip_network("2000::/3")
"""All other addresses of IPv6 are for something else than the public network."""

LOOPBACK_V6: Final = ip_network("::1")
_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"(?:{_LABEL}\.)*(?P<last>{_LABEL})")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_BRACKETS: Final = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")  # without a zone, such as %eth0
_URL: Final = re.compile(r"[!-~]+")


class RefusedTarget(ConfigError):
    """A request may not go there."""


@dataclass(frozen=True)
class Allowed:
    """What is allowed besides https, port 443 and public addresses.

    networks: networks that would be closed, for receivers at home. http: plain HTTP, and port 80. ports: more ports.
    """

    networks: tuple[Network, ...] = ()
    http: bool = False
    ports: frozenset[int] = frozenset()

    @classmethod
    def of(cls, networks: Iterable[str] = (), *, http: bool = False, ports: Iterable[int] = ()) -> Allowed:
        """Return it from texts such as `10.0.0.0/8`. Raises ConfigError."""
        found = []
        for text in networks:
            try:
                network = ip_network(text)
            except ValueError:
                raise ConfigError(
                    f"allow: {shown(text)} is not accepted; allowed: a network, such as 10.0.0.0/8, or an address"
                ) from None
            if network != LOOPBACK_V6 and any(_is_within(network, one) for one in NEVER):
                raise ConfigError(f"allow: {shown(text)} is link-local, multicast or the like: it stays forbidden")
            found.append(network)
        for port in ports:
            if not 1 <= port <= 65535:
                raise ConfigError(f"port: {port} is not accepted; allowed: 1 to 65535")
        return cls(tuple(found), http, frozenset(ports))


class Target(NamedTuple):
    """The target of a message. host: a name or an address, without brackets. path: with the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"https": 443, "http": 80}[self.scheme] else f"{host}:{self.port}"


def target_of(url: str, allowed: Allowed) -> Target:
    """Return where a URL leads, without asking the DNS. Raises RefusedTarget."""
    if len(url) > LONGEST_URL or not _URL.fullmatch(url) or "\\" in url:
        raise RefusedTarget(f"url: not accepted; allowed: up to {LONGEST_URL} printable ASCII characters, no spaces")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RefusedTarget("url: not accepted; its host or port is malformed") from None
    if "@" in parts.netloc:
        raise RefusedTarget("url: a user and a password are not accepted")
    schemes = ("https", "http") if allowed.http else ("https",)
    if parts.scheme not in schemes:
        raise RefusedTarget(f"url: the scheme {shown(parts.scheme)} is not accepted; allowed: {' or '.join(schemes)}")
    if parts.fragment:
        raise RefusedTarget("url: a fragment (#…) is not accepted: it is not sent")
    port = port if port is not None else {"https": 443, "http": 80}[parts.scheme]
    ports = {443, *([80] if allowed.http else []), *allowed.ports}
    if port not in ports:
        raise RefusedTarget(f"url: port {port} is not accepted; allowed: {', '.join(map(str, sorted(ports)))}")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, _host(parts.netloc, parts.hostname or ""), port, path)


def _host(netloc: str, host: str) -> str:
    if "[" in netloc:
        try:
            if not _BRACKETS.fullmatch(netloc):
                raise ValueError
            return str(IPv6Address(host))
        except ValueError:
            raise RefusedTarget(
                f"url: the host {shown(netloc)} is not accepted; allowed: [an address of IPv6]"
            ) from None
    match = _HOST.fullmatch(host)
    if match is None or len(host) > 253:
        raise RefusedTarget(f"url: the host {shown(host)} is not accepted; allowed: a name in ASCII, or an address")
    if _NUMBER.fullmatch(match["last"]):  # then it is an address, and 0177.1 or 2130706433 is one, too
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise RefusedTarget(f"url: {shown(host)} is not accepted; write an address as 192.0.2.1") from None
    return host


def forbidden(address: str, networks: Sequence[Network] = ()) -> bool:
    """Return whether nothing may be sent to an address. networks: those that are allowed."""
    ip = _as_v4(ip_address(address.partition("%")[0]))
    if not _is_in(ip, [LOOPBACK_V6]) and _is_in(ip, NEVER):
        return True
    if _is_in(ip, networks):
        return False
    return _is_in(ip, CLOSED) or not ip.is_global or (ip.version == 6 and ip not in PUBLIC_V6)


def checked(host: str, addresses: Iterable[str], allowed: Allowed) -> list[str]:
    """Return the addresses of a host, each once. Raises RefusedTarget if one of them is forbidden."""
    found = list(dict.fromkeys(addresses))
    for address in found:
        if forbidden(address, allowed.networks):
            raise RefusedTarget(f"url: {shown(host)} has the address {address}, which is not public; see --allow")
    return found


def look_up(target: Target) -> list[str]:
    """Return the addresses of a host, unchecked. It blocks. Raises OSError."""
    return [str(one[4][0]) for one in socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)]


def check_url(url: str, allowed: Allowed) -> None:
    """Look the host of a URL up, and check where it leads. It blocks. Raises ConfigError."""
    target = target_of(url, allowed)
    try:
        addresses = look_up(target)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"url: the host {target.host!r} cannot be resolved: {error}") from None
    checked(target.host, addresses, allowed)


async def aio_check_url(url: str, allowed: Allowed) -> None:
    """Look the host of a URL up, and check where it leads. It does not block the event loop. Raises ConfigError."""
    await asyncio.to_thread(check_url, url, allowed)


def _as_v4(ip: Address) -> Address:
    return (ip.ipv4_mapped or ip) if isinstance(ip, IPv6Address) else ip


def _is_in(ip: Address, networks: Iterable[Network]) -> bool:
    return any(ip.version == one.version and ip in one for one in networks)


def _is_within(network: Network, other: Network) -> bool:
    return network.version == other.version and network[0] in other and network[-1] in other

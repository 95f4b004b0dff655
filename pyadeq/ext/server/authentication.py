"""Authentication: a request is made by the owner of a token, or by the user whom a proxy names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from fastapi import Request

from pyadeq.asyncio import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.operations.rights import Principal, Scope
from pyadeq.ext.server.attempts import Attempts, address_of
from pyadeq.ext.server.buckets import LEFT, Buckets
from pyadeq.ext.server.gate import Authenticate
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.tokens import NAMESPACE, TEXT, Token, is_group, owner_of, read_token
from pyadeq.keys import ALLOWED, shown

UNIX: Final = "unix"
POLL: Final = 5.0
"""Seconds after which the tokens are read again, if the server has not said that they have changed."""
LONGEST_AWAY: Final = 60.0
"""Seconds for which tokens are accepted while the server is away."""
FIRST_LOAD: Final = 2.0
"""Seconds that a request waits until the tokens are loaded for the first time."""


class Tokens:
    """Tells who makes a request by the token in its header: `Authorization: Bearer adeq_…`.

    adeq: the client. The first request begins to watch the namespace of the tokens; closing the client ends it.
    more: further tokens by id, of this process only. clock: seconds since the epoch.

    A change of a token takes effect at once, or after 5 s if the server's hint is lost. If the server is away for more
    than a minute, nobody is let in. After ten wrong secrets for one token from one address within a minute, it is not
    accepted from there until the minute is over.
    """

    def __init__(
        self, adeq: Adeq, *, more: Mapping[str, Token] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._snapshot = adeq.config(NAMESPACE).watch(poll=POLL)
        self._more = {id: token.encoded() for id, token in (more or {}).items()}
        self._clock = clock
        self._attempts = Attempts()
        self._buckets = Buckets()

    async def __call__(self, request: Request) -> Principal | None:
        """Return who makes the request; None if it has no bearer token."""
        given = bearer_of(request)
        if given is None:
            return None
        return _principal(await self._checked(request, given))

    async def id_of(self, request: Request, text: str) -> str:
        """Return the id of the token with this text. Refused if it is not accepted."""
        await self._checked(request, text)
        return text.split("_")[1]

    async def principal_of(self, request: Request, id: str) -> Principal | None:
        """Return who has the token with this id; None if it does not exist, is revoked or has expired."""
        value = await self._find(id)
        token = read_token(value) if value else None
        if value is None or token is None or token.state(self._clock()) != "valid":
            return None
        self._count(request, id, token)
        return _principal(value)

    async def _checked(self, request: Request, text: str) -> bytes:
        """What is stored of the token with this text. Refused if it is not accepted."""
        match = TEXT.fullmatch(text)
        value = await self._find(match[1]) if match else None
        token = read_token(value) if value else None
        attempt = address_of(request), match[1] if match and token else ""
        if match is None or token is None or value is None or self._attempts.wait(attempt):
            raise self._failed(attempt)
        if not token.fits(match[2]) or token.state(self._clock()) == "revoked":
            raise self._failed(attempt)
        if token.state(self._clock()) == "expired":
            raise _not_accepted("TOKEN_EXPIRED", "this token has expired")
        self._count(request, match[1], token)
        return value

    def _count(self, request: Request, id: str, token: Token) -> None:
        """Count a request, once, also if it asks again later, as a stream of events does. Refused if it is too many."""
        if token.rate is None or hasattr(request.state, LEFT):
            return
        wait = self._buckets.wait(id, token.rate)
        setattr(request.state, LEFT, self._buckets.headers(id, token.rate))
        if wait:
            detail = f"this token may make {token.rate.limit:,} requests in {token.rate.period:g} s"
            raise Refused(429, "TOO_MANY_REQUESTS", detail, headers={"Retry-After": str(wait)}, retryable=True)

    def _failed(self, attempt: tuple[str, str]) -> Refused:
        """Count an attempt that has failed, unless there were too many."""
        if wait := self._attempts.wait(attempt):
            headers = {"Retry-After": str(wait)}
            return Refused(429, "TOO_MANY_ATTEMPTS", "too many wrong tokens", headers=headers, retryable=True)
        self._attempts.failed(attempt)
        return _not_accepted("UNAUTHENTICATED", "this token is not accepted")

    async def _find(self, id: str) -> bytes | None:
        """What is stored of a token. Refused if the server is away for too long."""
        if id in self._more:
            return self._more[id]
        if not self._snapshot.loaded:
            await self._snapshot.start(FIRST_LOAD)
        if self._snapshot.age > LONGEST_AWAY:
            headers = {"Retry-After": "1"}
            raise Refused(503, "TOKENS_UNKNOWN", "the tokens cannot be read now", headers=headers, retryable=True)
        stored = self._snapshot.get(id)
        return stored and stored.value


@lru_cache(maxsize=10_000)
def _principal(value: bytes) -> Principal | None:
    token = read_token(value)
    if token is None:
        return None
    rate = None if token.rate is None else (token.rate.limit, token.rate.period)
    return Principal(token.owner, (token.scope(),), rate, token.groups)


class ProxyUsers:
    """Tells who makes a request by a header that a trusted proxy sets. Other clients that send it are refused.

    header: its name. The proxy has to remove it from what clients send, and writes each user in one way.
    proxies: where it is: networks such as `10.0.0.0/8`, or `unix` for a client at a socket. It is the address of the
    connection: a server must not replace it by `X-Forwarded-For`.
    scopes: what each such user may do. groups_header: in which the proxy names the groups of the user, with commas.
    groups: patterns of those that count, in which `*` is any text. A name that no group of a change can have does not
    count, such as one with spaces.
    """

    def __init__(
        self,
        header: str,
        proxies: Iterable[str],
        scopes: Iterable[Scope],
        *,
        groups_header: str | None = None,
        groups: Iterable[str] = ("*",),
    ) -> None:
        self._header = header
        self._groups_header = groups_header
        self._groups = tuple(groups)
        self._scopes = tuple(scopes)
        self._networks, self._socket = checked_proxies(proxies)

    async def __call__(self, request: Request) -> Principal | None:
        """Return who makes the request; None if it does not have the header."""
        given = request.headers.getlist(self._header)
        if not given:
            return None
        if not self._trusts(request.client.host if request.client else ""):
            raise Refused(403, "PROXY_NOT_TRUSTED", f"header {self._header}: it is accepted only from a trusted proxy")
        try:
            (user,) = given
            name = owner_of(f"header {self._header}", user)
        except (ValueError, ConfigError):
            what = f"header {self._header}: it is not accepted; allowed: once, with {ALLOWED['name']}"
            raise Refused(400, "BAD_REQUEST", what) from None
        return Principal(name, self._scopes, groups=self._groups_of(request))

    def _groups_of(self, request: Request) -> tuple[str, ...]:
        if self._groups_header is None:
            return ()
        given = [one.strip() for line in request.headers.getlist(self._groups_header) for one in line.split(",")]
        counting = [one for one in given if any(fnmatchcase(one, pattern) for pattern in self._groups)]
        return tuple(dict.fromkeys(one for one in counting if is_group(one)))

    def _trusts(self, host: str) -> bool:
        if not host:
            return self._socket
        try:
            address = ip_address(host)
        except ValueError:
            return False
        plain = getattr(address, "ipv4_mapped", None) or address
        return any(plain in network for network in self._networks)


def checked_proxies(proxies: Iterable[str]) -> tuple[list[IPv4Network | IPv6Network], bool]:
    """The networks of proxies, and whether a socket is one. ConfigError for others, and for the whole internet."""
    given, found = list(proxies), []
    for one in given:
        try:
            network = None if one == UNIX else ip_network(one)
        except ValueError:
            network = ip_network("::/0")
        if network is not None and not network.prefixlen:
            allowed = "a network such as 10.0.0.0/8, an address, or unix"
            raise ConfigError(f"trusted proxy: {shown(one)} is not accepted; allowed: {allowed}")
        found += [] if network is None else [network]
    return found, UNIX in given


def first_of(*authenticates: Authenticate) -> Authenticate:
    """Ask one after the other, until one knows who makes a request."""

    async def authenticate(request: Request) -> Principal | None:
        for one in authenticates:
            if found := await one(request):
                return found
        return None

    return authenticate


def bearer_of(request: Request) -> str | None:
    """The bearer token of a request; None if it has none."""
    given = request.headers.getlist("authorization")
    if len(given) > 1:
        raise Refused(400, "BAD_REQUEST", "header Authorization: it is there twice; allowed: once")
    scheme, _, text = (given or [""])[0].partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


def _not_accepted(code: str, detail: str) -> Refused:
    return Refused(401, code, detail, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})

"""What is refused before anybody is asked who it is: other hosts, writes from other sites, and tokens in URLs.

A page of another site can make a browser send requests here. A name of its own that points to this address (DNS
rebinding) would even let it read the answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote_plus, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pyadeq.errors import ConfigError
from pyadeq.ext.server.problems import Refused, answer_of
from pyadeq.ext.server.tokens import TEXT
from pyadeq.keys import shown

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITE: Final = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site: this site, or a person at the address bar."""
MOST_URL: Final = 64 * 1024
"""Bytes of the path and the query, at most."""
_HOST: Final = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\]")


class Guard:
    """Refuses requests for the reasons above.

    hosts: the names that this service has, without port; `*.example.org` is any name that ends so. None: any, where
    the application around this one looks at them. unmarked: also let writes pass that do not say where they come
    from and have no bearer token. Browsers always say it.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None = None, unmarked: bool = False) -> None:
        self._app = app
        self._hosts = None if hosts is None else checked_hosts(hosts)
        self._unmarked = unmarked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or let it pass."""
        refused = self._refusal(scope) if scope["type"] == "http" else None
        if refused:
            await answer_of(refused)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refused | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if self._hosts is not None and not (len(hosts) == 1 and _is_one_of(_name(hosts[0]), self._hosts)):
            return Refused(421, "UNKNOWN_HOST", "this service does not have the name in the header Host")
        if len(scope.get("query_string", b"")) + len(scope.get("raw_path") or b"") > MOST_URL:
            return Refused(414, "URL_TOO_LONG", f"the URL has more than {MOST_URL:,} bytes")
        if TEXT.search(unquote_plus(scope.get("query_string", b"").decode("latin-1"))):
            detail = (
                "a token in a URL is not accepted, because URLs are logged; revoke it, and send the next in a header"
            )
            return Refused(400, "TOKEN_IN_URL", detail)
        if scope["method"] in SAFE or self._is_own_site(headers, hosts):
            return None
        return Refused(403, "CROSS_SITE", "a write from another site is refused")

    def _is_own_site(self, headers: Headers, hosts: Sequence[str]) -> bool:
        if sites := headers.getlist("sec-fetch-site"):
            return OWN_SITE.issuperset(sites)
        if origins := headers.getlist("origin"):
            return len(hosts) == 1 and all(_place(origin) == hosts[0].lower() for origin in origins)
        return self._unmarked or headers.get("authorization", "").lower().startswith("bearer ")


def checked_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Names of hosts in small letters. ConfigError for one that no request can have."""
    found = tuple(host.lower() for host in hosts)
    for host in found:
        if not _HOST.fullmatch(host):
            allowed = (
                "a name or an address without port, as in tasks.example.org, *.example.org, 192.0.2.1, [2001:db8::1]"
            )
            raise ConfigError(f"trusted host: {shown(host)} is not accepted; allowed: {allowed}")
    return found


def _name(host: str) -> str:
    """The header Host without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def _is_one_of(name: str, hosts: Iterable[str]) -> bool:
    return any(
        name.endswith(host[1:]) and len(name) > len(host) - 1 if host.startswith("*.") else name == host
        for host in hosts
    )


def _place(origin: str) -> str:
    """Host and port of an origin; something that no host is for `null` and nonsense."""
    try:
        return urlsplit(origin).netloc.lower() or "null"
    except ValueError:
        return "null"

"""Names and ids in paths: each is one segment, percent-encoded, and a path is split before it is decoded.

So an id may have a `/`: `GET /v1/queues/mail/tasks/a%2Fb`. Servers decode the whole path first; `RawPaths` undoes it.
The ids `.` and `..` are encoded twice, `%252E`: browsers and many clients take even `%2E` as a step in the path.

Some proxies refuse a `%2F`. For them, the last segment `-` stands for the parameter `id` of the URL:
`POST /v1/queues/mail/tasks/-:cancel?id=a/b`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import parse_qs, quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from pyadeq.errors import ConfigError
from pyadeq.ext.server.problems import Refused, answer_of
from pyadeq.keys import shown

SEGMENT: Final = "adeq_segment"
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_DOTS: Final = {"%2E": ".", "%2E%2E": ".."}
_STANDS_FOR: Final = re.compile(r"(.*/)-(?=[:/]|$)")
"""A path up to its last segment `-`, which may have a verb behind it: `-:cancel`."""


class Segment(Convertor[str]):
    """One segment of a path, decoded. Bytes that are not UTF-8 become U+FFFD, which no name has."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Decode the segment from a path."""
        text = unquote(value, errors="replace")
        return _DOTS.get(text, text)

    def to_string(self, value: str) -> str:
        """Encode the value into a path."""
        return segment(value)


register_url_convertor(SEGMENT, Segment())


def checked_root_path(path: str, names: Collection[str]) -> str:
    """A prefix of all paths. ConfigError if it is none, or if a path of the service may begin in the same way.

    names: the first segments of the service's own paths.
    """
    if path and not _PREFIX.fullmatch(path):
        allowed = "a path without a / at its end, as in /tasks: letters, digits and . _ ~ -"
        raise ConfigError(f"root path: {shown(path)} is not accepted; allowed: {allowed}")
    if path and path.split("/")[1] in names:
        raise ConfigError(f"root path: {shown(path)} is not accepted: the service has paths of its own that begin so")
    return path


def segment(text: str) -> str:
    """Encode a name or an id as one segment of a path."""
    return quote(text.replace(".", "%2E") if text in (".", "..") else text, safe="")


def url(request: Request, path: str) -> str:
    """A path of the board or of the API, below the prefix under which the service is mounted.

    `request.url_for` looks at the routes one by one: that takes 5 to 10 % of the CPU time of an enqueue.
    """
    return f"{request.scope.get('root_path', '')}{path}"


class RawPaths:
    """Gives an application the path as it was sent, below the prefix under which the application is mounted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and scope.get("raw_path"):
            prefix: str = scope.get("root_path", "")
            raw = scope["raw_path"].partition(b"?")[0].decode("latin-1")
            if prefix and scope["path"] == prefix:
                raw = "/"
            elif scope["path"].startswith(f"{prefix}/"):  # a proxy may have taken the prefix away
                raw = "/" + "/".join(raw.split("/")[1 + prefix.count("/") :])
            if (stand_in := _STANDS_FOR.match(raw)) and b"id=" in scope["query_string"]:
                ids = parse_qs(scope["query_string"].decode("latin-1"), errors="replace").get("id", ["-"])
                if len(ids) > 1:
                    refused = Refused(400, "BAD_REQUEST", "?id: it is there several times; allowed: one id")
                    await answer_of(refused)(scope, receive, send)
                    return
                raw = f"{stand_in[1]}{segment(ids[0])}{raw[stand_in.end() :]}"
            scope = {**scope, "path": prefix + raw}
        await self._app(scope, receive, send)

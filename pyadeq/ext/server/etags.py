"""ETags: whether what is read has changed since, and whether what is written is still what was read (RFC 9110)."""

from __future__ import annotations

import hashlib
import json
import re
from inspect import signature
from typing import Annotated, Any, Final

from fastapi import Header, Request, Response
from fastapi.encoders import jsonable_encoder

from pyadeq.ext.server.problems import Refused

_TAG: Final = re.compile(r'(?:W/)?"([^"]{1,100})"')
_REV: Final = re.compile(r'\s*"r([1-9]\d{0,15})(?:-[0-9a-f]{1,64})?"\s*')
_DIGEST: Final = re.compile(r'\s*"([0-9a-f]{16}|none)(?:-[0-9a-f]{1,64})?"\s*')
_VERSION: Final = re.compile(r'\s*"v(\d{1,16})"\s*')
IfMatchVersion = Annotated[
    str | None, Header(description='`"v12"`: only if the value has this version; `"v0"`: if there is none.')
]


def answered(value: Any, response: Response, if_none_match: str | None, begins: str = "") -> Any:
    """The answer to a read, with its ETag, or 304 if the reader has it already.

    The ETag is made of the content, without the time `now`. begins: how it begins, for `If-Match`.
    """
    content = jsonable_encoder(value)
    if isinstance(content, dict):
        content.pop("now", None)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    tag = f"{begins}-{digest}" if begins else digest
    headers = {"ETag": f'"{tag}"'}
    if if_none_match is not None and (if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return value


def expected_rev(if_match: str | None) -> int | None:
    """The rev that a write expects; None: any."""
    if if_match is None:
        return None
    found = _REV.fullmatch(if_match)
    if not found:
        raise Refused(400, "BAD_REQUEST", 'header If-Match: this is not accepted; allowed: an ETag, as in "r12-3f9c"')
    return int(found[1])


def expected_digest(if_match: str | None) -> str | None:
    """The digest that a write of settings or a limit expects; None: any."""
    if if_match is None:
        return None
    found = _DIGEST.fullmatch(if_match)
    if not found:
        raise Refused(
            400, "BAD_REQUEST", "header If-Match: this is not accepted; allowed: the ETag of what you have read"
        )
    return found[1]


def expected_version(if_match: str | None) -> int | None:
    """The version that a write of a config expects; None: any."""
    if if_match is None:
        return None
    found = _VERSION.fullmatch(if_match)
    if not found:
        raise Refused(
            400, "BAD_REQUEST", 'header If-Match: this is not accepted; allowed: "v" and a version, as in "v12"'
        )
    return int(found[1])


def refuse_if_match(request: Request) -> None:
    """Refuse a condition that the path of a write cannot check together with the write."""
    endpoint: Any = getattr(request.scope.get("route"), "endpoint", None)
    if (
        "if-match" in request.headers
        and request.method not in ("GET", "HEAD")
        and hasattr(endpoint, "operation")
        and "if_match" not in signature(endpoint).parameters
    ):
        how = "header If-Match: this path cannot check it; allowed: where a read has an ETag"
        raise Refused(400, "IF_MATCH_UNSUPPORTED", how)

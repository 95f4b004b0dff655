"""Errors as problem details (RFC 9457): `application/problem+json`.

Each has `type`, `title`, `status` and `detail`, and besides: `code`, a word that programs can compare; `retryable`,
whether the same request may succeed later; and `may_have_applied`, whether it may have taken effect already.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from pyadeq.errors import (
    AdeqError,
    ConfigConflict,
    ConfigError,
    ConfigFull,
    ConflictError,
    DamagedError,
    DurabilityError,
    LayoutError,
    PartitionsChanged,
    QueueDraining,
    RateLimited,
    ScriptError,
    SessionChanged,
    SessionRefused,
    StaleError,
    TransportError,
    UnknownGroup,
    UnknownTask,
)

log = logging.getLogger("pyadeq.server")
MEDIA_TYPE: Final = "application/problem+json"
PAUSE: Final = 1
"""Seconds that a client should wait before it asks a server again that was away."""
STATUSES: Final[dict[type[AdeqError], int]] = {
    LayoutError: 503,
    StaleError: 412,
    ConflictError: 409,
    QueueDraining: 409,
    PartitionsChanged: 409,
    UnknownTask: 409,
    UnknownGroup: 404,
    ConfigConflict: 412,
    ConfigFull: 409,
    SessionRefused: 409,
    SessionChanged: 412,
    RateLimited: 429,
    ConfigError: 400,
    ScriptError: 400,
    DurabilityError: 503,
    DamagedError: 409,
    TransportError: 503,
}
"""The HTTP status of each error, special classes first. All others are 409: the call contradicts what is stored."""
FULL: Final = "OOM"
MOST_FAULTS: Final = 20
"""Values that a problem names, at most."""
_CODES: Final = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 408: "TOO_SLOW", 413: "TOO_LARGE"}
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Problem(BaseModel):
    """What went wrong, and what to do. No payload, result or token is ever part of it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    code: str = Field(description="A word that programs can compare.")
    retryable: bool = Field(False, description="Whether the same request may succeed later.")
    may_have_applied: bool = Field(False, description="Whether the request may have taken effect.")
    errors: list[Fault] = Field([], description="The values that were not accepted.")


class Fault(BaseModel):
    """A value that was not accepted. pointer: where it is, as in `#/priority` or `?limit`."""

    pointer: str
    detail: str


Problem.model_rebuild()


class Refused(Exception):
    """A request is answered with a problem."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        retryable: bool = False,
        errors: list[Fault] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.problem = Problem(
            title=HTTPStatus(status).phrase,
            status=status,
            detail=detail,
            code=code,
            retryable=retryable,
            may_have_applied=False,
            errors=errors or [],
        )


def refused_of(error: Refused | AdeqError | RequestValidationError) -> Refused:
    """The problem that an error of a request is."""
    if isinstance(error, Refused):
        return error
    return problem_of(error) if isinstance(error, AdeqError) else _of_values(error)


def answer_with_problems(app: FastAPI) -> None:
    """Let an application answer each error with a problem."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(AdeqError, _refused)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(Exception, _unexpected)


def problem_of(error: AdeqError) -> Refused:
    """The problem that an error of pyadeq is."""
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 409)
    code, headers = getattr(error, "code", "") or _code(error), {}
    if status == 503 and FULL in str(error).split()[:3]:
        status, code = 507, "SERVER_FULL"
    if status == 503:
        headers["Retry-After"] = str(PAUSE)
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    refused = Refused(status, code, str(error), headers=headers)
    refused.problem.retryable = bool(getattr(error, "retryable", status == 429))
    refused.problem.may_have_applied = bool(getattr(error, "may_have_applied", False))
    return refused


def _code(error: AdeqError) -> str:
    """`TransportError` as `TRANSPORT_ERROR`."""
    name = type(error).__name__
    return "".join(f"_{letter}" if letter.isupper() and at else letter for at, letter in enumerate(name)).upper()


class ProblemResponse(JSONResponse):
    """A problem. It may name a field that UTF-8 cannot hold."""

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def answer_of(refused: Refused) -> Response:
    """The answer to a request that is refused."""
    return ProblemResponse(
        refused.problem.model_dump(),
        status_code=refused.problem.status,
        headers=refused.headers,
        media_type=MEDIA_TYPE,
    )


async def _refused(_: Request, error: Any) -> Response:
    return answer_of(refused_of(error))


def _of_values(error: RequestValidationError) -> Refused:
    faults = [Fault(pointer=_pointer(one["loc"]), detail=_fault(one)) for one in error.errors()[:MOST_FAULTS]]
    first = f"{faults[0].pointer}: {faults[0].detail}" if faults else "the request cannot be read"
    return Refused(400, "BAD_REQUEST", first, errors=faults)


def _pointer(place: tuple[str | int, ...]) -> str:
    """Return where a value is: `#/a/0` of a body, `?limit` of a query, else `header Prefer`."""
    where, *rest = place
    if where == "body":
        return "#" + "".join(f"/{part}" for part in rest)
    name = ".".join(map(str, rest))
    return f"?{name}" if where == "query" else f"{where} {name}"


def _fault(one: Mapping[str, Any]) -> str:
    """What is wrong, without the value: it may be a payload or a secret."""
    message = str(one["msg"])
    return f"{message[:1].lower()}{message[1:]}"


async def _of_the_framework(request: Request, error: Any) -> Response:
    status, headers = error.status_code, error.headers
    if status == 405:  # the framework names the methods of the first of several routes
        headers = {"Allow": ", ".join(_methods(request))}
    code = _CODES.get(status, "BAD_REQUEST" if status < 500 else "FAILED")
    detail = "there is no such path" if status == 404 else str(error.detail)
    return answer_of(Refused(status, code, detail, headers=headers, retryable=status == 408))


def _methods(request: Request) -> list[str]:
    """The methods that the path of a request has."""
    scopes = {method: {**request.scope, "method": method} for method in METHODS}
    return [
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    ]


async def _unexpected(request: Request, error: Any) -> Response:
    log.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    return answer_of(Refused(500, "FAILED", "the service has failed; its log says why", retryable=True))

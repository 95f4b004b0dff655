"""The service: an ASGI application that serves all queues, domains and namespaces of one installation."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from pyadeq import __version__
from pyadeq.asyncio import Adeq
from pyadeq.errors import TransportError
from pyadeq.ext.server import changes, configs, locks, names, queues, rates, sessions, tasks, work
from pyadeq.ext.server.gate import Authenticate, Gate
from pyadeq.ext.server.paths import RawPaths
from pyadeq.ext.server.problems import answer_with_problems


def app(adeq: Adeq, *, authenticate: Authenticate) -> FastAPI:
    """Make the application. It can be mounted in another ASGI application, under any prefix.

    adeq: the client; it stays yours to close.
    authenticate: tells who makes a request; see `rights.Principal`. Everything but `/live` and `/ready` asks it.
    """
    service = FastAPI(
        title="pyadeq",
        version=__version__,
        description="Queues, locks, changes, sessions, rates, configs and events on Redis or Valkey.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    service.state.gate = Gate(adeq, authenticate)
    answer_with_problems(service)
    for part in (names, tasks, queues, work, locks, changes, sessions, rates, configs):
        service.include_router(part.router, prefix="/v1")
    service.add_middleware(RawPaths)

    @service.get("/live", include_in_schema=False)
    async def live() -> dict[str, Any]:
        return {"status": "live"}

    @service.get("/ready", include_in_schema=False)
    async def ready() -> Response:
        try:
            await adeq.client.ping()
        except (TransportError, OSError) as error:
            return JSONResponse({"status": "away", "detail": type(error).__name__}, status_code=503)
        return JSONResponse({"status": "ready"})

    return service

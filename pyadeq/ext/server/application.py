"""The service: an ASGI application that serves all queues, domains and namespaces of one installation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pyadeq import __version__
from pyadeq.asyncio import Adeq
from pyadeq.errors import TransportError
from pyadeq.ext.outgoing.addresses import Allowed
from pyadeq.ext.server.api import (
    bulks,
    changes,
    configs,
    event_groups,
    event_streams,
    inbox,
    kinds,
    load,
    locks,
    names,
    queues,
    rates,
    sessions,
    task_events,
    tasks,
    tokens,
    webhook_messages,
    webhooks,
    work,
)
from pyadeq.ext.server.api.bulk_runs import Bulks
from pyadeq.ext.server.api.routes import PROBLEMS
from pyadeq.ext.server.attempts import Attempts
from pyadeq.ext.server.authentication import first_of
from pyadeq.ext.server.board import (
    act,
    admin_queue,
    change,
    config,
    dead,
    enqueue,
    files,
    forms,
    limits,
    lock_domains,
    login,
    missing,
    overview,
    queue,
    rate_rules,
    realms,
    schedules,
    task,
    task_list,
    token,
    workers,
)
from pyadeq.ext.server.board import inbox as inbox_page
from pyadeq.ext.server.board import webhooks as webhooks_page
from pyadeq.ext.server.board.logins import Logins
from pyadeq.ext.server.board.looks import Looks
from pyadeq.ext.server.bodies import Bodies
from pyadeq.ext.server.buckets import RateHeaders
from pyadeq.ext.server.gate import Authenticate, Gate
from pyadeq.ext.server.guard import Guard
from pyadeq.ext.server.naming import Naming
from pyadeq.ext.server.paths import RawPaths, checked_root_path
from pyadeq.ext.server.problems import MEDIA_TYPE, answer_with_problems
from pyadeq.ext.server.reads import ask

API = (
    tasks,
    task_events,
    queues,
    kinds,
    bulks,
    load,
    work,
    locks,
    changes,
    sessions,
    rates,
    configs,
    tokens,
    webhooks,
    webhook_messages,
    event_streams,
    event_groups,
    names,
)
"""The paths of tasks are asked most, so they are compared first."""
BOARD = (
    files,
    forms,
    login,
    act,
    overview,
    queue,
    lock_domains,
    schedules,
    limits,
    rate_rules,
    realms,
    admin_queue,
    workers,
    inbox_page,
    change,
    task,
    task_list,
    token,
    enqueue,
    dead,
    config,
    webhooks_page,
)


class Service(FastAPI):
    """The application, with the media type of problems in its description."""

    def openapi(self) -> dict[str, Any]:
        """The description as OpenAPI 3.1."""
        if self.openapi_schema is None:
            found = super().openapi()
            for operation in (one for path in found["paths"].values() for one in path.values()):
                answers = operation["responses"]
                answers.pop("422", None)  # the framework's own word for what is 400 here
                for answer in (answers[status] for status in PROBLEMS if status in answers):
                    (content,) = answer["content"].values()
                    answer["content"] = {MEDIA_TYPE: content}
        return super().openapi()


@asynccontextmanager
async def _running(service: FastAPI) -> AsyncIterator[None]:
    """Resume bulks and refresh names while the service runs by itself. A mounted one does it when it is asked."""
    resuming = asyncio.create_task(service.state.bulks.resume())
    service.state.naming.start()
    yield
    resuming.cancel()
    service.state.naming.stop()


def described() -> FastAPI:
    """The application with all its paths, without a client: enough to describe it."""
    service = Service(
        title="pyadeq",
        version=__version__,
        description="Queues, locks, changes, sessions, rates, configs and events on Redis or Valkey.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_running,
    )
    service.router.routes.extend(_routes(False))
    return service


@cache
def _routes(board: bool) -> list[BaseRoute]:
    """The routes of the API or of the board. All applications of a process share them: to make them takes 0.2 s."""
    made = APIRouter()
    if board:
        for part in BOARD:
            made.include_router(part.router)
    else:
        for part in API:
            made.include_router(part.router, prefix="/v1")
        made.include_router(inbox.router)
    return made.routes


def app(
    adeq: Adeq,
    *,
    authenticate: Authenticate,
    hosts: Iterable[str] | None = None,
    unmarked: bool = False,
    board: bool = True,
    logins: Logins | None = None,
    root_path: str = "",
    allowed: Allowed | None = None,
) -> FastAPI:
    """Make the application. It can be mounted in another ASGI application, under any prefix.

    adeq: the client; it stays yours to close.
    authenticate: tells who makes a request; see `rights.Principal`. Everything but `/live` and `/ready` asks it.
    hosts: the names that the service has, such as `tasks.example.org`; requests for others are refused. None: any. Name
    them if browsers can reach it, unless the application around it looks at the header Host.
    unmarked: also accept writes without a bearer token that do not say from which site they come, as browsers do.
    board: whether it has pages for people.
    logins: lets them log in with a token; without, `authenticate` alone says who they are.
    root_path: the path under which a proxy shows the service, such as `/tasks`. The proxy may take it away or not. A
    mounted application knows its own.
    allowed: where webhooks may go, besides public addresses by https.
    """
    service = described()
    service.state.gate = gate = Gate(adeq, authenticate if logins is None else first_of(authenticate, logins))
    service.state.bulks = Bulks(adeq, lambda name: gate.find("queue", name, False))
    service.state.naming = naming = Naming(adeq)
    service.state.logins = logins
    service.state.attempts = Attempts()
    service.state.allowed = allowed
    if board:
        service.state.looks = Looks(gate, naming)
        service.router.routes.extend(_routes(True))
    answer_with_problems(service)
    service.add_middleware(RateHeaders)
    service.add_middleware(RawPaths)
    service.add_middleware(Bodies)
    service.add_middleware(Guard, hosts=hosts, unmarked=unmarked)  # the outermost: it sees each request first

    @service.get("/live", include_in_schema=False)
    async def live() -> dict[str, Any]:
        return {"status": "live"}

    @service.get("/ready", include_in_schema=False)
    async def ready() -> Response:
        try:
            await ask(adeq, "ping")
        except (TransportError, OSError) as error:
            return JSONResponse({"status": "away", "detail": type(error).__name__}, status_code=503)
        return JSONResponse({"status": "ready"})

    shown = {route.path.split("/")[1] for part in BOARD for route in part.router.routes if isinstance(route, Route)}
    service.root_path = checked_root_path(root_path, shown | {"v1", "inbox", "live", "ready"})
    if board:
        service.include_router(missing.router)
    return service

"""A FastAPI service with sessions and rate limits, behind uvicorn: a client speaks HTTP to it over a socket."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from httpx import AsyncClient

from pyadeq import Session
from pyadeq.asyncio import Adeq
from pyadeq.ext.connect.asgi import RateLimits, Sessions


async def logged_in(request: Request) -> Session:
    """Return the session of a request, or answer 401."""
    session: Session | None = await request.session.load()  # type: ignore[attr-defined]
    if session is None:
        raise HTTPException(401, "log in first")
    return session


def service(adeq: Adeq) -> FastAPI:
    app = FastAPI()
    app.add_middleware(RateLimits, rates=adeq.rates("web"), hits=lambda _: [("requests", "all")])
    app.add_middleware(Sessions, sessions=adeq.sessions("web"))

    @app.post("/login")
    async def log_in(request: Request, user: str) -> dict[str, str]:
        session = await request.session.create(user, roles=["reader"])  # type: ignore[attr-defined]
        return {"user": session.user}

    @app.get("/me")
    async def me(session: Annotated[Session, Depends(logged_in)]) -> dict[str, Any]:
        return {"user": session.user, "roles": session.roles}

    return app


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """The address at which uvicorn serves it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


async def test_users_log_in_and_their_requests_are_limited(url: str, base_name: str) -> None:
    async with Adeq.from_url(url, prefix=base_name) as adeq:
        await adeq.rates("web").set("requests", limit=6, period=3600, algorithm="log")
        async with (
            served(service(adeq)) as address,
            AsyncClient(base_url=address) as ann,
            AsyncClient(base_url=address) as bob,
        ):
            assert (await ann.get("/me")).status_code == 401
            welcome = await ann.post("/login", params={"user": "ann"})
            assert welcome.json() == {"user": "ann"}
            # Browsers send a secure cookie to localhost without TLS; this client does not.
            ann.headers["cookie"] = welcome.headers["set-cookie"].partition(";")[0]
            assert (await ann.get("/me")).json() == {"user": "ann", "roles": ["reader"]}
            assert (await bob.get("/me")).status_code == 401
            assert (await adeq.sessions("web").revoke_all("ann")).ended == 1
            assert (await ann.get("/me")).status_code == 401
            assert (await bob.get("/me")).status_code == 401
            refused = await bob.get("/me")
            assert refused.status_code == 429
            assert 0 < int(refused.headers["retry-after"]) <= 3600

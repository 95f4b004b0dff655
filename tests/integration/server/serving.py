"""The service behind uvicorn, at a socket, as a process of its own would be."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import Request

from pyadeq.asyncio import Adeq
from pyadeq.ext.server import Principal, app, everything
from pyadeq.ext.server.gate import Authenticate


async def _anybody(_: Request) -> Principal:
    return everything("ann")


@asynccontextmanager
async def served(url: str, prefix: str, authenticate: Authenticate = _anybody) -> AsyncIterator[str]:
    """The address of a service that shares nothing with others but the server."""
    async with Adeq.from_url(url, prefix=prefix) as adeq:
        service = app(adeq, authenticate=authenticate, unmarked=True)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            config = uvicorn.Config(service, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve([listening]))
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            finally:
                server.should_exit = True
                await serving

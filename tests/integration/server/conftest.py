"""The service, asked over HTTP in this process, and who asks."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.server import Principal, Scope, app, everything, rights_of

Ask = Callable[..., AsyncClient]


@pytest.fixture
async def adeq(url: str, base_name: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, prefix=base_name) as adeq:
        yield adeq


@pytest.fixture
async def asking(adeq: Adeq) -> AsyncIterator[Ask]:
    """`asking("queue.observe", names=["mail"], user="ann")` is a client that has these rights; without any, all.

    `asking(None)` is nobody that the service knows. name, groups: of the principal.
    """
    people: dict[str, Principal] = {"all": everything("ann")}

    async def authenticate(request: Request) -> Principal | None:
        return people.get(request.headers.get("authorization", "").removeprefix("Bearer "))

    service = app(adeq, authenticate=authenticate)
    async with AsyncExitStack() as stack:

        def ask(
            *rights: str | None,
            names: tuple[str, ...] = ("*",),
            user: str | None = None,
            name: str = "",
            groups: tuple[str, ...] = (),
        ) -> AsyncClient:
            who = "all"
            if rights == (None,):
                who = "nobody"
            elif rights:
                who = str(len(people))
                scopes = (Scope(rights_of(filter(None, rights)), names, user),)
                people[who] = Principal(name or f"p{who}", scopes, groups=groups)
            client = AsyncClient(
                transport=ASGITransport(service, raise_app_exceptions=False),
                base_url="http://service",
                headers={"Authorization": f"Bearer {who}"},
            )
            stack.push_async_callback(client.aclose)
            return client

        yield ask


@pytest.fixture
def http(asking: Ask) -> AsyncClient:
    """Somebody who may do anything."""
    return asking()

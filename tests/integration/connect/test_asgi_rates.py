"""The middleware of rates under Starlette, asked by a real client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from pyadeq.asyncio import Adeq, Rates
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import BadArgument
from pyadeq.ext.connect.asgi import RateLimits, client_address
from tests.integration.conftest import Clock


async def greet(_: Request) -> PlainTextResponse:
    return PlainTextResponse("hello", headers={"x-own": "yes"})


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


def by_path(scope: Any) -> list[Any]:
    """`/free` is not limited; `/large` costs more than the rule allows at once."""
    costs = {"/": 1, "/large": 9}
    return [("page", client_address(scope), costs[scope["path"]])] if scope["path"] in costs else []


@pytest.fixture
async def rates(url: str, base_name: str, clock: Clock) -> AsyncIterator[Rates]:
    async with Adeq.from_url(url, clock=clock) as adeq:
        rates = adeq.rates(base_name)
        await rates.configure(clock="test")
        await rates.set("page", limit=2, period=5, burst=2)
        yield rates


def client_of(rates: Rates, hits: Any = by_path, **options: Any) -> httpx.AsyncClient:
    routes: list[Any] = [Route(path, greet) for path in ("/", "/free", "/large")]
    app = Starlette(
        routes=[*routes, WebSocketRoute("/socket", echo)],
        middleware=[Middleware(RateLimits, rates=rates, hits=hits, **options)],
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def test_requests_beyond_the_rule_are_refused_until_it_allows_them(rates: Rates, clock: Clock) -> None:
    async with client_of(rates) as client:
        assert [(await client.get("/")).status_code for _ in range(3)] == [200, 200, 429]
        refused = await client.get("/")
        assert refused.headers["retry-after"] == "3"  # 2.5 s, rounded up
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json() == {
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Too Many Requests",
            "status": 429,
            "violated-policies": ["page"],
        }
        assert not any(name.startswith("ratelimit") for name in refused.headers)
        clock.tick(2.4)
        assert (await client.get("/")).headers["retry-after"] == "1"
        clock.tick(0.1)
        passed = await client.get("/")
        assert (passed.status_code, passed.text, passed.headers["x-own"]) == (200, "hello", "yes")


async def test_what_hits_no_rule_passes(rates: Rates) -> None:
    async with client_of(rates) as client:
        assert {(await client.get("/free")).status_code for _ in range(5)} == {200}
    assert (await rates.peek("page", "127.0.0.1")).remaining == 2


async def test_what_is_never_allowed_is_not_to_be_tried_again(rates: Rates) -> None:
    async with client_of(rates) as client:
        refused = await client.get("/large")
        assert (refused.status_code, "retry-after" in refused.headers) == (429, False)


async def test_headers_of_the_draft_are_switchable(rates: Rates) -> None:
    await rates.set("all", algorithm="log", limit=9, period=60)

    async def hits(scope: Any) -> list[Any]:
        return [("page", "ann"), ("all", "all")]

    async with client_of(rates, hits, headers=True) as client:
        first = await client.get("/")
        assert first.headers["ratelimit-policy"] == '"page";q=2;w=5, "all";q=9;w=60'
        assert first.headers["ratelimit"] == '"page";r=1;t=3, "all";r=8;t=61'
        assert first.headers["x-own"] == "yes"
        await client.get("/")
        refused = await client.get("/")
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "3"
        assert refused.headers["ratelimit"] == '"page";r=0;t=3, "all";r=7;t=3'


async def test_other_scopes_pass(rates: Rates) -> None:
    passed: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError("nobody is told anything")

    await RateLimits(app, rates, by_path)({"type": "websocket", "path": "/"}, nothing, nothing)
    await RateLimits(app, rates, by_path)({"type": "lifespan"}, nothing, nothing)
    assert passed == ["websocket", "lifespan"]


async def test_a_rule_that_does_not_exist_is_an_error_and_no_refusal(rates: Rates) -> None:
    async with client_of(rates, lambda _: [("pages", "ann")]) as client:
        with pytest.raises(BadArgument, match="got 'pages'"):
            await client.get("/")


async def test_requests_are_open_or_closed_while_the_server_is_away(binary: Path, base_name: str) -> None:
    with EmbeddedServer(binary=binary) as server:
        async with Adeq.from_url(server.url) as adeq:
            rates = adeq.rates(base_name)
            await rates.set("open", limit=9, period=60, on_error="open")
            await rates.set("closed", limit=9, period=60)

            def hits(scope: Any) -> list[Any]:
                return [(scope["query_string"].decode(), "ann")]

            async with client_of(rates, hits) as client, client_of(rates, hits, on_error="open") as lenient:
                assert [(await client.get(f"/?{rule}")).status_code for rule in ("open", "closed")] == [200, 200]
                server.stop()
                assert (await client.get("/?open")).status_code == 200
                closed = await client.get("/?closed")
                assert (closed.status_code, closed.headers["retry-after"]) == (503, "1")
                assert closed.json()["title"] == "Service Unavailable"
                assert (await client.get("/?unknown")).status_code == 503
                assert (await lenient.get("/?unknown")).status_code == 200
                assert (await lenient.get("/?closed")).status_code == 503, "the rule is known"


@pytest.mark.parametrize("client", [("fe80::1", 1), ("10.0.0.1", 1)])
def test_the_address_of_a_client_is_a_subject(client: tuple[str, int]) -> None:
    assert client_address({"client": client}) == client[0]


@pytest.mark.parametrize("client", [("fe80::1%eth0", 1), ("a b", 1), ("x" * 300, 1)])
def test_an_address_that_is_no_subject_becomes_one(client: tuple[str, int]) -> None:
    assert len(client_address({"client": client})) == 64
    assert client_address({"client": client}) != client_address({"client": ("other one", 1)})


def test_a_client_without_an_address_is_a_subject_too() -> None:
    assert client_address({"client": None}) == client_address({}) == "unknown"

"""The sessions of a web service: a Starlette application and a client with a cookie jar, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from pyadeq.asyncio import Adeq
from pyadeq.asyncio import Sessions as Realm
from pyadeq.errors import ConfigError
from pyadeq.ext.connect.asgi import RequestSession, Sessions

COOKIE = "__Host-session"


def of(request: Any) -> RequestSession:
    found: Any = request.session
    assert isinstance(found, RequestSession)
    return found


async def log_in(request: Request) -> Response:
    form = request.query_params
    session = await of(request).create(form["user"], roles=["reader"])
    return PlainTextResponse(session.handle)


async def show(request: Request) -> Response:
    found = await asyncio.gather(*[of(request).load() for _ in range(5)])
    assert all(one is found[0] for one in found)
    session = found[0]
    return PlainTextResponse(f"{session.user} {','.join(session.roles)}" if session else "nobody")


async def become_admin(request: Request) -> Response:
    if not await of(request).update(roles=["reader", "admin"]):
        return PlainTextResponse("nobody", 401)
    await of(request).rotate()
    return PlainTextResponse("admin")


async def log_out(request: Request) -> Response:
    await of(request).end()
    return PlainTextResponse("bye", headers={"cache-control": "max-age=60"})


async def public(_: Request) -> Response:
    return PlainTextResponse("hello", headers={"cache-control": "max-age=60"})


async def talk(socket: WebSocket) -> None:
    session = await of(socket).load()
    await socket.accept()
    await socket.send_text(session.user if session else "nobody")
    await socket.close()


ROUTES = [
    Route("/login", log_in, methods=["POST"]),
    Route("/me", show),
    Route("/admin", become_admin, methods=["POST"]),
    Route("/logout", log_out, methods=["POST"]),
    Route("/", public),
    WebSocketRoute("/talk", talk),
]


class Counting:
    """A realm that counts the calls that it makes."""

    def __init__(self, realm: Realm) -> None:
        self.realm, self.calls = realm, 0

    def __getattr__(self, name: str) -> Any:
        self.calls += 1
        return getattr(self.realm, name)


@pytest.fixture
async def realm(url: str, base_name: str) -> AsyncIterator[Counting]:
    async with Adeq.from_url(url, prefix=base_name) as adeq:
        yield Counting(adeq.sessions("web"))


def service(realm: Any, **options: Any) -> Any:
    return Starlette(routes=ROUTES, middleware=[Middleware(Sessions, sessions=realm, **options)])


def browser(app: Any) -> AsyncClient:
    return AsyncClient(transport=ASGITransport(app), base_url="https://example.org")


async def test_a_user_logs_in_gets_more_rights_and_logs_out(realm: Counting) -> None:
    async with browser(service(realm)) as client:
        assert (await client.get("/me")).text == "nobody"
        answer = await client.post("/login", params={"user": "ann"})
        first = client.cookies[COOKIE]
        assert answer.headers["set-cookie"] == f"{COOKIE}={first}; Path=/; Secure; HttpOnly; SameSite=Lax"
        assert answer.headers["cache-control"] == "no-store"
        assert (await client.get("/me")).text == "ann reader"
        assert (await client.post("/admin")).text == "admin"
        second = client.cookies[COOKIE]
        assert second != first
        assert (await client.get("/me")).text == "ann reader,admin"
        assert await realm.realm.get(first) is None
        answer = await client.post("/logout")
        assert answer.headers["set-cookie"] == f"{COOKIE}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax"
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert COOKIE not in client.cookies
        assert await realm.realm.get(second) is None
        assert (await client.post("/admin")).status_code == 401


async def test_a_login_ends_the_session_before_at_once(realm: Counting) -> None:
    """An id that somebody has put into the browser of another user is of no use after the login."""
    async with browser(service(realm)) as client, browser(service(realm)) as thief:
        await thief.post("/login", params={"user": "eve"})
        planted = thief.cookies[COOKIE]
        client.cookies.set(COOKIE, planted, domain="example.org")
        answer = await client.post("/login", params={"user": "ann"})
        assert planted not in answer.headers["set-cookie"]
        assert (await thief.get("/me")).text == "nobody"


async def test_each_request_asks_the_server_once_and_only_if_it_needs_a_session(realm: Counting) -> None:
    async with browser(service(realm)) as client:
        await client.post("/login", params={"user": "ann"})
        realm.calls = 0
        answer = await client.get("/")
        assert (answer.text, realm.calls) == ("hello", 0)
        assert "set-cookie" not in answer.headers
        assert answer.headers["cache-control"] == "max-age=60"
        await client.get("/me")  # which loads the session five times
        assert realm.calls == 1
        client.cookies.clear()
        assert ((await client.get("/me")).text, realm.calls) == ("nobody", 1)


async def test_a_cookie_that_nobody_has_issued_is_nobody(realm: Counting) -> None:
    async with browser(service(realm)) as client:
        for value in ("x", "00." + "A" * 43, '"quoted"', ""):
            answer = await client.get("/me", headers={"cookie": f"other=1; {COOKIE}={value}; more"})
            assert (answer.text, "set-cookie" in answer.headers) == ("nobody", False)


async def test_requests_with_a_rotated_id_stay_logged_in_for_the_grace(realm: Counting) -> None:
    made = await realm.realm.create("ann", roles=["reader"])
    app = service(realm)

    async def rotate(request: Request) -> Response:
        new = await of(request).rotate(grace=60)
        return PlainTextResponse("rotated" if new and new.rotated else "new")

    app.router.routes.append(Route("/rotate", rotate))
    async with browser(app) as client:
        sent = {"cookie": f"{COOKIE}={made.id}"}
        answers = await asyncio.gather(*[client.get("/rotate", headers=sent) for _ in range(20)])
        assert sorted(one.text for one in answers) == ["new", *["rotated"] * 19]
        assert [one.text for one in answers if "set-cookie" in one.headers] == ["new"]
        assert (await client.get("/me", headers=sent)).text == "ann reader"


async def test_a_persistent_cookie_lasts_as_long_as_the_session(realm: Counting) -> None:
    async with browser(service(realm, persistent=True, same_site="strict", name="app")) as client:
        answer = await client.post("/login", params={"user": "ann"})
        _, flags = answer.headers["set-cookie"].split("; ", 1)
        assert flags == "Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Strict"
        assert client.cookies["__Host-app"]


async def test_websockets_have_the_session_too(realm: Counting) -> None:
    made = await realm.realm.create("ann")
    said = []
    headers = [(b"cookie", f"{COOKIE}={made.id}".encode())]
    scope = {"type": "websocket", "path": "/talk", "headers": headers, "query_string": b"", "subprotocols": []}

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        said.append(message.get("text"))

    await service(realm)(scope, receive, send)
    assert said[1] == "ann"


async def test_other_scopes_pass(realm: Counting) -> None:
    seen = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope)

    await Sessions(app, realm.realm)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert seen == [{"type": "lifespan"}]


@pytest.mark.parametrize(
    ("options", "error"), [({"name": "a b"}, "name: 'a b'"), ({"same_site": "x"}, "same_site: 'x'")]
)
async def test_options_that_are_refused(realm: Counting, options: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError, match=f"{error} is not accepted; allowed: "):
        Sessions(service(realm), realm.realm, **options)

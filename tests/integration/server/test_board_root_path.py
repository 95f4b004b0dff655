"""The service under a prefix: mounted, behind a proxy that takes the prefix away, and behind one that does not."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from typing import Any

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from pyadeq import Adeq as Sync
from pyadeq.asyncio import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.server import Principal, app, everything
from tests.browser.screens import LOST, PATHS, fill

pytestmark = pytest.mark.any_engine
LINK = re.compile(r'(?:href|src|action|formaction)="([^"]*)"')


async def _anybody(_: Request) -> Principal:
    return everything("ann")


def behind(service: Any) -> Any:
    """A proxy that takes the prefix away."""

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        def without(path: Any, prefix: Any) -> Any:
            assert path.startswith(prefix)
            return path[len(prefix) :]

        inner = {**scope, "path": without(scope["path"], "/tasks"), "raw_path": without(scope["raw_path"], b"/tasks")}
        await service(inner, receive, send)

    return proxy


def asking(adeq: Adeq, way: str) -> AsyncClient:
    """A client of the service, as others reach it."""
    service: Any = app(adeq, authenticate=_anybody, unmarked=True, root_path="" if way == "mounted" else "/tasks")
    if way == "mounted":
        service = Starlette(routes=[Mount("/tasks", service)])
    elif way == "stripped":
        service = behind(service)
    return AsyncClient(transport=ASGITransport(service), base_url="http://service")


@pytest.mark.parametrize("way", ["mounted", "stripped", "whole"])
async def test_all_links_stay_below_the_prefix(adeq: Adeq, url: str, base_name: str, way: str) -> None:
    with Sync.from_url(url, prefix=base_name) as client:
        await asyncio.to_thread(fill, client)
    http, known, opened = asking(adeq, way), set[str](), 0
    for path in PATHS:
        answer = await http.get(f"/tasks{path}")
        opened += answer.status_code == 200
        assert (answer.status_code == 200) == (path not in LOST), path
        links = {unescape(link) for link in LINK.findall(answer.text)} - {"#page"}
        assert [link for link in links if not link.startswith(("/tasks/", "#"))] == [], path
        known |= {link for link in links if "/do/" not in link and not link.endswith(("login", "logout"))}
    assert opened > 3
    for link in known:
        found = await http.get(link, follow_redirects=True)
        assert found.status_code == 200, link
        assert found.url.path.startswith("/tasks/")
    paused = await http.post("/tasks/do/v1/queues/mail:pause", data={"_next": "/queues/mail"})
    assert paused.headers["location"] == "/tasks/queues/mail"
    task = await http.post("/tasks/v1/queues/mail/tasks", json={"id": "a/b"})
    assert task.headers["location"] == "/tasks/v1/queues/mail/tasks/a%2Fb"
    assert (await http.get(task.headers["location"])).json()["id"] == "a/b"
    assert (await http.get("/tasks/login")).status_code == 200


@pytest.mark.parametrize("way", ["stripped", "whole"])
async def test_the_prefix_alone_is_the_first_page(adeq: Adeq, way: str) -> None:
    http = asking(adeq, way)
    assert "<h1>Queues</h1>" in (await http.get("/tasks/")).text
    if way == "whole":
        assert "<h1>Queues</h1>" in (await http.get("/tasks")).text


@pytest.mark.parametrize("path", ["tasks", "/tasks/", "/", "//x", "/a b", "/..", "/v1", "/queues/x", "/login"])
async def test_a_root_path_that_is_not_accepted(adeq: Adeq, path: str) -> None:
    with pytest.raises(ConfigError, match=r"^root path: "):
        app(adeq, authenticate=_anybody, root_path=path)

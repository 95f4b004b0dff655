"""The service while its server is away."""

from pathlib import Path

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.server import Principal, app, everything

pytestmark = pytest.mark.any_engine


async def everybody(_: Request) -> Principal:
    return everything("ann")


async def test_each_answer_says_that_it_may_be_tried_again(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server:
        adeq = Adeq.from_url(server.url, retry_for=0.2)
        await adeq.queue("mail").enqueue(1, id="a")
    transport = ASGITransport(app(adeq, authenticate=everybody, unmarked=True))
    async with adeq, AsyncClient(transport=transport, base_url="http://service") as http:
        for path in ("/v1/queues/mail", "/v1/queues/mail/tasks/a", "/v1/configs/app/values/b", "/v1/locks/git/edges"):
            answer = await http.get(path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), path
            assert answer.json()["retryable"] is True
        written = await http.post("/v1/queues/mail/tasks", json={})
        assert written.status_code == 503
        assert (await http.get("/ready")).status_code == 503
        assert (await http.get("/live")).status_code == 200


async def test_each_page_says_so_and_comes_back(binary: Path, tmp_path: Path) -> None:
    pages = ("/queues/mail", "/queues/mail/tasks?state=ready", "/queues/mail/tasks/a", "/queues/mail/dead")
    with EmbeddedServer(tmp_path, binary=binary) as server:
        adeq = Adeq.from_url(server.url, retry_for=0.2)
        await adeq.queue("mail").enqueue(1, id="a")
        service = app(adeq, authenticate=everybody, unmarked=True)
        async with adeq, AsyncClient(transport=ASGITransport(service), base_url="http://service") as http:
            for page in ("/", *pages):
                assert (await http.get(page)).status_code == 200, page
            server.kill()
            service.state.looks.forget()
            for page in pages:
                answer = await http.get(page)
                assert (answer.status_code, "<h1>Service Unavailable</h1>" in answer.text) == (503, True), page
            first = await http.get("/")  # it still knows the names, and says of each what is wrong
            assert (first.status_code, "the call was not applied" in first.text) == (200, True)
            refused = await http.post("/do/v1/queues/mail:pause", data={"_next": "/queues/mail"})
            assert (refused.status_code, "<h1>Service Unavailable</h1>" in refused.text) == (503, True)
            server.restart()
            for page in ("/", *pages):
                assert (await http.get(page)).status_code == 200, page

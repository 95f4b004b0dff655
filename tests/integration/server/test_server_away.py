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

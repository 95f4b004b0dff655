"""Each operation while the server is away."""

from pathlib import Path
from typing import Any

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.server import Principal, app, everything
from tests.integration.server.attacks.routes import OPERATIONS

pytestmark = pytest.mark.any_engine


async def everybody(_: Request) -> Principal:
    return everything("ann")


@pytest.mark.slow
@pytest.mark.rotates(0, 1)
async def test_each_operation_says_that_it_may_be_tried_again(binary: Path) -> None:
    """Or answers without the server, or says first what is wrong with the request. None fails."""
    with EmbeddedServer(binary=binary) as server:
        adeq = Adeq.from_url(server.url, retry_for=0)
        await adeq.queue("a").enqueue(1, id="a")
    transport = ASGITransport(app(adeq, authenticate=everybody, unmarked=True), raise_app_exceptions=False)
    away = 0
    async with adeq, AsyncClient(transport=transport, base_url="http://service") as http:
        for one in OPERATIONS:
            options: dict[str, Any] = (
                {} if not one.writes else {"json": {}} if one.path.startswith("/v1") else {"data": {"a": "1"}}
            )
            answer = await http.request(one.method, one.at(), **options)
            assert answer.status_code in (200, 303, 400, 403, 404, 405, 415, 422, 503), (one, answer.text)
            if answer.status_code == 503:
                away += 1
                assert answer.headers.get("retry-after") == "1", (one, answer.text)
                is_page = answer.headers["content-type"].startswith("text/html")
                assert "<h1>Service Unavailable</h1>" in answer.text if is_page else answer.json()["retryable"], one
    assert away > 100

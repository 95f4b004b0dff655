"""Bodies that are too large, too slow or too many, and the largest one that is accepted."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from itertools import islice, repeat
from typing import Any
from urllib.parse import urlsplit

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.server import bodies, guard
from tests.integration.server.conftest import Ask
from tests.integration.server.serving import served

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"
MEGABYTE = 1024 * 1024
PART = b" " * 65_536
MANY = 1_000_000
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("path", "headers"),
    [(TASKS, JSON), ("/inbox", JSON), ("/do/v1/queues/mail/tasks", FORM), ("/queues/mail/enqueue", FORM)],
)
async def test_a_body_without_end_is_cut(asking: Ask, path: str, headers: dict[str, str], known: bool) -> None:
    """No more of it is read than the limit, whoever sends it, and whether its length is given or not."""
    http, taken = asking() if known else asking(None), list[bytes]()

    async def endless() -> AsyncIterator[bytes]:
        for part in islice(repeat(PART), 1000):
            taken.append(part)
            yield part

    said = await http.post(path, content=b"", headers={**headers, "Content-Length": str(bodies.MOST + 1)})
    assert (said.status_code, said.json()["code"]) == (413, "TOO_LARGE")
    answer = await http.post(path, content=endless(), headers=headers)
    assert answer.status_code in ((413,) if known else (401, 413)), answer.text
    assert len(taken) * len(PART) <= bodies.MOST + len(PART)


async def test_a_payload_of_a_megabyte_is_kept(adeq: Adeq, http: AsyncClient) -> None:
    """As JSON it is twice as long. One byte more is refused, and nothing is lost."""
    payload = "ü" * ((MEGABYTE - 2) // 2)
    made = await http.post(TASKS, content=json.dumps({"id": "a", "payload": payload}), headers=JSON)
    assert made.status_code == 202, made.text
    assert (await http.get(f"{TASKS}/a")).json()["payload"] == payload
    page = await http.get("/queues/mail/tasks/a")
    assert (page.status_code, len(page.content) < MEGABYTE // 2) == (200, True)
    for path, body in ((TASKS, {"id": "b", "payload": payload + "a"}), ("/inbox?queue=mail", payload + "a")):
        refused = await http.post(path, json=body)
        assert (refused.status_code, "payload" in refused.json()["detail"]) == (400, True), refused.text
    form = await http.post("/do/v1/queues/mail/tasks", data={"payload": "a" * (MEGABYTE - 2)})
    assert form.status_code == 303, form.text
    assert (await adeq.queue("mail").stats()).ready == 2


@pytest.mark.slow
@pytest.mark.rotates(0, 1)
@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        pytest.param(TASKS, "{" + ",".join(f'"{n}":1' for n in range(MANY // 2)) + "}", JSON, id="fields"),
        pytest.param("/v1/queues/mail:settle", {"acks": [{}] * MANY}, JSON, id="acks"),
        pytest.param(TASKS, {"tags": ["a"] * MANY}, JSON, id="tags"),
        pytest.param(TASKS, "[" * MANY, JSON, id="levels"),
        pytest.param(TASKS, '{"payload":' + "9" * MANY + "}", JSON, id="digits"),
        pytest.param("/do/v1/queues/mail/tasks", "a=1&" * (MANY // 2), FORM, id="form"),
        pytest.param("/login", "token=1&" * (MANY // 5), FORM, id="login"),
    ],
)
async def test_a_million_parameters_are_refused(
    http: AsyncClient, path: str, body: str | dict[str, Any], headers: dict[str, str]
) -> None:
    content = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    refused = await http.post(path, content=content, headers=headers)
    assert refused.status_code in (400, 404), refused.text[:1000]
    assert len(refused.content) < 20_000


@pytest.mark.parametrize("path", [TASKS, "/v1/stats", "/queues/mail/tasks", "/"])
async def test_a_url_without_end_is_refused(
    adeq: Adeq, http: AsyncClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await adeq.queue("mail").enqueue(1)
    many = "&".join(["state=ready"] * 2000 + ["queue=mail"] * 2000)
    assert (await http.get(f"{path}?{many}")).status_code in (200, 400)
    monkeypatch.setattr(guard, "MOST_URL", len(many))  # the client of this test sends no longer ones
    refused = await http.get(f"{path}?{many}")
    assert (refused.status_code, refused.json()["code"]) == (414, "URL_TOO_LONG")


@pytest.mark.slow
@pytest.mark.rotates(0, 1)
async def test_a_body_that_trickles_is_ended(
    url: str, base_name: str, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are served meanwhile, and what had come of it is not applied."""
    monkeypatch.setattr(bodies, "LONGEST", 0.3)
    lines = (f"POST {TASKS} HTTP/1.1", "Host: a", "Content-Type: application/json", "Content-Length: 100", "", "{")
    async with served(url, base_name) as address, AsyncClient(base_url=address, timeout=30) as http:
        place = urlsplit(address)
        slow = [await asyncio.open_connection(place.hostname, place.port, family=socket.AF_INET) for _ in range(50)]
        for _, writer in slow:
            writer.write("\r\n".join(lines).encode())
        assert (await http.post(TASKS, json={"id": "a"})).status_code == 202
        for reader, writer in slow:
            answer = (await reader.read(-1)).decode()
            assert answer.startswith("HTTP/1.1 408"), answer
            assert '"code":"TOO_SLOW"' in answer
            assert '"retryable":true' in answer
            writer.close()
    assert (await adeq.queue("mail").stats()).ready == 1

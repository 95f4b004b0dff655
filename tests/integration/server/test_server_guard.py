"""What is refused before anybody is asked who it is: other hosts, other sites, tokens in URLs."""

from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient, Response

from pyadeq.asyncio import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.server import app, everything
from pyadeq.ext.server.guard import checked_hosts
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"
BEARER = {"Authorization": "Bearer all"}


def service(adeq: Adeq, **options: Any) -> FastAPI:
    async def everybody(_: Any) -> Any:
        return everything("ann")

    return app(adeq, authenticate=everybody, **options)


async def ask(service: FastAPI, method: str, path: str, headers: dict[str, str], **options: Any) -> Response:
    transport = ASGITransport(service, raise_app_exceptions=False)
    async with AsyncClient(transport=transport, base_url="http://tasks.example.org", headers=headers) as client:
        return await client.request(method, path, **options)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("tasks.example.org", 200),
        ("TASKS.example.org:8080", 200),
        ("127.0.0.1:9478", 200),
        ("[::1]:9478", 200),
        ("a.wild.example.org", 200),
        ("wild.example.org", 421),
        ("evilwild.example.org", 421),
        ("example.org", 421),
        ("tasks.example.org.evil.org", 421),
        ("tasks.example.org@evil.org", 421),
        ("tasks.example.org.", 421),
        ("127.0.0.1.evil.org:9478", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
@pytest.mark.parametrize("path", ["/live", TASKS])
async def test_only_known_hosts_are_served(adeq: Adeq, path: str, host: str, status: int) -> None:
    """A page whose name points here (DNS rebinding) has its own name in Host."""
    await adeq.queue("mail").configure()
    served = service(adeq, hosts=["tasks.example.org", "127.0.0.1", "[::1]", "*.wild.example.org"])
    found = await ask(served, "GET", path, {"Host": host}, params={"state": "ready"} if path == TASKS else {})
    assert found.status_code == status, found.text
    if status == 421:
        assert (found.json()["code"], found.headers["content-type"]) == ("UNKNOWN_HOST", "application/problem+json")


async def test_the_description_is_for_known_hosts_too(adeq: Adeq) -> None:
    served = service(adeq, hosts=["tasks.example.org"])
    assert (await ask(served, "GET", "/v1/openapi.json", {"Host": "evil.example.org"})).status_code == 421


async def test_two_hosts_are_refused(adeq: Adeq) -> None:
    served = service(adeq, hosts=["tasks.example.org"])
    async with AsyncClient(transport=ASGITransport(served), base_url="http://tasks.example.org") as client:
        twice = [("Host", "tasks.example.org"), ("Host", "evil.org")]
        assert (await client.get("/live", headers=twice)).status_code == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 202),
        ({"Sec-Fetch-Site": "none"}, 202),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://tasks.example.org"}, 403),
        ({"Sec-Fetch-Site": "cross-site", **BEARER}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": "http://tasks.example.org"}, 202),
        ({"Origin": "https://Tasks.example.org"}, 202),
        ({"Origin": "http://tasks.example.org:8080"}, 403),
        ({"Origin": "http://evil.org"}, 403),
        ({"Origin": "http://tasks.example.org.evil.org"}, 403),
        ({"Origin": "http://evil.org", **BEARER}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": ""}, 403),
        (BEARER, 202),
        ({}, 403),
        ({"Authorization": "Basic YTpi"}, 403),
        ({"Referer": "http://tasks.example.org/"}, 403),
    ],
)
async def test_writes_from_other_sites_are_refused(adeq: Adeq, headers: dict[str, str], status: int) -> None:
    found = await ask(service(adeq), "POST", TASKS, headers, json={})
    assert found.status_code == status, found.text
    if status == 403:
        assert found.json()["code"] == "CROSS_SITE"
        assert not [name async for name in adeq.queues()]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "NONSENSE"])
async def test_each_method_that_writes_is_looked_at(adeq: Adeq, method: str) -> None:
    for path in (TASKS, "/v1/queues/mail/limits/all", "/v1/queues/mail/settings", "/nowhere"):
        refused = await ask(service(adeq), method, path, {"Sec-Fetch-Site": "cross-site"})
        assert (refused.status_code, refused.json()["code"]) == (403, "CROSS_SITE")


async def test_reads_pass(adeq: Adeq) -> None:
    await adeq.queue("mail").configure()
    for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.org"}):
        found = await ask(service(adeq), "GET", "/v1/queues/mail/stats", headers)
        assert found.status_code == 200
        assert "access-control-allow-origin" not in found.headers, "so no page of another site can read it"


async def test_a_service_on_loopback_may_pass_unmarked_writes(adeq: Adeq) -> None:
    served = service(adeq, unmarked=True)
    assert (await ask(served, "POST", TASKS, {}, json={})).status_code == 202
    for headers in ({"Origin": "http://evil.org"}, {"Sec-Fetch-Site": "same-site"}):
        assert (await ask(served, "POST", TASKS, headers, json={})).status_code == 403


async def test_a_token_in_a_url_is_refused(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").configure()
    text = f"adeq_{'0' * 12}_{'A' * 43}"
    for query in (f"token={text}", f"a={text}&b", f"%61deq{text[4:]}"):
        refused = await asking().get(f"/v1/queues/mail/stats?{query}")
        assert (refused.status_code, refused.json()["code"]) == (400, "TOKEN_IN_URL")
        assert text not in refused.text


@pytest.mark.parametrize("host", ["*", "a b", "http://a", "a:80", "", "*.", "a.*.b", "[::1", "a/b"])
def test_a_host_that_no_request_has(host: str) -> None:
    with pytest.raises(ConfigError, match="is not accepted; allowed: a name or an address"):
        checked_hosts([host])

"""Pages of other sites, which make a browser send requests: by a form, and by a name that points here."""

from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.server import Logins, Tokens, app, everything
from tests.integration.server.attacks.routes import OPERATIONS

pytestmark = pytest.mark.any_engine


async def anybody(_: Any) -> Any:
    return everything("ann")


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}])
async def test_no_form_of_another_site_is_accepted(adeq: Adeq, headers: dict[str, str]) -> None:
    tokens = Tokens(adeq)
    service = app(adeq, authenticate=anybody, logins=Logins(adeq, tokens))
    async with AsyncClient(transport=ASGITransport(service), base_url="http://service", headers=headers) as http:
        writes = [one for one in OPERATIONS if one.writes]
        assert len(writes) > 150
        for one in writes:
            refused = await http.request(one.method, one.at(), data={"_method": "DELETE"})
            assert (refused.status_code, refused.json()["code"]) == (403, "CROSS_SITE"), one
    for noun in ("queue", "lock", "change", "rate", "config", "session"):
        assert [name async for name in adeq.names(noun)] == [], noun


async def test_nothing_is_served_below_another_name(adeq: Adeq) -> None:
    """DNS rebinding: to the browser, the page of the attacker and this service are one site."""
    service = app(adeq, authenticate=anybody, hosts=["service"], unmarked=True)
    headers = {"Host": "evil.example:9478", "Sec-Fetch-Site": "same-origin"}
    async with AsyncClient(transport=ASGITransport(service), base_url="http://service", headers=headers) as http:
        for one in OPERATIONS:
            refused = await http.request(one.method, one.at())
            assert refused.status_code == 421, one
            assert one.method == "HEAD" or refused.json()["code"] == "UNKNOWN_HOST"

"""Users that a trusted proxy names in a header."""

from typing import Any

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient, Response

from pyadeq.asyncio import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.server import ProxyUsers, Scope, Tokens, app, first_of, rights_of
from pyadeq.ext.server.tokens import new_token

pytestmark = pytest.mark.any_engine
USER = "X-Forwarded-User"
PATH = "/v1/queues/mail/stats"


async def ask(
    adeq: Adeq, headers: Any, *, address: str | None = "10.1.2.3", proxies: tuple[str, ...] = ("10.0.0.0/8",)
) -> Response:
    await adeq.queue("mail").configure()
    proxy = ProxyUsers(USER, proxies, [Scope(rights_of(["producer"]))])
    service = app(adeq, authenticate=first_of(proxy, Tokens(adeq)))
    client: Any = None if address is None else (address, 1)
    async with AsyncClient(transport=ASGITransport(service, client=client), base_url="http://service") as http:
        return await http.get(PATH, headers=headers)


async def test_a_user_of_the_proxy_gets_in(adeq: Adeq) -> None:
    assert (await ask(adeq, {USER: "ann@example.org"})).status_code == 200
    assert (await ask(adeq, {})).status_code == 401
    assert (await ask(adeq, {"X-User": "ann"})).status_code == 401


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("10.255.0.1", 200),
        ("::ffff:10.0.0.1", 200),
        ("11.0.0.1", 403),
        ("127.0.0.1", 403),
        ("2001:db8::a00:1", 403),
        ("testclient", 403),
        (None, 403),
    ],
)
async def test_the_header_of_others_is_refused(adeq: Adeq, address: str | None, status: int) -> None:
    more = {"X-Forwarded-For": "10.0.0.1", "X-Real-IP": "10.0.0.1", "Forwarded": "for=10.0.0.1"}
    found = await ask(adeq, {USER: "ann", **more}, address=address)
    assert found.status_code == status
    if status == 403:
        assert found.json()["code"] == "PROXY_NOT_TRUSTED"


async def test_a_proxy_at_a_socket(adeq: Adeq) -> None:
    assert (await ask(adeq, {USER: "ann"}, address=None, proxies=("unix",))).status_code == 200
    assert (await ask(adeq, {USER: "ann"}, proxies=("unix",))).status_code == 403


async def test_an_untrusted_header_is_refused_even_with_a_token(adeq: Adeq) -> None:
    id, text, token = new_token("ann", ["observer"])
    await adeq.config("_tokens").set(id, token.encoded())
    both = {USER: "root", "Authorization": f"Bearer {text}"}
    assert (await ask(adeq, both, address="192.0.2.1")).status_code == 403
    assert (await ask(adeq, {"Authorization": f"Bearer {text}"}, address="192.0.2.1")).status_code == 200


@pytest.mark.parametrize("user", ["", "a b", "a,b", "a\tb", "x" * 101, "<b>", "jürgen"])
async def test_names_that_no_user_has(adeq: Adeq, user: str) -> None:
    refused = await ask(adeq, {USER: user.encode()})
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")


async def test_a_header_that_comes_twice_is_refused(adeq: Adeq) -> None:
    """The client's, to which the proxy has added its own."""
    assert (await ask(adeq, [(USER, "root"), (USER, "ann")])).status_code == 400


async def test_the_user_is_the_actor_in_small_letters(adeq: Adeq) -> None:
    service = app(adeq, authenticate=ProxyUsers(USER, ["10.0.0.0/8"], [Scope(rights_of(["producer"]))]))
    transport = ASGITransport(service, client=("10.0.0.1", 1))
    async with AsyncClient(transport=transport, base_url="http://service") as http:
        headers = {USER: "Ann@Example.org", "Origin": "http://service"}
        made = await http.post("/v1/queues/mail/tasks", json={"id": "a"}, headers=headers)
    assert made.status_code == 202
    found = await adeq.queue("mail").get("a")
    assert found
    assert found.source == "api:ann@example.org"


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0", "*", "10.0.0.1/8", "proxy.example.org", ""])
def test_a_network_that_is_not_accepted(network: str) -> None:
    with pytest.raises(ConfigError, match=r"trusted proxy: .* is not accepted; allowed: a network"):
        ProxyUsers(USER, [network], [])


async def test_groups_that_cannot_be_named_do_not_count(adeq: Adeq) -> None:
    proxy = ProxyUsers(USER, ["10.0.0.0/8"], [], groups_header="X-Groups", groups=["*a*", "CN=*"])
    request = Request(
        {
            "type": "http",
            "client": ("10.0.0.1", 1),
            "headers": [
                (b"x-forwarded-user", b"ann"),
                *[(b"x-groups", one) for one in (b"dba, Domain Users, ops", b"CN=a,dba")],
            ],
        }
    )
    found = await proxy(request)
    assert found
    assert found.groups == ("dba",)

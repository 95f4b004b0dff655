"""Tokens by REST and on the board: who may make which, that the text is shown once, and revoking."""

import re
from typing import Any

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.operations.rights import MANAGE, all_rights, rights_of
from pyadeq.ext.server import Principal, Scope, everything
from pyadeq.ext.server.tokens import NAMESPACE, new_token, not_given, read_token, revoked
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
MARKUP = "<b>"


async def stored(adeq: Adeq) -> dict[str, Any]:
    return {id: read_token(one.value) for id, one in (await adeq.config(NAMESPACE).list()).items()}


async def test_a_token_is_made_seen_and_revoked(adeq: Adeq, http: AsyncClient) -> None:
    made = await http.post("/v1/tokens", json={"owner": "CI", "rights": ["producer"], "names": ["mail-*"]})
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    text, id = made.json()["token"], made.json()["id"]
    token = (await stored(adeq))[id]
    assert (token.owner, token.fits(text.split("_", 2)[2])) == ("ci", True)
    listed = await http.get("/v1/tokens")
    assert [(one["id"], one["state"]) for one in listed.json()["items"]] == [(id, "valid")]
    assert text.split("_", 2)[2] not in listed.text
    assert token.hash not in listed.text
    assert [(await http.delete(f"/v1/tokens/{id}")).status_code for _ in range(2)] == [204, 204]
    assert (await stored(adeq))[id].state(token.created) == "revoked"
    missing = await http.delete(f"/v1/tokens/{text}")
    assert (missing.status_code, text in missing.text) == (404, False)
    found = [one async for one in adeq.config(NAMESPACE).history(id)]
    assert [(one.actor, one.reason) for one in found] == [("ann", "revoked"), ("ann", "")]


def test_no_role_has_the_right_to_manage_tokens() -> None:
    assert MANAGE in all_rights()
    for role in ("observer", "producer", "worker", "operator"):
        assert MANAGE not in rights_of([role])


@pytest.mark.parametrize(
    ("own", "wanted", "field"),
    [
        ({}, {"rights": ["queue.operate"]}, "rights"),
        ({}, {"rights": ["operator"]}, "rights"),
        ({}, {"rights": ["payload.reveal"]}, "rights"),
        ({}, {}, None),
        ({}, {"rights": [MANAGE, "queue.observe"]}, None),
        ({"names": ("mail-*",)}, {}, "names"),
        ({"names": ("mail-*",)}, {"names": ["mail-*", "news"]}, "names"),
        ({"names": ("mail-*",)}, {"names": ["mail-a*", "mail-1", "mail-*-x"]}, None),
        ({"names": ("mail-?",)}, {"names": ["mail-*"]}, "names"),
        ({"names": ("[a-z]*",)}, {"names": ["*"]}, "names"),
        ({"names": ("mail-?",)}, {"names": ["mail-1"]}, None),
        ({"user": "ann"}, {}, "user"),
        ({"user": "ann"}, {"user": "ben"}, "user"),
        ({"user": "ann"}, {"user": "ann"}, None),
        ({"rate": (10, 1.0)}, {}, "rate"),
        ({"rate": (10, 1.0)}, {"rate": (11, 60)}, "rate"),
        ({"rate": (100, 60.0)}, {"rate": (10, 1)}, "rate"),
        ({"rate": (10, 1.0)}, {"rate": (10, 60)}, None),
    ],
)
def test_nobody_gives_more_than_they_have(own: dict[str, Any], wanted: dict[str, Any], field: str | None) -> None:
    rights = rights_of([MANAGE, "queue.observe", "queue.produce"])
    who = Principal("ann", (Scope(rights, own.get("names", ("*",)), own.get("user")),), own.get("rate"))
    _, _, token = new_token("ci", **({"rights": ["queue.observe"]} | wanted))
    why = not_given(who, token)
    assert (why and why.partition(":")[0]) == field


def test_rights_of_another_scope_do_not_count() -> None:
    who = Principal("ann", (Scope(rights_of([MANAGE]), ("mail",)), Scope(rights_of(["operator"]))))
    _, _, token = new_token("ci", ["operator"])
    assert not_given(who, token)
    assert not_given(everything("ann"), token) is None


async def test_others_tokens_do_not_exist(adeq: Adeq, asking: Ask) -> None:
    id, _, admin = new_token("root", ["operator"])
    mine, _, small = new_token("ci", ["queue.observe"], names=["mail-1"])
    await adeq.config(NAMESPACE).set_many({id: admin.encoded(), mine: small.encoded()})
    http = asking(MANAGE, "queue.observe", names=("mail-*",))
    assert [one["id"] for one in (await http.get("/v1/tokens")).json()["items"]] == [mine]
    page = (await http.get("/tokens")).text
    assert f'data-id="{mine}"' in page
    assert id not in page
    assert (await http.delete(f"/v1/tokens/{id}")).status_code == 404
    refused = await http.post("/v1/tokens", json={"owner": "me", "rights": ["operator"]})
    assert (refused.status_code, "so you cannot give it" in refused.json()["detail"]) == (403, True)
    assert len(await stored(adeq)) == 2
    assert (await stored(adeq))[id].revoked is None


async def test_without_the_right_there_is_nothing(adeq: Adeq, asking: Ask) -> None:
    http = asking("operator", "payload.reveal")
    new = {"owner": "me", "rights": ["observer"]}
    for answer in (
        await http.get("/tokens"),
        await http.post("/tokens", data={"owner": "me", "rights:list": "observer"}),
        await http.post("/do/v1/tokens", data={"owner": "me", "rights:list": "observer"}),
        await http.get("/v1/tokens"),
        await http.post("/v1/tokens", json=new),
        await http.delete("/v1/tokens/0123456789ab"),
    ):
        assert answer.status_code == 403, answer.url
    assert await stored(adeq) == {}
    assert 'href="/tokens"' not in (await http.get("/")).text
    assert 'href="/tokens"' in (await asking(MANAGE).get("/")).text


async def test_the_form_shows_the_text_once(adeq: Adeq, http: AsyncClient) -> None:
    fields = {
        "owner": "ci",
        "rights:list": ["producer", "payload.reveal"],
        "names:list": "mail-*, news",
        "user": "",
        "limit:int": "100",
        "period:int": "60",
        "lifetime:float": "86400.0",
    }
    made = await http.post("/tokens", data=fields)
    assert (made.status_code, made.headers["cache-control"]) == (201, "private, no-store")
    assert "set-cookie" not in made.headers
    found = re.search(r"<pre[^>]*>(adeq_[0-9a-f]{12}_[\w-]{43})</pre>", made.text)
    assert found
    assert found[1].split("_", 2)[2] not in (await http.get("/tokens")).text
    ((id, token),) = (await stored(adeq)).items()
    assert token.rights == ("producer", "payload.reveal")
    assert token.names == ("mail-*", "news")
    assert (token.user, token.rate.limit, token.rate.period) == (None, 100, 60)
    assert token.expires == pytest.approx(token.created + 86_400)
    await http.post("/tokens", data=fields | {"owner": "cron", "forever:bool": "true"})
    assert sorted(one.expires is None for one in (await stored(adeq)).values()) == [False, True]
    wrong = await http.post("/tokens", data=fields | {"owner": MARKUP})
    assert (wrong.status_code, MARKUP in wrong.text) == (400, False)
    assert (await http.post(f"/do/v1/tokens/{id}", data={"_method": "DELETE", "_next": "/tokens"})).status_code == 303
    assert (await stored(adeq))[id].revoked
    assert await adeq.config(NAMESPACE).get(id)


async def test_a_revoked_token_is_listed_and_cannot_be_revived(adeq: Adeq, http: AsyncClient) -> None:
    id, _, token = new_token("ci", ["operator"])
    await adeq.config(NAMESPACE).set(id, revoked(token).encoded())
    page = (await http.get("/tokens")).text
    assert '<span class="tag bad">revoked</span>' in page
    assert f"/do/v1/tokens/{id}" not in page

"""Ids and names that mean something elsewhere: in paths, in pages, in headers, in keys of the server."""

import re

import pytest

from pyadeq.asyncio import Adeq
from tests.integration.server.attacks.routes import OPERATIONS, PARAMETER
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
ODD = {
    "dots": "..",
    "path": "../../v1/tokens?a=%2F&b=%252e%252e",
    "markup": "'\"><img src=x onerror=alert(1)><script>alert(1)</script>",
    "control": "a\r\nSet-Cookie: a=b\0\x1b[31m\u202e",
    "bytes": "\udcff",
    "pattern": "*",
    "own": "_tokens",
    "long": "x" * 5000,
}
KNOWN = frozenset({200, 202, 204, 303, 400, 403, 404, 405, 409, 415, 422})


@pytest.mark.slow
@pytest.mark.rotates(0, 1)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
async def test_an_odd_id_is_refused_or_shown_as_text(adeq: Adeq, asking: Ask, odd: str) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    http = asking()
    text = odd.encode(errors="surrogateescape").decode(errors="replace")
    for one in OPERATIONS:
        if "{" not in one.path or "/static" in one.path:
            continue
        first, *rest = PARAMETER.findall(one.path)
        for values in ({first: text}, {"queue": "mail", "name": "mail", **dict.fromkeys(rest, text)}):
            if "/v1/events/" in one.path and values.get("name") == "mail" and one.method == "GET" and len(rest) == 1:
                continue  # an endless answer
            given = {"name": "mail"} | values if one.path.startswith("/v1/events/") else values
            answer = await http.request(one.method, one.at(**given), json={} if one.writes else None)
            assert answer.status_code in KNOWN, (one, answer.text)
            assert "set-cookie" not in answer.headers or "a=b" not in answer.headers["set-cookie"], one
            page = answer.text if answer.headers.get("content-type", "").startswith("text/html") else ""
            assert not re.search(r"<img|<script>", page), one
            assert answer.status_code < 400 or page or answer.json()["code"], one


@pytest.mark.parametrize("id", ["a/b", ".", "..", "a//b", "./a", "a:cancel", "-", "a+b@c-d"])
async def test_an_id_that_is_accepted_is_found_at_its_path(asking: Ask, id: str) -> None:
    http = asking()
    made = await http.post("/v1/queues/mail/tasks", json={"id": id})
    assert made.status_code == 202, made.text
    for path in (made.headers["location"], made.headers["location"].removeprefix("/v1")):
        found = await http.get(path)
        assert found.status_code == 200, path
    assert (await http.get(made.headers["location"])).json()["id"] == id

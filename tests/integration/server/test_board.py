"""The board's pages as they are sent: who sees them, what its forms do, and its logins."""

import re
import time
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.posts.codes import new_codes
from pyadeq.ext.server import Logins, Tokens, app
from pyadeq.ext.server.board.forms import filled
from pyadeq.ext.server.tokens import new_token, read_token, revoked
from tests.integration.server.conftest import Ask
from tests.waiting import eventually

pytestmark = pytest.mark.any_engine
SAME = {"Sec-Fetch-Site": "same-origin"}


async def test_a_queue_is_shown_and_paused_by_a_form(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    http = asking("operator")
    overview = (await http.get("/")).text
    assert 'href="/queues/mail"' in overview
    page = await http.get("/queues/mail")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    form = re.search(r'action="(/do/v1/queues/mail:pause)"', page.text)
    assert form
    done = await http.post(form[1], data={"_next": "/queues/mail", "_said": "It is paused."})
    assert (done.status_code, done.headers["location"]) == (303, "/queues/mail")
    after = (await http.get("/queues/mail")).text
    assert "It is paused." in after
    assert ":resume" in after
    assert "It is paused." not in (await http.get("/queues/mail")).text  # it is said once


async def test_a_reader_sees_no_button_and_can_do_nothing(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    http = asking("queue.observe", names=("mail",))
    assert ":pause" not in (await http.get("/queues/mail")).text
    refused = await http.post("/do/v1/queues/mail:pause", data={"_next": "/"})
    assert refused.status_code == 403
    assert "<h1>Forbidden</h1>" in refused.text
    assert (await adeq.queue("mail").stats()).mode == "running"
    assert (await http.get("/queues/news")).status_code == 404
    assert (await http.get("/v1/nothing")).headers["content-type"] == "application/problem+json"
    assert "<h1>Not Found</h1>" in (await http.get("/nothing")).text


async def test_a_fragment_is_the_changing_part_only(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1)
    part = (await asking().get("/queues/mail", headers={"X-Fragment": "1"})).text
    assert part.lstrip().startswith("<main")
    assert "<html" not in part


@pytest.mark.parametrize("next", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\n"])
async def test_a_form_leads_to_this_service_only(adeq: Adeq, asking: Ask, next: str) -> None:
    await adeq.queue("mail").enqueue(1)
    done = await asking().post("/do/v1/queues/mail:pause", data={"_next": next})
    assert done.headers["location"] == "/"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("a=1&" * 201, 400),
        ("x=" + "a" * (2 * 1024 * 1024), 413),
        ("payload:json={", 400),
        ("weight:float=much", 400),
        ("payload:json=" + "[" * 100_000, 400),
        ("a." * 5000 + "b=1", 400),
        ("_method=GET", 400),
    ],
)
async def test_forms_that_are_not_accepted(asking: Ask, body: str, status: int) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await asking().post("/do/v1/queues/mail/tasks", content=body, headers=kind)).status_code == status


def test_what_a_form_says_is_filled_with_plain_fields_only() -> None:
    said = "{count} tasks of {queue} {count:>9} {count.real} {no}"
    assert filled(said, {"count": 3, "queue": "{count}"}) == "3 tasks of {count} {count:>9} {count.real} {no}"


async def test_only_forms_are_accepted(asking: Ask) -> None:
    assert (await asking().post("/do/v1/queues/mail/tasks", json={})).status_code == 415


class Board:
    """A service with logins, and the browser of somebody."""

    def __init__(self, adeq: Adeq, scheme: str = "http") -> None:
        self.adeq = adeq
        self.tokens = Tokens(adeq)
        self.logins = Logins(adeq, self.tokens)
        service = app(adeq, authenticate=self.tokens, logins=self.logins)
        self.http = AsyncClient(
            transport=ASGITransport(service, raise_app_exceptions=False),
            base_url="http://service",
            headers=SAME | {"Origin": f"{scheme}://service"},
        )

    async def token(self, *rights: str, **options: Any) -> str:
        id, text, token = new_token("ann", rights or ["operator"], **options)
        await self.adeq.config("_tokens").set(id, token.encoded())

        async def known() -> bool:
            bearer = {"Authorization": f"Bearer {text}"}
            return (await self.http.get("/v1/queues", headers=bearer)).status_code == 200

        await eventually(known)
        return text


async def test_a_login_by_a_token_lasts_as_long_as_the_token(adeq: Adeq) -> None:
    await adeq.queue("mail").enqueue(1)
    board = Board(adeq)
    text = await board.token()
    id = text.split("_")[1]
    to_login = await board.http.get("/queues/mail?x=1")
    assert (to_login.status_code, to_login.headers["location"]) == (303, "/login?next=%2Fqueues%2Fmail%3Fx%3D1")
    wrong = await board.http.post("/login", data={"token": f"{text[:-1]}x", "next": "/"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    done = await board.http.post("/login", data={"token": text, "next": "/queues/mail"})
    assert (done.status_code, done.headers["location"]) == (303, "/queues/mail")
    cookie = done.headers["set-cookie"]
    assert cookie.startswith("adeq_board=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert text not in cookie
    assert (await board.http.get("/queues/mail")).status_code == 200
    assert (await board.http.get("/v1/queues/mail/stats")).status_code == 200
    tokens = adeq.config("_tokens")
    found = await tokens.get(id)
    token = found and read_token(found.value)
    assert token
    await tokens.set(id, revoked(token, time.time()).encoded())

    async def out() -> bool:
        return (await board.http.get("/queues/mail")).status_code == 303

    await eventually(out)


async def test_logging_out_ends_the_login_on_the_server(adeq: Adeq) -> None:
    board = Board(adeq)
    await board.http.post("/login", data={"token": await board.token()})
    stolen = board.http.cookies["adeq_board"]
    assert (await board.http.get("/")).status_code == 200
    assert (await board.http.post("/logout")).status_code == 303
    assert "adeq_board" not in board.http.cookies
    board.http.cookies["adeq_board"] = stolen
    assert (await board.http.get("/")).status_code == 303


async def test_a_code_logs_in_once(adeq: Adeq) -> None:
    board = Board(adeq)
    code = await board.logins.code((await board.token()).split("_")[1])
    assert code in (await board.http.get(f"/login?code={code}")).text  # a look at the link does not use it up
    assert (await board.http.post("/login", data={"code": code})).status_code == 303
    assert (await board.http.get("/")).status_code == 200
    board.http.cookies.clear()
    for wrong in (code, code[:-1], "x", "\0", "a" * 5000):
        assert (await board.http.post("/login", data={"code": wrong})).status_code == 401, wrong


async def test_a_code_of_a_post_is_no_login(adeq: Adeq) -> None:
    board = Board(adeq)
    await adeq.queue("mail").enqueue({}, id="m1")
    task = await adeq.queue("mail").get("m1")
    assert task
    codes = await new_codes(adeq, "ops", "mail", task)
    assert (await board.http.post("/login", data={"code": codes["retry"]})).status_code == 401
    assert await adeq.sessions("_codes").get(codes["retry"]), "it is not used up"
    link = await board.http.get("/act/retry/mail/m1")
    assert link.headers["location"] == "/login?next=%2Fact%2Fretry%2Fmail%2Fm1"


async def test_a_login_at_https_needs_its_own_cookie(adeq: Adeq) -> None:
    board = Board(adeq, "https")
    done = await board.http.post("/login", data={"token": await board.token()})
    cookie = done.headers["set-cookie"]
    assert cookie.startswith("__Host-adeq_board=")
    assert "Secure" in cookie
    id = cookie.partition("=")[2].partition(";")[0]
    assert (await board.http.get("/", headers={"Cookie": f"__Host-adeq_board={id}"})).status_code == 200
    assert (await board.http.get("/", headers={"Cookie": f"adeq_board={id}"})).status_code == 303


async def test_another_site_cannot_post_a_form(adeq: Adeq) -> None:
    await adeq.queue("mail").enqueue(1)
    board = Board(adeq)
    await board.http.post("/login", data={"token": await board.token()})
    for path in ("/do/v1/queues/mail:pause", "/login", "/logout"):
        refused = await board.http.post(path, data={}, headers={"Sec-Fetch-Site": "cross-site"})
        assert (refused.status_code, refused.json()["code"]) == (403, "CROSS_SITE"), path
    assert (await board.http.get("/")).status_code == 200

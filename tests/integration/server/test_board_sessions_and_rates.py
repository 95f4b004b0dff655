"""The pages of sessions and rates for operators: looking somebody up, ending logins, resetting what was counted."""

import re

import pytest

from pyadeq.asyncio import Adeq
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine


async def test_sessions_of_a_user_are_shown_and_ended(adeq: Adeq, asking: Ask) -> None:
    realm = adeq.sessions("web")
    ids = [(await realm.create("ann", name="<b>laptop</b>")).id for _ in range(2)]
    await realm.create("bob")
    http = asking("session.observe", "session.auth")
    assert 'href="/sessions/web"' in (await http.get("/sessions")).text
    assert "/sessions/web?user=bob" in (await http.get("/sessions/web")).text
    text = (await http.get("/sessions/web?user=ann")).text
    assert "/sessions/web?user=bob" not in text
    assert "&lt;b&gt;laptop&lt;/b&gt;" in text
    assert "<b>laptop" not in text
    assert not [id for id in ids if id in text]
    form = re.search(rf'value="({realm.handle(ids[0])})"', text)
    assert form
    one = {"handles:list": form[1], "_next": "/sessions/web"}
    assert (await http.post("/do/v1/sessions/web/users/ann:revoke", data=one)).status_code == 303
    assert [await realm.get(id) is None for id in ids] == [True, False]
    ended = {"_next": "/sessions/web", "_said": "{ended} sessions were ended."}
    assert (await http.post("/do/v1/sessions/web/users/ann:revoke_all", data=ended)).status_code == 303
    assert "1 sessions were ended." in (await http.get("/sessions/web?user=ann")).text
    assert await realm.get(ids[1]) is None


async def test_logins_of_the_board_are_nobodys_business(adeq: Adeq, asking: Ask) -> None:
    for name in ("_board", "web"):
        await adeq.sessions(name).create("ann")
        await adeq.rates(name).set("r", limit=1, period=60)
    http = asking()
    for path in ("/sessions", "/rates"):
        text = (await http.get(path)).text
        assert f'href="{path}/web"' in text
        assert "_board" not in text
        assert (await http.get(f"{path}/_board")).status_code == 404


async def test_a_reader_ends_and_resets_nothing(adeq: Adeq, asking: Ask) -> None:
    realm, rates = adeq.sessions("web"), adeq.rates("web")
    session = await realm.create("ann")
    await rates.set("r", limit=1, period=60)
    await rates.hit("r", "ann")
    http = asking("observer")
    for page in ("/sessions/web?user=ann", "/rates/web?subject=ann"):
        assert "/do/" not in (await http.get(page)).text
    for path, form in (
        ("sessions/web/users/ann:revoke_all", {"renew_authz:bool": "true"}),
        ("sessions/web/users/ann:revoke", {"handles:list": session.handle}),
        ("rates/web/rules/r/subjects/ann:reset", {"_next": "/"}),
        ("rates/web/rules/r", {"_method": "DELETE"}),
    ):
        assert (await http.post(f"/do/v1/{path}", data=form)).status_code == 403, path
    assert await realm.get(session.id)
    assert (await rates.peek("r", "ann")).remaining == 0
    assert (await asking("queue.observe").get("/sessions/web")).status_code == 403


async def test_a_subject_is_looked_up_and_reset(adeq: Adeq, asking: Ask) -> None:
    rates = adeq.rates("api")
    await rates.set("login", limit=1, period=60)
    await rates.hit("login", "ann")
    http = asking("rate.observe", "rate.use", "rate.operate")
    assert '<span class="tag bad">refuses</span>' in (await http.get("/rates/api?subject=ann")).text
    assert '<span class="tag good">allows</span>' in (await http.get("/rates/api?subject=bob")).text
    form = "/do/v1/rates/api/rules/login/subjects/ann:reset"
    assert f'action="{form}"' in (await http.get("/rates/api?subject=ann")).text
    assert (await http.post(form, data={"_next": "/"})).status_code == 303
    assert (await rates.peek("login", "ann")).remaining == 1
    rule = {"_method": "PUT", "_id": "jobs", "algorithm": "concurrency", "limit:int": "3", "lease:float": "30"}
    rule |= {"period:float": "", "burst:int": "", "on_error": "open", "shadow:bool": "true"}
    assert (await http.post("/do/v1/rates/api/rules/-", data=rule)).status_code == 303
    stored = await rates.get("jobs")
    assert stored
    assert (stored.algorithm, stored.limit, stored.on_error, stored.shadow) == ("concurrency", 3, "open", True)
    assert '<span class="tag warn">only reports</span>' in (await http.get("/rates/api")).text
    assert (await http.post("/do/v1/rates/api/rules/jobs", data={"_method": "DELETE"})).status_code == 303
    assert await rates.get("jobs") is None

"""The pages that links of posts lead to: what a code allows, once, and what a login allows."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.errors import TransportError
from pyadeq.ext.outgoing.posts.codes import new_codes
from pyadeq.ext.server.board import act as board
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
ACT = "/act/retry/mail/a%2F1"
ERROR = "<b>&amp;"


async def dead(adeq: Adeq, id: str = "a/1", **options: str) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue("secret payload", id=id, user="ann", **options)  # type: ignore[arg-type]
    (lease,) = await queue.claim()
    await queue.fail(lease, error=ERROR, retryable=False)


async def state(adeq: Adeq, id: str = "a/1") -> str | None:
    found = await adeq.queue("mail").get(id)
    return found.state if found else None


async def codes_of(adeq: Adeq) -> Mapping[str, str]:
    task = await adeq.queue("mail").get("a/1")
    assert task
    return await new_codes(adeq, "ops", "mail", task)


async def test_a_code_acts_once_on_a_click(adeq: Adeq, asking: Ask) -> None:
    nobody = asking(None)
    await dead(adeq)
    codes = await codes_of(adeq)
    link = f"{ACT}?code={codes['retry']}"
    for _ in range(3):
        page = await nobody.get(link)  # as a preview of a chat service does
        assert page.status_code == 200
        assert f'<form method="post" action="{ACT}">' in page.text
        assert "&lt;b&gt;&amp;amp;" in page.text
        assert "secret payload" not in page.text
        assert "ann" not in page.text
        assert page.headers["referrer-policy"] == "same-origin"
    assert await state(adeq) == "dead"
    done = await nobody.post(ACT, data={"code": codes["retry"]})
    assert (done.status_code, "The task is ready again." in done.text) == (200, True)
    assert await state(adeq) == "ready"
    (lease,) = await adeq.queue("mail").claim()
    await adeq.queue("mail").fail(lease, retryable=False)
    assert (await nobody.post(ACT, data={"code": codes["retry"]})).status_code == 403
    assert (await nobody.get(link)).status_code == 403
    assert await state(adeq) == "dead", "it works once"
    events = adeq.events("queue", "mail")
    await events.add("test")
    (retried,) = [one for one in (await events.read("test")).events if one.event == "task.retried"]
    assert (retried.ids, retried.source) == (("a/1",), "post:ops")
    gone = await nobody.post("/act/abandon/mail/a%2F1", data={"code": codes["abandon"]})
    assert "The task is not dead any more" in gone.text, "this was about its former death"
    codes = await codes_of(adeq)
    gone = await nobody.post("/act/abandon/mail/a%2F1", data={"code": codes["abandon"]})
    assert "The task is deleted." in gone.text
    assert await state(adeq) is None


async def test_a_click_that_fails_can_be_repeated(adeq: Adeq, asking: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = asking(None)
    await dead(adeq, unique="u")
    await adeq.queue("mail").enqueue("other", id="other", unique="u")
    code = {"code": (await codes_of(adeq))["retry"]}
    assert "Another task has the same unique key" in (await nobody.post(ACT, data=code)).text
    await adeq.queue("mail").cancel("other")
    with monkeypatch.context() as patch:

        async def away(*_: object) -> str:
            raise TransportError("the server is away", retryable=True, may_have_applied=False)

        patch.setattr("pyadeq.ext.server.board.act._act", away)
        assert (await nobody.post(ACT, data=code)).status_code == 503
    assert await state(adeq) == "dead"
    both = await asyncio.gather(*[nobody.post(ACT, data=code) for _ in range(5)])
    assert await state(adeq) == "ready"
    done = ["The task is ready again." in one.text for one in both]
    assert done.count(True) == 1
    assert {one.status_code for one in both} <= {200, 403, 409}
    events = adeq.events("queue", "mail")
    await events.add("test")
    assert [one.ids for one in (await events.read("test")).events if one.event == "task.retried"] == [("a/1",)]


async def test_of_two_clicks_only_one_enters(adeq: Adeq, asking: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task dies again between two clicks: the second one must not retry it."""
    nobody, died, clicked = asking(None), asyncio.Event(), asyncio.Event()
    await dead(adeq)
    code = {"code": (await codes_of(adeq))["retry"]}
    act = board._act

    async def slow(*args: Any) -> str:
        status = await act(*args)
        (lease,) = await adeq.queue("mail").claim()
        await adeq.queue("mail").fail(lease, retryable=False)
        died.set()
        await clicked.wait()
        return status

    monkeypatch.setattr("pyadeq.ext.server.board.act._act", slow)
    first = asyncio.create_task(nobody.post(ACT, data=code))
    await died.wait()
    second = await nobody.post(ACT, data=code)
    assert (second.status_code, await state(adeq)) == (409, "dead")
    clicked.set()
    assert "The task is ready again." in (await first).text
    assert (await nobody.post(ACT, data=code)).status_code == 403
    assert await state(adeq) == "dead"


async def test_a_click_whose_process_has_died_can_be_repeated(adeq: Adeq, asking: Ask) -> None:
    nobody = asking(None)
    await dead(adeq)
    code = {"code": (await codes_of(adeq))["retry"]}
    sessions = adeq.sessions("_codes")
    for ago, says in ((1, "another click"), (61, "The task is ready again.")):
        session = await sessions.get(code["code"])
        assert session
        begun = time.time() - ago
        await sessions.update(session, data=json.dumps([*json.loads(session.data)[:4], begun]))
        assert says in (await nobody.post(ACT, data=code)).text


async def test_a_code_allows_nothing_else(adeq: Adeq, asking: Ask) -> None:
    nobody = asking(None)
    await dead(adeq)
    await dead(adeq, "b")
    codes = await codes_of(adeq)
    login = (await adeq.sessions("_codes").create("0" * 12)).id
    forged = (await adeq.sessions("_board").create("post:ops", data='["retry", "mail", "a/1"]')).id
    for path, code in (
        ("/act/abandon/mail/a%2F1", codes["retry"]),
        ("/act/retry/mail/b", codes["retry"]),
        ("/act/retry/print/a%2F1", codes["retry"]),
        (ACT, login),
        (ACT, forged),
        (ACT, codes["retry"][:-1]),
        (ACT, "x" * 10_000),
    ):
        assert (await nobody.post(path, data={"code": code})).status_code == 403, path
    assert (await nobody.get("/queues/mail/tasks/a%2F1", params={"code": codes["retry"]})).status_code == 401
    assert (await nobody.post("/act/cancel/mail/b", data={"code": codes["retry"]})).status_code == 400
    assert [await state(adeq), await state(adeq, "b")] == ["dead", "dead"]
    for _ in range(3):
        await nobody.post(ACT, data={"code": "wrong"})
    assert (await nobody.post(ACT, data={"code": codes["retry"]})).status_code == 429, "too many wrong ones"


async def test_without_a_code_it_asks_who_you_are(adeq: Adeq, asking: Ask, http: AsyncClient) -> None:
    await dead(adeq, tier="restricted")
    assert (await asking(None).get(ACT)).status_code == 401
    assert (await asking(None).post(ACT, data={"code": ""})).status_code == 403
    assert (await asking("queue.observe").get(ACT)).status_code == 403
    assert (await asking("queue.operate", names=("print",)).get(ACT)).status_code == 404
    page = (await http.get(ACT)).text
    assert 'action="/do/v1/queues/mail/tasks/a%2F1:retry"' in page
    assert "&lt;b&gt;" not in page, "the tier hides the error"
    done = await http.post("/do/v1/queues/mail/tasks/a%2F1:retry", data={"_next": "/queues/mail/tasks/a%2F1"})
    assert (done.status_code, await state(adeq)) == (303, "ready")
    assert "not dead any more" in (await http.get(ACT)).text
    assert (await http.post("/v1/queues/adeq-posts/tasks", json={"payload": 1})).status_code == 403

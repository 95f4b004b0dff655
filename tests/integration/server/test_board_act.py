"""The pages that links of posts lead to: what a code allows, once, and what a login allows."""

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.posts.codes import new_codes
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


async def test_a_code_acts_once_on_a_click(adeq: Adeq, asking: Ask) -> None:
    nobody = asking(None)
    await dead(adeq)
    codes = await new_codes(adeq, "ops", "mail", "a/1")
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
    await events.register("test")
    (retried,) = [one for one in (await events.read("test")).events if one.event == "task.retried"]
    assert (retried.ids, retried.source) == (("a/1",), "post:ops")
    gone = await nobody.post("/act/abandon/mail/a%2F1", data={"code": codes["abandon"]})
    assert "The task is deleted." in gone.text
    assert await state(adeq) is None


async def test_a_code_allows_nothing_else(adeq: Adeq, asking: Ask) -> None:
    nobody = asking(None)
    await dead(adeq)
    await dead(adeq, "b")
    codes = await new_codes(adeq, "ops", "mail", "a/1")
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

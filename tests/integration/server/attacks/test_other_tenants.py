"""One tenant asks for what belongs to another. Nothing may tell that it exists."""

import re
from typing import Any

import pytest
from httpx import AsyncClient, Response

from pyadeq.asyncio import Adeq, Every, Task
from tests.integration.server.attacks.routes import OPERATIONS, Operation
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"
KEY = {"Idempotency-Key": "order.7"}


async def fill(adeq: Adeq, name: str) -> None:
    """Objects of all nouns with this name, and something in each."""
    await adeq.queue(name).enqueue("secret", id="order-1", user="ben")
    await adeq.queue(name).enqueue("secret", id="a")
    await adeq.queue(name).schedules.set("a", Every(60))
    await adeq.locks(name).take("a", owner="ben")
    await adeq.changes(name).put("a", type="deploy", description="secret", actor="ben")
    await adeq.rates(name).set("a", algorithm="gcra", limit=1, period=60)
    await adeq.config(name).set("a", "secret")
    await adeq.sessions(name).create("a")


async def asked(http: AsyncClient, one: Operation, *, body: Any = None, **values: str) -> Response:
    form = one.path.startswith("/do/") or (one.writes and not one.path.startswith("/v1"))
    options: dict[str, Any] = {"data": {"_method": "POST"}} if form else {"json": body or {}} if one.writes else {}
    return await http.request(one.method, one.at(**values), **options)


def seen(answer: Response, name: str) -> tuple[int, str]:
    """An answer, but for the name that was asked for."""
    return answer.status_code, re.sub(rf"\b{name}\b", "NAME", answer.text)


async def test_names_of_others_are_as_names_that_do_not_exist(adeq: Adeq, asking: Ask) -> None:
    await fill(adeq, "theirs")
    http = asking("observer", "producer", "worker", "operator", "payload.reveal", names=("ours",))
    about = [one for one in OPERATIONS if one.object]
    assert len(about) > 150
    for one in about:
        there, nowhere = [
            seen(await asked(http, one, **{str(one.object): name}), name) for name in ("theirs", "nowhere")
        ]
        assert there == nowhere, one
        assert there[0] == 404 or (there[0] in (400, 405) and one.path.startswith("/do/")), (one, there)


async def test_no_list_has_names_of_others(adeq: Adeq, asking: Ask) -> None:
    await fill(adeq, "theirs")
    await fill(adeq, "ours")
    http = asking("observer", "operator", "tokens.manage", "webhooks.manage", names=("ours",))
    lists = [one for one in OPERATIONS if one.method == "GET" and not one.path.count("{") and "openapi" not in one.path]
    assert len(lists) > 15
    for one in lists:
        answer = await http.get(one.path, params={"queue": ["theirs", "ours"]} if one.path == "/v1/stats" else {})
        assert answer.status_code == 200, one
        assert "theirs" not in answer.text, one
    assert "ours" in (await http.get("/")).text


async def test_tasks_of_other_users_are_as_tasks_that_do_not_exist(adeq: Adeq, asking: Ask) -> None:
    await fill(adeq, "mail")
    ann = asking("observer", "producer", "operator", "payload.reveal", names=("mail",), user="ann")
    for one in OPERATIONS:
        if one.object == "queue" and "/tasks/{id" in one.path:
            there, nowhere = [seen(await asked(ann, one, queue="mail", id=id), id) for id in ("order-1", "nowhere")]
            assert there == nowhere, one
            assert there[0] in (303, 403, 404), (one, there)  # 303: back to the page of the task
    task = await adeq.queue("mail").get("order-1")
    assert task
    assert task.state == "ready"


async def test_cursors_of_others_open_nothing(adeq: Adeq, asking: Ask) -> None:
    for name in ("mail", "theirs"):
        for user in ("ann", "ben"):
            await adeq.queue(name).enqueue_many([Task(user=user) for _ in range(3)])
    everybody, ben, ann = asking(), asking("observer", user="ben"), asking("observer", names=("mail",), user="ann")
    conditions = {"state": "ready", "limit": "1"}
    for who, path in (
        (everybody, TASKS),
        (ben, TASKS),
        (everybody, TASKS.replace("mail", "theirs")),
    ):
        cursor = (await who.get(path, params=conditions)).json()["cursor"]
        assert cursor
        answer = await ann.get(TASKS, params={**conditions, "cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST"), path
    own = (await ann.get(TASKS, params=conditions)).json()["cursor"]
    rest = (await ann.get(TASKS, params={**conditions, "limit": "9", "cursor": own})).json()["items"]
    assert [task["user"] for task in rest] == ["ann"] * 2


async def test_idempotency_keys_of_others_find_nothing(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue_many([1, 2])
    people = [asking("observer", "producer", "worker", "operator", names=("mail",)) for _ in range(2)]
    for path, body in (
        (TASKS, {"payload": 1}),
        ("/inbox?queue=mail", 1),
        ("/v1/queues/mail/bulks", {"verb": "retry"}),
        ("/v1/queues/mail:claim", {"worker": "w"}),
    ):
        first, second = [await one.post(path, json=body, headers=KEY) for one in people]
        for answer in (first, second):
            assert answer.status_code in (200, 202), answer.text
        assert first.json() != second.json(), path

"""The board's form to enqueue a task."""

import re
from typing import Annotated, Literal

import pytest
from httpx import AsyncClient
from pydantic import PlainSerializer, SecretStr

from pyadeq.asyncio import Adeq, Tasks
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
FORM = "/queues/mail/enqueue"
TOKEN = SecretStr("hunter2")


def values(page: str) -> dict[str, str]:
    """What the fields of the form have."""
    found = dict(re.findall(r'<input id="\w+" name="([^"]+)" value="([^"]*)"', page))
    (payload,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    tier = re.findall(r"<option selected>(\w+)", page)
    return found | {"payload:json": payload.replace("&#34;", '"')} | ({"tier": tier[0]} if tier else {})


async def test_a_form_enqueues_one_task_even_if_it_is_sent_twice(adeq: Adeq, http: AsyncClient) -> None:
    sent = values((await http.get(FORM)).text) | {
        "payload:json": '{"to": ["ann"]}',
        "kind": "send",
        "tags:list": "eu, night",
        "priority:int": "2",
        "delay:float": "1.5e3",
        "max_attempts:int": "7",
        "tier": "internal",
    }
    made, again = [await http.post(FORM, data=sent) for _ in range(2)]
    assert (made.status_code, made.headers["location"]) == (303, f"/queues/mail/tasks/{sent['id']}")
    assert again.headers["location"] == made.headers["location"]
    assert "Nothing was enqueued." in (await http.get(again.headers["location"])).text
    task = await adeq.queue("mail").get(sent["id"])
    assert task
    assert (task.payload, task.kind, task.tags) == ({"to": ["ann"]}, "send", ("eu", "night"))
    assert (task.priority, task.max_attempts, task.source, task.state) == (2, 7, "api:ann", "delayed")
    assert (await adeq.queue("mail").stats()).delayed == 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("payload:json", '{"a": <b>', "allowed: JSON"),
        ("kind", "<b> x", "is not accepted"),
        ("priority:int", "ten", "a value of type int"),
        ("run_after", "monday", "valid datetime"),
        ("delay:float", "-1", "delay"),
        ("after:list", "none", "none"),
    ],
)
async def test_what_was_typed_is_not_lost(http: AsyncClient, field: str, value: str, said: str) -> None:
    typed = values((await http.get(FORM)).text) | {"payload:json": '{"a": 1}', "user": "ann", field: value}
    refused = await http.post(FORM, data=typed)
    assert refused.status_code in (400, 409)
    assert 'role="alert"' in refused.text
    assert said in refused.text
    assert "<b>" not in refused.text
    known = {name: text.replace("&lt;b&gt;", "<b>") for name, text in values(refused.text).items()}
    assert {name: known[name] for name in ("payload:json", "user", "id", field)} == {
        name: typed[name] for name in ("payload:json", "user", "id", field)
    }


async def test_a_copy_has_what_the_tier_shows(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue({"to": "ann"}, id="a/1", kind="send", user="ann", tags=["eu"], priority=1)
    await queue.enqueue({"to": "secret"}, id="b", kind="send", tier="confidential")
    await queue.enqueue(b"\xff", id="c")
    copy = values((await http.get(FORM, params={"like": "a/1"})).text)
    assert {name: copy[name] for name in ("kind", "user", "tags:list", "priority:int", "payload:json")} == {
        "kind": "send",
        "user": "ann",
        "tags:list": "eu",
        "priority:int": "1",
        "payload:json": '{"to":"ann"}',
    }
    made = await http.post(FORM, data=copy)
    assert made.headers["location"] != "/queues/mail/tasks/a%2F1"
    hidden = (await http.get(FORM, params={"like": "b"})).text
    assert "secret" not in hidden
    assert values(hidden)["tier"] == "confidential"
    assert "it is not JSON" in (await http.get(FORM, params={"like": "c"})).text
    assert (await http.get(FORM, params={"like": "none"})).status_code == 404


async def test_who_may_enqueue(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="theirs", user="bob")
    reader, producer, ann = (
        asking("queue.observe"),
        asking("queue.produce", names=("m*",)),
        asking("queue.observe", "queue.produce", user="ann"),
    )
    assert [(await reader.get(FORM)).status_code, (await reader.post(FORM, data={"id": "x"})).status_code] == [403, 403]
    made = await producer.post("/queues/memo/enqueue", data={"id": "x", "user": "bob"})  # it begins a queue
    assert (made.status_code, made.headers["location"]) == (303, "/queues/memo/enqueue")
    assert (await producer.get(FORM, params={"like": "theirs"})).status_code == 403
    assert (await producer.get("/queues/news/enqueue")).status_code == 404
    assert 'name="user"' not in (await ann.get(FORM)).text
    assert (await ann.get(FORM, params={"like": "theirs"})).status_code == 404
    assert (await ann.post(FORM, data={"id": "a", "user": "bob"})).status_code == 403
    assert (await ann.post(FORM, data={"id": "a"})).status_code == 303
    task = await adeq.queue("mail").get("a")
    assert task
    assert task.user == "ann"


async def test_a_form_of_a_kind_has_its_arguments(adeq: Adeq, http: AsyncClient) -> None:
    tasks = Tasks()

    @tasks.task(version=2)
    async def send(
        to: str,
        copies: int = 1,
        *,
        fast: bool = False,
        weight: float | None = None,
        size: Literal["a", "<b>"] = "a",
        tags: list[str] | None = None,
        token: Annotated[SecretStr, PlainSerializer(SecretStr.get_secret_value)] = TOKEN,
    ) -> None:
        """Send a <mail>."""

    @tasks.task
    def plain() -> None: ...

    await adeq.kinds("mail").publish(
        [*tasks.schemas().values(), {"kind": "odd", "arguments": {"properties": {"a.b": {}}}}]
    )
    assert f'<a href="{FORM}?kind=send">send</a>' in (await http.get(FORM)).text
    page = (await http.get(FORM, params={"kind": "send"})).text
    assert "Send a &lt;mail&gt;." in page
    assert "hunter2" not in page
    assert 'type="password" id="payload.token"' in page
    assert "<option>&lt;b&gt;</option>" in page
    sent = {
        **dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)),
        **dict(re.findall(r'<input id="(kind|id)" name="[^"]+" value="([^"]*)"', page)),
        "payload.to": "ann",
        "payload.copies:int": "2",
        "payload.fast:bool": "true",
        "payload.tags:json": '["x"]',
        "payload.token": "s3cret",
    }
    refused = (await http.post(f"{FORM}?kind=send", data=sent | {"payload.copies:int": "two"})).text
    assert "payload.copies: this is not accepted" in refused
    assert 'value="ann"' in refused
    assert "s3cret" not in refused
    made = await http.post(f"{FORM}?kind=send", data=sent)
    assert made.status_code == 303
    task = await adeq.queue("mail").get(sent["id"])
    assert task
    assert (task.kind, task.headers) == ("send", {"_version": 2})
    assert task.payload == {"to": "ann", "copies": 2, "fast": True, "tags": ["x"], "token": "s3cret"}
    made = await http.post(FORM, data={"id": "misspelt", "kind": "sendd"})
    page = (await http.get(made.headers["location"])).text
    assert "The task is enqueued. But no worker of" in page
    assert "did you mean send?" in page
    for kind in ("odd", "none"):
        assert 'name="payload:json"' in (await http.get(FORM, params={"kind": kind})).text
    assert "payload" not in re.sub("<script.*", "", (await http.get(FORM, params={"kind": "plain"})).text)

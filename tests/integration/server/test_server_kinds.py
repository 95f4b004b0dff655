"""The kinds that workers know, by REST."""

from typing import Annotated, Any

import pytest
from httpx import AsyncClient
from pydantic import BaseModel, PlainSerializer, SecretStr

from pyadeq.asyncio import Adeq, Tasks
from tests.integration.running import working
from tests.integration.server.conftest import Ask
from tests.waiting import eventually

pytestmark = pytest.mark.any_engine


Secret = Annotated[SecretStr, PlainSerializer(SecretStr.get_secret_value)]
TOKEN = SecretStr("hunter2")


class Login(BaseModel):
    user: str
    password: Secret = TOKEN


tasks = Tasks()


@tasks.task(version=3)
async def send(to: str, login: Login, copies: int = 1, *, token: Secret = TOKEN) -> list[int]:
    """Send a mail."""
    return [copies]


async def test_a_worker_publishes_what_it_knows(adeq: Adeq, http: AsyncClient, asking: Ask) -> None:
    async def known() -> bool:
        return bool((await http.get("/v1/queues/mail/kinds")).json()["items"])

    async with working(adeq.queue("mail"), tasks):
        await eventually(known)
    (kind,) = (await http.get("/v1/queues/mail/kinds")).json()["items"]
    assert (kind["queue"], kind["kind"], kind["version"]) == ("mail", "send", 3)
    assert (kind["description"], kind["result"]["items"]) == ("Send a mail.", {"type": "integer"})
    assert kind["arguments"]["required"] == ["to", "login"]
    assert "hunter2" not in str(kind)
    assert (await http.get("/v1/queues/mail/kinds/send")).json() == kind
    missing = await http.get("/v1/queues/mail/kinds/other")
    assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")
    assert (await http.get("/v1/queues/other/kinds")).json() == {"items": [], "complete": True}


async def test_a_type_whose_schema_fails(adeq: Adeq) -> None:
    class Odd:
        def __get_pydantic_json_schema__(self, *_: Any) -> Any:
            raise RuntimeError("it has none")

    odd = Tasks()

    @odd.task
    def take(what: Annotated[int, Odd()]) -> None:
        """Take it."""

    kinds = adeq.kinds("mail")

    async def known() -> bool:
        return bool(await kinds.list())

    async with working(adeq.queue("mail"), odd):  # the worker ends as always
        await eventually(known)
    assert [(one["kind"], one["arguments"]) for one in await kinds.list()] == [("take", None)]


async def test_who_sees_which(adeq: Adeq, asking: Ask) -> None:
    for queue in ("mail", "secret"):
        await adeq.kinds(queue).publish(tasks.schemas().values())
    for right in ("queue.observe", "queue.produce"):
        some = asking(right, names=("mail",))
        found = (await some.get("/v1/kinds")).json()
        assert [(one["queue"], one["kind"]) for one in found["items"]] == [("mail", "send")]
        assert (await some.get("/v1/queues/secret/kinds")).status_code == 404
    assert (await asking("queue.produce", names=("mail",), user="ann").get("/v1/queues/mail/kinds")).status_code == 200
    assert (await asking("lock.observe").get("/v1/queues/mail/kinds")).status_code == 403
    assert (await asking("lock.observe").get("/v1/kinds")).json()["items"] == []
    assert (await asking(None).get("/v1/kinds")).status_code == 401
    assert (await asking().get("/v1/kinds?limit=1")).json()["complete"] is False


async def test_what_others_publish_is_not_trusted(adeq: Adeq, http: AsyncClient) -> None:
    kinds = adeq.kinds("mail")
    secret: Any = {"type": "string", "writeOnly": True, "default": "hunter2", "anyOf": [{"const": "hunter2"}]}
    raw = {"a": "no JSON", "b": '["x"]', "c": '{"arguments": 3, "description": {}, "result": "x"}', "d": "[" * 9000}
    for id, schema in raw.items():
        await adeq.send(kinds.calls.build("publish", item=[{"id": id, "version": 1, "schema": schema}]))
    huge = {"kind": "huge", "version": 1, "description": "x" * 9000, "arguments": {"enum": ["y" * 20_000]}}
    hidden = {"kind": "hidden", "version": 1, "arguments": {"properties": {"token": secret}}, "result": {}}
    assert await kinds.publish([huge, hidden]) == {"huge": "published", "hidden": "published"}
    found = {one["kind"]: one for one in (await http.get("/v1/queues/mail/kinds")).json()["items"]}
    assert sorted(found) == ["a", "b", "c", "d", "hidden", "huge"]
    assert {(found[id]["arguments"], found[id]["result"], found[id]["description"]) for id in raw} == {(None, None, "")}
    assert (found["huge"]["arguments"], len(found["huge"]["description"])) == (None, 1000)
    token = {"type": "string", "writeOnly": True, "anyOf": [{}]}
    assert found["hidden"]["arguments"] == {"properties": {"token": token}}

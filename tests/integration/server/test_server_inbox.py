"""`POST /inbox`: the body is the payload of a task."""

import asyncio
import json
from typing import Any

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine


@pytest.mark.parametrize("body", [{"id": "x", "payload": 1}, ["a"], "text", 5, None])
async def test_the_body_is_the_payload_whatever_it_is(http: AsyncClient, body: Any) -> None:
    made = await http.post("/inbox", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert made.status_code == 202, made.text
    assert (made.json()["queue"], made.json()["status"]) == ("default", "created")
    assert made.headers["location"] == f"/v1/queues/default/tasks/{made.json()['id']}"
    assert (await http.get(made.headers["location"])).json()["payload"] == body


async def test_queue_kind_key_and_trace_are_those_of_the_request(http: AsyncClient) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    headers = {"Idempotency-Key": "a", "traceparent": trace}
    first, again = [await http.post("/inbox?queue=mail&kind=send", json={}, headers=headers) for _ in range(2)]
    assert first.json() == again.json()
    task = (await http.get(first.headers["location"])).json()
    assert (task["kind"], task["trace"], task["source"]) == ("send", trace, "api:ann")
    other = await http.post("/inbox?queue=mail&kind=send", json={"n": 2}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "KEY_REUSED")


@pytest.mark.parametrize(("fails", "state"), [(False, "completed"), (True, "dead")])
async def test_a_synchronous_caller_gets_the_end(adeq: Adeq, http: AsyncClient, fails: bool, state: str) -> None:
    queue = adeq.queue("default")

    async def work() -> None:
        (lease,) = await queue.claim(wait=10)
        if fails:
            await queue.fail(lease, "no", retryable=False)
        else:
            await queue.ack(lease, {"sum": 3})

    working = asyncio.create_task(work())
    ended = await http.post("/inbox?sync=true", json=[1, 2])
    await working
    assert (ended.status_code, ended.json()["state"]) == (200, state)
    assert ended.json()["result"] == (None if fails else {"sum": 3})


async def test_the_rights_are_those_of_an_enqueue(asking: Ask) -> None:
    mail = asking("queue.produce", names=("mail",))
    assert (await mail.post("/inbox?queue=mail", json=1)).status_code == 202
    assert (await mail.post("/inbox", json=1)).status_code == 404
    assert (await asking("queue.observe").post("/inbox", json=1)).status_code == 403
    assert (await asking().post("/inbox?queue=_own", json=1)).status_code == 404
    assert (await asking(None).post("/inbox", json=1)).status_code == 401
    ann = asking("queue.produce", "queue.observe", user="ann")
    made = await ann.post("/inbox", json=1)
    assert (await ann.get(made.headers["location"])).json()["user"] == "ann"


async def test_what_is_no_json_is_refused(http: AsyncClient) -> None:
    refused = await http.post("/inbox", content=b"{", headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")
    assert (await http.post("/inbox")).status_code == 400

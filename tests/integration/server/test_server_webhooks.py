"""Webhooks by REST and on the board: who may manage which, secrets that are shown once, tests and replays."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient, Response
from standardwebhooks.webhooks import Webhook

from pyadeq import Task
from pyadeq.asyncio import Adeq
from pyadeq.ext.connect.crypto import Encrypted, new_key
from pyadeq.ext.operations.rights import WEBHOOKS, all_rights
from pyadeq.ext.outgoing.addresses import Allowed
from pyadeq.ext.outgoing.stamps import aio_stamp_key, stamped
from pyadeq.ext.outgoing.webhooks import serve
from pyadeq.ext.server import Principal, app, everything, rights_of
from tests.integration.outgoing.receivers import receiving, status
from tests.integration.server.conftest import Ask
from tests.waiting import eventually

pytestmark = pytest.mark.any_engine
HOOKS = "/v1/webhooks"
ONE: dict[str, Any] = {"url": "https://1.1.1.1/hook", "events": ["task.*"], "secret": "env:HOOK_SECRET"}
MARKUP = "<b>"


def ok(answer: Response, code: int = 200) -> Any:
    assert answer.status_code == code, answer.text
    return answer.json() if answer.content else None


def problem(answer: Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_an_endpoint_is_put_changed_switched_and_removed(adeq: Adeq, http: AsyncClient) -> None:
    made = await http.put(f"{HOOKS}/orders", json=ONE, headers={"If-Match": '"v0"'})
    assert ok(made, 201)["new_secret"] is None
    tag = made.headers["etag"]
    assert (await http.get(f"{HOOKS}/orders")).headers["etag"] == tag
    change = {**ONE, "events": ["task.dead"], "streams": ["queue:mail", "lock:*"], "order": "fifo"} | {"secret": None}
    assert problem(await http.put(f"{HOOKS}/orders", json=change, headers={"If-Match": '"v0"'}))[0] == 412
    assert problem(await http.put(f"{HOOKS}/other", json=ONE, headers={"If-Match": tag}))[0] == 412
    changed = ok(await http.put(f"{HOOKS}/orders", json=change, headers={"If-Match": tag}))
    assert (changed["events"], changed["concurrency"], changed["secret"]) == (["task.dead"], 1, "env:HOOK_SECRET")
    assert problem(await http.delete(f"{HOOKS}/orders", headers={"If-Match": tag}))[0] == 412
    off = ok(await http.post(f"{HOOKS}/orders:disable"))
    assert (off["state"], off["reason"]) == ("disabled", "switched off by ann")
    assert ok(await http.post(f"{HOOKS}/orders:enable"))["state"] == "enabled"
    rotated = ok(await http.post(f"{HOOKS}/orders:rotate", json={"secret": "env:NEXT", "keep": 60}))
    assert (rotated["secret"], rotated["old_secret"]) == ("env:NEXT", "env:HOOK_SECRET")
    assert [one["id"] for one in ok(await http.get(HOOKS))["items"]] == ["orders"]
    assert ok(await http.post(f"{HOOKS}/orders:test", json={"wait": 0}))["status"] == "waiting"
    (waiting,) = ok(await http.get(f"{HOOKS}/orders/messages"))["items"]
    assert (waiting["type"], waiting["state"], waiting["stream"]) == ("webhook.test", "ready", None)
    ok(await http.delete(f"{HOOKS}/orders"), 204)
    assert problem(await http.get(f"{HOOKS}/orders")) == (404, "NOT_FOUND")
    assert problem(await http.delete(f"{HOOKS}/orders")) == (404, "NOT_FOUND")
    history = [one async for one in adeq.config("_webhooks").history("orders")]
    assert {one.actor for one in history} == {"ann"}


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"url": "https://127.0.0.1/"}, 400, "which is not public"),
        ({"url": "http://1.1.1.1/"}, 400, "scheme"),
        ({"events": ["task.finished"]}, 400, "is no event"),
        ({"events": []}, 400, "#/events"),
        ({"streams": ["config:_tokens"]}, 400, "not accepted"),
        ({"streams": ["queue:adeq-webhooks"]}, 400, "not accepted"),
        ({"streams": ["none:x"]}, 403, "more than you have"),
        ({"starts": 0}, 400, "#/starts"),
        ({"secret": "sealed:AAAA"}, 400, "not accepted"),
        ({"secret": None}, 400, "no codec to seal it"),
        ({"secret": "whsec_" + "A" * 40}, 400, "no codec to seal it"),
        ({"unknown": 1}, 400, "#/unknown"),
    ],
)
async def test_what_is_wrong_is_refused(http: AsyncClient, change: dict[str, Any], code: int, text: str) -> None:
    refused = await http.put(f"{HOOKS}/orders", json={**ONE, **change})
    assert (refused.status_code, text in refused.json()["detail"]) == (code, True), refused.text
    assert "AAAA" not in refused.text
    assert ok(await http.get(HOOKS))["items"] == []


def test_no_role_has_the_right() -> None:
    assert WEBHOOKS in all_rights()
    assert WEBHOOKS not in rights_of(["observer", "producer", "worker", "operator"])


async def test_nobody_gets_more_than_they_may_see(http: AsyncClient, asking: Ask) -> None:
    for id, streams in (("all", ["queue:*"]), ("mail", ["queue:mail-1"]), ("locks", ["queue:mail-1", "lock:x"])):
        ok(await http.put(f"{HOOKS}/{id}", json={**ONE, "streams": streams}), 201)
    few = asking(WEBHOOKS, "queue.observe", names=("mail-*",))
    assert [one["id"] for one in ok(await few.get(HOOKS))["items"]] == ["mail"]
    for id in ("all", "locks", "none"):
        for method, path in (
            ("GET", ""),
            ("DELETE", ""),
            ("POST", ":enable"),
            ("POST", ":disable"),
            ("POST", ":rotate"),
            ("POST", ":test"),
            ("GET", "/messages"),
            ("POST", "/messages/x:replay"),
        ):
            assert problem(await few.request(method, f"{HOOKS}/{id}{path}"))[0] == 404, (id, path)
        assert problem(await few.post(f"{HOOKS}/{id}:replay", json={"since": 0}))[0] == 404
    own = {**ONE, "streams": ["queue:mail-*"]}
    assert problem(await few.put(f"{HOOKS}/all", json={**own, "secret": None}))[0] == 404
    reference = await few.put(f"{HOOKS}/new", json=own)
    assert "cannot be a reference" in reference.json()["detail"], "it may be that of another endpoint"
    assert problem(await few.put(f"{HOOKS}/new", json={**own, "streams": ["queue:*"]})) == (403, "FORBIDDEN")
    assert problem(await few.put(f"{HOOKS}/new", json={**own, "streams": ["change:mail-1"]})) == (403, "FORBIDDEN")
    assert problem(await few.put(f"{HOOKS}/mail", json={**ONE, "secret": None})) == (403, "FORBIDDEN")
    assert ok(await few.post(f"{HOOKS}/mail:disable"))["state"] == "disabled"
    assert ok(await asking(WEBHOOKS).get(HOOKS))["items"] == []
    for other in (asking(WEBHOOKS), asking(WEBHOOKS, "queue.observe", user="ann")):
        assert problem(await other.put(f"{HOOKS}/new", json=own)) == (403, "FORBIDDEN")
    for other in (asking("operator"), asking(None)):
        assert (await other.get(HOOKS)).status_code in (401, 403)


@asynccontextmanager
async def running(adeq: Adeq, allowed: Allowed) -> AsyncIterator[None]:
    """The sender, in this process."""
    task = asyncio.create_task(serve(adeq, allowed=allowed, find=0.1, signals=False))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_made_secret_is_shown_once_and_messages_are_replayed(adeq: Adeq, url: str, base_name: str) -> None:
    codes = iter([204, 410])

    def answer(handler: Any) -> None:
        status(next(codes, 204))(handler)

    async def anybody(_: Any) -> Principal:
        return everything("ann")

    key = Encrypted([new_key()])
    with receiving(answer) as receiver:
        allowed = Allowed.of(["127.0.0.1"], http=True, ports=[receiver.port])
        async with Adeq.from_url(url, prefix=base_name, codec=key) as sealing:
            service = app(sealing, authenticate=anybody, unmarked=True, allowed=allowed)
            http = AsyncClient(transport=ASGITransport(service), base_url="http://service")
            made = await http.put(f"{HOOKS}/orders", json={"url": receiver.url, "events": ["task.enqueued"]})
            secret = ok(made, 201)["new_secret"]
            assert (made.json()["secret"], made.headers["cache-control"]) == ("sealed", "no-store")
            assert secret not in (await http.get(HOOKS)).text
            async with running(sealing, allowed):
                assert ok(await http.post(f"{HOOKS}/orders:test", json={"wait": 30}))["answer"] == 204
                await adeq.queue("mail").enqueue({"secret": "payload"}, id="m1")
                await eventually(lambda: len(receiver.seen) == 2)
                for one in receiver.seen:
                    Webhook(secret).verify(one.body, one.headers)

                async def ended() -> Any:
                    return ok(await http.get(f"{HOOKS}/orders/messages", params={"state": "dead"}))["items"]

                await eventually(ended)
                (dead,) = await ended()
                assert (dead["ids"], dead["stream"], dead["reason"]) == (["m1"], "queue:mail", "gone")
                assert ok(await http.get(f"{HOOKS}/orders"))["state"] == "disabled"
                ok(await http.post(f"{HOOKS}/orders:enable"))
                assert ok(await http.post(f"{HOOKS}/orders/messages/{dead['id']}:replay")) == {"sent": 1, "waiting": 0}
                await eventually(lambda: len(receiver.seen) == 3)
                await eventually(lambda: _is_over(http))
                again = ok(await http.post(f"{HOOKS}/orders:replay", json={"since": 0}))
                assert again == {"sent": 1, "waiting": 0, "status": "done", "cursor": ""}
                await eventually(lambda: len(receiver.seen) == 4)
            assert [one.id for one in receiver.seen[1:]] == [dead["webhook_id"]] * 3
            await adeq.queue("adeq-webhooks").enqueue(json.loads(receiver.seen[1].body), id="wh:other", user="other")
            assert problem(await http.post(f"{HOOKS}/orders/messages/wh:other:replay"))[0] == 404
            ok(await http.post(f"{HOOKS}/orders:disable"))
            for cursor in ("x", "1 1 ../x", "1700000000000 (1-0 queue:mail\n"):
                body = {"since": 0, "cursor": cursor}
                assert problem(await http.post(f"{HOOKS}/orders:replay", json=body))[0] == 400
            assert "enable it first" in (await http.post(f"{HOOKS}/orders:replay", json={"since": 0})).json()["detail"]
            await http.aclose()


async def _is_over(http: AsyncClient) -> bool:
    found = ok(await http.get(f"{HOOKS}/orders/messages"))["items"]
    return all(one["state"] == "completed" for one in found)


async def test_the_board_shows_and_changes_what_one_manages(adeq: Adeq, http: AsyncClient, asking: Ask) -> None:
    form = {"url": "https://1.1.1.1/<b>", "events:list": "task.*", "streams:list": "queue:mail-1"}
    made = await http.post("/webhooks", data={**form, "id": "orders", "secret": "env:HOOK_SECRET"})
    assert (made.status_code, "env:HOOK_SECRET" in made.text) == (201, True)
    taken = await http.post("/webhooks", data={**form, "id": "orders", "secret": "env:HOOK_SECRET"})
    assert taken.status_code == 412
    assert "no codec" in (await http.post("/webhooks", data={**form, "id": "new"})).text
    listed = (await http.get("/webhooks")).text
    assert 'data-id="orders"' in listed
    assert (MARKUP in listed, "&lt;b&gt;" in listed) == (False, True)
    payload = {"type": "task.dead", "at": 1.0, "stream": "queue:mail-1", "seq": "1-0", "ids": [MARKUP]}
    for id, stream in (("wh:orders:x:1-0", "queue:mail-1"), ("wh:orders:y:1-0", "queue:other")):
        task = Task(id=id, user="orders", payload={**payload, "stream": stream})
        await adeq.queue("adeq-webhooks").enqueue_many(stamped(await aio_stamp_key(adeq, "_webhooks"), [task]))
        (lease,) = await adeq.queue("adeq-webhooks").claim(limit=1)
        await adeq.queue("adeq-webhooks").fail(lease, MARKUP, reason="http_500", retryable=False)
    page = (await http.get("/webhooks/orders")).text
    assert MARKUP not in page
    assert ('data-id="wh:orders:x:1-0"' in page, "wh:orders:y:1-0" in page) == (True, False), "of a stream it has not"
    act = "/do/v1/webhooks/orders"
    version = ok(await http.get(f"{HOOKS}/orders"))["version"]
    change = {
        **form,
        "events:list": "task.dead",
        "_method": "PUT",
        "_match": f"v{version}",
        "_next": "/webhooks/orders",
    }
    few = asking(WEBHOOKS, "queue.observe", names=("mail-*",))
    reader = asking("observer")
    assert (await reader.get("/webhooks")).status_code == 403
    assert 'href="/webhooks"' not in (await reader.get("/")).text
    assert (await reader.post(act, data=change)).status_code == 403
    assert (await few.post(act, data=change)).status_code == 303
    assert (await few.post(act, data=change)).status_code == 412, "the page is old"
    assert ok(await http.get(f"{HOOKS}/orders"))["events"] == ["task.dead"]
    assert (
        await few.post(f"{act}/messages/wh%3Aorders%3Ax%3A1-0:replay", data={"_next": "/webhooks"})
    ).status_code == 303
    assert (
        await few.post(f"{act}/messages/wh%3Aorders%3Ay%3A1-0:replay", data={"_next": "/webhooks"})
    ).status_code == 404
    assert (await few.post(f"{act}:disable", data={"_next": "/webhooks/orders"})).status_code == 303
    page = (await few.get("/webhooks/orders")).text
    assert "switched off by" in page
    assert ":test" not in page
    rotated = await http.post("/webhooks/orders", data={"secret": "env:NEXT"})
    assert "env:NEXT" in rotated.text
    assert (await http.get("/webhooks/none")).status_code == 404
    gone = await few.post(act, data={"_method": "DELETE", "_next": "/webhooks"})
    assert gone.headers["location"] == "/webhooks"
    assert "There is no endpoint" in (await http.get("/webhooks")).text


async def test_the_board_shows_a_made_secret_once(url: str, base_name: str) -> None:
    async def anybody(_: Any) -> Principal:
        return everything("ann")

    async with Adeq.from_url(url, prefix=base_name, codec=Encrypted([new_key()])) as sealing:
        transport = ASGITransport(app(sealing, authenticate=anybody, unmarked=True))
        async with AsyncClient(transport=transport, base_url="http://service") as http:
            form = {"id": "orders", "url": "https://1.1.1.1/", "events:list": "task.*", "streams:list": "queue:*"}
            made = await http.post("/webhooks", data=form)
            assert "whsec_" in made.text
            assert "no-store" in made.headers["cache-control"]
            for path in ("/webhooks", "/webhooks/orders"):
                assert "whsec_" not in (await http.get(path)).text
            rotated = await http.post("/webhooks/orders", data={"secret": ""})
            assert "whsec_" in rotated.text
            assert rotated.text != made.text

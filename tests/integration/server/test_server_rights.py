"""Who may what, by REST."""

import pytest

from pyadeq.asyncio import Adeq
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"


async def test_nobody_gets_in_unknown(asking: Ask) -> None:
    refused = await asking(None).get(TASKS)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert (await asking(None).get("/live")).status_code == 200
    assert (await asking(None).get("/ready")).json() == {"status": "ready"}


async def test_each_operation_needs_its_right(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    observer, producer = asking("queue.observe"), asking("queue.produce")
    assert (await observer.get(f"{TASKS}/a")).status_code == 200
    assert (await observer.post(TASKS, json={})).status_code == 403
    assert (await observer.post("/v1/queues/mail:pause")).status_code == 403
    assert (await producer.post(TASKS, json={})).status_code == 202
    assert (await producer.get(f"{TASKS}/a")).status_code == 403
    assert (await asking("operator").post("/v1/queues/mail:pause")).status_code == 204


async def test_names_outside_do_not_exist(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    other = asking("operator", names=("news-*",))
    for answer in (await other.get(f"{TASKS}/a"), await other.post(TASKS, json={})):
        assert (answer.status_code, answer.json()["detail"]) == (404, "there is no queue 'mail'")
    assert (await other.post("/v1/queues/news-1/tasks", json={})).status_code == 202


async def test_a_user_sees_only_their_own_tasks(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a", user="ann")
    await adeq.queue("mail").enqueue(1, id="b", user="ben")
    ann = asking("observer", "producer", user="ann")
    assert (await ann.get(f"{TASKS}/a")).status_code == 200
    for path in ("/b", "/b/runs", "/b/log"):
        assert (await ann.get(TASKS + path)).status_code == 404
    assert (await ann.post(f"{TASKS}/b:cancel")).status_code == 404
    assert [one["id"] for one in (await ann.get(TASKS, params={"state": "ready"})).json()["items"]] == ["a"]
    assert (await ann.get(TASKS, params={"user": "ben"})).json()["items"] == []
    assert (await ann.post(TASKS, json={"user": "ben"})).status_code == 403
    made = (await ann.post(TASKS, json={})).json()["id"]
    assert (await ann.get(f"{TASKS}/{made}")).json()["user"] == "ann"
    assert (await ann.get("/v1/queues/mail/stats")).status_code == 403  # of all users


async def test_only_webhooks_write_to_their_queue(adeq: Adeq, asking: Ask) -> None:
    """A message there is signed for its receiver."""
    await adeq.queue("adeq-webhooks").enqueue({}, id="a")
    http = asking("operator", "worker")
    assert (await http.get("/v1/queues/adeq-webhooks/tasks/a")).status_code == 200
    for path, body in (("/tasks", {}), (":claim", {"worker": "w"}), (":settle", {"acks": []})):
        assert (await http.post(f"/v1/queues/adeq-webhooks{path}", json=body)).status_code == 403, path
    assert (await http.post("/inbox?queue=adeq-webhooks", json={})).status_code == 403

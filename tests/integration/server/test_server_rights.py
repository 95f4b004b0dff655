"""Who may what, by REST."""

import base64
from typing import Any

import pytest
from httpx import Response

from pyadeq.asyncio import Adeq
from pyadeq.ext.operations.rights import WEBHOOKS
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
    for path in ("/b", "/b/runs", "/b/steps", "/b/log"):
        assert (await ann.get(TASKS + path)).status_code == 404
    assert (await ann.post(f"{TASKS}/b:cancel")).status_code == 404
    assert [one["id"] for one in (await ann.get(TASKS, params={"state": "ready"})).json()["items"]] == ["a"]
    assert (await ann.get(TASKS, params={"user": "ben"})).json()["items"] == []
    assert (await ann.post(TASKS, json={"user": "ben"})).status_code == 403
    made = (await ann.post(TASKS, json={})).json()["id"]
    assert (await ann.get(f"{TASKS}/{made}")).json()["user"] == "ann"
    assert (await ann.get("/v1/queues/mail/stats")).status_code == 403  # of all users


def taken(answer: Response, field: str) -> None:
    """It is refused, and does not say whose the task is."""
    assert (answer.status_code, answer.json()["code"]) == (409, "TAKEN"), answer.text
    assert answer.json()["detail"].startswith(f"#/{field}:")
    assert not {"ben", "secret"}.intersection(answer.text.replace('"', " ").split())


async def test_an_enqueue_for_one_user_names_only_own_tasks(adeq: Adeq, asking: Ask) -> None:
    """Ids, keys, scopes, parents and dependencies: a queue has one space of them for all users."""
    mail = adeq.queue("mail")
    keys: dict[str, Any] = {"idempotency_key": "k", "unique": "k", "scope": "k"}
    for name, key in keys.items():
        await mail.enqueue("secret", id=f"b-{name}", user="ben", **{name: key})
    await mail.enqueue("secret", id="b", user="ben", gather=1)
    await mail.enqueue("secret", id="none")
    ann, wait = asking("producer", user="ann"), {"Prefer": "wait=1"}
    for id in ("b", "none"):
        taken(await ann.post(TASKS, json={"id": id}, headers=wait), "id")
        taken(await ann.post(TASKS, json={"parent": id}), "parent")
        taken(await ann.post(TASKS, json={"after": [id]}), "after")
    for name, key in keys.items():
        made = await ann.post(
            TASKS, json={name: key, "payload": "mine", "coalesce": "last"} if name == "scope" else {name: key}
        )
        assert (made.status_code, made.json()["status"]) == (202, "created"), name
        again = await ann.post(TASKS, json={name: key})
        assert (again.json()["status"], again.json()["id"]) == ("deduplicated", made.json()["id"]), name
        there = await mail.get(f"b-{name}")
        assert there
        assert there.payload == "secret"
    line = [
        await ann.post(TASKS, json={"ordering_key": "k"}),
        await asking("producer").post(TASKS, json={"ordering_key": "k"}),
    ]
    assert [(await mail.get(one.json()["id"])).state for one in line] == ["ready", "ready"]  # type: ignore[union-attr]
    refused = await ann.post(TASKS, json={"unique": "k" * 176})
    assert (refused.status_code, "at most 175" in refused.text) == (400, True)
    own = (await ann.post(TASKS, json={"id": "a", "gather": 1})).json()["id"]
    for named in ({"parent": own}, {"after": [own]}):
        assert (await ann.post(TASKS, json=named)).status_code == 202
    gathering = await mail.get("b")
    assert gathering
    assert gathering.state == "blocked"


async def test_a_task_of_one_user_has_parents_and_dependencies_in_partitions(adeq: Adeq, asking: Ask) -> None:
    mail, ann = adeq.partitioned("mail"), asking("producer", user="ann")
    await mail.repartition(3)
    for id in ("a", "b", "c"):
        assert (await ann.post(TASKS, json={"id": id})).status_code == 202
    child = await ann.post(TASKS, json={"parent": "a"})
    assert child.status_code == 202, child.text
    taken(await ann.post(TASKS, json={"parent": "nobody-has-it"}), "parent")
    await mail.enqueue(1, id="e", user="ben")
    taken(await ann.post(TASKS, json={"parent": "e"}), "parent")
    taken(await ann.post(TASKS, json={"after": ["e"]}), "after")


async def test_a_key_that_was_shown_is_the_same_key(adeq: Adeq, asking: Ask) -> None:
    ann = asking("producer", user="ann")
    first = (await ann.post(TASKS, json={"unique": "k" * 175})).json()["id"]
    shown = (await ann.get(f"{TASKS}/{first}")).json()["unique"]
    assert (await ann.post(TASKS, json={"unique": shown})).json()["id"] == first
    assert (await ann.post(TASKS, json={"id": "once-a"})).status_code == 400


async def test_a_cursor_of_one_user_says_nothing_of_others(adeq: Adeq, asking: Ask) -> None:
    """It names the index and the task at which the server has stopped."""
    mail, ann = adeq.queue("mail"), asking("observer", user="ann")
    for number in range(3):
        await mail.enqueue(1, id=f"ben-{number}", user="ben", delay=60, tags=["t"])
        await mail.enqueue(1, id=f"ann-{number}", user="ann", delay=60, tags=["t"])
    state, tag = {"state": "delayed"}, {"tag": "t"}
    for conditions in (state, tag, state | tag, state | {"kind": "k"}):
        cursor, found, begun = "", list[str](), False
        while cursor or not begun:
            begun = True
            page = (await ann.get(TASKS, params={**conditions, "limit": "1", "cursor": cursor})).json()
            found += [one["id"] for one in page["items"]]
            cursor = page["cursor"]
            inner = base64.urlsafe_b64decode(cursor + "==").decode()
            assert "ben" not in inner
            assert not cursor or '"user ' in inner
        assert sorted(found) == ([] if "kind" in conditions else ["ann-0", "ann-1", "ann-2"]), conditions


async def test_a_tree_of_several_users_is_cancelled_by_none_of_them(adeq: Adeq, asking: Ask) -> None:
    mail, ann = adeq.queue("mail"), asking("producer", user="ann")
    await ann.post(TASKS, json={"id": "a"})
    await ann.post(TASKS, json={"id": "a/1", "parent": "a"})
    await mail.enqueue(1, id="a/1/none", parent="a/1")
    await mail.enqueue(1, id="b", user="ben", parent="a/1")
    taken(await ann.post(f"{TASKS}/a:cancel?tree=true"), "tree")
    assert {one.state for one in await mail.get_many(["a", "a/1", "b"]) if one} == {"ready"}
    await mail.cancel("b")
    assert (await ann.post(f"{TASKS}/b:cancel?tree=true")).status_code == 404
    assert (await ann.post(f"{TASKS}/a:cancel?tree=true")).status_code == 200, "what has ended is not cancelled"
    await mail.enqueue(1, id="c", user="ann")
    await mail.enqueue(1, id="c/1", parent="c")
    assert (await ann.post(f"{TASKS}/c:cancel?tree=true")).status_code == 200
    assert {one.state for one in await mail.get_many(["c", "c/1"]) if one} == {"cancelled"}


async def test_a_key_of_a_caller_is_of_one_user(adeq: Adeq, asking: Ask) -> None:
    """Two tokens of a service for two users send the same request with the same key."""
    ann, ben = (asking("producer", user=user, name="shop") for user in ("ann", "ben"))
    key = {"Idempotency-Key": "order-1"}
    first, second = [await one.post(TASKS, json={"payload": 1}, headers=key) for one in (ann, ben)]
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["id"] != second.json()["id"]
    users = [(await adeq.queue("mail").get(one.json()["id"])).user for one in (first, second)]  # type: ignore[union-attr]
    assert users == ["ann", "ben"]
    bulks = [await one.post("/v1/queues/mail/bulks", json={"verb": "cancel"}, headers=key) for one in (ann, ben)]
    assert bulks[0].json()["id"] != bulks[1].json()["id"]


async def test_who_may_only_enqueue_sees_no_task_of_others(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue("secret", id="b")
    answer = await asking("queue.produce").post(TASKS, json={"id": "b"}, headers={"Prefer": "wait=1"})
    assert (answer.status_code, answer.json()) == (200, {"status": "exists", "queue": "mail", "id": "b"})


async def test_nobody_enqueues_in_the_name_of_another_caller(asking: Ask) -> None:
    ann = asking("producer", name="ann")
    refused = await ann.post(TASKS, json={"source": "api:ben"})
    assert (refused.status_code, "api:ann" in refused.text) == (403, True)
    assert (await ann.post(TASKS, json={"source": "nightly"})).status_code == 202
    assert (await ann.post(TASKS, json={"source": "api:ann"})).status_code == 202


async def test_only_webhooks_write_to_their_queue(adeq: Adeq, asking: Ask) -> None:
    """A message there is signed for its receiver."""
    await adeq.queue("adeq-webhooks").enqueue({}, id="a")
    http = asking("operator", "worker")
    assert (await http.get("/v1/queues/adeq-webhooks/tasks/a")).status_code == 200
    for path, body in (("/tasks", {}), (":claim", {"worker": "w"}), (":settle", {"acks": []})):
        assert (await http.post(f"/v1/queues/adeq-webhooks{path}", json=body)).status_code == 403, path
    assert (await http.post("/inbox?queue=adeq-webhooks", json={})).status_code == 403
    schedule: Any = {"timing": {"moment": 1.0}, "task": {"payload": 1}}
    writes: list[tuple[str, str, Any]] = [
        ("PUT", "/schedules/evil", schedule),
        ("PUT", "/limits/user:ops", {"concurrency": 1}),
        ("PUT", "/shares/ops", {"weight": 2}),
        ("PATCH", "/settings", {"fair": False}),
        ("POST", "/tasks/a:retry", {}),
        ("POST", "/bulks", {"verb": "retry", "filter": {}}),
        ("POST", ":pause", {}),
    ]
    for right, code in (("operator", {403}), (WEBHOOKS, {200, 202, 204, 409})):
        http = asking("operator", *{right})
        for verb, path, body in writes:
            answer = await http.request(verb, f"/v1/queues/adeq-webhooks{path}", json=body)
            assert answer.status_code in ({403} if "/schedules/" in path else code), (path, answer.text)
    assert (await http.post("/v1/queues/adeq-webhooks/tasks", json={})).status_code == 403

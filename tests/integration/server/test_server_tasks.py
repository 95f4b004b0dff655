"""Tasks by REST."""

import asyncio

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pyadeq.asyncio import Adeq, StepValue, Task
from pyadeq.ext.connect.otel import Traces
from pyadeq.ext.server import Principal, app, everything
from pyadeq.ext.server.api import task_events
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"


async def test_a_task_is_enqueued_found_and_cancelled(http: AsyncClient) -> None:
    made = await http.post(TASKS, json={"payload": {"to": "ann"}, "kind": "send", "user": "ann"})
    assert made.status_code == 202
    id = made.json()["id"]
    assert made.json() == {"status": "created", "queue": "mail", "id": id}
    found = await http.get(made.headers["location"])
    assert found.status_code == 200
    assert found.json()["payload"] == {"to": "ann"}
    assert found.json()["source"] == "api:ann"
    listed = await http.get(TASKS, params={"user": "ann"})
    assert [task["id"] for task in listed.json()["items"]] == [id]
    assert (await http.post(f"{TASKS}/{id}:cancel")).json() == {"status": "cancelled"}


async def test_what_has_ended_cannot_be_cancelled(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    (lease,) = await adeq.queue("mail").claim()
    await adeq.queue("mail").ack(lease)
    refused = await http.post(f"{TASKS}/a:cancel")
    assert (refused.status_code, refused.json()["code"]) == (409, "FINISHED")
    assert (await http.post(f"{TASKS}/none:cancel")).status_code == 404


async def test_a_delayed_task_is_run_now_and_others_are_not(adeq: Adeq, http: AsyncClient, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="a/1", user="ann", delay=60)
    own, other = (asking("queue.produce", user=user) for user in ("ann", "bob"))
    assert (await asking("queue.observe").post(f"{TASKS}/a%2F1:run-now")).status_code == 403
    assert (await other.post(f"{TASKS}/a%2F1:run-now")).status_code == 404
    assert (await own.post(f"{TASKS}/a%2F1:run-now")).json() == {"status": "ready", "state": None}
    refused = await http.post(f"{TASKS}/a%2F1:run-now")
    assert (refused.status_code, refused.json()["code"]) == (409, "NOT_DELAYED")
    assert "is ready" in refused.json()["detail"]
    assert (await http.post(f"{TASKS}/none:run-now")).status_code == 404


async def test_the_events_of_a_task_are_those_that_are_still_stored(
    adeq: Adeq, http: AsyncClient, asking: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_events, "PAGE", 2)
    queue = adeq.queue("mail")
    await queue.enqueue_many([Task(payload=1, id=id, user=id[0], tier="restricted") for id in ("a/1", "b/1")])
    for lease in await queue.claim(limit=2):
        await queue.fail(lease, f"secret {lease.id}", retryable=False)
    at = f"{TASKS}/a%2F1/events"
    own = (await asking("queue.observe", user="a").get(at)).json()
    assert [one["event"] for one in own["items"]] == ["task.enqueued", "task.claimed", "task.dead"]
    assert own["complete"] is True
    assert {id for one in own["items"] for id in one["ids"]} == {"a/1"}
    assert "b/1" not in str(own)
    assert "secret" not in str(own), "the tier hides errors"
    assert (await asking("queue.observe", user="b").get(at)).status_code == 404
    assert (await asking("queue.produce").get(at)).status_code == 403
    few = (await http.get(at, params={"most": 2})).json()
    assert (len(few["items"]), few["looked"], few["complete"]) == (1, 2, False)
    assert (await http.get(at, params={"most": 10_001})).status_code == 400
    await adeq.client.xtrim(f"{queue.base}:events", maxlen=1, approximate=False)
    late = (await http.get(at)).json()
    assert (late["looked"], late["complete"]) == (1, False)
    assert len(late["items"]) <= 1


async def test_the_events_of_a_task_are_in_its_partition(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1, id="old")
    parts = adeq.partitioned("mail")
    await parts.repartition(2)
    receipt = await parts.enqueue(1)
    for id in ("old", receipt.id):
        found = (await http.get(f"{TASKS}/{id}/events")).json()
        assert ([one["event"] for one in found["items"]], found["complete"]) == (["task.enqueued"], True)


@pytest.mark.parametrize("id", ["a/b", "a%2Fb:cancel", "..", "x+y@z", "a:cancel"])
async def test_an_id_is_one_segment(http: AsyncClient, id: str) -> None:
    if "%" in id:  # which no id has: the encoded text must not be decoded twice
        assert (await http.get(f"{TASKS}/a%252Fb")).status_code == 404
        return
    made = await http.post(TASKS, json={"id": id})
    assert made.status_code == 202, made.text
    encoded = id.replace("/", "%2F").replace("..", "%2E%2E").replace(":", "%3A").replace("+", "%2B")
    assert (await http.get(f"{TASKS}/{encoded}/runs")).json() == {"items": []}
    assert (await http.post(f"{TASKS}/{encoded}:cancel")).json() == {"status": "cancelled"}


async def test_an_id_may_be_in_the_query(http: AsyncClient) -> None:
    await http.post(TASKS, json={"id": "a/b:c"})
    await http.post(TASKS, json={"id": "-"})
    assert (await http.get(f"{TASKS}/-?id=a/b:c")).json()["id"] == "a/b:c"
    assert (await http.get(f"{TASKS}/-/runs", params={"id": "a/b:c"})).json() == {"items": []}
    assert (await http.get(f"{TASKS}/-")).json()["id"] == "-"
    assert (await http.get(f"{TASKS}/-?task_id=a")).json()["id"] == "-"
    assert (await http.get(f"{TASKS}/-?id=a&id=b")).status_code == 400
    assert (await http.get(f"{TASKS}/-?id=none")).status_code == 404
    assert (await http.post(f"{TASKS}/-:cancel?id=a%2Fb%3Ac")).json() == {"status": "cancelled"}


async def test_a_name_in_the_query_is_behind_the_same_rights(asking: Ask, http: AsyncClient) -> None:
    await http.post("/v1/queues/news/tasks", json={"id": "a"})
    mail = asking("queue.observe", names=("mail",))
    assert (await mail.get("/v1/queues/-?id=news")).status_code == 404
    assert (await mail.get("/v1/configs/-/values?id=_tokens")).status_code == 404


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        ("00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", False),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", False),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", False),
        ("x" * 10_000, False),
    ],
)
async def test_a_task_has_the_trace_of_its_request(http: AsyncClient, header: str, known: bool) -> None:
    await http.post(TASKS, json={"id": "a"}, headers={"traceparent": header})
    await http.post(TASKS, json={"id": "b"})
    traces = [(await http.get(f"{TASKS}/{id}")).json()["trace"] for id in ("a", "b")]
    assert traces == [header if known else None, None]


async def test_the_span_of_an_enqueue_is_in_the_trace_of_its_request(url: str, base_name: str) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

    async def anybody(_: Request) -> Principal:
        return everything("ann")

    async with Adeq.from_url(url, prefix=base_name, trace=Traces(tracer_provider=provider)) as adeq:
        service = app(adeq, authenticate=anybody, unmarked=True)
        async with AsyncClient(transport=ASGITransport(service), base_url="http://service") as http:
            headers = {"traceparent": f"00-{trace}-{span}-01", "tracestate": "a=1"}
            await http.post(TASKS, json={"id": "a"}, headers=headers)
            stored = (await http.get(f"{TASKS}/a")).json()["trace"]
    (made,) = spans.get_finished_spans()
    assert made.parent is not None
    assert (f"{made.parent.trace_id:032x}", f"{made.parent.span_id:016x}") == (trace, span)
    assert stored.split("-")[1:3] == [trace, f"{made.context.span_id:016x}"]
    assert made.context.trace_state.get("a") == "1"


async def test_a_request_waits_for_the_end(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")

    async def work() -> None:
        (lease,) = await queue.claim(wait=5)
        await queue.ack(lease, {"sum": 3})

    working = asyncio.create_task(work())
    ended = await http.post(TASKS, json={"payload": [1, 2]}, headers={"Prefer": "respond-async, wait=20"})
    await working
    assert (ended.status_code, ended.headers["preference-applied"]) == (200, "wait=20")
    assert (ended.json()["state"], ended.json()["result"]) == ("completed", {"sum": 3})
    waiting = await http.post(TASKS, json={"payload": 1}, headers={"Prefer": "wait=1"})
    assert (waiting.status_code, waiting.headers["retry-after"]) == (202, "1")


async def test_a_key_makes_a_request_once(http: AsyncClient) -> None:
    key = {"Idempotency-Key": '"order-7"'}
    first = await http.post(TASKS, json={"payload": 1, "kind": "a"}, headers=key)
    again = await http.post(TASKS, json={"kind": "a", "payload": 1}, headers=key)
    other = await http.post(TASKS, json={"payload": 2}, headers=key)
    assert (first.status_code, again.json()) == (202, first.json())
    assert (other.status_code, other.json()["code"]) == (422, "KEY_REUSED")
    assert (await http.get("/v1/queues/mail/stats")).json()["ready"] == 1


async def test_the_keys_of_others_are_apart(asking: Ask) -> None:
    key = {"Idempotency-Key": "k"}
    ids = [
        (await asking("producer").post(TASKS, json={"payload": number}, headers=key)).json()["id"] for number in (1, 2)
    ]
    assert ids[0] != ids[1]


async def test_pages_follow_each_other(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue_many(range(7))
    seen, cursor = [], ""
    while True:
        page = (await http.get(TASKS, params={"state": "ready", "limit": 3, "cursor": cursor})).json()
        seen += [task["id"] for task in page["items"]]
        cursor = page["cursor"]
        if not cursor:
            break
        other = await http.get(TASKS, params={"state": "dead", "cursor": cursor})
        assert other.status_code == 400
    assert len(set(seen)) == 7
    assert (await http.get(TASKS, params={"state": "ready", "cursor": "what"})).status_code == 400


async def test_partitions_are_one_queue(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.enqueue(0)
    await queue.repartition(3)
    ids = {(await http.post(TASKS, json={"payload": n})).json()["id"] for n in range(9)}
    seen: set[str] = set()
    cursor = ""
    while True:
        page = (await http.get(TASKS, params={"state": "ready", "limit": 2, "cursor": cursor})).json()
        seen |= {task["id"] for task in page["items"]}
        cursor = page["cursor"]
        if not cursor:
            break
    assert ids < seen
    assert len(seen) == 10
    assert (await http.get(f"{TASKS}/{ids.pop()}")).status_code == 200


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"priority": "high"}, "#/priority"),
        ({"colour": "red"}, "#/colour"),
        ({"tags": 5}, "#/tags"),
    ],
)
async def test_what_is_not_accepted_is_named(http: AsyncClient, body: dict[str, object], pointer: str) -> None:
    refused = await http.post(TASKS, json=body)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert "red" not in refused.text
    assert "high" not in refused.text


async def test_what_a_script_refuses_is_a_problem(http: AsyncClient) -> None:
    refused = await http.post(TASKS, json={"priority": 12})
    assert (refused.status_code, refused.json()["code"]) == (400, "ADEQ_ARG")
    assert "priority: 12 is not accepted; allowed: an integer from 0 to 9" in refused.json()["detail"]
    assert refused.json()["retryable"] is False


async def test_no_tier_is_passed_by(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    for tier in ("confidential", "restricted"):
        await queue.enqueue("only-for-ann", id=tier, tier=tier, headers={"x": "only-for-ann"})
        (lease,) = await queue.claim()
        await queue.progress(lease, 0.5, "only-for-ann", log="only-for-ann")
        name = "only-for-ann" if tier == "restricted" else "plan"
        await queue.leases.keep_steps([StepValue(lease, name, 1, "step", b'"only-for-ann"')])
        await queue.fail(lease, "only-for-ann" if tier == "restricted" else "shown", retryable=False)
        for path in ("", "/runs", "/log", "/steps"):
            found = await http.get(f"{TASKS}/{tier}{path}")
            assert found.status_code == 200
            assert "only-for-ann" not in found.text
    assert "only-for-ann" not in (await http.get(TASKS, params={"state": "dead"})).text


async def test_another_method_than_the_path_has(http: AsyncClient) -> None:
    refused = await http.delete("/v1/queues/mail/tasks")
    assert (refused.status_code, refused.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert refused.headers["allow"] == "GET, POST"


async def test_numbers_that_have_no_end(http: AsyncClient) -> None:
    refused = await http.post(TASKS, json={"backoff": {"multiplier": 1e308}})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "#/backoff/multiplier")
    changes = "/v1/changes/code/changes"
    refused = await http.post(changes, json={"id": "a", "type": "merge", "description": "d", "timeout": 1e308})
    assert (refused.status_code, "timeout" in refused.json()["detail"]) == (400, True)


async def test_a_page_by_kind_reads_no_more_than_a_thousand_tasks(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue_many([Task(kind="a")] * 1000 + [Task(kind="b", id="last")])
    first = (await http.get(TASKS, params={"state": "ready", "kind": "b"})).json()
    assert first["items"] == []
    rest = (await http.get(TASKS, params={"state": "ready", "kind": "b", "cursor": first["cursor"]})).json()
    assert ([task["id"] for task in rest["items"]], rest["cursor"]) == (["last"], "")
    refused = await http.get(TASKS, params={"kind": "b"})
    assert (refused.status_code, refused.json()["code"]) == (400, "ADEQ_ARG")

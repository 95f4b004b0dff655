"""Workers without a client of their own: claim, settle and heartbeat by REST."""

import asyncio
import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq, Every, Queue
from pyadeq.ext.server import Principal, app, everything
from tests.integration.server.conftest import Ask
from tests.integration.server.serving import served

pytestmark = pytest.mark.any_engine
CLAIM, SETTLE, BEAT = (f"/v1/queues/mail:{verb}" for verb in ("claim", "settle", "heartbeat"))


async def claim(http: AsyncClient, key: str, **body: Any) -> Any:
    answer = await http.post(CLAIM, json={"worker": "w", **body}, headers={"Idempotency-Key": key})
    assert answer.status_code == 200, answer.text
    return answer.json()["leases"]


async def test_a_task_is_claimed_and_settled(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue({"to": "ann"}, id="a", kind="send", headers={"x": 1}, user="ann", tags=["t"])
    (lease,) = await claim(http, "run.1")
    assert (lease["id"], lease["payload"], lease["kind"], lease["headers"]) == ("a", {"to": "ann"}, "send", {"x": 1})
    assert (lease["attempt"], lease["user"], lease["tags"]) == (1, "ann", ["t"])
    held = {"id": "a", "token": lease["token"]}
    beat = await http.post(BEAT, json={"worker": "w", "leases": [held], "extend": 100, "busy": 1})
    assert beat.json()["leases"][0]["status"] == "renewed"
    assert beat.json()["leases"][0]["deadline"] > lease["deadline"]
    assert beat.json()["mode"] == "run"
    done = await http.post(SETTLE, json={"acks": [held | {"result": {"sum": 3}}]})
    assert done.json()["acks"] == [{"id": "a", "status": "completed", "due": None, "code": ""}]
    assert await queue.result("a") == {"sum": 3}
    again = await http.post(SETTLE, json={"acks": [held | {"result": {"sum": 3}}]})
    assert again.json() == done.json()


async def test_each_task_of_a_settle_has_its_answer(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many(range(4))
    held = [{"id": one["id"], "token": one["token"]} for one in await claim(http, "run.1", limit=4)]
    lost = {"id": held[0]["id"], "token": "other"}
    answer = await http.post(
        SETTLE,
        json={
            "acks": [held[0], lost],
            "fails": [held[1] | {"error": "broken", "delay": 60}, lost],
            "releases": [held[2], lost],
            "snoozes": [held[3] | {"delay": 60}, lost | {"delay": 1}],
        },
    )
    found = {verb: [one["status"] for one in some] for verb, some in answer.json().items()}
    assert found == {
        "acks": ["completed", "lease_lost"],
        "fails": ["retried", "lease_lost"],
        "releases": ["released", "lease_lost"],
        "snoozes": ["snoozed", "lease_lost"],
    }
    assert answer.json()["acks"][1]["code"] == "LEASE_LOST"
    assert answer.json()["fails"][0]["due"] > 0
    stats = await queue.stats()
    assert (stats.ready, stats.delayed, stats.running) == (1, 2, 0)


@pytest.mark.parametrize("verb", ["acks", "fails", "releases", "snoozes"])
async def test_one_lost_lease_is_a_problem(adeq: Adeq, http: AsyncClient, verb: str) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    one: dict[str, Any] = {"id": "a", "token": "other"} | ({"delay": 1} if verb == "snoozes" else {})
    refused = await http.post(SETTLE, json={verb: [one]})
    assert (refused.status_code, refused.json()["code"], refused.json()["retryable"]) == (409, "LEASE_LOST", False)
    assert "other" not in refused.text


async def test_a_repeated_claim_has_the_same_leases(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many(range(5))
    first = await claim(http, "run.1", limit=2)
    assert await claim(http, '"run.1"', limit=2) == first
    assert len(await claim(http, "run.2", limit=1)) == 1
    assert (await queue.stats()).running == 3
    stale = await http.post(CLAIM, json={"worker": "w"}, headers={"Idempotency-Key": "run.1"})
    assert (stale.status_code, stale.json()["code"]) == (409, "CLAIM_STALE")


async def test_a_repeated_claim_has_only_what_still_holds(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many(range(5))
    first = await claim(http, "run.7", limit=2)
    await http.post(SETTLE, json={"acks": [{"id": first[0]["id"], "token": first[0]["token"]}]})
    assert await claim(http, "run.7", limit=2) == first[1:]
    await http.post(SETTLE, json={"releases": [{"id": first[1]["id"], "token": first[1]["token"]}]})
    assert await claim(http, "run.7", limit=2, wait=5) == []  # and claims nothing more
    assert (await queue.stats()).running == 0


async def test_a_claim_without_tasks_may_be_repeated_until_there_are_some(adeq: Adeq, http: AsyncClient) -> None:
    assert await claim(http, "run.1") == []
    assert await claim(http, "run.1") == []
    await adeq.queue("mail").enqueue(1, id="a")
    (lease,) = await claim(http, "run.1")
    assert await claim(http, "run.1") == [lease]


async def test_slots_are_claims_at_the_same_time(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue_many(range(2))
    both = await asyncio.gather(claim(http, "run.1", slot=0), claim(http, "run.1", slot=1))
    assert len({one["token"] for (one,) in both}) == 2
    assert await claim(http, "run.1", slot=1) == both[1]


async def test_a_new_run_ends_the_one_before(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue_many(range(3))
    assert len(await claim(http, "old.5")) == 1
    assert len(await claim(http, "new.1")) == 1
    refused = await http.post(CLAIM, json={"worker": "w"}, headers={"Idempotency-Key": "old.6"})
    assert (refused.status_code, refused.json()["code"]) == (409, "WORKER_REPLACED")


async def test_the_leases_of_others_are_not_found_by_their_key(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue_many(range(2))
    ann, ben = asking("queue.work"), asking("queue.work")
    (first,) = await claim(ann, "run.1")
    (other,) = await claim(ben, "run.1")
    assert first["id"] != other["id"]


async def test_a_claim_waits_for_a_task(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    waiting = asyncio.create_task(claim(http, "run.1", wait=30))
    await registered(queue)
    await queue.enqueue(1, id="a")
    (lease,) = await waiting
    assert lease["id"] == "a"
    assert await claim(http, "run.1", wait=30) == [lease]


async def registered(queue: Queue) -> None:
    """Until worker `w` has made its first claim."""
    while await queue.workers.get("w") is None:
        await asyncio.sleep(0.01)


async def test_several_wait_and_each_task_goes_to_one(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    waiting = [asyncio.create_task(claim(http, "run.1", slot=slot, wait=30)) for slot in range(5)]
    await registered(queue)
    await queue.enqueue_many(range(5))
    got = [one["id"] for found in await asyncio.gather(*waiting) for one in found]
    assert len(set(got)) == 5


async def test_a_claim_fires_schedules(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").schedules.set("s", Every(0.1), payload="now", kind="k")
    (lease,) = await claim(http, "run.1", wait=30)
    assert (lease["kind"], lease["payload"]) == ("k", "now")


async def test_partitions_are_claimed_in_turn(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.repartition(3)
    await queue.enqueue_many(range(12))
    seen: list[str] = []
    for number in range(1, 13):
        (lease,) = await claim(http, f"run.{number}", wait=5)
        assert await claim(http, f"run.{number}") == [lease]
        held = {"id": lease["id"], "token": lease["token"]}
        beat = await http.post(BEAT, json={"worker": "w", "leases": [held]})
        assert beat.json()["leases"][0]["status"] == "renewed"
        verb = "acks" if number % 2 else "releases"
        assert (await http.post(SETTLE, json={verb: [held]})).status_code == 200
        if verb == "acks":
            seen.append(lease["id"])
    assert len(set(seen)) == 6


async def test_a_wait_is_for_all_partitions(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.repartition(3)
    for number in range(1, 5):
        waiting = asyncio.create_task(claim(http, f"run.{number}", wait=30))
        await queue.enqueue(number)
        (lease,) = await waiting
        assert lease["payload"] == number


@pytest.mark.parametrize("key", [None, "run", "run.0", ".1", "run.x", "run.9999999999", "a b.1"])
async def test_keys_that_are_not_accepted(http: AsyncClient, key: str | None) -> None:
    refused = await http.post(CLAIM, json={"worker": "w"}, headers={"Idempotency-Key": key} if key else {})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "header Idempotency-Key")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"wait": 61}, "#/wait"), ({"limit": 0}, "#/limit"), ({"slot": 256}, "#/slot"), ({"lanes": []}, "#/lanes")],
)
async def test_bounds_are_named(http: AsyncClient, body: dict[str, Any], pointer: str) -> None:
    refused = await http.post(CLAIM, json={"worker": "w", **body}, headers={"Idempotency-Key": "run.1"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, pointer)


async def test_work_needs_its_right_and_no_user(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    for who in (asking("operator", "producer", "observer"), asking("worker", user="ann")):
        for path, body in ((CLAIM, {"worker": "w"}), (SETTLE, {}), (BEAT, {"worker": "w"})):
            assert (await who.post(path, json=body, headers={"Idempotency-Key": "run.1"})).status_code == 403
    assert (await asking("worker", names=("news",)).post(SETTLE, json={})).status_code == 404


async def test_a_worker_gets_the_payload_of_every_tier(adeq: Adeq, http: AsyncClient) -> None:
    for number, tier in enumerate(("public", "internal", "confidential", "restricted"), 1):
        await adeq.queue("mail").enqueue(tier, id=tier, tier=tier)  # type: ignore[arg-type]
        (lease,) = await claim(http, f"run.{number}")
        assert lease["payload"] == tier


async def test_a_payload_that_is_no_json_comes_as_bytes(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(b"\xff\x00", id="a")
    (lease,) = await claim(http, "run.1")
    assert (lease["payload"], lease["payload_base64"]) == (None, "/wA=")


# Processes of the service, and connections that break


async def test_another_process_answers_a_repeated_claim(url: str, base_name: str, adeq: Adeq) -> None:
    await adeq.queue("mail").enqueue_many(range(3))
    async with (
        served(url, base_name) as one,
        served(url, base_name) as two,
        AsyncClient(base_url=one) as first,
        AsyncClient(base_url=two) as second,
    ):
        leases = await claim(first, "run.1", limit=2)
        assert await claim(second, "run.1", limit=2) == leases
        assert len(await claim(second, "run.2", limit=2)) == 1
    async with served(url, base_name) as later, AsyncClient(base_url=later) as http:
        assert len(await claim(http, "run.2")) == 1


async def test_two_processes_that_serve_the_same_request_give_the_same_leases(
    url: str, base_name: str, adeq: Adeq
) -> None:
    queue = adeq.queue("mail")
    async with (
        served(url, base_name) as one,
        served(url, base_name) as two,
        AsyncClient(base_url=one, timeout=60) as first,
        AsyncClient(base_url=two, timeout=60) as second,
    ):
        for number in range(1, 11):
            both = [asyncio.create_task(claim(http, f"run.{number}", wait=30)) for http in (first, second)]
            await queue.enqueue(number)
            (given, again) = await asyncio.gather(*both)
            assert given == again
            assert [one["payload"] for one in given] == [number]
    assert (await queue.stats()).running == 10


async def test_the_task_of_a_client_that_goes_away_is_for_others(url: str, base_name: str, adeq: Adeq) -> None:
    queue = adeq.queue("mail")
    async with served(url, base_name) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        for number in range(1, 4):
            _, writer = await asyncio.open_connection(host, int(port))
            body = b'{"worker": "w", "wait": 60}'
            writer.write(
                b"POST /v1/queues/mail:claim HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Idempotency-Key: run.%d\r\nContent-Length: %d\r\n\r\n%s" % (number, len(body), body)
            )
            await writer.drain()
            await registered(queue)
            writer.transport.abort()
            await asyncio.sleep(0.05)  # the service hears of it
            await queue.enqueue(number)
            (lease,) = await queue.claim("other", wait=20)
            assert lease.payload == number
            assert lease.delivery == 1
            await queue.ack(lease)


async def test_an_answer_that_was_lost_is_found_again(adeq: Adeq) -> None:
    """The answer is made, and the connection breaks before it is sent."""
    queue = adeq.queue("mail")

    async def authenticate(_: Request) -> Principal:
        return everything("ann")

    service = app(adeq, authenticate=authenticate, unmarked=True)

    async def cut(scope: Any, receive: Any, send: Any) -> None:
        async def lose(message: Any) -> None:
            raise ConnectionResetError

        await service(scope, receive, lose if ("x-cut", "1") in _headers(scope) else send)

    await queue.enqueue(1, id="a")
    async with AsyncClient(transport=ASGITransport(cut), base_url="http://service") as http:
        with pytest.raises(ConnectionResetError):
            await http.post(CLAIM, json={"worker": "w"}, headers={"Idempotency-Key": "run.1", "X-Cut": "1"})
        assert (await queue.stats()).running == 1
        (lease,) = await claim(http, "run.1")
        assert (lease["id"], lease["delivery"]) == ("a", 1)


def _headers(scope: Any) -> list[tuple[str, str]]:
    return [(name.decode(), value.decode()) for name, value in scope["headers"]]


@pytest.mark.slow
async def test_clients_that_break_off_and_repeat_lose_no_task(url: str, base_name: str, adeq: Adeq) -> None:
    """Two processes serve workers that break off half of their claims and repeat them elsewhere: no lease is lost."""
    queue, chance, runs = adeq.queue("mail"), random.Random(7), dict[str, int]()

    async def work(name: str, services: Sequence[AsyncClient]) -> None:
        for number in itertools.count(1):
            while True:
                body = {"worker": name, "limit": 3, "wait": 2}
                asking = chance.choice(services).post(CLAIM, json=body, headers={"Idempotency-Key": f"run.{number}"})
                try:
                    async with asyncio.timeout(chance.choice([0.003, 0.01, 0.03, 30])):
                        answer = await asking
                    break
                except TimeoutError:
                    continue
            leases = answer.json()["leases"]
            for lease in leases:
                runs[lease["id"]] = lease["delivery"]
            acks = [{"id": lease["id"], "token": lease["token"]} for lease in leases]
            if acks:
                done = (await chance.choice(services).post(SETTLE, json={"acks": acks})).json()
                assert [one["status"] for one in done["acks"]] == ["completed"] * len(acks)
            if len(runs) == 300:
                return

    async with (
        served(url, base_name) as one,
        served(url, base_name) as two,
        AsyncClient(base_url=one, timeout=60) as first,
        AsyncClient(base_url=two, timeout=60) as second,
    ):
        working = [asyncio.create_task(work(f"w{number}", (first, second))) for number in range(4)]
        for number in range(300):
            await queue.enqueue(number)
            await asyncio.sleep(chance.choice([0, 0, 0.02]))
        await asyncio.gather(*working)
    stats = await queue.stats()
    assert (stats.completed, stats.running, stats.ready) == (300, 0, 0)
    assert set(runs.values()) == {1}

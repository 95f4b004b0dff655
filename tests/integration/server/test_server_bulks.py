"""Bulks: a change of many tasks that runs in the background, once, whatever happens to its process."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from fastapi import Request
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, Failure, PartitionedQueue, Queue, Task
from pyadeq.ext.server import app
from pyadeq.ext.server.api.bulk_runs import Bulks, Runner, Stored
from tests.integration.cli.run import environment
from tests.integration.server.conftest import Ask
from tests.waiting import DEADLINE, eventually

pytestmark = pytest.mark.any_engine
BULKS = "/v1/queues/mail/bulks"


async def die(queue: Queue | PartitionedQueue, count: int) -> list[str]:
    """Tasks that are dead, of users u0 and u1 in turn."""
    tasks = [Task(payload=n, user=f"u{n % 2}", kind=f"k{n % 2}") for n in range(count)]
    made = await queue.enqueue_many(tasks)
    left = count
    while left:
        leases = await queue.claim(limit=min(left, 1000))
        await queue.fail_many([Failure(one, "no", retryable=False) for one in leases])
        left -= len(leases)
    return [one.id for one in made]


async def ended(http: AsyncClient, path: str) -> Any:
    """A bulk when it has ended."""
    async with asyncio.timeout(DEADLINE):
        while not (found := (await http.get(path)).json())["done"]:
            await asyncio.sleep(0.02)
    return found


async def test_dead_tasks_are_retried_and_counted(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await die(queue, 1_100)
    counted = await http.post(BULKS, json={"verb": "retry", "filter": {"kind": "k1"}, "dry_run": True})
    assert (counted.status_code, counted.json()) == (200, {"matched": 550, "complete": True})
    assert (await queue.stats()).dead == 1_100
    begun = await http.post(BULKS, json={"verb": "retry", "filter": {"kind": "k1"}})
    assert (begun.status_code, begun.json()["state"], begun.json()["actor"]) == (202, "running", "ann")
    found = await ended(http, begun.headers["location"])
    assert {name: found[name] for name in ("state", "matched", "changed", "skipped", "resumed", "error")} == {
        "state": "done",
        "matched": 550,
        "changed": 550,
        "skipped": 0,
        "resumed": 0,
        "error": None,
    }
    stats = await queue.stats()
    assert (stats.dead, stats.ready) == (550, 550)
    (listed,) = (await http.get(BULKS)).json()["items"]
    assert listed == found
    assert not {"cursor", "owner", "user"} & found.keys()


async def test_dead_tasks_are_abandoned_and_waiting_ones_cancelled(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    dead = await die(queue, 4)
    await queue.enqueue_many([{"n": n} for n in range(3)])
    await queue.enqueue(1, user="u1", delay=60)
    begun = await http.post(BULKS, json={"verb": "cancel", "filter": {"user": "u1"}})
    assert (await ended(http, begun.headers["location"]))["changed"] == 1
    assert (await queue.stats()).dead == 4, "a cancel without a state leaves dead tasks as they are"
    begun = await http.post(BULKS, json={"verb": "abandon"})
    assert (await ended(http, begun.headers["location"]))["changed"] == 4
    assert await queue.get(dead[0]) is None
    begun = await http.post(BULKS, json={"verb": "cancel", "filter": {"state": "ready"}})
    assert (await ended(http, begun.headers["location"]))["changed"] == 3


async def test_all_partitions_are_changed(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.repartition(3)
    await die(queue, 12)
    counted = await http.post(BULKS, json={"verb": "retry", "dry_run": True})
    assert counted.json() == {"matched": 12, "complete": True}
    begun = await http.post(BULKS, json={"verb": "retry"})
    found = await ended(http, begun.headers["location"])
    assert (found["state"], found["changed"]) == ("done", 12)


async def test_a_dry_run_says_that_it_has_not_looked_at_all(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.PAGE", 3)
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.DRY_PAGES", 2)
    await die(adeq.queue("mail"), 7)
    counted = await http.post(BULKS, json={"verb": "retry", "dry_run": True})
    assert counted.json() == {"matched": 6, "complete": False}


async def test_a_key_begins_one_bulk(adeq: Adeq, http: AsyncClient) -> None:
    await die(adeq.queue("mail"), 2)
    key = {"Idempotency-Key": "a"}
    first, again = [await http.post(BULKS, json={"verb": "retry"}, headers=key) for _ in range(2)]
    assert first.json()["id"] == again.json()["id"]
    other = await http.post(BULKS, json={"verb": "abandon"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "KEY_REUSED")
    assert (await ended(http, first.headers["location"]))["changed"] == 2
    assert (await http.post(BULKS, json={"verb": "retry"}, headers={"Idempotency-Key": '""'})).status_code == 400


async def test_a_process_runs_only_so_many(adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.MOST_RUNNING", 1)
    held = Held(monkeypatch)
    await die(adeq.queue("mail"), 1)
    first = await http.post(BULKS, json={"verb": "retry"})
    await held.begun.wait()
    refused = await http.post(BULKS, json={"verb": "abandon"})
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "BUSY", "10")
    held.go.set()
    assert (await ended(http, first.headers["location"]))["changed"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "purge"},
        {"verb": "retry", "filter": {"state": "ready"}},
        {"verb": "retry", "filter": {"colour": "red"}},
        {"verb": "cancel"},
        {"verb": "cancel", "filter": {"kind": "k"}},
        {"verb": "retry", "filter": {"user": "no user"}},
    ],
)
async def test_what_no_bulk_can_do_is_refused_at_once(adeq: Adeq, http: AsyncClient, body: Any) -> None:
    await die(adeq.queue("mail"), 1)
    refused = await http.post(BULKS, json=body)
    assert (refused.status_code, refused.json()["may_have_applied"]) == (400, False), refused.text
    assert (await http.get(BULKS)).json() == {"items": []}


async def test_rights_are_those_of_the_verb(adeq: Adeq, asking: Ask) -> None:
    await die(adeq.queue("mail"), 2)
    assert (await asking("queue.produce").post(BULKS, json={"verb": "retry"})).status_code == 403
    assert (await asking("queue.operate").post(BULKS, json={"verb": "cancel"})).status_code == 403
    assert (await asking("queue.observe").post(BULKS, json={"verb": "cancel"})).status_code == 403
    assert (await asking("operator", names=("news",)).post(BULKS, json={"verb": "retry"})).status_code == 404
    assert (await asking(None).post(BULKS, json={"verb": "retry"})).status_code == 401
    begun = await asking("operator").post(BULKS, json={"verb": "retry"})
    path = begun.headers["location"]
    assert (await asking("operator", names=("news",)).get(path)).status_code == 404
    assert (await asking("operator").get(path.replace("/mail/", "/news/"))).status_code == 404
    assert (await asking("queue.produce").get(path)).status_code == 403
    assert (await asking("queue.produce").post(f"{path}:cancel")).status_code == 403
    assert (await asking("operator").post(f"{BULKS}/none:cancel")).status_code == 404


async def test_a_bulk_of_one_user_keeps_to_the_tasks_of_that_user(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    for user in ("ann", "ann", "bob"):
        await queue.enqueue(1, user=user)
    ann, bob = (asking("operator", user=user) for user in ("ann", "bob"))
    assert (await ann.post(BULKS, json={"verb": "retry"})).status_code == 403
    assert (await ann.post(BULKS, json={"verb": "cancel", "filter": {"user": "bob"}})).status_code == 403
    counted = await ann.post(BULKS, json={"verb": "cancel", "filter": {"state": "ready"}, "dry_run": True})
    assert counted.json()["matched"] == 2
    begun = await ann.post(BULKS, json={"verb": "cancel"})
    assert (await ended(ann, begun.headers["location"]))["changed"] == 2
    assert (await queue.stats()).ready == 1
    assert (await bob.get(begun.headers["location"])).status_code == 404
    assert (await bob.get(BULKS)).json() == {"items": []}
    assert (await bob.post(f"{begun.headers['location']}:cancel")).status_code == 404
    assert (await asking("operator").get(begun.headers["location"])).status_code == 200


async def test_what_fails_after_a_retry_is_not_retried_again(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await die(queue, 3)
    begun = await http.post(BULKS, json={"verb": "retry"})
    await ended(http, begun.headers["location"])
    again = await http.post(BULKS, json={"verb": "retry"})
    found = await ended(http, again.headers["location"])
    assert (found["matched"], found["changed"]) == (0, 0)


class Held:
    """Bulks whose chunks wait until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        change = Runner._change

        async def held(runner: Runner, part: Queue, ids: list[str]) -> list[str]:
            self.begun.set()
            await self.go.wait()
            return await change(runner, part, ids)

        monkeypatch.setattr(Runner, "_change", held)


async def test_a_bulk_ends_after_its_chunk_when_it_is_cancelled(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.CHUNK", 2)
    held = Held(monkeypatch)
    queue = adeq.queue("mail")
    await die(queue, 6)
    path = (await http.post(BULKS, json={"verb": "retry"})).headers["location"]
    await held.begun.wait()
    asked = await http.post(f"{path}:cancel")
    assert (asked.status_code, asked.json()["state"], asked.json()["done"]) == (200, "cancelling", False)
    held.go.set()
    found = await ended(http, path)
    assert (found["state"], found["changed"]) == ("cancelled", 2)
    assert (await queue.stats()).dead == 4
    assert (await http.post(f"{path}:cancel")).json()["code"] == "FINISHED"


async def test_a_bulk_whose_process_is_gone_is_taken_over_once(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.CHUNK", 2)
    held = Held(monkeypatch)
    queue = adeq.queue("mail")
    await die(queue, 6)
    path = (await http.post(BULKS, json={"verb": "retry"})).headers["location"]
    id = path.rpartition("/")[2]
    await held.begun.wait()  # its process stands still: it has stored nothing of its first chunk

    async def find(name: str) -> Any:
        return adeq.queue(name)

    others = [Bulks(adeq, find, hold=0.5) for _ in range(2)]
    for other in others:  # both wait for a sign of life, and one of them goes on
        assert (await other.get(id)) is not None
    async with asyncio.timeout(DEADLINE):
        while (found := await others[0].get(id)) is None or not found.resumed:
            await asyncio.sleep(0.02)
    held.go.set()
    found = await ended(http, path)
    assert (found["state"], found["matched"], found["changed"], found["resumed"]) == ("done", 6, 6, 1)
    assert (await queue.stats()).counters["revived"] == 6, "each task once, although two processes had the first chunk"


async def left(adeq: Adeq, hold: float) -> Bulks:
    """The bulks of a process that has just started, and one, `b`, that a process has left which is gone."""
    stored = Stored(id="b", queue="mail", verb="retry", filter={}, actor="ann", created=1.0, owner="gone")
    await adeq.config("_bulks").set("b", stored.model_dump_json().encode())

    async def find(name: str) -> Any:
        return adeq.queue(name)

    return Bulks(adeq, find, hold=hold)


async def test_a_service_that_starts_goes_on_with_what_was_left(adeq: Adeq) -> None:
    await die(adeq.queue("mail"), 3)

    async def nobody(_: Request) -> None:
        return None

    service = app(adeq, authenticate=nobody)
    service.state.bulks = bulks = await left(adeq, hold=0.1)

    async def is_done() -> bool:
        found = await adeq.config("_bulks").get("b")
        return bool(found and found.json()["done"])

    async with service.router.lifespan_context(service):
        await eventually(is_done)
    found = await bulks.get("b")
    assert found is not None
    assert (found.state, found.changed, found.resumed) == ("done", 3, 1)


async def test_what_was_left_can_be_cancelled(adeq: Adeq) -> None:
    queue = adeq.queue("mail")
    await die(queue, 3)
    bulks = await left(adeq, hold=0.1)
    asked = await bulks.cancel("b", "ann")
    assert asked is not None
    assert asked.state == "cancelling"

    async def is_done() -> bool:
        found = await bulks.get("b")
        return bool(found and found.done)

    await eventually(is_done)
    found = await bulks.get("b")
    assert found is not None
    assert (found.state, found.changed) == ("cancelled", 0)
    assert (await queue.stats()).dead == 3
    assert await bulks.cancel("b", "ann") is None


async def test_a_chunk_without_an_answer_is_repeated_and_counted_once(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, calls = Runner._change, 0

    async def lost(runner: Runner, part: Queue, ids: list[str]) -> list[str]:
        nonlocal calls
        calls += 1
        found = await change(runner, part, ids)
        if calls == 1:
            raise TimeoutError
        return found

    monkeypatch.setattr(Runner, "_change", lost)
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.REST", 0.01)
    await die(adeq.queue("mail"), 5)
    found = await ended(http, (await http.post(BULKS, json={"verb": "retry"})).headers["location"])
    assert (calls, found["matched"], found["changed"], found["skipped"]) == (2, 5, 5, 0)


async def test_a_bulk_that_cannot_go_on_says_why(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> list[str]:
        raise ValueError("no such thing")

    monkeypatch.setattr(Runner, "_change", broken)
    await die(adeq.queue("mail"), 1)
    found = await ended(http, (await http.post(BULKS, json={"verb": "retry"})).headers["location"])
    assert (found["state"], found["error"]) == ("failed", "no such thing")


@pytest.mark.slow
async def test_a_bulk_survives_its_killed_process(adeq: Adeq, url: str, base_name: str) -> None:
    queue, count = adeq.queue("mail"), 20_000
    await die(queue, count)
    words = [sys.executable, "-m", "pyadeq.ext.cli", "serve", "--url", url, "--port", "0", "--no-auth", "-o", "json"]
    environ = environment(ADEQ_PREFIX=base_name)
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ) as process:
        try:
            assert process.stdout is not None
            place = json.loads(await asyncio.to_thread(process.stdout.readline))["at"]
            async with AsyncClient(base_url=place) as http, asyncio.timeout(DEADLINE):
                id = (await http.post(BULKS, json={"verb": "retry"})).json()["id"]
                while not (await http.get(f"{BULKS}/{id}")).json()["matched"]:
                    pass
        finally:
            process.kill()

    async def find(_: str) -> Any:
        return queue

    other = Bulks(adeq, find, hold=1)
    killed = await other.get(id)
    assert killed is not None
    assert not killed.done
    async with asyncio.timeout(DEADLINE):
        while (found := await other.get(id)) is None or not found.done:
            await asyncio.sleep(0.05)
    assert (found.state, found.resumed) == ("done", 1)
    stats = await queue.stats()
    assert (stats.dead, stats.ready, stats.counters["revived"]) == (0, count, count)
    assert count - 500 <= found.changed <= count

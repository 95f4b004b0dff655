"""Posts about dead tasks and changes: one at once, then digests, and none is lost or doubled."""

import json
import signal
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Task, TaskFailed
from pyadeq.access import acl_rules
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import WaitTimeout
from pyadeq.ext.posts import Forwarder, Poster, Posts, serve
from pyadeq.ext.posts.content import of_change
from pyadeq.ext.posts.endpoints import QUEUE, read_endpoint
from pyadeq.ext.posts.groups import Group, digest, period_of
from pyadeq.models.queue import TaskView
from tests.integration import receivers
from tests.integration.receivers import Process, Receiver, allowed, receiving, status
from tests.integration.servers import ask
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.any_engine
BOARD = "https://board.example/adeq"
serving = partial(receivers.serving, serve)


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
async def aio(url: str, base_name: str) -> AsyncIterator[AsyncAdeq]:
    async with AsyncAdeq.from_url(url, prefix=base_name) as aio:
        yield aio


def add(client: Adeq, receiver: Receiver, id: str = "ops", **options: Any) -> None:
    Posts(client, allowed=allowed(receiver)).add(id, "json", receiver.url, **options)


def fail(client: Adeq, *ids: str, queue: str = "mail", error: str = "it broke", **options: Any) -> None:
    """Enqueue tasks that die at once."""
    found = client.queue(queue)
    for id in ids:
        found.enqueue({"n": id}, id=id, **options)
    for lease in found.claim(limit=len(ids)):
        found.fail(lease, error=error, reason="failed", retryable=False)


def said(receiver: Receiver, post: str) -> list[dict[str, Any]]:
    return [body for one in receiver.seen if (body := json.loads(one.body))["post"] == post]


def waiting(client: Adeq) -> list[TaskView]:
    """The posts that wait for the ends of their periods, the oldest first."""
    queue = client.queue(QUEUE)
    return [one for one in queue.get_many([one.id for one in queue.iterate("delayed")]) if one]


def first_about(id: str) -> dict[str, Any]:
    return {"post": "first", "stream": "queue:mail", "id": id, "at": time.time()}


async def send(client: Adeq, aio: AsyncAdeq, receiver: Receiver, payload: Any, user: str = "ops") -> Any:
    """What comes of a post that is due."""
    queue = client.queue("copies")
    queue.enqueue(payload, user=user)
    (lease,) = queue.claim(limit=1)
    async with Poster(aio, allowed=allowed(receiver)) as poster:
        try:
            return await poster.handle(lease)
        except TaskFailed as failed:
            return failed
        finally:
            queue.ack(lease)


async def test_the_first_at_once_and_then_one_digest(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, receiver, every=86_400, board=BOARD)
        fail(client, *[f"t/{n:02}" for n in range(30)], kind="send", user="ann", tags=["eu"])
        fail(client, "d1", kind="digest")
        async with serving(aio, receiver):
            await eventually(lambda: len(receiver.seen) == 2 and len(waiting(client)) == 2)
            fail(client, "t/30", kind="send")
            events = client.events("queue", "mail")
            await eventually(lambda: events.groups().groups and events.groups().groups[0].lag == 0)
        first, other = sorted(said(receiver, "first"), key=lambda one: one["id"], reverse=True)
        assert first["title"] == "Task t/00 of kind send in queue mail is dead: failed"
        assert (other["id"], other["kind"]) == ("d1", "digest")
        facts = {name: value for name, value in first["facts"].items() if name != "Died"}
        assert facts == {"Attempts": "1", "User": "ann", "Tags": "eu"}
        assert (first["error"], first["payload"]) == ("it broke", None)
        assert first["links"] == {
            "show": f"{BOARD}/queues/mail/tasks/t%2F00",
            "retry": f"{BOARD}/act/retry/mail/t%2F00",
            "abandon": f"{BOARD}/act/abandon/mail/t%2F00",
        }
        for one in waiting(client):
            outcome = await send(client, aio, receiver, one.payload)
            assert outcome == ({"status": 204} if one.payload["kind"] == "send" else {"status": "nothing to say"})
        (digest,) = said(receiver, "digest")
        assert digest["title"] == "30 tasks more of kind send in queue mail are dead: failed"
        assert digest["facts"]["Tasks"] == "t/01, t/02, t/03, t/04, t/05 and 25 more"
        assert digest["links"] == {"show": f"{BOARD}/queues/mail/tasks?state=dead&kind=send&reason=failed"}
        client.queue("mail").dead.retry("t/01")
        await send(client, aio, receiver, next(one.payload for one in waiting(client) if one.payload["kind"] == "send"))
        assert said(receiver, "digest")[-1]["title"].startswith("29 tasks more"), "what is not dead any more"


async def test_after_a_period_with_a_post_there_is_no_first_one(client: Adeq, aio: AsyncAdeq) -> None:
    forwarder = Forwarder(aio)
    with receiving() as receiver:
        add(client, receiver, every=86_400)
        endpoints = await forwarder.endpoints()
        fail(client, "a", "b")
        events = aio.events("queue", "mail")
        await events.register("test")
        batch = await events.read("test")
        again = [await forwarder.messages_of("queue:mail", batch, endpoints) for _ in range(2)]
        assert again[0] == again[1], "the same events make the same posts"
        (first, digest) = again[0]
        assert (first.kind, digest.kind, digest.run_after) == ("first", "digest", digest.payload["until"] + 1)
        later = batch._replace(events=tuple(one for one in batch.events if one.ids == ("b",)))
        assert [one.id for one in await forwarder.messages_of("queue:mail", later, endpoints)] == [first.id, digest.id]
        before = f"post:ops:{str(digest.id).split(':')[2]}:{round(digest.payload['since'] * 1000) - 86_400_000}"
        client.queue(QUEUE).enqueue({}, id=before)
        assert await forwarder.messages_of("queue:mail", batch, endpoints) == [digest]
        unwanted = {"ops": endpoints["ops"].model_copy(update={"since": time.time() + 60})}
        assert await forwarder.messages_of("queue:mail", batch, unwanted) == []


async def test_tiers_and_codecs_come_first(url: str, base_name: str, client: Adeq, aio: AsyncAdeq) -> None:
    from pyadeq.ext.crypto import Encrypted, new_key

    with receiving() as receiver:
        add(client, receiver, payload=True)
        for tier in ("internal", "confidential", "restricted"):
            fail(client, tier, tier=tier, user="ann", error="x" * 600 + "\n\x1b[31m\u202eend")
            await send(client, aio, receiver, first_about(tier))
        open_, confidential, restricted = said(receiver, "first")
        assert open_["error"] == ("x" * 600 + "\n\ufffd[31m\ufffdend")[-500:]
        assert open_["payload"] == '{"n":"internal"}'
        assert (confidential["error"], confidential["payload"]) == (open_["error"], None)
        assert (restricted["error"], restricted["payload"]) == (None, None)
        assert restricted["facts"].keys() == {"Attempts", "Died"}
        codec = Encrypted([new_key()])
        with Adeq.from_url(url, prefix=base_name, codec=codec) as sealing:
            fail(sealing, "sealed", error="secret")
            with pytest.raises(WaitTimeout):
                Posts(sealing).test("ops", wait=0.01)
            (asked,) = client.queue(QUEUE).iterate("ready")
            found = client.queue(QUEUE).get(asked.id)
            assert found
            assert found.payload == {"post": "test"}, "any service can read it"
        for one in (aio, AsyncAdeq.from_url(url, prefix=base_name, codec=codec)):
            await send(client, one, receiver, first_about("sealed"))
            assert (said(receiver, "first")[-1]["error"], said(receiver, "first")[-1]["payload"]) == (None, None)
        await one.aclose()


async def test_all_partitions_of_a_queue_are_one_group(client: Adeq, aio: AsyncAdeq) -> None:
    client.partitioned("mail").repartition(4)
    with receiving() as receiver:
        add(client, receiver, every=86_400)
        queue = client.partitioned("mail")
        for n in range(12):
            queue.enqueue(n, id=f"t{n:02}")
        for _ in range(12):
            (lease,) = queue.claim(limit=1)
            queue.fail(lease, reason="failed", retryable=False)
        async with serving(aio, receiver):
            await eventually(lambda: len(receiver.seen) == 1 and len(waiting(client)) == 1)
            parts = client.names("queue", partitions=True)
            streams = [client.events("queue", name) for name in parts if name.startswith("mail")]
            await eventually(lambda: all(one.groups().groups and not one.groups().groups[0].lag for one in streams))
        (one,) = waiting(client)
        assert await send(client, aio, receiver, one.payload) == {"status": 204}
    assert said(receiver, "digest")[0]["title"] == "11 tasks more in queue mail are dead: failed"


async def test_changes(client: Adeq, aio: AsyncAdeq) -> None:
    changes = client.changes("deploys")
    changes.set_policy("one", required=1, reviewers=["user:bob"])
    with receiving() as receiver:
        add(client, receiver, about=["asked"], board=BOARD, every=86_400)
        for id in ("c1", "c2", "c3"):
            made = changes.put(id, type="deploy", description=f"Deploy *{id}*\nmore", actor="ann")
            changes.submit(made, policy="one", actor="ann")
        async with serving(aio, receiver):
            await eventually(lambda: len(receiver.seen) == 1 and len(waiting(client)) == 1)
        (first,) = said(receiver, "first")
        assert first["title"] == "Change c1 in deploys waits for answers"
        assert (first["facts"]["About"], first["facts"]["Author"]) == ("Deploy *c1*", "ann")
        assert first["links"] == {"review": f"{BOARD}/changes/deploys/c1"}
        await send(client, aio, receiver, waiting(client)[0].payload)
        (digest,) = said(receiver, "digest")
        assert digest["title"] == "2 changes more in deploys wait for answers"
        assert digest["facts"]["Changes"] == "c2, c3"


async def test_changes_that_wait_escalate_and_time_out(url: str, base_name: str, client: Adeq, aio: AsyncAdeq) -> None:
    now = [1_000_000]
    with receiving() as receiver, Adeq.from_url(url, prefix=base_name, clock=lambda: now[0]) as later:
        add(client, receiver)
        changes = later.changes("deploys")
        changes.configure(clock="test")
        changes.set_policy(
            "p", required=1, reviewers=["user:bob"], remind=60, escalate=120, escalate_to=["user:eve"], timeout=300
        )
        for id in ("c1", "c2"):
            changes.submit(changes.put(id, type="deploy", description="d", actor="ann"), policy="p", actor="ann")
        for seconds in (61, 60, 1000):
            now[0] += seconds * 1000
            changes.sweep()
        events = client.events("change", "deploys")
        events.register("test")
        batch = events.read("test")
        anytime = {"ops": (await Forwarder(aio).endpoints())["ops"].model_copy(update={"since": 0.0})}
        posts = await Forwarder(aio).messages_of("change:deploys", batch, anytime)
        about = [(one.kind, one.payload.get("about"), one.payload.get("id", "")) for one in posts]
        assert ("first", "waiting", "c1") in about
        assert ("first", "escalated", "c1") in about
        assert ("first", "timeout", "c1") in about
        assert not [one for one in about if one[1] == "asked"]
        change = changes.get("c1")
        assert change
        post = of_change(anytime["ops"], Group("change:deploys", "timeout"), change)
    assert "".join(post.title) == "Change c1 in deploys is rejected, as there was no answer in time"


async def test_what_is_not_sent(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving(status(429, Retry_After="600")) as receiver:
        add(client, receiver, streams=["queue:mail"])
        fail(client, "a", "gone")
        client.queue("mail").dead.abandon("gone")
        message = first_about("a")
        failed = await send(client, aio, receiver, message)
        assert (failed.reason, failed.retryable is not False, failed.delay) == ("http_429", True, 600)
        assert await send(client, aio, receiver, message | {"id": "gone"}) == {"status": "nothing to say"}
        for wrong in (message | {"stream": "queue:salaries"}, message | {"at": 1.0}, message | {"x": 1}, "first", {}):
            assert (await send(client, aio, receiver, wrong)).reason == "unwanted"
        assert (await send(client, aio, receiver, message, user="none")).reason == "removed"
        async with Poster(aio) as strict:
            queue = client.queue("copies")
            queue.enqueue(message, user="ops")
            with pytest.raises(TaskFailed, match="the scheme") as refused:
                await strict.handle(queue.claim(limit=1)[0])
            assert not refused.value.retryable
    assert len(receiver.seen) == 1


async def test_the_rights_of_the_guide_suffice(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as root, receiving() as receiver:
        old = "waitaof" not in ask(server, "COMMAND LIST")
        rules = acl_rules("operator", "worker", "session.auth", "events.operate", "events.follow", old=old)
        ask(server, "ACL", "SETUSER", "posts", "on", ">secret", *rules)
        user: dict[str, Any] = {"username": "posts", "password": "secret"}
        with Adeq.from_url(server.url, **user) as operator:
            add(operator, receiver, board=BOARD, actions="code", about=["dead", "waiting"])
            fail(root, "a")
            async with AsyncAdeq.from_url(server.url, **user) as aio, serving(aio, receiver):
                await eventually(lambda: len(receiver.seen) == 1)
        assert "?code=" in said(receiver, "first")[0]["links"]["retry"]


@pytest.mark.slow
async def test_a_late_digest_is_about_all_since(client: Adeq, aio: AsyncAdeq) -> None:
    """The service or the receiver was away for some periods."""
    config = client.config("_posts")
    codes = iter([500, 204, 204])

    def answer(handler: Any) -> None:
        status(next(codes))(handler)

    with receiving(answer) as receiver:
        add(client, receiver, every=1)
        stored = config.get("ops")
        assert stored
        endpoint = read_endpoint(stored.value)
        assert endpoint
        config.set("ops", endpoint.model_copy(update={"since": 0.0}).encoded())
        fail(client, "a", "b")
        forwarder, group = Forwarder(aio), Group("queue:mail", "dead", reason="failed")
        endpoints = await forwarder.endpoints()
        died = client.queue("mail").get("a")
        assert died
        own = period_of("ops", endpoint, group, died.ended or 0)
        late = digest(own._replace(start=own.start - 60_000))
        await eventually(lambda: client.queue(QUEUE).list("running", limit=1).now > own.end / 1000 + 2)
        async with Poster(aio, allowed=allowed(receiver)) as poster:
            queue = client.queue("copies")
            queue.enqueue(late.payload, user="ops")
            (lease,) = queue.claim()
            with pytest.raises(TaskFailed):
                await poster.handle(lease)
            fail(client, "c")
            assert await poster.handle(lease) == {"status": 204}
        first, again = said(receiver, "digest")
        assert first == again, "another attempt says the same"
        assert first["title"] == "2 tasks in queue mail are dead: failed"
        assert await send(client, aio, receiver, digest(own).payload) == {"status": "nothing to say"}
        assert config.all().keys() == {"ops", own.told}
        events = aio.events("queue", "mail")
        await events.register("test")
        batch = await events.read("test")
        old = batch._replace(events=tuple(one for one in batch.events if one.ids in (("a",), ("b",))))
        assert {one.kind for one in await forwarder.messages_of("queue:mail", old, endpoints)} == {"digest"}
        async with Poster(aio) as strict:
            with pytest.raises(TaskFailed, match="the scheme"):
                await strict.handle(lease)
        assert config.all().keys() == {"ops"}, "a dead digest tells nothing"
        assert await send(client, aio, receiver, digest(own).payload) == {"status": 204}
        Posts(client).remove("ops")
        assert config.all() == {}


@pytest.mark.slow
async def test_ten_thousand_dead_tasks_make_one_post_and_one_digest(client: Adeq, aio: AsyncAdeq) -> None:
    queue = client.queue("mail")
    with receiving() as receiver:
        add(client, receiver, every=86_400)
        for begin in range(0, 10_000, 1000):
            expired = time.time() - 1
            queue.enqueue_many([Task(id=f"t{begin + n:05}", kind="send", expires_at=expired) for n in range(1000)])
        while queue.stats().dead < 10_000:
            queue.admin.expire()
        events = client.events("queue", "mail")
        async with serving(aio, receiver):
            await eventually(lambda: events.groups().groups and not events.groups().groups[0].lag)
            await eventually(lambda: len(receiver.seen) == 1 and len(waiting(client)) == 1)
        await send(client, aio, receiver, waiting(client)[0].payload)
    assert said(receiver, "digest")[0]["title"] == "9,999 tasks more of kind send in queue mail are dead: expired"
    assert len(receiver.seen) == 2


@pytest.mark.slow
def test_killed_processes_lose_and_double_no_task(url: str, base_name: str, client: Adeq, tmp_path: Path) -> None:
    client.queue(QUEUE).configure(lease=1.0)
    start = partial(Process, "post", url, base_name)
    with receiving() as receiver:
        add(client, receiver, every=5)
        for number in range(4):
            services = [start(tmp_path / f"{number}-{n}.log", receiver) for n in range(2)]
            seen = len(receiver.seen)
            for n in range(300):
                fail(client, f"{number}-{n}")
            wait_until(partial(has_more, receiver, seen))
            for service in services:
                service.end(signal.SIGKILL)
        client.events("queue", "mail").drop("posts")  # what the dead have read comes again at once
        last = start(tmp_path / "last.log", receiver)
        wait_until(lambda: not is_open(client))
        assert last.end(signal.SIGTERM) == 0
    firsts = {(one["id"], one["at"]) for one in said(receiver, "first")}
    digests = {one["since"]: one["title"] for one in said(receiver, "digest")}
    assert len(firsts) + sum(int(title.split()[0].replace(",", "")) for title in digests.values()) == 1200
    assert len(receiver.seen) <= 4 * len(digests), "few posts"


def has_more(receiver: Receiver, number: int) -> bool:
    return len(receiver.seen) > number


def is_open(client: Adeq) -> bool:
    """Whether events or posts wait. Events are looked at first, because they become posts."""
    groups = client.events("queue", "mail").groups().groups
    stats = client.queue(QUEUE).stats()
    return (
        not groups
        or groups[0].lag + groups[0].pending + stats.ready + stats.delayed + stats.blocked + stats.running > 0
    )

"""Posts about dead tasks and changes: one at once, then digests, and none is lost or doubled."""

import signal
import time
from collections import Counter
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
from pyadeq.ext.outgoing.posts import Forwarder, Poster, Posts, serve
from pyadeq.ext.outgoing.posts.content import of_change
from pyadeq.ext.outgoing.posts.endpoints import NAMESPACE, QUEUE
from pyadeq.ext.outgoing.posts.groups import Group, Told
from pyadeq.ext.outgoing.posts.happened import of_events
from pyadeq.ext.outgoing.stamps import stamp_key, stamped
from pyadeq.ids import new_ulid
from pyadeq.models.queue import TaskView
from tests.integration.outgoing import receivers
from tests.integration.outgoing.posting import MINUTE, counted, posting, said
from tests.integration.outgoing.receivers import Process, Receiver, allowed, receiving, status
from tests.integration.servers import ask, is_old
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


def fail(
    client: Adeq, *ids: str, queue: str = "mail", reason: str = "failed", error: str = "it broke", **options: Any
) -> None:
    """Enqueue tasks that die at once."""
    found = client.queue(queue)
    for id in ids:
        found.enqueue({"n": id}, id=id, **options)
    for lease in found.claim(limit=len(ids)):
        found.fail(lease, error=error, reason=reason, retryable=False)


def waiting(client: Adeq) -> list[TaskView]:
    """The posts that wait for the ends of their periods, the oldest first."""
    queue = client.queue(QUEUE)
    return [one for one in queue.get_many([one.id for one in queue.iterate("delayed")]) if one]


def first_about(id: str) -> dict[str, Any]:
    return {"post": "first", "stream": "queue:mail", "id": id, "at": time.time()}


async def send(
    client: Adeq, aio: AsyncAdeq, receiver: Receiver, payload: Any, user: str = "ops", id: str | None = None
) -> Any:
    """What comes of a post that is due, and was made by the service."""
    queue = client.queue("copies")
    made = Task(id=id or new_ulid(), user=user, payload=payload)
    queue.enqueue_many(stamped(stamp_key(client, NAMESPACE), [made]))
    (lease,) = queue.claim(limit=1)
    async with Poster(aio, allowed=allowed(receiver)) as poster:
        try:
            return await poster.handle(lease)
        except TaskFailed as failed:
            return failed
        finally:
            queue.ack(lease)


async def tell(client: Adeq, aio: AsyncAdeq, receiver: Receiver) -> Any:
    """What comes of a round about everything since the endpoint was added."""
    endpoint = Posts(client).get("ops")
    since, until = (round(at * 1000) for at in (endpoint.since, time.time() + 1))
    told = Told(epoch=round(endpoint.created * 1000), since=since, until=until, by="round")
    client.config("_posts").set("told:ops", told.encoded())
    return await send(client, aio, receiver, {"post": "round"}, id="round")


async def test_the_first_at_once_and_then_one_digest(url: str, base_name: str) -> None:
    with receiving() as receiver:
        async with posting(url, base_name) as world:
            world.add(receiver, board=BOARD)
            world.fail(*[f"t/{n:02}" for n in range(31)], kind="send", user="ann", tags=["eu"])
            world.fail("d1", kind="digest")
            await world.forward()
            await world.send(receiver)
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
            world.client.queue("mail").dead.retry("t/01")
            world.now += MINUTE
            assert await world.send(receiver) == [{"status": 204, "posts": 1}]
        (digest,) = said(receiver, "digest")
        assert digest["title"] == "29 tasks more of kind send in queue mail are dead: failed", "those that are dead now"
        assert digest["facts"]["Tasks"] == "t/02, t/03, t/04, t/05, t/06 and 24 more"
        assert digest["links"] == {"show": f"{BOARD}/queues/mail/tasks?state=dead&kind=send&reason=failed"}


async def test_after_a_period_with_an_event_there_is_no_first_post(url: str, base_name: str) -> None:
    with receiving() as receiver:
        async with posting(url, base_name) as world:
            world.add(receiver)
            for id in ("a", "b"):
                world.fail(id)
                await world.minute(receiver)
                assert world.waiting() == []
            await world.forward()
            world.now += 2 * MINUTE
            world.fail("c")
            await world.minute(receiver)
            await world.plain.events("queue", "mail").remove("posts")
            await world.minute(receiver)  # a process was killed: the same events again
    assert [one["id"] for one in said(receiver, "first")] == ["a", "c"]
    assert [one["title"].split()[1] for one in said(receiver, "digest")] == ["b"]


async def test_tiers_and_codecs_come_first(url: str, base_name: str, client: Adeq, aio: AsyncAdeq) -> None:
    from pyadeq.ext.connect.crypto import Encrypted, new_key

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
        assert await tell(client, aio, receiver) == {"status": 204, "posts": 1}
    assert said(receiver, "digest")[0]["title"] == "11 tasks more in queue mail are dead: failed"


async def test_changes(client: Adeq, aio: AsyncAdeq) -> None:
    changes = client.changes("deploys")
    changes.policies.set("one", required=1, reviewers=["user:bob"])
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
        await tell(client, aio, receiver)
        (digest,) = said(receiver, "digest")
        assert digest["title"] == "2 changes more in deploys wait for answers"
        assert digest["facts"]["Changes"] == "c2, c3"


async def test_changes_that_wait_escalate_and_time_out(url: str, base_name: str, client: Adeq, aio: AsyncAdeq) -> None:
    now = [1_000_000]
    with receiving() as receiver, Adeq.from_url(url, prefix=base_name, clock=lambda: now[0]) as later:
        add(client, receiver)
        changes = later.changes("deploys")
        changes.configure(clock="test")
        changes.policies.set(
            "p", required=1, reviewers=["user:bob"], remind=60, escalate=120, escalate_to=["user:eve"], timeout=300
        )
        for id in ("c1", "c2"):
            changes.submit(changes.put(id, type="deploy", description="d", actor="ann"), policy="p", actor="ann")
        for seconds in (61, 60, 1000):
            now[0] += seconds * 1000
            changes.sweep()
        events = client.events("change", "deploys")
        events.add("test")
        batch = events.read("test")
        anytime = {"ops": (await Forwarder(aio).endpoints())["ops"].model_copy(update={"since": 0.0})}
        found = await of_events(aio, "change:deploys", batch.events)
        about = {one.group.about for one in found if anytime["ops"].wants("change:deploys", one.group.about, one.at)}
        assert about == {"waiting", "escalated", "timeout"}, "not asked"
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
        wrong_post = {"post": "digest", "stream": "queue:mail"}
        old = message | {"at": 1.0}
        for wrong in (message | {"stream": "queue:salaries"}, old, message | {"x": 1}, wrong_post, "first", {}):
            assert (await send(client, aio, receiver, wrong)).reason == "unwanted"
        assert (await send(client, aio, receiver, message, user="none")).reason == "removed"
        async with Poster(aio) as strict:
            queue = client.queue("copies")
            made = Task(id="strict", user="ops", payload=message)
            queue.enqueue_many(stamped(stamp_key(client, NAMESPACE), [made]))
            with pytest.raises(TaskFailed, match="the scheme") as refused:
                await strict.handle(queue.claim(limit=1)[0])
            assert not refused.value.retryable
    assert len(receiver.seen) == 1


async def test_the_rights_of_the_guide_suffice(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as root, receiving() as receiver:
        rules = acl_rules("operator", "worker", "session.auth", "events.operate", "events.follow", old=is_old(server))
        ask(server, "ACL", "SETUSER", "posts", "on", ">secret", *rules)
        user: dict[str, Any] = {"username": "posts", "password": "secret"}
        with Adeq.from_url(server.url, **user) as operator:
            add(operator, receiver, board=BOARD, actions="code", about=["dead", "waiting"])
            fail(root, "a")
            async with AsyncAdeq.from_url(server.url, **user) as aio, serving(aio, receiver):
                await eventually(lambda: len(receiver.seen) == 1)
        assert "?code=" in said(receiver, "first")[0]["links"]["retry"]


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
        await tell(client, aio, receiver)
    assert said(receiver, "digest")[0]["title"] == "9,999 tasks more of kind send in queue mail are dead: expired"
    assert len(receiver.seen) == 2


@pytest.mark.slow
def test_killed_processes_lose_and_double_no_task(url: str, base_name: str, client: Adeq, tmp_path: Path) -> None:
    client.queue(QUEUE).configure(lease=1.0)
    start = partial(Process, "post run", url, base_name)
    with receiving() as receiver:
        add(client, receiver, every=5)
        for number in range(4):
            logs = [tmp_path / f"{number}-{n}.log" for n in range(2)]
            services = [start(log, receiver) for log in logs]
            wait_until(partial(have_begun, logs))
            enough = len(receiver.seen) + 1 + 5 * number  # among first posts, and within a round
            for n in range(300):
                fail(client, f"{number}-{n}", reason=f"r{n % 25}")
            wait_until(partial(has, receiver, enough))
            for service in services:
                service.end(signal.SIGKILL)
        client.events("queue", "mail").remove("posts")  # what the dead have read comes again at once
        last = start(tmp_path / "last.log", receiver)
        wait_until(lambda: not is_open(client))
        assert last.end(signal.SIGTERM) == 0
    firsts = {(one["id"], one["at"]) for one in said(receiver, "first")}
    digests = {(one["since"], one["reason"]): counted(one) for one in said(receiver, "digest")}
    others = {one["since"]: one["count"] for one in said(receiver, "others")}
    assert len(firsts) + sum(digests.values()) + sum(others.values()) == 1200
    assert max(Counter(at // 5 for _, at in firsts).values()) <= 10
    assert max(Counter(since for since, _ in digests).values()) <= 10


def have_begun(logs: list[Path]) -> bool:
    return all("posts are sent" in log.read_text() for log in logs)


def has(receiver: Receiver, number: int) -> bool:
    return len(receiver.seen) >= number


def is_open(client: Adeq) -> bool:
    """Whether events or posts wait. Events are looked at first, because they become posts."""
    groups = client.events("queue", "mail").groups().groups
    stats = client.queue(QUEUE).stats()
    return (
        not groups
        or groups[0].lag + groups[0].pending + stats.ready + stats.delayed + stats.blocked + stats.running > 0
    )

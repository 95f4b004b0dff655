"""Only what the services themselves have made is sent, however another task came into their queues."""

import json
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import NoPermissionError

from pyadeq import Adeq, Every, Task
from pyadeq.access import acl_rules
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError
from pyadeq.ext.operate.doctor.webhooks import check, check_posts, post_facts, refused_in
from pyadeq.ext.outgoing import posts, webhooks
from pyadeq.ext.outgoing.patterns import POSTS, WEBHOOKS
from pyadeq.ext.outgoing.posts import Posts
from pyadeq.ext.outgoing.stamps import place_of
from pyadeq.ext.outgoing.webhooks import Webhooks, new_secret
from pyadeq.models.queue import TaskView
from tests import waiting
from tests.integration.outgoing.receivers import Receiver, allowed, receiving, serving
from tests.integration.servers import ask

pytestmark = pytest.mark.any_engine
QUEUES = (WEBHOOKS, POSTS)
eventually = partial(waiting.eventually, within=20.0)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", new_secret())


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
async def aio(url: str, base_name: str) -> AsyncIterator[AsyncAdeq]:
    async with AsyncAdeq.from_url(url, prefix=base_name) as aio:
        yield aio


def add(client: Adeq, receiver: Receiver) -> None:
    """One endpoint of each service, both named `ops`."""
    given = {"secret": "env:HOOK_SECRET", "events": ["task.dead", "change.*"], "streams": ["queue:mail", "change:*"]}
    Webhooks(client, allowed=allowed(receiver)).add("ops", receiver.url, **given)  # type: ignore[arg-type]
    Posts(client, allowed=allowed(receiver)).add("ops", "json", receiver.url, streams=["queue:mail"], every=1.0)


def forged(queue: str, **update: Any) -> Task:
    """A task that looks like one of the service, about something that has never happened."""
    payload: dict[str, Any] = {
        WEBHOOKS: {"type": "change.approved", "at": 1.0, "stream": "change:prod", "seq": "1-0", "ids": ["FORGED"]},
        POSTS: {"post": "lost", "stream": "queue:mail", "id": "1", "count": 1_000_000},
    }[queue]
    made = Task(payload=payload, user="ops", kind={WEBHOOKS: "deliver", POSTS: "lost"}[queue])
    return made.model_copy(update=update)


def dead(client: Adeq, queue: str) -> list[TaskView]:
    """The dead tasks of a queue, whole."""
    found = [client.queue(queue).get(one.id) for one in client.queue(queue).iterate("dead")]
    return [one for one in found if one]


def by_schedule(client: Adeq, queue: str) -> None:
    client.queue(queue).schedules.set("evil", Every(3600.0), forged(queue))
    client.queue(queue).schedules.trigger("evil")


def by_retry(client: Adeq, queue: str) -> None:
    client.queue(queue).enqueue_many([forged(queue, id="evil", max_attempts=1)])
    (lease,) = client.queue(queue).claim(limit=1)
    client.queue(queue).fail(lease, reason="http_500", retryable=False)
    client.queue(queue).dead.retry("evil")


def by_follow_up(client: Adeq, queue: str) -> None:
    client.queue(queue).enqueue({}, id="first")
    client.queue(queue).enqueue_many([forged(queue, id="evil", after=["first"])])
    (lease,) = client.queue(queue).claim(limit=1)
    client.queue(queue).ack(lease)


def by_stamp_of_another(client: Adeq, queue: str) -> None:
    for headers in ({"adeq-stamp": "0" * 64}, {"adeq-stamp": None}, {"adeq-stamp": 1}, {}):
        client.queue(queue).enqueue_many([forged(queue, headers=headers)])


@pytest.mark.parametrize("way", [by_schedule, by_retry, by_follow_up, by_stamp_of_another])
async def test_a_forged_task_is_not_sent(way: Any, client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, receiver)
        for queue in QUEUES:
            way(client, queue)
        async with serving(webhooks.serve, aio, receiver), serving(posts.serve, aio, receiver):
            for queue in QUEUES:
                await eventually(lambda queue=queue: dead(client, queue))  # type: ignore[misc]
                await eventually(lambda queue=queue: not client.queue(queue).stats().pending)  # type: ignore[misc]
        assert receiver.seen == []
    for queue in QUEUES:
        found = dead(client, queue)
        assert {one.reason for one in found} == {"unverified"}
    assert "have not been made by the service" in check(Webhooks(client).list(), (), None, refused=1).found
    assert "have not been made by the service" in check_posts(post_facts(client), ()).found
    assert refused_in(client, WEBHOOKS)


async def happens(client: Adeq, aio: AsyncAdeq) -> None:
    """A task dies. Both services enqueue what they say of it, with stamps or, as older versions, without."""
    client.queue("mail").enqueue({}, id="m1")
    (lease,) = client.queue("mail").claim(limit=1)
    client.queue("mail").fail(lease, reason="failed", retryable=False)
    for forwarder in (webhooks.Forwarder(aio), posts.Forwarder(aio)):
        events = aio.events("queue", "mail")
        await events.add(forwarder._group)
        await forwarder._forward("queue:mail", events, await events.read(forwarder._group, limit=100))


async def test_messages_of_an_older_version_are_sent(
    client: Adeq, aio: AsyncAdeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that wait at an upgrade, or come from processes that are not upgraded yet."""
    with receiving() as receiver:
        add(client, receiver)
        monkeypatch.setattr("pyadeq.ext.outgoing.follower.stamped", lambda key, tasks: [*tasks])
        await happens(client, aio)
        assert [client.queue(queue).stats().ready for queue in QUEUES] == [1, 1]
        for queue in QUEUES:
            (one,) = client.queue(queue).iterate("ready")
            assert not (found := client.queue(queue).get(one.id)) or not found.headers
        async with serving(webhooks.serve, aio, receiver), serving(posts.serve, aio, receiver):
            await eventually(lambda: len(receiver.seen) == 2)
            await eventually(lambda: client.queue(POSTS).stats().completed == 2)
        assert [dead(client, queue) for queue in QUEUES] == [[], []]


@pytest.mark.parametrize(
    "change",
    [{"ids": ["m2"]}, {"type": "task.expired"}, {"at": 1.0}, {"seq": "1-0"}, {"seq": "-"}, {"stream": "queue:m ail"}],
)
async def test_of_an_event_only_what_it_says_is_sent(
    client: Adeq, aio: AsyncAdeq, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    with receiving() as receiver:
        add(client, receiver)
        await happens(client, aio)
        (one,) = client.queue(WEBHOOKS).iterate("ready")
        true = client.queue(WEBHOOKS).get(one.id)
        assert true
        client.queue(WEBHOOKS).admin.purge()
        again = Task(id=one.id, kind=true.kind, user="ops", payload={**true.payload, **change})
        client.queue(WEBHOOKS).enqueue_many([again, forged(WEBHOOKS, id="other", payload=true.payload)])
        async with serving(webhooks.serve, aio, receiver):
            await eventually(lambda: len(dead(client, WEBHOOKS)) == 2)
        assert receiver.seen == []
        # What a person replays is made anew from the event.
        with pytest.raises(AdeqError, match="the service has not made"):
            Webhooks(client).replay(one.id)
        client.events("queue", "mail").remove("webhooks")
        assert Webhooks(client).replay_range("ops", 0.0) == (1, 0)
        async with serving(webhooks.serve, aio, receiver):
            await eventually(lambda: client.queue(WEBHOOKS).stats().completed == 1)
        assert [json.loads(one.body)["data"]["ids"] for one in receiver.seen] == [["m1"]]
        assert receiver.ids == [one.id]


async def test_a_message_is_sent_again_after_its_event_is_deleted(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, receiver)
        await happens(client, aio)
        async with serving(webhooks.serve, aio, receiver):
            await eventually(lambda: client.queue(WEBHOOKS).stats().completed == 1)
            client.client.xtrim(f"{client.queue('mail').base}:events", maxlen=0, approximate=False)
            first = receiver.ids[0]
            assert Webhooks(client).replay(first) == (1, 0)
            # A message that tells of the deleted events may come too.
            await eventually(lambda: receiver.ids.count(first) == 2)


def test_only_who_may_change_endpoints_can_read_the_key(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as root:
        root.config("_webhooks").set("x", b"1")
        for name, *roles in (
            ("look", "observer"),
            ("make", "producer", "worker", "change.author"),
            ("run", "operator"),
        ):
            ask(server, "ACL", "SETUSER", name, "reset", "on", ">x", *acl_rules(*roles, "events.operate"))
            ask(server, "ACL", "SETUSER", name, "+get")
        ours = f"{root.config(place_of('_webhooks')).base}!operate"
        for name, may in (("look", False), ("make", False), ("run", True)):
            with Adeq.from_url(server.url, username=name, password="x") as one:
                if may:
                    assert one.client.get(ours) is None
                else:
                    with pytest.raises(NoPermissionError):
                        one.client.get(ours)

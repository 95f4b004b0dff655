"""From an event to the receivers: each wanted event arrives, signed, and once."""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from pyadeq import Adeq, Event, EventBatch, Task, TaskFailed, TaskView
from pyadeq.access import acl_rules
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Events
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError, ConfigError, TransportError
from pyadeq.ext.operate.doctor.webhooks import stuck_in
from pyadeq.ext.outgoing import follower
from pyadeq.ext.outgoing.stamps import stamp_key, stamped
from pyadeq.ext.outgoing.webhooks import Deliverer, Forwarder, Webhooks, delivery, new_secret, serve
from pyadeq.ext.outgoing.webhooks.delivery import GIVEN_UP
from pyadeq.ext.outgoing.webhooks.endpoints import QUEUE
from pyadeq.ext.outgoing.webhooks.forwarder import GROUP
from pyadeq.ext.outgoing.webhooks.messages import RETRIES
from pyadeq.ids import new_ulid
from tests.integration.outgoing import receivers
from tests.integration.outgoing.receivers import Process, Receiver, allowed, receiving, status
from tests.integration.servers import ask, is_old
from tests.waiting import eventually, wait_until

pytestmark = pytest.mark.any_engine

SECRET = new_secret()
serving = partial(receivers.serving, serve)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.fixture
async def aio(url: str, base_name: str) -> AsyncIterator[AsyncAdeq]:
    async with AsyncAdeq.from_url(url, prefix=base_name) as aio:
        yield aio


def add(client: Adeq, id: str, receiver: Receiver, **options: Any) -> None:
    given = {"secret": "env:HOOK_SECRET", "events": ["task.completed"], **options}
    Webhooks(client, allowed=allowed(receiver)).add(id, receiver.url, **given)


@contextlib.asynccontextmanager
async def forwarding(aio: AsyncAdeq, **options: Any) -> AsyncIterator[Forwarder]:
    forwarder = Forwarder(aio, find=0.1, **options)
    running = asyncio.create_task(forwarder.run())
    try:
        yield forwarder
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def do(client: Adeq, *ids: str, queue: str = "mail", **options: Any) -> None:
    """Enqueue tasks and complete them, one by one."""
    for id in ids:
        client.queue(queue).enqueue({"n": id}, id=id, **options)
        (lease,) = client.queue(queue).claim(limit=1)
        client.queue(queue).ack(lease, {"done": id})


def told(receiver: Receiver) -> list[str]:
    """The tasks of which a receiver was told, sorted."""
    return sorted(id for one in receiver.seen for id in json.loads(one.body)["data"]["ids"])


def is_read(client: Adeq) -> bool:
    """Whether all events of the queue are forwarded and acknowledged."""
    groups = client.events("queue", "mail").groups().groups
    return [(one.name, one.lag, one.pending) for one in groups] == [(GROUP, 0, 0)]


def events_of(client: Adeq) -> list[Event]:
    stream: Any = client.client.xrange(f"{client.queue('mail').base}:events")
    return [Event.from_entry(*one) for one in stream]


def server_time(client: Adeq) -> float:
    """In whole milliseconds, as the times of events."""
    seconds, micros = client.client.time()
    return float((seconds * 1000 + micros // 1000) / 1000)


def has(receiver: Receiver, number: int) -> bool:
    return len(receiver.seen) >= number


def messages(client: Adeq, state: Any = None) -> list[TaskView]:
    states: list[Any] = [state] if state else ["ready", "delayed", "blocked", "running", "completed", "dead"]
    return [one for state in states for one in client.queue(QUEUE).iterate(state)]


async def test_three_receivers_one_of_them_slow_and_one_gone(client: Adeq, aio: AsyncAdeq) -> None:
    ids = [f"t{n}" for n in range(20)]
    with receiving() as good, receiving() as slow, receiving(status(410)) as gone:
        slow.released.clear()
        for id, one in (("good", good), ("slow", slow), ("gone", gone)):
            add(client, id, one)
        async with serving(aio, good, slow, gone):
            do(client, *ids)
            await eventually(lambda: len(good.seen) == len(ids))
            assert len(slow.seen) <= 4, "it has as many as it may have at a time, and delays nobody"
            await eventually(lambda: not Webhooks(client).get("gone").endpoint.enabled)
            slow.released.set()
            await eventually(lambda: len(slow.seen) == len(ids))
            await eventually(lambda: len(messages(client, "completed")) == 2 * len(ids))
            await eventually(lambda: len(messages(client, "dead")) == len(ids))
    assert told(good) == told(slow) == sorted(ids)
    assert len(set(good.ids + slow.ids)) == 2 * len(ids), "each message has an id of its own"
    assert 1 <= len(gone.seen) <= 4
    assert {one.reason for one in messages(client, "dead")} == {"gone", "disabled"}
    assert "410" in str(Webhooks(client).get("gone").endpoint.disabled_for)
    for message in (*good.seen, *slow.seen, *gone.seen):
        assert Webhook(SECRET).verify(message.body, message.headers)
    events = client.events("config", "_webhooks")
    events.add("test")
    by_itself = [one for one in events.read("test").events if one.payload.get("by") == "adeq-webhooks"]
    assert ("config.set", ("gone",)) in [(one.event, one.ids) for one in by_itself], "whoever watches, is told"


async def test_the_body_is_thin_and_heeds_tiers(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as thin, receiving() as full:
        add(client, "thin", thin)
        add(client, "full", full, include=["payload", "result"])
        async with serving(aio, thin, full):
            do(client, "open")
            do(client, "closed", tier="confidential")
            do(client, "large", headers={"x": 1})
            await eventually(lambda: len(thin.seen) == len(full.seen) == 3)
    of = {json.loads(one.body)["data"]["ids"][0]: json.loads(one.body) for one in full.seen}
    about = of["open"]["data"]["tasks"][0]
    assert (about["payload"], about["result"]) == ({"n": "open"}, {"done": "open"})
    bare = {name: value for name, value in about.items() if name not in ("payload", "result")}
    assert bare.keys() == {"id", "state", "attempts", "created", "started", "ended"}
    assert (bare["state"], bare["attempts"]) == ("completed", 1)
    assert of["closed"]["data"]["tasks"][0].keys() == bare.keys(), "the tier of the task comes first"
    sent = {json.loads(one.body)["data"]["ids"][0]: json.loads(one.body) for one in thin.seen}
    assert sent["open"]["data"]["tasks"] == [bare]
    assert (sent["open"]["type"], sent["open"]["data"]["stream"]) == ("task.completed", "queue:mail")
    assert sent["open"].keys() == {"type", "timestamp", "data"}
    assert sent["open"]["data"].keys() == {"stream", "seq", "ids", "tasks"}


async def test_what_a_codec_opens_is_not_sent(url: str, base_name: str, client: Adeq, aio: AsyncAdeq) -> None:
    from pyadeq.ext.connect.crypto import Signed, new_key

    codec = Signed([new_key()])
    with receiving() as receiver, Adeq.from_url(url, prefix=base_name, codec=codec) as signing:
        add(client, "full", receiver, include=["payload", "result"])
        do(signing, "a")
        async with serving(aio, receiver):
            await eventually(lambda: len(receiver.seen) == 1)
        do(signing, "b")
        async with AsyncAdeq.from_url(url, prefix=base_name, codec=codec) as opening, serving(opening, receiver):
            await eventually(lambda: len(receiver.seen) == 2)
    for message in receiver.seen:
        assert not {"payload", "result"} & json.loads(message.body)["data"]["tasks"][0].keys()


async def test_only_what_is_wanted_and_since_the_endpoint_is_there(client: Adeq, aio: AsyncAdeq) -> None:
    do(client, "before")
    last = events_of(client)[-1].timestamp
    await eventually(lambda: server_time(client) > last)
    with receiving() as tasks, receiving() as locks:
        add(client, "tasks", tasks, streams=["queue:mail"])
        add(client, "locks", locks, streams=["lock:*"], events=["lock.*"])
        async with serving(aio, tasks, locks):
            do(client, "a")
            do(client, "other", queue="print")
            with client.locks("db").acquire("x", owner="me"):
                pass
            await eventually(lambda: len(tasks.seen) == 1 and len(locks.seen) == 2)
            webhooks = Webhooks(client)
            webhooks.disable("tasks")
            do(client, "meanwhile")
            last = events_of(client)[-1].timestamp
            await eventually(lambda: server_time(client) > last)  # what happens in one millisecond has one time
            webhooks.enable("tasks")
            do(client, "z")
            await eventually(lambda: len(tasks.seen) == 2)
            await eventually(lambda: not messages(client, "running"))
    assert told(tasks) == ["a", "z"]
    assert {json.loads(one.body)["type"] for one in locks.seen} == {"lock.acquired", "lock.released"}
    assert [one.name for one in client.events("queue", "print").groups().groups] == []
    assert [one.name for one in client.events("queue", QUEUE).groups().groups] == [], "its own events are not forwarded"


async def test_the_events_of_the_millisecond_in_which_it_was_added(
    client: Adeq, aio: AsyncAdeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    do(client, "a")
    (done,) = [one for one in events_of(client) if one.event == "task.completed"]
    ms = round(done.timestamp * 1000)
    monkeypatch.setattr(client.client, "time", lambda: (ms // 1000, ms % 1000 * 1000 + 999))
    with receiving() as receiver:
        add(client, "one", receiver)
        async with forwarding(aio) as forwarder:
            await eventually(lambda: is_read(client))
            assert forwarder.enqueued == 1


async def test_an_event_of_many_tasks_is_several_messages(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, "all", receiver, events=["task.enqueued"])
        async with serving(aio, receiver):
            client.queue("mail").enqueue_many([{}] * 45)
            await eventually(lambda: len(receiver.seen) == 3)
    assert sorted(len(json.loads(one.body)["data"]["ids"]) for one in receiver.seen) == [5, 20, 20]
    assert len({id for one in receiver.seen for id in json.loads(one.body)["data"]["ids"]}) == 45
    assert len(set(receiver.ids)) == 3
    assert not any("." in id for id in receiver.ids)


async def test_events_that_come_again_make_no_second_message(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, "one", receiver)
        do(client, "a", "b")
        events = client.events("queue", "mail")
        events.add(GROUP)
        assert events.read(GROUP, limit=1000, hold=1).events, "a forwarder reads them, and dies"
        async with forwarding(aio) as first:
            await eventually(lambda: first.enqueued == 2)
        events.remove(GROUP)  # as if nothing was ever acknowledged
        async with forwarding(aio) as second:
            await eventually(lambda: is_read(client))
            assert second.enqueued == 0
    assert len(messages(client)) == 2


async def test_a_gap_is_told(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, "one", receiver, events=["task.enqueued"])
        client.queue("mail").configure(events_max=100)
        client.events("queue", "mail").add(GROUP)
        for _ in range(400):
            client.queue("mail").enqueue({})
        async with forwarding(aio) as forwarder:
            await eventually(lambda: forwarder.lost and is_read(client))
        async with serving(aio, receiver):
            await eventually(lambda: len(messages(client, "completed")) == forwarder.enqueued)
    (gap,) = [json.loads(one.body) for one in receiver.seen if b"webhook.gap" in one.body]
    assert (gap["type"], gap["data"]["stream"], gap["data"]["lost"]) == ("webhook.gap", "queue:mail", forwarder.lost)
    assert 400 <= forwarder.lost + len(receiver.seen) - 1 <= 401, "the first event was that of the group"


async def test_a_failure_ends_no_follower(
    client: Adeq, aio: AsyncAdeq, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug or an event that this version cannot read: it is logged and stored, and tried again."""
    monkeypatch.setattr(follower, "PAUSE", 0.01)
    broken = [True]
    messages_of, names = Forwarder.messages_of, AsyncAdeq.names

    async def fail(self: Forwarder, stream: str, batch: EventBatch, *args: Any) -> Any:
        if broken and any(one.ids == ("a",) for one in batch.events):
            raise KeyError("odd")
        return await messages_of(self, stream, batch, *args)

    def no_names(*args: Any, **options: Any) -> Any:
        if broken:
            raise RuntimeError("no names")
        return names(*args, **options)

    def says(stream: str, error: str) -> bool:
        stuck = stuck_in(client, "_webhooks")
        return stuck is not None and (stuck.stream, stuck.error) == (stream, error)

    monkeypatch.setattr(Forwarder, "messages_of", fail)
    with receiving() as receiver:
        add(client, "hook", receiver)
        do(client, "b", "a", "c")
        do(client, "d", queue="print")
        async with forwarding(aio, hold=1):
            await eventually(lambda: len(messages(client)) == 3)
            await eventually(lambda: says("queue:mail", "KeyError: 'odd'"))
            monkeypatch.setattr(AsyncAdeq, "names", no_names)
            await eventually(lambda: says("", "RuntimeError: no names"))
            assert "Traceback" in caplog.text
            broken.clear()
            await eventually(lambda: len(messages(client)) == 4)


async def test_in_order(client: Adeq, aio: AsyncAdeq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RETRIES", (0.5,) * len(RETRIES))
    fail = iter([True, False])

    def answer(handler: Any) -> None:
        status(500 if next(fail, False) else 204)(handler)

    ids = [f"t{n}" for n in range(10)]
    with receiving(answer) as receiver:
        add(client, "one", receiver, order="fifo")
        do(client, *ids)
        async with serving(aio, receiver):
            await eventually(lambda: len(receiver.seen) == 11)
    assert [json.loads(one.body)["data"]["ids"][0] for one in receiver.seen] == ["t0", *ids]


async def test_limits_and_groups_are_those_of_the_endpoints(client: Adeq, aio: AsyncAdeq) -> None:
    limits = client.queue(QUEUE).limits
    with receiving() as receiver:
        add(client, "one", receiver, concurrency=2, starts=10)
        add(client, "two", receiver, order="fifo")
        client.queue("mail").configure()
        limits.set("user:left-over", concurrency=1)
        async with forwarding(aio):
            await eventually(lambda: is_read(client))
            found = {one.key: (one.concurrency, one.rate, one.burst) for one in limits.list()}
            assert found == {"user:one": (2, 10.0, 1), "user:two": (1, None, None)}
            assert client.queue(QUEUE).settings().fair
            Webhooks(client).disable("one")
            Webhooks(client).remove("two")
            await eventually(lambda: not client.events("queue", "mail").groups().groups)
            await eventually(lambda: not limits.list())


async def test_a_stream_that_a_list_of_names_lacks_keeps_its_group(client: Adeq, aio: AsyncAdeq) -> None:
    """A registry may lack what another client made after its last scan began."""
    with receiving() as receiver:
        add(client, "one", receiver)
        do(client, "a")
        async with forwarding(aio) as forwarder:
            await eventually(lambda: forwarder.enqueued == 1)
            registry = client.registry("queue")
            await eventually(lambda: registry.page().total > 0)
            registry.remove(["mail"])
            registry.add([], scan=registry.page().now)
            assert "mail" not in client.names("queue")
            add(client, "two", receiver)  # so the service looks at the names again
            await eventually(lambda: any(one.key == "user:two" for one in client.queue(QUEUE).limits.list()))
            do(client, "b")
            await eventually(lambda: forwarder.enqueued == 3)


async def test_a_group_whose_drop_has_failed_is_dropped_later(
    client: Adeq, aio: AsyncAdeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop, fails = Events.remove, iter([True])

    async def lost(events: Events, *args: Any) -> Any:
        if next(fails, False):
            raise TransportError("the server is away", retryable=True, may_have_applied=False)
        return await drop(events, *args)

    monkeypatch.setattr(Events, "remove", lost)
    with receiving() as receiver:
        add(client, "one", receiver)
        do(client, "a")
        async with forwarding(aio) as forwarder:
            await eventually(lambda: forwarder.enqueued == 1)
            Webhooks(client).remove("one")
            await eventually(lambda: not client.events("queue", "mail").groups().groups)
            add(client, "one", receiver)
            do(client, "b")
            await eventually(lambda: forwarder.enqueued == 2)
    assert next(fails, None) is None, "the first drop has failed"


async def test_the_rights_of_the_guide_suffice(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, Adeq.from_url(server.url) as root, receiving() as receiver:
        rules = acl_rules("operator", "worker", "events.operate", "events.follow", old=is_old(server))
        ask(server, "ACL", "SETUSER", "hooks", "on", ">secret", *rules)
        user: dict[str, Any] = {"username": "hooks", "password": "secret"}
        with Adeq.from_url(server.url, **user) as operator:
            add(operator, "one", receiver, events=["task.enqueued"])
            root.queue("mail").enqueue({})
            async with AsyncAdeq.from_url(server.url, **user) as aio, serving(aio, receiver):
                await eventually(lambda: len(receiver.seen) == 1)
                await eventually(lambda: Webhooks(operator).replay_range("one", 0) == (1, 0))
                await eventually(lambda: len(receiver.seen) == 2)
                Webhooks(operator).remove("one")
                await eventually(lambda: not root.events("queue", "mail").groups().groups)


# One delivery


def enqueue(client: Adeq, payload: Any, **options: Any) -> None:
    """Enqueue a message to `one` as the service does."""
    made = Task(id=new_ulid(), user="one", payload=payload, **options)
    client.queue(QUEUE).enqueue_many(stamped(stamp_key(client, "_webhooks"), [made]))


async def deliver(client: Adeq, aio: AsyncAdeq, receiver: Receiver, attempt: int = 1, now: float | None = None) -> Any:
    """What comes of one message. attempt: which one of the message."""
    queue = client.queue(QUEUE)
    enqueue(client, {"type": "webhook.test", "at": 1.0}, max_attempts=100)
    (lease,) = queue.claim(limit=1)
    object.__setattr__(lease, "attempt", attempt)
    async with Deliverer(aio, allowed=allowed(receiver), clock=lambda: now or time.time()) as deliverer:
        try:
            return await deliverer.handle(lease)
        except TaskFailed as failed:
            return failed
        finally:
            queue.ack(lease)


async def test_the_times_of_retries(client: Adeq, aio: AsyncAdeq) -> None:
    assert len(RETRIES) == 9
    assert sum(RETRIES) > 3 * 86400
    with receiving(status(500)) as receiver:
        add(client, "one", receiver)
        for attempt, delay in enumerate((*RETRIES, RETRIES[-1]), start=1):
            failed = await deliver(client, aio, receiver, attempt)
            assert (failed.reason, failed.retryable) == ("http_500", True)
            assert delay <= failed.delay <= delay * 1.1


@pytest.mark.parametrize(
    ("code", "wait", "delay"), [(429, 600, 600), (502, 600, 600), (503, 10**9, 86400), (500, 600, 5)]
)
async def test_retry_after_is_respected(code: int, wait: int, delay: int, client: Adeq, aio: AsyncAdeq) -> None:
    with receiving(status(code, Retry_After=str(wait))) as receiver:
        add(client, "one", receiver)
        failed = await deliver(client, aio, receiver)
    assert failed.retryable
    assert delay <= failed.delay <= delay * 1.1


async def test_five_days_of_failures_disable(client: Adeq, aio: AsyncAdeq) -> None:
    webhooks, began = Webhooks(client), 1_000_000.0
    codes = iter([500, 500, 204, 500, 500, 500])

    def answer(handler: Any) -> None:
        status(next(codes))(handler)

    with receiving(answer) as receiver:
        add(client, "one", receiver)
        await deliver(client, aio, receiver, now=began)
        await deliver(client, aio, receiver, now=began + GIVEN_UP - 1)
        failing = webhooks.get("one").failing
        assert failing
        assert (failing.since, failing.reason) == (began, "http_500")
        assert await deliver(client, aio, receiver, now=began + GIVEN_UP) == {"status": 204}
        assert webhooks.get("one").failing is None, "it works again"
        await deliver(client, aio, receiver, now=began + GIVEN_UP)
        await deliver(client, aio, receiver, now=began + 2 * GIVEN_UP - 1)
        assert webhooks.get("one").endpoint.enabled
        await deliver(client, aio, receiver, now=began + 2 * GIVEN_UP)
        assert webhooks.get("one").endpoint.disabled_for == "nothing was delivered for five days: http_500"
        failed = await deliver(client, aio, receiver)
        assert (failed.reason, failed.retryable) == ("disabled", False)
        webhooks.enable("one")
        assert webhooks.get("one").failing is None
    assert len(receiver.seen) == 6


async def test_both_secrets_sign_while_they_are_rotated(
    client: Adeq, aio: AsyncAdeq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = new_secret()
    file = tmp_path / "secret"
    file.write_text(new)
    with receiving() as receiver:
        add(client, "one", receiver)
        Webhooks(client).rotate("one", f"file:{file}", keep=60)
        await deliver(client, aio, receiver)
        await deliver(client, aio, receiver, now=time.time() + 61)
        file.unlink()
        failed = await deliver(client, aio, receiver)
        assert (failed.reason, failed.retryable) == ("secret", True)
    both, later = receiver.seen
    for secret in (SECRET, new):
        Webhook(secret).verify(both.body, both.headers)
    Webhook(new).verify(later.body, later.headers)
    assert later.headers["webhook-signature"].count("v1,") == 1
    stored = str(client.config("_webhooks").list()) + str([*client.config("_webhooks").history("one")])
    assert SECRET not in stored
    assert new not in stored


async def test_a_sealed_secret_signs(url: str, base_name: str, client: Adeq) -> None:
    from pyadeq.ext.connect.crypto import Encrypted, new_key

    codec, new = Encrypted([new_key()]), new_secret()
    with receiving() as receiver:
        webhooks = Webhooks(client, allowed=allowed(receiver), codec=codec)
        webhooks.add("one", receiver.url, secret=SECRET, events=["task.completed"])
        webhooks.rotate("one", new)
        do(client, "a")
        async with AsyncAdeq.from_url(url, prefix=base_name, codec=codec) as aio, serving(aio, receiver):
            await eventually(lambda: receiver.seen)
            with Adeq.from_url(url, prefix=base_name, codec=codec) as sealing:
                assert (await asyncio.to_thread(Webhooks(sealing).test, "one")).status == "completed"
                assert Webhooks(sealing).replay(receiver.seen[0].id) == (1, 0), "messages are not sealed"
            await eventually(lambda: len(receiver.seen) == 3)
    for secret in (SECRET, new):
        Webhook(secret).verify(receiver.seen[0].body, receiver.seen[0].headers)
    stored = str(client.config("_webhooks").list()) + str([*client.config("_webhooks").history("one")])
    assert SECRET not in stored
    assert new not in stored


async def test_a_refused_address_is_final(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver, receiving() as other:
        add(client, "one", receiver)
        failed = await deliver(client, aio, other)
    assert (failed.reason, failed.retryable) == ("refused", False)
    assert receiver.seen == []


async def test_an_endpoint_that_is_removed_gets_nothing(client: Adeq, aio: AsyncAdeq) -> None:
    with receiving() as receiver:
        add(client, "one", receiver)
        Webhooks(client).remove("one")
        assert (await deliver(client, aio, receiver)).reason == "removed"
    assert receiver.seen == []


# Replay


async def test_replay(client: Adeq, aio: AsyncAdeq) -> None:
    webhooks = Webhooks(client)
    with receiving() as receiver:
        add(client, "one", receiver)
        async with serving(aio, receiver):
            do(client, "a", "b")
            await eventually(lambda: len(messages(client, "completed")) == 2)
            first = receiver.seen[0]
            assert webhooks.replay(first.id) == (1, 0)
            await eventually(lambda: len(receiver.seen) == 3)
            assert receiver.seen[2].id == first.id
            assert json.loads(receiver.seen[2].body)["data"]["ids"] == json.loads(first.body)["data"]["ids"]
            await eventually(lambda: len(messages(client, "completed")) == 3)
            assert webhooks.replay_range("one", time.time() - 3600) == (2, 0)
            await eventually(lambda: len(receiver.seen) == 5)
        assert webhooks.replay_range("one", 0, 1) == (0, 0)
    assert set(receiver.ids) == set(receiver.ids[:2])
    with pytest.raises(AdeqError, match="there is no 'wh:x'"):
        webhooks.replay("wh:x")
    webhooks.disable("one")
    with pytest.raises(ConfigError, match="enable it first"):
        webhooks.replay_range("one", 0)


async def test_replay_of_dead_and_of_waiting_messages(client: Adeq, aio: AsyncAdeq) -> None:
    webhooks = Webhooks(client)
    with receiving(status(410)) as gone, receiving() as receiver:
        add(client, "gone", gone)
        add(client, "one", receiver)
        do(client, "a")
        async with serving(aio, gone, receiver):
            await eventually(lambda: len(messages(client, "dead")) == 1)
        dead = messages(client, "dead")[0].id
        do(client, "b")
        async with forwarding(aio):
            await eventually(lambda: len(messages(client, "ready")) == 1)
        webhooks.enable("gone")
        assert webhooks.replay(dead) == (1, 0)
        assert {one.id for one in messages(client, "ready")} >= {dead}
        assert webhooks.replay_range("one", 0) == (1, 1), "b waits, and a is sent once more"


def test_a_replay_of_many_events_goes_on_with_a_cursor(client: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    webhooks = Webhooks(client)
    for name, value in (("PAGE", 2), ("MOST", 3), ("A_STREAM", 1)):
        monkeypatch.setattr(f"pyadeq.ext.outgoing.webhooks._sync.replay.{name}", value)
    with receiving() as receiver:
        add(client, "one", receiver)
        for queue in ("jobs", "more"):
            do(client, *(f"t{number}" for number in range(4)), queue=queue)
        done, cursor, parts = *webhooks.replay_part("one", 0), 1
        total = done
        while cursor:
            done, cursor = webhooks.replay_part("one", 0, None, cursor)
            assert sum(done) <= 4
            total, parts = total.and_also(done), parts + 1
        assert parts > 4
        assert len(messages(client, "ready")) == sum(total) == 8
        assert webhooks.replay_range("one", 0) == (0, sum(total))
        with pytest.raises(ConfigError, match="cursor"):
            webhooks.replay_part("one", 0, None, "0 0-0")


# Processes


def process(url: str, prefix: str, log: Path, *receivers: Receiver) -> Process:
    return Process("webhook run", url, prefix, log, *receivers, HOOK_SECRET=SECRET)


@pytest.mark.slow
def test_killed_processes_lose_and_double_nothing(url: str, base_name: str, client: Adeq, tmp_path: Path) -> None:
    client.queue(QUEUE).configure(lease=1.0)
    ids = [f"t{n}" for n in range(300)]
    with receiving() as first, receiving() as second:
        add(client, "first", first)
        add(client, "second", second)
        do(client, *ids[:100])
        for number, some in enumerate((ids[100:150], ids[150:200], ids[200:250], ids[250:])):
            service = process(url, base_name, tmp_path / f"{number}.log", first, second)
            enough = len(first.seen) + 5
            do(client, *some)
            wait_until(partial(has, first, enough))
            service.end(signal.SIGKILL)
        # What the dead processes have read comes again after a minute; here it is given back at once.
        client.events("queue", "mail").remove(GROUP)
        service = process(url, base_name, tmp_path / "last.log", first, second)
        wait_until(lambda: len(messages(client, "completed")) == 2 * len(ids))
        assert service.end(signal.SIGTERM) == 0
    for receiver in (first, second):
        assert set(told(receiver)) == set(ids), "nothing is lost"
        assert len(set(receiver.ids)) == len(ids), "what is sent twice has the same webhook-id"
    assert len(messages(client)) == 2 * len(ids), "nothing is enqueued twice"


def test_the_process_ends_at_once_if_there_is_nothing_to_do(url: str, base_name: str, tmp_path: Path) -> None:
    service = process(url, base_name, tmp_path / "log")
    with Adeq.from_url(url, prefix=base_name) as client:
        wait_until(lambda: client.client.exists(f"{client.queue(QUEUE).base}:config"))
    assert service.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "task.completed", "at": 1.0, "stream": "queue:salaries", "seq": "1-0", "ids": ["s1"]},
        {"type": "webhook.gap", "at": 1.0, "stream": "queue:salaries"},
        {"type": "webhook.test", "at": 1.0, "said": "anything"},
        ["task.completed"],
    ],
)
async def test_a_message_that_the_endpoint_does_not_want_is_not_signed(
    client: Adeq, aio: AsyncAdeq, payload: Any
) -> None:
    """The endpoint may have changed since the message was made."""
    with receiving() as receiver:
        add(client, "one", receiver, streams=["queue:mail"])
        enqueue(client, payload)
        (lease,) = client.queue(QUEUE).claim(limit=1)
        async with Deliverer(aio, allowed=allowed(receiver)) as deliverer:
            with pytest.raises(TaskFailed) as refused:
                await deliverer.handle(lease)
        assert (refused.value.reason, refused.value.retryable) == ("unwanted", False)
        assert receiver.seen == []

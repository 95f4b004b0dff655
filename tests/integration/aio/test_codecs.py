"""Payloads, results and errors encrypted or signed: the server has nothing of them, and all comes back."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis

from pyadeq import Backoff, Cron, Every, Failure, Task
from pyadeq.asyncio import Adeq, Queue
from pyadeq.codec import Codec
from pyadeq.errors import PayloadError, TaskDead
from pyadeq.ext.connect.crypto import Encrypted, Signed, new_key

KEY = new_key()
SECRET = "Schwarzwälder"
PLAIN = (SECRET.encode(), b"Schwarzw\\u00e4lder")


@asynccontextmanager
async def client(url: str, codec: Codec | None) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, codec=codec) as adeq:
        yield adeq


@pytest.fixture(params=["encrypted", "signed"])
async def queue(request: pytest.FixtureRequest, url: str, base_name: str) -> AsyncIterator[Queue]:
    async with client(url, Encrypted([KEY]) if request.param == "encrypted" else Signed([KEY])) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
async def secret(url: str, base_name: str) -> AsyncIterator[Queue]:
    async with client(url, Encrypted([KEY])) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
async def other(url: str, base_name: str) -> AsyncIterator[Queue]:
    """The same queue with another key."""
    async with client(url, Encrypted([new_key()])) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
async def plain(url: str, base_name: str) -> AsyncIterator[Queue]:
    """The same queue without a codec."""
    async with client(url, None) as adeq:
        yield adeq.queue(base_name)


def parts(pairs: Any) -> list[bytes]:
    return [part for pair in pairs.items() for part in pair]


def texts(server: redis.Redis, base: str) -> Iterator[bytes]:
    """All that is stored of a queue."""
    read: dict[Any, Any] = {
        b"string": lambda key: [server.get(key)],
        b"hash": lambda key: parts(server.hgetall(key)),
        b"list": lambda key: server.lrange(key, 0, -1),
        b"set": server.smembers,
        b"zset": lambda key: server.zrange(key, 0, -1),
        b"stream": lambda key: [part for _, own in server.xrange(key) or () for part in parts(own)],
    }
    for key in server.scan_iter(f"{base}*"):
        yield from read[server.type(key)](key)


async def test_all_comes_back_as_it_was(queue: Queue) -> None:
    given = {"text": SECRET, "list": [], "big": 2**60}
    receipts = await queue.enqueue_many([given, b"\x00\xff", None, b""])
    leases = await queue.claim("w", 10)
    assert [lease.data for lease in leases[1:]] == [b"\x00\xff", b"null", b""]
    assert leases[0].payload == given
    assert await queue.ack_many([(leases[0], given), (leases[1], b"\xfe")]) == ["completed"] * 2
    await queue.leases.settle("w", acks=[(leases[2], None)], fails=[Failure(leases[3], SECRET, retryable=False)])
    first, second, third, last = await queue.get_many([one.id for one in receipts])
    assert first
    assert (first.payload, first.result) == (given, given)
    assert second
    assert (second.data, second.result_data) == (b"\x00\xff", b"\xfe")
    assert third
    assert (third.payload, third.result, third.unreadable) == (None, None, {})
    assert last
    assert (last.reason, last.error) == ("error", SECRET)
    assert await queue.result(receipts[0].id) == given
    assert await queue.result(receipts[2].id) is None
    with pytest.raises(TaskDead) as dead:
        await queue.result(receipts[3].id)
    assert dead.value.error == SECRET


async def test_nothing_of_it_is_on_the_server(secret: Queue, plain: Queue, url: str) -> None:
    await secret.configure(backoff=Backoff(base=0, jitter=0))
    await secret.enqueue_many([Task(payload=SECRET, scope="s", coalesce="last"), Task(payload=[SECRET], scope="s")])
    await secret.schedules.set("nightly", Cron("0 3 * * *", "UTC"), {"for": SECRET})
    await secret.schedules.trigger("nightly")
    await secret.enqueue(SECRET, reply=True, max_attempts=2)
    for _ in range(2):
        first, *rest = await secret.claim("w", 10)
        await secret.leases.settle(
            "w", acks=[(lease, SECRET) for lease in rest], fails=[Failure(first, ValueError(SECRET))]
        )
    with redis.Redis.from_url(url) as server:
        stored = list(texts(server, secret.base))
        assert len(stored) > 50
        assert not [text for text in stored for word in PLAIN if word in text]
        await plain.enqueue(SECRET)
        assert [text for text in texts(server, secret.base) for word in PLAIN if word in text]


async def test_what_another_key_sealed_is_refused_where_it_is_read(secret: Queue, other: Queue) -> None:
    receipt = await secret.enqueue(SECRET, headers={"to": "ann"})
    (lease,) = await other.claim("w")
    assert (lease.headers, lease.attempt) == ({"to": "ann"}, 1)
    for read in (lambda: lease.payload, lambda: lease.data):
        with pytest.raises(PayloadError, match=f"task '{receipt.id}': payload: it was encrypted with another key"):
            read()
    await other.fail(lease, "cannot read it", retryable=False)
    view = await secret.get(receipt.id)
    assert view
    assert (view.payload, view.error) == (SECRET, None)
    assert view.unreadable == {"error": "it was encrypted with another key, or changed"}
    view = await other.get(receipt.id)
    assert view
    assert (view.payload, view.error, list(view.unreadable)) == (None, "cannot read it", ["payload"])


async def test_a_result_that_cannot_be_read_is_no_result(secret: Queue, other: Queue) -> None:
    receipt = await secret.enqueue(1)
    (lease,) = await secret.claim("w")
    await secret.ack(lease, SECRET)
    outcome = await other.inspect.outcome(receipt.id)
    assert (outcome.status, outcome.result, list(outcome.unreadable)) == ("completed", None, ["result"])
    with pytest.raises(PayloadError, match="result: it was encrypted with another key"):
        await other.result(receipt.id)


async def test_a_forged_task_reaches_nobody(secret: Queue, plain: Queue) -> None:
    """Somebody who may write to the server, but has no key."""
    await plain.enqueue({"pay": "me"})
    genuine = await secret.enqueue("result for one queue")
    (forged, lease) = await secret.claim("w", 2)
    with pytest.raises(PayloadError, match="it is not encrypted"):
        _ = forged.payload
    assert lease.id == genuine.id
    (record,) = await plain.get_many([genuine.id])
    assert record
    await plain.ack(lease, record.data)  # a payload is put in a result's place
    with pytest.raises(PayloadError, match="for something else"):
        await secret.result(genuine.id)


async def test_a_second_ack_with_a_codec_answers_as_the_first(secret: Queue) -> None:
    """What is sealed again differs, and nobody can tell whether it is another result."""
    await secret.enqueue("x")
    (lease,) = await secret.claim("w")
    assert [await secret.ack(lease, {"n": 1}) for _ in range(2)] == ["completed", "completed"]
    assert (await secret.leases.settle("w", acks=[(lease, {"n": 1})])).acks == ["completed"]


async def test_without_a_codec_what_is_stored_is_seen_as_it_is(secret: Queue, plain: Queue) -> None:
    receipt = await secret.enqueue(SECRET)
    view = await plain.get(receipt.id)
    assert view
    assert view.payload.startswith("~e1:")


async def test_the_end_of_a_long_error_is_kept(queue: Queue) -> None:
    for error in ("ä" * 20_000 + "end", b"\xff\xc3" * 10_000 + b"end", ""):
        receipt = await queue.enqueue(1)
        (lease,) = await queue.claim("w")
        await queue.fail(lease, error, retryable=False)
        view = await queue.get(receipt.id)
        assert view
        assert (view.error or "").endswith("end" if error else "")
        assert len((view.error or "").encode()) <= 8192
        assert not error or len(view.error or "") > 1900
        assert view.unreadable == {}


async def test_a_schedule_that_stays_the_same_is_not_changed(secret: Queue, other: Queue) -> None:
    timing = Every(60)
    assert (await secret.schedules.set("s", timing, {"for": SECRET})).status == "created"
    assert (await secret.schedules.set("s", timing, {"for": SECRET})).status == "unchanged"
    assert (await secret.schedules.set("s", timing, {"for": "others"})).status == "changed"
    found = await secret.schedules.get("s")
    assert found
    assert found.payload == {"for": "others"}
    firing = await other.schedules.trigger("s")  # whoever fires it need not read it
    assert firing.status == "fired"
    unread = await other.schedules.get("s")
    assert unread
    assert (unread.payload, list(unread.unreadable)) == (None, ["payload"])
    (lease,) = await secret.claim("w")
    assert lease.payload == {"for": "others"}


async def test_what_is_gathered_is_read_or_refused(secret: Queue, other: Queue) -> None:
    receipt = await secret.gather([SECRET, "b"], "collect")
    leases = await secret.claim("w", 2)
    await secret.ack_many([(lease, [lease.payload]) for lease in leases])
    assert [task.result async for task in secret.inspect.gathered(receipt.id)] == [[SECRET], ["b"]]
    with pytest.raises(PayloadError, match="result: it was encrypted with another key"):
        _ = [task async for task in other.inspect.gathered(receipt.id)]
    mixed = await secret.gather(["a", "b"], "collect")
    for lease in await secret.claim("w", 9):
        await (other if lease.payload == "b" else secret).ack(lease, "done")
    seen: list[Any] = []
    try:
        async for task in secret.inspect.gathered(mixed.id):
            seen.append(task.result)
    except PayloadError:
        seen.append("refused")
    assert seen == ["done", "refused"]


class Failing(Encrypted):
    """One that cannot reach its keys now and then."""

    away = False

    def seal(self, data: bytes, context: bytes) -> bytes:
        if self.away:
            raise ConnectionError("the keys are away")
        return super().seal(data, context)

    def open(self, data: bytes, context: bytes) -> bytes:
        if self.away:
            raise ConnectionError("the keys are away")
        return super().open(data, context)


async def test_a_codec_that_fails_loses_no_lease(url: str, base_name: str) -> None:
    codec = Failing([KEY])
    async with client(url, codec) as adeq:
        queue = adeq.queue(base_name)
        receipt = await queue.enqueue(SECRET)
        codec.away = True
        (lease,) = await queue.claim("w")
        with pytest.raises(PayloadError, match="the codec has failed: ConnectionError"):
            _ = lease.data
        with pytest.raises(ConnectionError):
            await queue.ack(lease, "x")  # nothing was sent
        view = await queue.get(receipt.id)
        assert view
        assert view.unreadable == {"payload": "the codec has failed: ConnectionError"}
        codec.away = False
        assert await queue.release(lease) == "released"


async def test_a_schedule_is_sealed_anew_where_its_key_is_old(url: str, base_name: str) -> None:
    """Put again with the new key first, or for the first time with a codec at all, it is stored so."""
    old, new = KEY, new_key()
    for codec, status in (
        (None, "created"),
        (Encrypted([old], plain=True, seal=False), "unchanged"),
        (Encrypted([old], plain=True), "changed"),
        (Encrypted([old]), "unchanged"),
        (Encrypted([old, new]), "unchanged"),
        (Encrypted([new, old]), "changed"),
        (Encrypted([new]), "unchanged"),
        (Signed([new]), None),
    ):
        async with client(url, codec) as adeq:
            schedules = adeq.queue(base_name).schedules
            if status:
                assert (await schedules.set("s", Every(60), SECRET)).status == status
            found = await schedules.get("s")
            assert found
            assert (found.payload, bool(found.unreadable)) == ((SECRET, False) if status else (None, True))


async def test_one_that_cannot_be_read_does_not_hold_up_a_mailbox(secret: Queue, plain: Queue) -> None:
    await plain.configure(backoff=Backoff(base=60, jitter=0))
    await plain.mailbox("talk").enqueue("forged")
    mailbox = secret.mailbox("talk", window=0)
    for text in ("one", "two"):
        await mailbox.enqueue(text)
    batch = await mailbox.try_dequeue()
    assert batch
    assert batch.items == ["one", "two"]
    await batch.done()
    assert await mailbox.try_dequeue() is None
    stats = await secret.stats()
    assert (stats.delayed, stats.finished, stats.running) == (1, 2, 0)
    await plain.configure(backoff=Backoff(base=600, jitter=0))
    for number in range(4):
        await plain.mailbox("crowd").enqueue(number)
    await secret.mailbox("crowd").enqueue("behind them")
    crowd = await secret.mailbox("crowd", window=0, max_items=2).try_dequeue()
    assert crowd
    assert crowd.items == ["behind them"]
    await crowd.done()
    await secret.admin.purge()
    await plain.mailbox("talk").enqueue("forged")
    assert await mailbox.try_dequeue() is None
    settled = secret.mailbox("other", window=0, settle_at_once=True)
    await plain.mailbox("other").enqueue("forged")
    assert await settled.try_dequeue() is None
    assert (await secret.stats()).delayed == 2


async def test_what_the_other_codec_sealed_is_not_plain(url: str, base_name: str) -> None:
    async with client(url, Signed([KEY])) as one, client(url, Encrypted([KEY], plain=True)) as two:
        await one.queue(base_name).enqueue(SECRET)
        (lease,) = await two.queue(base_name).claim("w")
        assert not lease.readable
        assert repr(two.queue(base_name).calls).find(KEY) == -1
        with pytest.raises(AttributeError):
            two.codec = None  # type: ignore[misc]


async def test_partitions_have_it_too(url: str, base_name: str) -> None:
    async with client(url, Encrypted([KEY])) as adeq:
        queue = adeq.partitioned(base_name)
        await queue.repartition(3)
        for number in range(6):
            await queue.enqueue([SECRET, number])
        leases = await queue.claim("w", 6)
        while len(leases) < 6:
            leases += await queue.claim("w", 6)
        assert sorted(lease.payload[1] for lease in leases) == list(range(6))
        await queue.ack_many([(lease, SECRET) for lease in leases])
        assert await queue.result(leases[0].id) == SECRET
    with redis.Redis.from_url(url) as server:
        stored = list(texts(server, f"ade:{{queue:{base_name}"))
        assert not [text for text in stored for word in PLAIN if word in text]

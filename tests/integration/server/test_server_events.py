"""Events by REST: live, and in groups."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any

import pytest
from fastapi import Request
from httpx import AsyncClient, Limits

from pyadeq.asyncio import Adeq, Task
from pyadeq.ext.server import Principal, Scope, everything, gate, rights_of
from pyadeq.ext.server.api import event_access, event_streams, live
from tests.integration.server.conftest import Ask
from tests.integration.server.serving import served

pytestmark = pytest.mark.any_engine
EVENTS = "/v1/events/queue/mail"


class Reader:
    """Reads server-sent events as a browser does. last: what it would send as Last-Event-ID."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.last = ""

    async def next(self) -> dict[str, Any]:
        """The next event that has data: its JSON, and its `kind`."""
        found: dict[str, str] = {}
        async for line in self._lines:
            name, _, value = line.partition(": ")
            if line:
                found[name] = value
                continue
            self.last = found.get("id", self.last)
            if "data" in found:
                return {"kind": found.get("event", "message"), **json.loads(found["data"])}
            found = {}
        raise EOFError

    async def names(self, count: int) -> list[str]:
        """The next events, each as `task.enqueued a`."""
        return [" ".join([one["event"], *one["ids"]]) for one in [await self.next() for _ in range(count)]]


@asynccontextmanager
async def reading(http: AsyncClient, last: str | None = None, **query: str) -> AsyncIterator[Reader]:
    headers = {"Last-Event-ID": last} if last else {}
    async with http.stream("GET", EVENTS, params=query, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        reader = Reader(answer.aiter_lines())
        async for line in reader._lines:  # the first block has the place, and no data
            reader.last = line.removeprefix("id: ") if line.startswith("id: ") else reader.last
            if not line:
                break
        yield reader


@pytest.fixture
async def http(url: str, base_name: str) -> AsyncIterator[AsyncClient]:
    async with (
        served(url, base_name) as address,
        AsyncClient(base_url=address, timeout=30, limits=Limits(max_connections=200)) as http,
    ):
        yield http


async def test_events_come_as_they_happen(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="before")
    async with reading(http) as reader:
        await queue.cancel("before")
        await queue.enqueue(2, id="a", user="ann")
        (lease,) = await queue.claim("w")
        await queue.fail(lease, "broken: ü = 100 %\n", retryable=False)
        assert await reader.names(1) == ["task.cancelled before"]
        first = await reader.next()
        assert (first["kind"], first["event"], first["ids"], first["payload"]) == (
            "message",
            "task.enqueued",
            ["a"],
            {},
        )
        assert first["id"] == reader.last
        assert first["source"] == ""
        assert datetime.fromisoformat(first["timestamp"]).tzinfo is not None
        assert "again" not in first
        names = [await reader.next() for _ in range(3)]
        assert [one["event"] for one in names] == ["worker.registered", "task.claimed", "task.dead"]
        assert names[2]["payload"] == {"attempts": "1", "error": "broken: ü = 100 %\n", "reason": "error"}


async def test_a_reader_goes_on_without_loss_or_doubles(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(0, id="t0")
    wanted = [f"task.enqueued t{number}" for number in range(1, 61)]
    seen: list[str] = []

    async def write() -> None:
        for number in range(1, 61):
            await queue.enqueue(number, id=f"t{number}")

    last: str | None = None
    async with reading(http) as reader:
        last = reader.last
    writing = asyncio.create_task(write())
    while len(seen) < 60:
        async with reading(http, last) as reader:
            seen += await reader.names(min(7, 60 - len(seen)))
            last = reader.last
    await writing
    assert seen == wanted


async def test_a_backlog_of_several_pages_and_what_comes_meanwhile(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many(range(2000))
    for _ in range(1100):
        await queue.admin.pause()
        await queue.admin.resume()
    async with reading(http, "0-0", types="queue.*") as reader:
        await queue.admin.pause()
        names = [(await reader.next())["event"] for _ in range(2201)]
    assert names == ["queue.paused", "queue.resumed"] * 1100 + ["queue.paused"]


async def test_types_and_ids_are_filtered(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    for id in ("a", "b"):
        await queue.enqueue(1, id=id)
    for lease in await queue.claim("w", 2):
        await queue.ack(lease)
    async with reading(http, "0-0", types="task.c*,worker.lost", task="b") as reader:
        assert await reader.names(2) == ["task.claimed a b", "task.completed b"]


async def test_a_quiet_stream_says_where_it_is(adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "PING", 0.1)
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="a")
    async with http.stream("GET", EVENTS, params={"types": "none", "after": "0-0"}) as answer:
        block: list[str] = []
        async for line in answer.aiter_lines():
            block = [*block, line] if line else []
            if line.startswith("id: ") and ": ping" in block:
                break
        client: Any = adeq.client
        ((id, _),) = await client.xrevrange(f"{queue.base}:events", count=1)
    assert block[-1] == f"id: {id.decode()}"


async def test_what_was_deleted_is_one_gap(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    for number in range(10):
        await queue.enqueue(number, id=f"t{number}")
    async with reading(http, "0-0") as reader:
        assert (await reader.names(2)) == ["task.enqueued t0", "task.enqueued t1"]
        last = reader.last
    await adeq.client.xtrim(f"{queue.base}:events", maxlen=3, approximate=False)
    async with reading(http, last) as reader:
        gap = await reader.next()
        assert gap == {"kind": "gap", "why": "trimmed", "after": last}
        assert reader.last == last
        assert await reader.names(3) == [f"task.enqueued t{number}" for number in (7, 8, 9)]
    async with reading(http, "0-0") as reader:
        assert await reader.names(1) == ["task.enqueued t7"]


async def test_an_older_backup_is_a_gap(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    async with reading(http, "9000000000000-0") as reader:
        assert (await reader.next())["kind"] == "gap"
        assert await reader.names(1) == ["task.enqueued a"]


async def test_what_a_living_reader_misses_is_a_gap(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="t0")
    async with reading(http) as reader:
        for number in (1, 2):
            await queue.enqueue(1, id=f"t{number}")
            assert await reader.names(1) == [f"task.enqueued t{number}"]
        async with adeq.client.pipeline(transaction=True) as pipe:  # it never sees the first three
            for number in range(3, 7):
                pipe.xadd(f"{queue.base}:events", {"event": "task.enqueued", "timestamp": 1, "id": f"t{number}"})
            pipe.xtrim(f"{queue.base}:events", maxlen=1, approximate=False)
            await pipe.execute()
        assert (await reader.next())["kind"] == "gap"
        assert await reader.names(1) == ["task.enqueued t6"]


async def write_much(adeq: Adeq, count: int) -> list[str]:
    """Events of 50 KB each, as those of many ids. Returns their ids in the stream."""
    about: Any = {"event": "task.completed", "timestamp": 1, "id": " ".join(["x" * 100] * 500)}
    client: Any = adeq.client
    return [(await client.xadd(f"{adeq.queue('mail').base}:events", about)).decode() for _ in range(count)]


@asynccontextmanager
async def stuck(address: str, query: str = "") -> AsyncIterator[tuple[asyncio.StreamReader, Any]]:
    """A client that has begun to read, and takes nothing more until `resume_reading`."""
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1000)
    writer.write(f"GET {EVENTS}{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    await reader.readuntil(b"retry: 1000\n\n")
    transport: Any = writer.transport
    transport.pause_reading()
    yield reader, transport
    writer.close()


async def test_a_slow_reader_is_dropped_and_can_go_on(
    url: str, base_name: str, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes nothing while more is written than the sockets and its buffer hold. Others get all."""
    monkeypatch.setattr(live, "MOST_KEPT", 50)
    monkeypatch.setattr(live, "PAUSE", 0)
    await adeq.queue("mail").enqueue(1, id="t0")
    async with (
        served(url, base_name) as address,
        AsyncClient(base_url=address, timeout=60) as http,
        stuck(address) as (slow, transport),
    ):
        there: list[str] = []
        async with reading(http) as reader:
            for _ in range(30):
                there += await write_much(adeq, 10)
                assert [(await reader.next())["id"] for _ in range(10)] == there[-10:]
        transport.resume_reading()
        text = (await slow.read(-1)).decode().replace("\r\n", "\n")
        assert '\nevent: gap\ndata: {"why":"slow","after":"' in text
        got = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]
        assert got == there[: len(got)]
        assert len(got) < 300
        async with reading(http, got[-1]) as later:
            assert [(await later.next())["id"] for _ in there[len(got) :]] == there[len(got) :]


async def test_a_client_that_takes_nothing_is_cut_off(
    url: str, base_name: str, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "SLOW", 0.2)
    cut = asyncio.Event()
    closing = event_streams.LiveResponse.stream_response

    async def noted(self: Any, send: Any) -> None:
        await closing(self, send)
        cut.set()

    monkeypatch.setattr(event_streams.LiveResponse, "stream_response", noted)
    await adeq.queue("mail").enqueue(1, id="t0")
    there = await write_much(adeq, 300)
    async with served(url, base_name) as address, stuck(address, "?after=0-0") as (reader, transport):
        await cut.wait()
        transport.resume_reading()
        text = (await reader.read(-1)).decode()
        assert there[-1] not in text


async def test_one_reader_serves_all(url: str, base_name: str, adeq: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[str] = []
    block_on = Adeq.block_on

    async def noted(self: Adeq, stream: str, last: str, seconds: float) -> None:
        waits.append(stream)
        await block_on(self, stream, last, seconds)
        waits.remove(stream)

    monkeypatch.setattr(Adeq, "block_on", noted)
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="a")
    async with (
        served(url, base_name) as address,
        AsyncClient(base_url=address, timeout=30) as http,
        reading(http) as one,
        reading(http) as two,
        reading(http) as three,
    ):
        for id in ("b", "c"):
            await queue.enqueue(1, id=id)
            for reader in (one, two, three):
                assert await reader.names(1) == [f"task.enqueued {id}"]
        while not waits:
            await asyncio.sleep(0.01)
        assert waits == [f"{queue.base}:events"]


async def test_many_may_begin_at_once(adeq: Adeq, http: AsyncClient) -> None:
    """More than the pool of the client has connections."""
    await adeq.queue("mail").enqueue(1, id="a")

    async def first() -> list[str]:
        async with reading(http, "0-0") as reader:
            return await reader.names(1)

    assert await asyncio.gather(*[first() for _ in range(150)]) == [["task.enqueued a"]] * 150


# Rights


async def test_streams_of_one_caller_leave_places_for_others(
    adeq: Adeq, people: tuple[AsyncClient, dict[str, Principal]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_OF_ONE", 2)
    http, known = people
    await adeq.queue("mail").enqueue(1, id="a")
    known |= {"token 1": everything("ann"), "token 2": everything("ann"), "bob": everything("bob")}

    def as_(who: str) -> AbstractAsyncContextManager[Reader]:
        http.headers["authorization"] = who
        return reading(http)

    async with as_("token 1"), as_("token 2"), as_("bob"):
        refused = await http.get(EVENTS, headers={"Authorization": "token 1"})
        problem = refused.json()
        assert (refused.status_code, problem["code"], problem["retryable"]) == (429, "TOO_MANY_STREAMS", True)
        assert problem["detail"].startswith("ann has 2 streams of events open")
        assert refused.headers["retry-after"] == "10"
    async with as_("token 1"), as_("token 2"):
        pass


@pytest.fixture
async def people(url: str, base_name: str) -> AsyncIterator[tuple[AsyncClient, dict[str, Principal]]]:
    known: dict[str, Principal] = {}

    async def authenticate(request: Request) -> Principal | None:
        return known.get(request.headers.get("authorization", ""))

    async with served(url, base_name, authenticate) as address, AsyncClient(base_url=address, timeout=30) as http:
        yield http, known


async def test_a_stream_ends_when_the_rights_of_its_reader_end(
    adeq: Adeq, people: tuple[AsyncClient, dict[str, Principal]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "ASK", 0.2)
    http, known = people
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="a")
    for less in (None, Principal("ann"), Principal("ann", (Scope(rights_of(["lock.observe"])),))):
        known["ann"] = everything("ann")
        http.headers["authorization"] = "ann"
        async with reading(http) as reader:
            await queue.enqueue(1)
            assert (await reader.next())["event"] == "task.enqueued"
            if less:
                known["ann"] = less
            else:
                del known["ann"]
            with pytest.raises(EOFError):
                await reader.names(1000)


async def test_it_is_asked_twice_in_ten_seconds() -> None:
    assert 2 * event_streams.ASK <= 10


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        (Scope(rights_of(["queue.observe"])), 200),
        (Scope(rights_of(["queue.observe"]), ("mail",)), 200),
        (Scope(rights_of(["queue.observe"]), ("news",)), 404),
        (Scope(rights_of(["lock.observe", "events.observe", "queue.work"])), 403),
        (Scope(rights_of(["queue.observe"]), user="ann"), 200),
        (Scope(rights_of(["queue.produce"]), user="ann"), 403),
    ],
)
async def test_each_stream_needs_its_right(
    adeq: Adeq, people: tuple[AsyncClient, dict[str, Principal]], scope: Scope, status: int
) -> None:
    http, known = people
    known["p"] = Principal("p", (scope,))
    await adeq.queue("mail").enqueue(1)
    async with http.stream("GET", EVENTS, headers={"authorization": "p"}) as answer:
        assert answer.status_code == status
    async with http.stream("GET", EVENTS) as answer:
        assert answer.status_code == 401


async def all_of(http: AsyncClient, queue: Any, who: str, last: str = "0-0") -> list[str]:
    """What one may read, each event as `task.enqueued a`, up to 30 new tasks, of which each partition has some."""
    ends = {f"end-{who}{number}.{last[0]}" for number in range(30)}
    await queue.enqueue_many([Task(payload=1, id=id, user=who) for id in ends])
    http.headers["authorization"] = who
    found: list[str] = []
    async with reading(http, last) as reader:
        while ends:
            one = await reader.next()
            ids = set(one.get("ids", []))
            ends -= ids
            assert who == "bob" or "of-bob" not in json.dumps(one)
            if not any(id.startswith("end-") for id in ids):
                found.append(" ".join([one.get("event", one["kind"]), *sorted(ids)]))
    return found


@pytest.mark.parametrize("count", [1, 3])
async def test_a_scope_of_one_user_gets_the_events_of_its_tasks_only(
    adeq: Adeq, people: tuple[AsyncClient, dict[str, Principal]], count: int
) -> None:
    http, known = people
    for user in ("ann", "bob"):
        known[user] = Principal(user, (Scope(rights_of(["observer"]), user=user),))
    queue = adeq.partitioned("mail")
    if count > 1:
        await queue.repartition(count)
    tasks = [Task(payload=1, id=f"{user}{number}", user=user) for number in range(8) for user in ("ann", "bob")]
    await queue.enqueue_many(tasks)
    await queue.enqueue_many([Task(payload=1, id="nobodys"), Task(payload=1, id="again", user="bob", delay=60)])
    for lease in await queue.claim("w", 30):
        if lease.id.startswith("ann"):
            await queue.ack(lease)
        else:
            await queue.fail(lease, "text", retryable=False, reason="of-bob")
    await queue.admin.purge()  # which deletes `again`
    await queue.enqueue(1, id="again", user="ann")  # an id that had a task of bob
    again = ["again", *(f"again{number}" for number in range(40))]  # for most, all happens within a millisecond
    for id in again[1:]:
        await queue.enqueue(1, id=id, user="bob", lane="group/old")
        await queue.admin.purge(lane="group/old")
        await queue.enqueue(1, id=id, user="ann")
    seen = await all_of(http, queue, "ann")
    assert {id for one in seen for id in one.split()[1:]} == {*again, *(f"ann{number}" for number in range(8))}
    found = [one for one in seen if "again" in one]
    assert sorted(found) == sorted(f"task.enqueued {id}" for id in again), "nothing of the deleted tasks of bob"
    assert sum(one.startswith("task.completed ann") for one in seen) == 8
    of_bob = {id for one in await all_of(http, queue, "bob") for id in one.split()[1:]}
    assert of_bob == {f"bob{number}" for number in range(8)}
    tags = [one.tag for one in await queue.partitions()]
    for tag in tags:
        await adeq.client.xtrim(f"{queue.part(tag).base}:events", maxlen=2, approximate=False)
    left = await all_of(http, queue, "ann", "1-0" if count == 1 else ",".join(f"{tag}:1-0" for tag in tags))
    assert "gap" in left
    assert {one for one in left if one != "gap"} <= set(seen)


async def test_a_live_event_of_several_tasks_is_cut_to_those_of_the_user(
    adeq: Adeq, people: tuple[AsyncClient, dict[str, Principal]]
) -> None:
    http, known = people
    known["ann"] = Principal("ann", (Scope(rights_of(["observer"]), user="ann"),))
    http.headers["authorization"] = "ann"
    queue = adeq.queue("mail")
    await queue.admin.pause()
    async with reading(http) as reader:
        await queue.enqueue_many([Task(payload=1, id=f"{user}", user=user) for user in ("bob", "ann", "eve")])
        await queue.limits.set("user:ann", concurrency=1)  # `limit.set`, about no task
        await queue.admin.resume()
        leases = await queue.claim("w", 3)
        await queue.ack_many([(lease, None) for lease in leases])
        for event in ("task.enqueued", "task.claimed", "task.completed"):
            one = await reader.next()
            assert (one["event"], one["ids"], one["payload"], one["trace"]) == (event, ["ann"], {}, "")
            assert not {"bob", "eve"} & set(json.dumps(one).replace('"', " ").split())
    for refused in ("/v1/events/lock/mail", f"{EVENTS}/groups", "/v1/events/change/mail"):
        assert (await http.get(refused)).status_code in (403, 404)
    known["ann"] = everything("ann")


async def test_streams_that_there_are_not(http: AsyncClient, adeq: Adeq) -> None:
    await adeq.queue("mail").enqueue(1)
    for path in ("queue/none", "events/mail", "nothing/mail", "queue/mail%2Fpart", "queue/_own"):
        assert (await http.get(f"/v1/events/{path}")).status_code == 404
    refused = await http.get(EVENTS, headers={"Last-Event-ID": "what"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "header last-event-id")


async def partitioned(adeq: Adeq, count: int) -> tuple[Any, list[str]]:
    """The queue with so many partitions, and the tags of those that get tasks."""
    queue = adeq.partitioned("mail")
    await queue.repartition(count)
    return queue, [one.tag for one in await queue.partitions() if one.current]


async def test_partitions_have_a_stream_each(http: AsyncClient, adeq: Adeq) -> None:
    _, tags = await partitioned(adeq, 2)
    for tag in (*tags, ""):
        async with http.stream("GET", f"/v1/events/queue/mail%2F{tag}") as answer:
            assert answer.status_code == 200
    await adeq.sessions("mail").create("ann")
    await adeq.sessions("mail").create("ben")
    assert (await http.get("/v1/events/session/mail/groups")).status_code == 400


async def test_a_stream_has_the_events_of_all_partitions(adeq: Adeq, http: AsyncClient) -> None:
    queue, tags = await partitioned(adeq, 3)
    ids = [f"t{number}" for number in range(60)]
    for id in ids[:20]:
        await queue.enqueue(1, id=id)
    seen: list[str] = []
    async with reading(http, "0-0", types="task.*") as reader:
        seen += await reader.names(13)
        last = reader.last
    assert {one.partition(":")[0] for one in last.split(",")} == {*tags, "-"}
    for id in ids[20:40]:
        await queue.enqueue(1, id=id)
    async with reading(http, last, types="task.*") as reader:  # what was missed, and what happens then
        seen += await reader.names(27)
        for id in ids[40:]:
            await queue.enqueue(1, id=id)
        seen += await reader.names(20)
        last = reader.last
    assert sorted(seen) == sorted(f"task.enqueued {id}" for id in ids)
    await queue.enqueue(1, id="last")
    async with reading(http, last, types="task.*") as reader:
        assert await reader.names(1) == ["task.enqueued last"]
    async with reading(http) as reader:
        await queue.cancel("last")
        assert await reader.names(1) == ["task.cancelled last"]


async def test_a_gap_is_one_of_a_partition(adeq: Adeq, http: AsyncClient) -> None:
    queue, tags = await partitioned(adeq, 2)
    for number in range(40):
        await queue.enqueue(number, id=f"t{number}")
    client: Any = adeq.client
    parts = {tag: queue.part(tag) for tag in tags}
    counts = {tag: await client.xlen(f"{part.base}:events") for tag, part in parts.items()}
    assert min(counts.values()) > 5
    async with reading(http, "0-0") as reader:
        await reader.names(sum(counts.values()))
        end = dict(one.split(":") for one in reader.last.split(","))
    ((oldest, _),) = await client.xrange(f"{parts[tags[0]].base}:events", count=1)
    await client.xtrim(f"{parts[tags[0]].base}:events", maxlen=2, approximate=False)
    place = ",".join(f"{tag}:{oldest.decode() if tag == tags[0] else id}" for tag, id in end.items())
    async with reading(http, place) as reader:
        gap = await reader.next()
        assert gap == {"kind": "gap", "why": "trimmed", "after": oldest.decode(), "partition": tags[0]}
        assert len(await reader.names(2)) == 2


async def test_a_reader_comes_again_when_there_are_new_partitions(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "ASK", 0.05)
    monkeypatch.setattr(gate, "KNOWN_FOR", 0.0)
    await adeq.queue("mail").enqueue(1, id="first")
    async with reading(http, "0-0", types="task.*") as reader:
        assert await reader.names(1) == ["task.enqueued first"]
        queue, tags = await partitioned(adeq, 2)
        with pytest.raises(EOFError):
            await reader.next()
        last = reader.last
    assert ":" not in last
    for number in range(10):
        await queue.enqueue(number, id=f"t{number}")
    async with reading(http, last, types="task.*") as reader:
        assert sorted(await reader.names(10)) == sorted(f"task.enqueued t{number}" for number in range(10))
        assert {one.partition(":")[0] for one in reader.last.split(",")} == {*tags, "-"}


async def test_too_many_partitions_are_read_one_by_one(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_access, "MOST_MERGED", 2)
    _, tags = await partitioned(adeq, 2)
    refused = await http.get(EVENTS)
    assert refused.status_code == 400
    assert all(f"mail/{tag}" in refused.json()["detail"] for tag in tags)


@pytest.mark.parametrize("place", ["p:1-0,", "p1-0", "p:1", "a b:1-0", ",", "p:1-0;q:1-0", "p:" + "1" * 30])
async def test_a_place_that_no_stream_has_is_refused(adeq: Adeq, http: AsyncClient, place: str) -> None:
    await adeq.queue("mail").enqueue(1)
    assert (await http.get(EVENTS, headers={"Last-Event-ID": place})).status_code == 400


async def test_no_event_shows_what_a_tier_hides(adeq: Adeq, people: tuple[AsyncClient, dict[str, Principal]]) -> None:
    http, known = people
    known["observer"] = Principal("o", (Scope(rights_of(["observer"])),))
    queue = adeq.queue("mail")
    await queue.limits.set("user:*", concurrency=1)
    given: dict[str, Any] = {"headers": {"x": "secret"}, "tags": ["secret"], "tier": "restricted", "user": "secret"}
    await queue.enqueue("secret", id="a", **given)
    await queue.enqueue("secret", id="b", **given)
    leases = await queue.claim("w", 2)
    for lease in leases:
        await queue.progress(lease, 0.5, "secret", log="secret")
        await queue.fail(lease, "secret", retryable=False)
    await queue.enqueue(1, id="last")
    http.headers["authorization"] = "observer"
    async with reading(http, "0-0") as reader:
        found = [await reader.next()]
        while found[-1]["ids"] != ["last"]:
            found.append(await reader.next())
    assert {"task.limited", "task.dead", "task.progress"} <= {one["event"] for one in found}
    assert "secret" not in json.dumps([one for one in found if not one["event"].startswith("limit.")])


# Groups

GROUPS = f"{EVENTS}/groups"


async def test_a_group_reads_acknowledges_and_is_dropped(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    assert (await http.post(GROUPS, json={"group": "g"})).json() == {"status": "registered"}
    assert (await http.post(GROUPS, json={"group": "g"})).json() == {"status": "exists"}
    batch = (await http.post(f"{GROUPS}/g:read", json={"limit": 1})).json()
    (event,) = batch["events"]
    assert (event["event"], event["ids"], event["again"], batch["gap"]) == ("task.enqueued", ["a"], False, None)
    assert datetime.fromisoformat(event["timestamp"]).tzinfo is not None
    (group,) = (await http.get(GROUPS)).json()["groups"]
    assert (group["name"], group["pending"], group["gap"]) == ("g", 1, None)
    assert (await http.post(f"{GROUPS}/g:ack", json={"ids": [event["id"]]})).json() == {"count": 1}
    assert (await http.post(f"{GROUPS}/g:ack", json={"ids": [event["id"]]})).json() == {"count": 0}
    assert (await http.delete(f"{GROUPS}/g")).status_code == 204
    assert (await http.delete(f"{GROUPS}/g")).status_code == 404
    assert (await http.post(f"{GROUPS}/g:read")).status_code == 404


async def test_a_group_waits(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    await http.post(GROUPS, json={"group": "g", "start": "now"})
    seen: list[str] = []
    waiting = asyncio.create_task(http.post(f"{GROUPS}/g:read", json={"wait": 20}))
    await adeq.queue("mail").enqueue(1, id="b")
    for event in (await waiting).json()["events"]:
        seen.append(event["event"])
    assert seen[0] in ("group.registered", "task.enqueued")


async def test_a_gap_is_reported_until_it_is_acknowledged(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(0)
    await http.post(GROUPS, json={"group": "g"})
    for _ in range(5):
        await queue.enqueue(1)
    await adeq.client.xtrim(f"{queue.base}:events", maxlen=2, approximate=False)
    gap = (await http.post(f"{GROUPS}/g:read")).json()["gap"]
    assert gap["lost"] == 5
    assert (await http.post(f"{GROUPS}/g:ack", json={"gap": gap["number"]})).json() == {"count": 0}
    assert (await http.post(f"{GROUPS}/g:read")).json()["gap"] is None
    trimmed = (await http.post(f"{EVENTS}:trim", json={"before": "2100-01-01T00:00:00Z"})).json()
    assert trimmed["held_by"] == "g"


async def test_a_group_is_in_all_partitions(adeq: Adeq, http: AsyncClient) -> None:
    queue, tags = await partitioned(adeq, 2)
    assert (await http.post(GROUPS, json={"group": "g"})).json() == {"status": "registered"}
    for number in range(20):
        await queue.enqueue(1, id=f"t{number}")
    await adeq.client.xtrim(f"{queue.part(tags[0]).base}:events", maxlen=2, approximate=False)
    (group,) = (await http.get(GROUPS)).json()["groups"]
    assert set(group["partitions"]) == {*tags, "-"}
    assert group["missed"] == group["partitions"][tags[0]]["missed"] > 0
    seen: list[str] = []
    gaps: list[dict[str, Any]] = []
    while (batch := (await http.post(f"{GROUPS}/g:read", json={"limit": 3})).json()) and (
        batch["events"] or batch["gap"]
    ):
        ids = [one["id"] for one in batch["events"]]
        about = {"gap": batch["gap"]["number"], "partition": batch["gap"]["partition"]} if batch["gap"] else {}
        gaps += [batch["gap"]] if batch["gap"] else []
        assert (await http.post(f"{GROUPS}/g:ack", json={"ids": ids, **about})).json() == {"count": len(ids)}
        seen += ids
    assert [(gap["partition"], gap["lost"]) for gap in gaps] == [(tags[0], group["missed"])]
    assert {id.partition(":")[0] for id in seen} == set(tags)
    (group,) = (await http.get(GROUPS)).json()["groups"]
    assert (group["lag"], group["pending"], group["lost"], group["gap"]) == (0, 0, gaps[0]["lost"], None)
    for wrong in ({"ids": ["none:1-0"]}, {"gap": 1, "partition": "none"}):
        assert (await http.post(f"{GROUPS}/g:ack", json=wrong)).status_code == 400
    one = f"/v1/events/queue/mail%2F{tags[1]}/groups"
    assert [found["name"] for found in (await http.get(one)).json()["groups"]] == ["g"]
    assert (await http.post(f"{EVENTS}:trim", json={})).json()["removed"] == 0
    assert (await http.delete(f"{GROUPS}/g")).status_code == 204
    assert (await http.get(one)).json()["groups"] == []
    assert (await http.post(f"{GROUPS}/g:read")).status_code == 404


async def test_a_group_may_be_registered_before_the_first_event(adeq: Adeq, http: AsyncClient) -> None:
    assert (await http.post(GROUPS, json={"group": "g"})).status_code == 404
    assert (await http.post(GROUPS, json={"group": "g", "create": True})).json() == {"status": "registered"}
    assert [one["name"] for one in (await http.get(GROUPS)).json()["groups"]] == ["g"]
    assert (await http.post(f"{GROUPS}/g:read")).json()["events"] == []
    await adeq.queue("mail").enqueue(1, id="a")
    (event,) = (await http.post(f"{GROUPS}/g:read")).json()["events"]
    assert event["event"] == "task.enqueued"


async def test_groups_need_their_roles(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1)
    await adeq.events("queue", "mail").add("g")
    follower = asking("queue.observe", "events.follow")
    assert (await follower.post(f"{GROUPS}/g:read")).status_code == 200
    assert (await follower.post(f"{GROUPS}/g:ack", json={})).status_code == 200
    for who in (asking("observer"), asking("events.follow"), asking("queue.observe", "events.follow", user="ann")):
        assert (await who.post(f"{GROUPS}/g:read")).status_code == 403
    for verb, path, body in (
        ("POST", GROUPS, {"group": "h"}),
        ("DELETE", f"{GROUPS}/g", None),
        ("POST", f"{EVENTS}:trim", {}),
    ):
        assert (await follower.request(verb, path, json=body)).status_code == 403
    assert (await asking("observer").get(GROUPS)).status_code == 200
    assert (await asking("operator", names=("news",)).get(GROUPS)).status_code == 404

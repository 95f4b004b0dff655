"""Events as their readers see them: groups, acknowledgements, gaps, waits."""

from datetime import UTC, datetime
from typing import Any

import pytest

from pyadeq import Event, EventGroup
from pyadeq.asyncio import Adeq, Events, Queue
from pyadeq.errors import AdeqError, BadArgument, ConfigError, UnknownGroup
from tests.waiting import DEADLINE


@pytest.fixture
async def queue(adeq: Adeq, base_name: str) -> Queue:
    queue = adeq.queue(base_name)
    await queue.configure()
    return queue


@pytest.fixture
async def events(adeq: Adeq, queue: Queue) -> Events:
    return adeq.events("queue", queue.name)


async def of(events: Events, group: str) -> EventGroup:
    (found,) = [one for one in (await events.groups()).groups if one.name == group]
    return found


async def test_each_group_gets_each_event(queue: Queue, events: Events) -> None:
    assert await events.add("audit")
    assert not await events.add("audit")
    await events.add("mail", start="now")
    await queue.enqueue("x", id="a")
    for group in ("audit", "mail"):
        found = await events.read(group)
        assert [(one.event, one.ids, one.again) for one in found.events] == [("task.enqueued", ("a",), False)]
        assert (await events.read(group)).events == ()
        assert await events.ack(group, found) == 1
        assert await events.ack(group, found) == 0
    assert (await of(events, "audit")).pending == 0


async def test_an_event_is_json_with_iso_times(adeq: Adeq, queue: Queue, events: Events) -> None:
    await events.add("audit")
    await queue.enqueue("x", id="a")
    (lease,) = await queue.claim(worker="w1")
    await queue.ack(lease)
    found = {one.event: one for one in (await events.read("audit")).events}
    claimed = found["task.claimed"].as_json()
    assert claimed["payload"]["worker"] == "w1"
    at = datetime.fromisoformat(claimed["timestamp"])
    assert at == datetime.fromtimestamp(found["task.claimed"].timestamp, UTC)
    assert claimed.keys() >= {"event", "timestamp", "payload", "source", "id", "ids"}


async def test_what_is_not_acknowledged_comes_again(queue: Queue, events: Events) -> None:
    await events.add("audit")
    await queue.enqueue_many(["x"] * 3)
    (first,) = (await events.read("audit", limit=1, hold=1)).events
    assert len(first.ids) == 3
    (again,) = (await events.read("audit", wait=DEADLINE)).events
    assert again == first._replace(again=True)
    await events.ack("audit", [again.id])
    assert not (await events.read("audit", wait=0.05)).events


async def test_what_a_slow_group_loses_is_one_gap(adeq: Adeq, queue: Queue, events: Events) -> None:
    await queue.configure(events_max=100)
    await events.add("slow")
    for _ in range(500):
        await queue.enqueue("x")
    found = await events.read("slow", limit=10)
    assert found.gap
    assert found.gap.lost
    client: Any = adeq.client
    (newest,) = await client.xrevrange(f"{events.base}:events", count=1)
    assert newest[1][b"event"] == b"group.gap"
    length = (await events.groups()).length
    assert length <= 200, "the bound of memory holds"
    assert found.gap.lost == 501 - length, "500 tasks and the event of the gap"
    for _ in range(500):
        await queue.enqueue("x")
    grown = (await events.read("slow", limit=10)).gap
    assert grown
    assert grown.lost
    assert grown.lost > found.gap.lost
    assert grown.after == found.gap.after
    assert await events.ack("slow", gap=found.gap) == 0
    assert (await of(events, "slow")).gap == grown, "it has grown since"
    await events.ack("slow", gap=grown)
    later = await of(events, "slow")
    assert (later.gap, later.lost) == (None, grown.lost)
    await queue.enqueue("y", id="last")
    delivered = [one.ids async for batch in events.follow("slow", idle=0) for one in batch.events]
    assert ("last",) in delivered


async def test_a_batch_is_acknowledged_when_the_next_is_asked_for(queue: Queue, events: Events) -> None:
    await events.add("audit")
    await queue.enqueue("x")
    async for _ in events.follow("audit"):
        break
    assert (await of(events, "audit")).pending == 1
    await queue.enqueue("y")
    found = [len(batch.events) async for batch in events.follow("audit", limit=1, idle=0.05)]
    assert found == [1]
    assert (await of(events, "audit")).pending == 1


async def test_the_error_of_a_dead_task_is_readable(queue: Queue, events: Events) -> None:
    await events.add("audit")
    await queue.enqueue("x")
    (lease,) = await queue.claim()
    await queue.fail(lease, "ein ü = 100 %25\n\0", retryable=False)
    found = {one.event: one.payload for one in (await events.read("audit")).events}["task.dead"]
    assert found == {"reason": "error", "attempts": "1", "error": "ein ü = 100 %25\n\0"}
    assert Event.from_json(Event("1-0", "task.dead", 0.0, payload=found).as_json()).payload == found


async def test_events_of_other_nouns_and_partitions(adeq: Adeq, base_name: str) -> None:
    async with adeq.locks(base_name).acquire("r", owner="o"):
        pass
    locks = adeq.events("lock", base_name)
    await locks.add("audit")
    (found, *_) = (await locks.read("audit")).events
    assert (found.event, found.payload["owner"]) == ("lock.acquired", "o")
    made = await adeq.sessions(base_name).create("ann")
    tag = made.id.partition(".")[0]
    logins = adeq.events("session", f"{base_name}/{tag}")
    assert logins.base == f"{adeq.sessions(base_name).base[:-1]}/{tag}}}"
    await logins.add("audit")
    assert [one.event for one in (await logins.read("audit")).events] == ["session.created", "group.registered"]
    assert adeq.events("lock", base_name) is locks
    assert adeq.noun("events", f"lock:{base_name}") is locks


async def test_a_group_may_be_registered_at_a_deploy(adeq: Adeq, base_name: str) -> None:
    """Before the first event: it gets all of them, whatever `start` says."""
    for number, start in enumerate(("oldest", "now", "first")):
        queue = adeq.queue(f"{base_name}-{number}")
        events = adeq.events("queue", queue.name)
        assert await events.add("audit", start=start, create=True)  # type: ignore[arg-type]
        assert not await events.add("audit")
        assert not (await events.read("audit")).events
        await queue.enqueue(1, id="a")
        await queue.admin.trim()
        batch = await events.read("audit", wait=5)
        assert ([one.event for one in batch.events], batch.gap) == (["task.enqueued"], None)
    wide = adeq.partitioned(f"{base_name}-wide")
    assert await wide.events.add("audit", create=True)
    await wide.repartition(2)
    await wide.enqueue_many(range(20))
    read = [id for _ in range(4) for one in (await wide.events.read("audit")).events for id in one.ids]
    assert len(read) == 20


async def test_what_is_not_accepted(adeq: Adeq, events: Events) -> None:
    with pytest.raises(UnknownGroup, match="has no group 'audit' that reads its events; register it first"):
        await events.read("audit")
    with pytest.raises(UnknownGroup):
        await events.ack("audit", ["1-0"])
    with pytest.raises(AdeqError, match="nothing is stored under"):
        await adeq.events("queue", "nothing").add("audit")
    with pytest.raises(ConfigError, match="noun: 'queues' is not accepted; did you mean queue"):
        adeq.events("queues", "x")
    with pytest.raises(ConfigError, match="domain"):
        adeq.events("lock", "a b")
    with pytest.raises(BadArgument, match="limit"):
        await events.read("audit", limit=0)
    assert await events.remove("audit") == []


async def test_there_are_at_most_100_groups(events: Events) -> None:
    for number in range(100):
        await events.add(f"g{number}")
    with pytest.raises(AdeqError, match="100 groups"):
        await events.add("more")
    assert await events.remove("g0", "more") == ["g0"]
    assert await events.add("more")


async def test_a_group_holds_what_is_old(queue: Queue, events: Events) -> None:
    for _ in range(500):
        await queue.enqueue("x")
    await events.add("audit")
    for _ in range(500):
        await queue.enqueue("x")
    later = datetime.now(UTC).timestamp() + 60
    assert await events.trim(before=later) == (0, "audit")
    while (found := await events.read("audit", limit=1000)).events:
        await events.ack("audit", found)
    removed, held_by = await events.trim(before=later)
    assert (removed > 700, held_by) == (True, "audit"), "only the last block is left"
    assert (await of(events, "audit")).lost == 0
    assert not (await events.read("audit")).gap

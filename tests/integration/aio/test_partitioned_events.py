"""Groups that read the events of all partitions of a queue."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyadeq import EventBatch, EventGap, EventGroup
from pyadeq._twins import aio_join, aio_sleep, aio_spawn
from pyadeq.access import acl_rules
from pyadeq.asyncio import Adeq, PartitionedQueue
from pyadeq.errors import BadArgument, UnknownGroup
from tests.waiting import DEADLINE


@pytest.fixture
async def queue(adeq: Adeq, base_name: str) -> PartitionedQueue:
    queue = adeq.partitioned(base_name)
    await queue.repartition(3)
    return queue


@asynccontextmanager
async def other_client(adeq: Adeq, url: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, prefix=adeq.prefix) as other:
        yield other


async def of(queue: PartitionedQueue, name: str) -> EventGroup:
    (found,) = [one for one in (await queue.events.groups()).groups if one.name == name]
    return found


async def read_all(queue: PartitionedQueue, group: str, **how: Any) -> list[EventBatch]:
    return [batch async for batch in queue.events.follow(group, idle=0, **how)]


def tasks(batches: list[EventBatch]) -> list[str]:
    return [id for batch in batches for one in batch.events if one.event == "task.enqueued" for id in one.ids]


async def test_a_group_reads_every_partition_in_its_order(queue: PartitionedQueue) -> None:
    assert await queue.events.add("audit")
    assert not await queue.events.add("audit")
    ids = [f"t{number}" for number in range(60)]
    for id in ids:
        await queue.enqueue(1, id=id)
    batches = await read_all(queue, "audit", limit=7)
    assert sorted(tasks(batches)) == sorted(ids)
    by_partition: dict[str, list[str]] = {}
    turns = []
    for batch in batches:
        (tag,) = {one.id.rpartition(":")[0] for one in batch.events}
        by_partition.setdefault(tag, []).extend(tasks([batch]))
        turns.append(tag)
    assert len(set(turns[:3])) == len(by_partition) == 3
    assert all(found == sorted(found, key=ids.index) for found in by_partition.values())
    seen = [event.id for batch in batches for event in batch.events]
    assert len(set(seen)) == len(seen)


async def test_numbers_of_a_group_are_the_sums_of_its_partitions(queue: PartitionedQueue) -> None:
    await queue.events.add("audit")
    for number in range(30):
        await queue.enqueue(1, id=f"t{number}")
    batch = await queue.events.read("audit", limit=2)
    found = await of(queue, "audit")
    there = await queue.events.groups()
    assert (found.pending, found.lag) == (len(batch.events), there.length - len(batch.events))
    assert found.oldest == batch.events[0].timestamp
    parts = list(found.partitions.values())
    assert len(parts) == 4
    assert [sum(getattr(one, word) for one in parts) for word in ("pending", "lag")] == [found.pending, found.lag]
    assert await queue.events.ack("audit", [one.id for one in batch.events]) == len(batch.events)
    assert (await of(queue, "audit")).pending == 0
    assert await queue.events.remove("audit", "none") == ["audit"]
    with pytest.raises(UnknownGroup, match=queue.name):
        await queue.events.read("audit")


async def test_a_new_partition_is_read_from_its_beginning(queue: PartitionedQueue, adeq: Adeq, url: str) -> None:
    await queue.events.add("audit")
    await queue.events.add("late", start="now")
    await queue.events.configure(keep=86400)
    async with other_client(adeq, url) as other:
        elsewhere = other.partitioned(queue.name)
        await elsewhere.repartition(8)
        ids = [f"t{number}" for number in range(60)]
        for id in ids:
            await elsewhere.enqueue(1, id=id)
    await queue.partitions()
    for group in ("audit", "late"):
        assert sorted(tasks(await read_all(queue, group))) == sorted(ids)
        assert len((await of(queue, group)).partitions) == 9
    assert {(await queue.events.part(one.tag).configure())["keep"] for one in await queue.partitions()} == {86400}


async def test_a_group_that_a_partition_lacks_comes_with_the_next_read(queue: PartitionedQueue) -> None:
    """As if somebody had added the partition who may not register groups."""
    await queue.events.add("audit")
    ids = [f"t{number}" for number in range(20)]
    for id in ids:
        await queue.enqueue(1, id=id)
    tag = (await queue.partitions())[0].tag
    await queue.events.part(tag).remove("audit")
    assert sorted(tasks(await read_all(queue, "audit"))) == sorted(ids)


async def test_what_a_partition_trimmed_before_it_got_a_group_is_a_gap(queue: PartitionedQueue, adeq: Adeq) -> None:
    await queue.events.add("audit")
    for number in range(40):
        await queue.enqueue(1, id=f"t{number}")
    tag = (await queue.partitions())[0].tag
    await queue.events.part(tag).remove("audit")
    client: Any = adeq.client
    key = f"{queue.part(tag).base}:events"
    added = (await client.xinfo_stream(key))["entries-added"]
    await client.xtrim(key, maxlen=2, approximate=False)
    gaps = [batch.gap for batch in await read_all(queue, "audit") if batch.gap]
    assert [(gap.partition, gap.lost) for gap in gaps] == [(tag, added - 2)]


async def test_who_may_not_register_groups_may_add_partitions(
    queue: PartitionedQueue, adeq: Adeq, url: str, base_name: str
) -> None:
    await queue.events.add("audit")
    client: Any = adeq.client
    rules = acl_rules("queue.operate", old=b"waitaof" not in await client.execute_command("COMMAND LIST"))
    await client.execute_command("ACL", "SETUSER", base_name, "on", ">secret", *rules)
    async with Adeq.from_url(url, prefix=adeq.prefix, username=base_name, password="secret") as operator:
        await operator.partitioned(queue.name).repartition(5)
    assert len((await of(queue, "audit")).partitions) == 4
    ids = [f"t{number}" for number in range(40)]
    await queue.partitions()
    for id in ids:
        await queue.enqueue(1, id=id)
    assert sorted(tasks(await read_all(queue, "audit"))) == sorted(ids)
    assert len((await of(queue, "audit")).partitions) == 6


async def test_gaps_of_partitions_are_acknowledged_one_by_one(queue: PartitionedQueue, adeq: Adeq) -> None:
    await queue.events.add("slow")
    for number in range(40):
        await queue.enqueue(1, id=f"t{number}")
    tags = [one.tag for one in await queue.partitions() if one.current]
    client: Any = adeq.client
    lost = 0
    for tag in tags[:2]:
        key = f"{queue.part(tag).base}:events"
        lost += await client.xlen(key) - 2
        await client.xtrim(key, maxlen=2, approximate=False)
    assert (await of(queue, "slow")).missed == lost
    gaps = [batch.gap for batch in await read_all(queue, "slow") if batch.gap]
    assert {gap.after.rpartition(":")[0] for gap in gaps} == set(tags[:2])
    assert sum(gap.lost or 0 for gap in gaps) == lost
    found = await of(queue, "slow")
    assert (found.lost, found.missed, found.gap) == (lost, 0, None)


async def test_a_read_waits_for_any_partition(queue: PartitionedQueue) -> None:
    await queue.events.add("audit")
    await read_all(queue, "audit")
    for number in range(5):

        async def enqueue(id: str = f"t{number}") -> None:
            await aio_sleep(0.05)  # meanwhile the read begins to wait
            await queue.enqueue(1, id=id)

        enqueues = aio_spawn(enqueue)
        batch = await queue.events.read("audit", wait=DEADLINE)
        await aio_join(enqueues, DEADLINE)
        assert tasks([batch]) == [f"t{number}"]
        await queue.events.ack("audit", batch)


async def test_events_that_are_not_acknowledged_come_again(queue: PartitionedQueue) -> None:
    await queue.events.add("audit")
    await read_all(queue, "audit")
    await queue.enqueue(1, id="a")
    first = await queue.events.read("audit", hold=1)
    (again,) = (await queue.events.read("audit", wait=DEADLINE)).events
    assert (again.id, again.again) == (first.events[0].id, True)


async def test_a_group_from_before_the_partitions_goes_on(adeq: Adeq, base_name: str) -> None:
    queue, events = adeq.queue(base_name), adeq.events("queue", base_name)
    await queue.enqueue(1, id="a")
    await events.add("audit")
    batch = await events.read("audit")
    partitioned = adeq.partitioned(base_name)
    await partitioned.repartition(2)
    await partitioned.enqueue(1, id="b")
    assert await partitioned.events.ack("audit", batch) == len(batch.events)
    assert tasks(await read_all(partitioned, "audit")) == ["b"]


async def test_trim_and_settings_are_for_every_partition(queue: PartitionedQueue) -> None:
    await queue.events.add("audit")
    assert (await queue.events.configure(lapse=3600))["lapse"] == 3600
    for tag in [one.tag for one in await queue.partitions()]:
        assert (await queue.events.part(tag).configure())["lapse"] == 3600
    assert (await queue.events.trim()).removed == 0
    assert (await queue.events.migrate()).layout


async def test_what_is_not_accepted(queue: PartitionedQueue) -> None:
    await queue.events.add("audit")
    for given in (["none:1-0"], ["a b:1-0"]):
        with pytest.raises(BadArgument, match="there is no partition"):
            await queue.events.ack("audit", given)
    with pytest.raises(BadArgument, match="there is no partition"):
        await queue.events.ack("audit", gap=EventGap(1, "none:1-0", "", None))
    with pytest.raises(BadArgument, match="group"):
        await queue.events.add("a b")

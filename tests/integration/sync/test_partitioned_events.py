# Generated from tests/integration/aio/test_partitioned_events.py by pyadeq/_unasync.py; do not edit.
"""Groups that read the events of all partitions of a queue."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyadeq import EventBatch, EventGap, EventGroup
from pyadeq._twins import join, sleep, spawn
from pyadeq.access import acl_rules
from pyadeq import Adeq, PartitionedQueue
from pyadeq.errors import BadArgument, UnknownGroup
from tests.waiting import DEADLINE


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> PartitionedQueue:
    queue = adeq.partitioned(base_name)
    queue.repartition(3)
    return queue


@contextmanager
def other_client(adeq: Adeq, url: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=adeq.prefix) as other:
        yield other


def of(queue: PartitionedQueue, name: str) -> EventGroup:
    (found,) = [one for one in (queue.events.groups()).groups if one.name == name]
    return found


def read_all(queue: PartitionedQueue, group: str, **how: Any) -> list[EventBatch]:
    return [batch for batch in queue.events.follow(group, idle=0, **how)]


def tasks(batches: list[EventBatch]) -> list[str]:
    return [id for batch in batches for one in batch.events if one.event == "task.enqueued" for id in one.ids]


def test_a_group_reads_every_partition_in_its_order(queue: PartitionedQueue) -> None:
    assert queue.events.add("audit")
    assert not queue.events.add("audit")
    ids = [f"t{number}" for number in range(60)]
    for id in ids:
        queue.enqueue(1, id=id)
    batches = read_all(queue, "audit", limit=7)
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


def test_numbers_of_a_group_are_the_sums_of_its_partitions(queue: PartitionedQueue) -> None:
    queue.events.add("audit")
    for number in range(30):
        queue.enqueue(1, id=f"t{number}")
    batch = queue.events.read("audit", limit=2)
    found = of(queue, "audit")
    there = queue.events.groups()
    assert (found.pending, found.lag) == (len(batch.events), there.length - len(batch.events))
    assert found.oldest == batch.events[0].timestamp
    parts = list(found.partitions.values())
    assert len(parts) == 4
    assert [sum(getattr(one, word) for one in parts) for word in ("pending", "lag")] == [found.pending, found.lag]
    assert queue.events.ack("audit", [one.id for one in batch.events]) == len(batch.events)
    assert (of(queue, "audit")).pending == 0
    assert queue.events.remove("audit", "none") == ["audit"]
    with pytest.raises(UnknownGroup, match=queue.name):
        queue.events.read("audit")


def test_a_new_partition_is_read_from_its_beginning(queue: PartitionedQueue, adeq: Adeq, url: str) -> None:
    queue.events.add("audit")
    queue.events.add("late", start="now")
    queue.events.configure(keep=86400)
    with other_client(adeq, url) as other:
        elsewhere = other.partitioned(queue.name)
        elsewhere.repartition(8)
        ids = [f"t{number}" for number in range(60)]
        for id in ids:
            elsewhere.enqueue(1, id=id)
    queue.partitions()
    for group in ("audit", "late"):
        assert sorted(tasks(read_all(queue, group))) == sorted(ids)
        assert len((of(queue, group)).partitions) == 9
    assert {(queue.events.part(one.tag).configure())["keep"] for one in queue.partitions()} == {86400}


def test_a_group_that_a_partition_lacks_comes_with_the_next_read(queue: PartitionedQueue) -> None:
    """As if somebody had added the partition who may not register groups."""
    queue.events.add("audit")
    ids = [f"t{number}" for number in range(20)]
    for id in ids:
        queue.enqueue(1, id=id)
    tag = (queue.partitions())[0].tag
    queue.events.part(tag).remove("audit")
    assert sorted(tasks(read_all(queue, "audit"))) == sorted(ids)


def test_what_a_partition_trimmed_before_it_got_a_group_is_a_gap(queue: PartitionedQueue, adeq: Adeq) -> None:
    queue.events.add("audit")
    for number in range(40):
        queue.enqueue(1, id=f"t{number}")
    tag = (queue.partitions())[0].tag
    queue.events.part(tag).remove("audit")
    client: Any = adeq.client
    key = f"{queue.part(tag).base}:events"
    added = (client.xinfo_stream(key))["entries-added"]
    client.xtrim(key, maxlen=2, approximate=False)
    gaps = [batch.gap for batch in read_all(queue, "audit") if batch.gap]
    assert [(gap.partition, gap.lost) for gap in gaps] == [(tag, added - 2)]


def test_who_may_not_register_groups_may_add_partitions(
    queue: PartitionedQueue, adeq: Adeq, url: str, base_name: str
) -> None:
    queue.events.add("audit")
    client: Any = adeq.client
    rules = acl_rules("queue.operate", old=b"waitaof" not in client.execute_command("COMMAND LIST"))
    client.execute_command("ACL", "SETUSER", base_name, "on", ">secret", *rules)
    with Adeq.from_url(url, prefix=adeq.prefix, username=base_name, password="secret") as operator:
        operator.partitioned(queue.name).repartition(5)
    assert len((of(queue, "audit")).partitions) == 4
    ids = [f"t{number}" for number in range(40)]
    queue.partitions()
    for id in ids:
        queue.enqueue(1, id=id)
    assert sorted(tasks(read_all(queue, "audit"))) == sorted(ids)
    assert len((of(queue, "audit")).partitions) == 6


def test_gaps_of_partitions_are_acknowledged_one_by_one(queue: PartitionedQueue, adeq: Adeq) -> None:
    queue.events.add("slow")
    for number in range(40):
        queue.enqueue(1, id=f"t{number}")
    tags = [one.tag for one in queue.partitions() if one.current]
    client: Any = adeq.client
    lost = 0
    for tag in tags[:2]:
        key = f"{queue.part(tag).base}:events"
        lost += client.xlen(key) - 2
        client.xtrim(key, maxlen=2, approximate=False)
    assert (of(queue, "slow")).missed == lost
    gaps = [batch.gap for batch in read_all(queue, "slow") if batch.gap]
    assert {gap.after.rpartition(":")[0] for gap in gaps} == set(tags[:2])
    assert sum(gap.lost or 0 for gap in gaps) == lost
    found = of(queue, "slow")
    assert (found.lost, found.missed, found.gap) == (lost, 0, None)


def test_a_read_waits_for_any_partition(queue: PartitionedQueue) -> None:
    queue.events.add("audit")
    read_all(queue, "audit")
    for number in range(5):

        def enqueue(id: str = f"t{number}") -> None:
            sleep(0.05)  # meanwhile the read begins to wait
            queue.enqueue(1, id=id)

        enqueues = spawn(enqueue)
        batch = queue.events.read("audit", wait=DEADLINE)
        join(enqueues, DEADLINE)
        assert tasks([batch]) == [f"t{number}"]
        queue.events.ack("audit", batch)


def test_events_that_are_not_acknowledged_come_again(queue: PartitionedQueue) -> None:
    queue.events.add("audit")
    read_all(queue, "audit")
    queue.enqueue(1, id="a")
    first = queue.events.read("audit", hold=1)
    (again,) = (queue.events.read("audit", wait=DEADLINE)).events
    assert (again.id, again.again) == (first.events[0].id, True)


def test_a_group_from_before_the_partitions_goes_on(adeq: Adeq, base_name: str) -> None:
    queue, events = adeq.queue(base_name), adeq.events("queue", base_name)
    queue.enqueue(1, id="a")
    events.add("audit")
    batch = events.read("audit")
    partitioned = adeq.partitioned(base_name)
    partitioned.repartition(2)
    partitioned.enqueue(1, id="b")
    assert partitioned.events.ack("audit", batch) == len(batch.events)
    assert tasks(read_all(partitioned, "audit")) == ["b"]


def test_trim_and_settings_are_for_every_partition(queue: PartitionedQueue) -> None:
    queue.events.add("audit")
    assert (queue.events.configure(lapse=3600))["lapse"] == 3600
    for tag in [one.tag for one in queue.partitions()]:
        assert (queue.events.part(tag).configure())["lapse"] == 3600
    assert (queue.events.trim()).removed == 0
    assert (queue.events.migrate()).layout


def test_what_is_not_accepted(queue: PartitionedQueue) -> None:
    queue.events.add("audit")
    for given in (["none:1-0"], ["a b:1-0"]):
        with pytest.raises(BadArgument, match="there is no partition"):
            queue.events.ack("audit", given)
    with pytest.raises(BadArgument, match="there is no partition"):
        queue.events.ack("audit", gap=EventGap(1, "none:1-0", "", None))
    with pytest.raises(BadArgument, match="group"):
        queue.events.add("a b")

# Generated from tests/integration/aio/test_partitions.py by pyadeq/_unasync.py; do not edit.
"""A queue in several partitions, on a cluster: what goes where, what is found again, and more partitions on the way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pyadeq import Backoff, Task
from pyadeq._core.queue.partitions import tag_in
from pyadeq import Adeq, PartitionedQueue
from pyadeq.errors import BadArgument, ConfigError, LeaseLost, PartitionsChanged, UnknownTask
from pyadeq.models import Lease, Receipt
from tests.conftest import CLUSTER
from tests.integration.servers import ThreePrimaries
from tests.waiting import DEADLINE, LONGEST_RETRY

pytestmark = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")


@pytest.fixture
def adeq(cluster: ThreePrimaries) -> Iterator[Adeq]:
    with Adeq.from_url(cluster.url, cluster=True, retry_for=LONGEST_RETRY) as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> PartitionedQueue:
    return adeq.partitioned(base_name)


def take_all(queue: PartitionedQueue) -> list[Lease]:
    """Claim and complete all that can be done now, in turn."""
    taken: list[Lease] = []
    while leases := queue.claim("w", 100):
        assert queue.ack_many([(lease, "done") for lease in leases]) == ["completed"] * len(leases)
        taken += leases
    return taken


def where(receipts: Sequence[Receipt]) -> Counter[str]:
    return Counter(tag_in(receipt.id) for receipt in receipts)


def test_a_queue_without_partitions_is_one(queue: PartitionedQueue, adeq: Adeq) -> None:
    (whole,) = queue.partitions()
    assert (whole.tag, whole.base, whole.current) == ("-", adeq.queue(queue.name).base, True)
    adeq.queue(queue.name).enqueue("plain", id="a")
    receipt = queue.enqueue("partitioned")
    assert receipt.status == "created"
    assert [lease.payload for lease in take_all(queue)] == ["plain", "partitioned"]
    assert adeq.partitioned(queue.name) is queue


def test_partitions_are_spread_evenly(queue: PartitionedQueue, cluster: ThreePrimaries) -> None:
    some = queue.repartition(16)
    slots = sorted(one.slot for one in some if one.current)
    assert len(slots) == 16
    assert all(1024 * n <= slot < 1024 * n + 32 for n, slot in enumerate(slots))
    assert {cluster.owner(one.base) for one in some} == set(cluster.primaries)
    assert queue.repartition(16) == some


@pytest.mark.slow
def test_what_has_a_key_is_in_one_partition_and_the_rest_everywhere(queue: PartitionedQueue) -> None:
    queue.repartition(4)
    keyed = queue.enqueue_many([Task(payload=n, ordering_key=f"k{n % 10}") for n in range(200)])
    homes = [{tag_in(one.id) for n, one in enumerate(keyed) if n % 10 == key} for key in range(10)]
    assert [len(home) for home in homes] == [1] * 10
    assert len(where(keyed)) > 1
    free = where(queue.enqueue_many(range(400)))
    assert sorted(free.values()) == [100] * 4
    one_by_one = where([queue.enqueue(n) for n in range(40)])
    assert sorted(one_by_one.values()) == [10] * 4
    assert (queue.stats()).pending == 640
    assert queue.inspect.length() == [(queue.stats()).ready]
    taken = [lease.payload for lease in take_all(queue) if lease.record.get("ordering_key") == b"k3"]
    assert taken == list(range(3, 200, 10))


def test_only_once_holds_over_all_partitions(queue: PartitionedQueue) -> None:
    queue.repartition(8)
    for key in ("idempotency_key", "unique", "scope"):
        own: dict[str, Any] = {key: "k"}
        first = queue.enqueue(1, **own)
        again = queue.enqueue(2, **own)
        assert (first.status, again.status, again.id) == ("created", "deduplicated", first.id)
    assert (queue.enqueue(1, id="mine")).status == "created"
    assert (queue.enqueue(2, id="mine")).status == "exists"
    task = queue.get("mine")
    assert task
    assert task.payload == 1


def test_a_call_that_is_made_again_creates_nothing_twice(queue: PartitionedQueue) -> None:
    queue.repartition(4)
    one = queue.enqueue(Task(payload=9, kind="last", delay=9), rid="one")
    assert queue.enqueue(Task(payload=9, kind="last", delay=9), rid="one") == one
    found = queue.get(one.id)
    assert found
    assert (found.payload, found.kind, found.state) == (9, "last", "delayed")
    for call in (queue.enqueue, queue.run):
        with pytest.raises(BadArgument, match="kind: not accepted beside a Task"):
            call(Task(payload=9), kind="other")
    queue.cancel(one.id)
    tasks = [Task(payload=0), Task(payload=1, ordering_key="k"), Task(payload=2, unique="u"), Task(payload=3, id="own")]
    first = queue.enqueue_many(tasks, rid="r")
    assert [one.status for one in first] == ["created"] * 4
    assert first[0].id == "r.0"
    assert first[3].id == "own"
    assert queue.enqueue_many(tasks, rid="r") == first
    queue.repartition(16)
    again = queue.enqueue_many(tasks, rid="r")
    assert [one.id for one in again] == [one.id for one in first]
    assert {one.status for one in again} <= {"created", "exists", "deduplicated"}
    assert (queue.stats()).pending == 4
    for one in first:
        assert (queue.cancel(one.id)) == "cancelled"


def test_a_task_is_found_by_its_id_after_growth(queue: PartitionedQueue) -> None:
    queue.enqueue("old", id="given")
    old = queue.enqueue("old", delay=3600)
    queue.repartition(4)
    new = queue.enqueue("new")
    for id, payload in (("given", "old"), (old.id, "old"), (new.id, "new")):
        task = queue.get(id)
        assert task
        assert task.payload == payload
    assert queue.get("unknown") is None
    assert queue.cancel("unknown") == "not_found"
    assert [one.status for one in queue.admin.run_now_many(["unknown", old.id, new.id])] == [
        "not_found",
        "ready",
        "not_delayed",
    ]
    assert queue.cancel("given") == "cancelled"
    assert len(take_all(queue)) == 2
    assert queue.result(new.id, DEADLINE) == "done"
    assert queue.result(old.id, DEADLINE) == "done"


def test_whoever_knows_an_earlier_map_learns_of_the_new_one(
    cluster: ThreePrimaries, queue: PartitionedQueue
) -> None:
    with Adeq.from_url(cluster.url, cluster=True) as other:
        late = other.partitioned(queue.name)
        late.enqueue("before")
        queue.repartition(8)
        receipts = late.enqueue_many([Task(ordering_key=f"k{n}") for n in range(40)])
        assert len(where(receipts)) > 3
        with pytest.raises(PartitionsChanged, match="epoch is 1 here: the queue has other partitions now"):
            other.queue(queue.name).enqueue("to the queue without partitions")
    assert (queue.stats()).ready == 41


def test_a_key_stays_where_it_is_until_it_has_ended(queue: PartitionedQueue) -> None:
    queue.enqueue(0, ordering_key="k")
    (lease,) = queue.claim("w")
    queue.repartition(4)
    assert tag_in((queue.enqueue(1, ordering_key="k")).id) == "-"
    queue.ack(lease)
    assert queue.finish_repartition() == 1
    (lease,) = queue.claim("w")
    assert lease.payload == 1
    queue.ack(lease)
    moved = queue.enqueue(2, ordering_key="k")
    assert tag_in(moved.id) != "-"
    assert queue.finish_repartition() == 0
    assert queue.finish_repartition() == 0
    assert tag_in((queue.enqueue(3, ordering_key="k")).id) == tag_in(moved.id)
    assert [one.current for one in queue.partitions()] == [True] * 4 + [False]
    assert (queue.stats()).finished == 2


def test_children_and_followers_are_with_their_family(queue: PartitionedQueue) -> None:
    queue.repartition(8)
    parent = queue.enqueue("parent")
    child = queue.enqueue("child", parent=parent.id)
    after = queue.enqueue("after", after=[child])
    assert len({tag_in(one.id) for one in (parent, child, after)}) == 1
    others = [queue.enqueue(n) for n in range(8)]
    other = next(one for one in others if tag_in(one.id) != tag_in(parent.id))
    with pytest.raises(BadArgument, match=r"after: .* is in another partition of the queue than what parent says"):
        queue.enqueue("both", parent=parent.id, after=[other])
    with pytest.raises(UnknownTask):
        queue.enqueue("lost", after=[f"nobody@{tag_in(parent.id)}"])


@pytest.mark.slow
def test_nothing_is_put_in_where_one_of_many_does_not_fit(queue: PartitionedQueue) -> None:
    queue.repartition(8)
    before = queue.stats()
    with pytest.raises(
        BadArgument, match=r"unique: it is given together with ordering_key; allowed in a queue with partitions: one"
    ):
        queue.enqueue_many([Task(payload=1), Task(payload=2, ordering_key="k", unique="u")])
    assert (queue.stats()).pending == before.pending


def test_leases_of_all_partitions(queue: PartitionedQueue) -> None:
    queue.repartition(4)
    queue.enqueue_many(range(4))
    receipts = [queue.enqueue(n, id=f"given-{n}") for n in range(4)]
    leases = [lease for _ in range(8) for lease in queue.claim("w", 1)]
    assert len({lease.id for lease in leases}) == 8
    assert len(receipts) == 4
    assert {one.status for one in queue.leases.heartbeat_many(leases, extend=60)} == {"renewed"}
    assert (queue.heartbeat(leases[0])).status == "renewed"
    assert queue.progress(leases[0], 0.5, "half") == "noted"
    assert queue.release(leases[0]) == "released"
    assert (queue.snooze(leases[1], 60)).status == "snoozed"
    assert (queue.fail(leases[2], "no", retryable=False)).status == "dead"
    queue.ack(leases[3], {"n": 3})
    with pytest.raises(LeaseLost):
        queue.ack((leases[3].id, "another"))
    assert queue.ack_many([(lease, None) for lease in leases[:1]]) == ["lease_lost"]
    single: Any = leases[:1]
    with pytest.raises(BadArgument, match="got Lease"):
        queue.ack_many(single)
    with pytest.raises(BadArgument, match="got Lease"):
        queue.fail_many(single)
    stats = queue.stats()
    assert (stats.ready, stats.delayed, stats.running, stats.dead, stats.finished) == (1, 1, 4, 1, 1)
    assert [task.id for task in queue.iterate("dead")] == [leases[2].id]
    assert (queue.dead.retry(leases[2].id)).status == "retried"
    assert queue.dead.abandon(leases[2].id) == "not_dead"


@pytest.mark.parametrize("verb", ["ack", "ack_many", "heartbeat_many", "settle"])
def test_a_lease_is_found_by_who_knows_earlier_partitions_only(
    queue: PartitionedQueue, cluster: ThreePrimaries, verb: str
) -> None:
    with Adeq.from_url(cluster.url, cluster=True) as other:
        before = other.partitioned(queue.name)
        assert len(before.partitions()) == 1
        queue.repartition(4)
        queue.enqueue("new")
        (lease,) = queue.claim("w")
        if verb == "ack":
            before.ack(lease)
        elif verb == "ack_many":
            assert before.ack_many([(lease, None)]) == ["completed"]
        elif verb == "heartbeat_many":
            assert [one.status for one in before.leases.heartbeat_many([lease])] == ["renewed"]
        else:
            settled = before._settle_in(["-"], "v", acks=[(lease, None)])
            assert settled.acks == ["completed"]


def test_who_waits_is_woken_by_any_partition(queue: PartitionedQueue, cluster: ThreePrimaries) -> None:
    queue.repartition(8)
    assert queue.claim("w", wait=0.05) == []
    with Adeq.from_url(cluster.url, cluster=True) as other:
        for n in range(8):
            receipt = other.partitioned(queue.name).enqueue(n, delay=0.1)
            (lease,) = queue.claim("w", wait=DEADLINE)
            assert lease.id == receipt.id
            queue.ack(lease)


def test_what_is_said_to_the_queue_holds_in_all_partitions(queue: PartitionedQueue) -> None:
    queue.configure(lease=33, max_attempts=7, backoff=Backoff(base=2.5))
    queue.part("-").limits.set("user:*", concurrency=2, starts=10, period=60, burst=5)
    queue.part("-").shares.set("ann", 2)
    queue.admin.pause()
    queue.repartition(4)
    for one in queue.partitions():
        part = queue.part(one.tag)
        settings = part.settings()
        assert (settings.lease, settings.max_attempts, settings.backoff.base, settings.mode) == (33, 7, 2.5, "paused")
        (limit,) = part.limits.list()
        assert (limit.key, limit.concurrency, limit.burst) == ("user:*", 2, 5)
        assert limit.rate == pytest.approx(10 / 60, rel=0.001)
        assert part.shares.get("ann") == 2
    queue.enqueue_many(range(40))
    assert queue.claim("w") == []
    queue.admin.resume()
    assert len(take_all(queue)) == 40
    queue.admin.drain()
    assert {(queue.part(one.tag).stats()).mode for one in queue.partitions()} == {"draining"}


@pytest.mark.slow
def test_a_map_that_is_lost_is_told_and_can_be_made_again(queue: PartitionedQueue, adeq: Adeq) -> None:
    """As by a failover: the partitions know of an epoch that the queue's own base does not know any more."""
    queue.repartition(4)
    made = queue.enqueue_many(range(400))
    adeq.client.hdel(f"{adeq.queue(queue.name).base}:config", "map_epoch", "partitions", "homes")
    with Adeq(adeq.client) as other:
        late = other.partitioned(queue.name)
        with pytest.raises(PartitionsChanged, match="epoch is 1 here"):
            late.enqueue("lost")
        late.repartition(4)
        assert (late.enqueue("found")).status == "created"
        assert len(take_all(late)) == len(made) + 1


@pytest.mark.parametrize("count", [0, -1, 513, 1.5, True])
def test_a_number_of_partitions_that_cannot_be(queue: PartitionedQueue, count: Any) -> None:
    with pytest.raises(ConfigError, match=r"partitions: .* is not accepted; allowed: an integer from 1 to 512"):
        queue.repartition(count)


def test_one_slot_has_no_partitions(cluster: ThreePrimaries) -> None:
    with Adeq.from_url(cluster.url, cluster=True, slot="s") as adeq:
        with pytest.raises(ConfigError, match="slot: a client that keeps all in one slot has no partitions"):
            adeq.partitioned("q")


def test_every_partition_is_migrated(adeq: Adeq, queue: PartitionedQueue) -> None:
    parts = [queue.part(one.tag) for one in queue.repartition(3)]
    for part in parts:
        adeq.client.hset(f"{part.base}:config", mapping={"layout": 0, "layout_min": 0})
    told: list[int] = []
    assert (queue.admin.migrate(progress=told.append)).model_dump() == {"before": 0, "layout": 2, "rewritten": 0}
    assert [(part.settings()).layout for part in parts] == [2] * len(parts)

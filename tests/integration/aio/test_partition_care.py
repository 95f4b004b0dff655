"""A queue in partitions, looked after as one: limits, weights, schedules, workers and dead tasks of all of them."""

from typing import Any

import pytest

from pyadeq import Every, Failure, Task
from pyadeq.asyncio import Adeq, PartitionedQueue, Queue
from pyadeq.errors import BadArgument, ConflictError, PartitionsChanged, QueueDraining, TransportError
from tests.integration.conftest import Clock

COUNT = 4


@pytest.fixture
async def queue(adeq: Adeq, base_name: str) -> PartitionedQueue:
    queue = adeq.partitioned(base_name)
    await queue.repartition(COUNT)
    return queue


async def let_die(queue: PartitionedQueue, count: int, kind: str = "mail") -> list[str]:
    receipts = await queue.enqueue_many([Task(payload=n, kind=kind) for n in range(count)])
    done = 0
    while done < count:
        leases = await queue.claim("w", count)
        await queue.fail_many([Failure(lease, "no", retryable=False) for lease in leases])
        done += len(leases)
    return [receipt.id for receipt in receipts]


async def test_a_limit_is_set_and_seen_in_all(queue: PartitionedQueue) -> None:
    assert await queue.limits.set("user:ann", concurrency=1) == "set"
    assert await queue.limits.set("user:ann", concurrency=1) == "unchanged"
    for part in await queue.partitions():
        (limit,) = await queue.part(part.tag).limits.list()
        assert (limit.key, limit.concurrency) == ("user:ann", 1)
    await queue.part((await queue.partitions())[-1].tag).limits.set("all", concurrency=9)
    assert [limit.key for limit in await queue.limits.list()] == ["all", "user:ann"]
    await queue.enqueue_many([Task(payload=n, user="ann") for n in range(400)])
    leases = await queue.claim("w", 400)
    while more := await queue.claim("w", 400):
        leases += more
    use = await queue.limits.get("user:ann")
    assert len(leases) == use.running == COUNT
    assert use.running + use.waiting <= 400
    assert use.waiting > 0
    assert use.limit
    assert use.limit.concurrency == 1
    assert await queue.limits.remove("user:ann") == "removed"
    assert await queue.limits.remove("user:ann") == "unchanged"


async def test_weights_are_the_same_in_all(queue: PartitionedQueue) -> None:
    await queue.shares.set("ann", 3)
    assert await queue.shares.get("ann") == 3
    assert await queue.shares.list() == {"ann": 3}
    for part in await queue.partitions():
        assert await queue.part(part.tag).shares.list() == {"ann": 3}


async def test_a_schedule_is_in_one_partition_and_found_wherever_it_is(queue: PartitionedQueue) -> None:
    names = [f"s{n}" for n in range(12)]
    for name in names:
        assert (await queue.schedules.set(name, Every(60), name)).status == "created"
    held = {
        part.tag: [one.name async for one in queue.part(part.tag).schedules.iterate()]
        for part in await queue.partitions()
    }
    assert sorted(name for of_part in held.values() for name in of_part) == sorted(names)
    assert len([tag for tag, of_part in held.items() if of_part]) > 1
    await queue.repartition(16)
    for name in names:  # most belong elsewhere by now, and stay
        assert (await queue.schedules.set(name, Every(60), name)).status == "unchanged"
    assert sorted([one.name async for one in queue.schedules.iterate()]) == sorted(names)
    found = await queue.schedules.get("s3")
    assert found
    assert found.payload == "s3"
    assert len(queue.schedules.upcoming(found, 3)) == 3
    assert await queue.schedules.pause("s3") == "done"
    assert await queue.schedules.resume("s3") == "done"
    firing = await queue.schedules.trigger("s3")
    assert firing.status == "fired"
    assert firing.id
    task = await queue.get(firing.id)
    assert task
    assert (task.schedule, task.payload) == ("s3", "s3")
    assert await queue.schedules.remove("s3") == "done"
    for status in (await queue.schedules.pause("s3"), await queue.schedules.resume("s3")):
        assert status == "not_found"
    assert await queue.schedules.remove("s3") == "not_found"
    assert await queue.schedules.get("s3") is None
    assert (await queue.schedules.trigger("s3")).status == "not_found"


async def test_what_is_due_in_any_partition_fires(url: str, base_name: str, clock: Clock) -> None:
    async with Adeq.from_url(url, clock=clock) as adeq:
        queue = adeq.partitioned(base_name)
        await queue.configure(clock="test")
        await queue.repartition(COUNT)
        for n in range(8):
            await queue.schedules.set(f"s{n}", Every(60 + n))
        assert (await queue.schedules.fire_due()).firings == []
        clock.tick(70)
        fired = await queue.schedules.fire_due()
        assert {firing.schedule for firing in fired.firings} == {f"s{n}" for n in range(8)}
        assert fired.next
        assert fired.next > fired.now
        await queue.schedules.set("often", Every(10), overlap="allow")
        firings = await queue.schedules.backfill("often", fired.now - 29, fired.now)
        assert [firing.status for firing in firings] == ["fired"] * 3
        assert await queue.schedules.backfill("nobody", 0, 1) == []


async def test_dead_tasks_of_all(queue: PartitionedQueue) -> None:
    ids = await let_die(queue, 200)
    await let_die(queue, 10, kind="other")
    assert len({id.rpartition("@")[2] for id in ids}) > 1
    summary = await queue.dead.summary()
    assert [(one.kind, one.count) for one in summary.groups] == [("mail", 200), ("other", 10)]
    assert (summary.counted, summary.complete) == (210, True)
    counted = await queue.dead.retry_all(dry_run=True, kind="mail")
    assert (counted.matched, counted.done) == (200, 0)
    assert await queue.dead.abandon_many([ids[0], ids[1], "nobody"]) == ["abandoned", "abandoned", "not_found"]
    abandoned = await queue.dead.abandon_all(kind="other")
    assert (abandoned.matched, abandoned.done) == (10, 10)
    retried = await queue.dead.retry_all()
    assert (retried.matched, retried.done) == (198, 198)
    stats = await queue.stats()
    assert (stats.ready, stats.dead) == (198, 0)
    overview = await queue.inspect.overview()
    assert (overview.ready, list(overview.oldest)) == (198, ["any"])
    assert 0 <= overview.waited < 600


async def test_a_worker_is_one_in_all(queue: PartitionedQueue) -> None:
    for part in await queue.partitions():
        for name in ("w1", "w2"):
            await queue.part(part.tag).workers.register(name, capacity=5, group="g" if name == "w1" else None)
    assert [worker.name for worker in await queue.workers.list()] == ["w1", "w2"]
    assert [worker.name for worker in await queue.workers.list(group="g")] == ["w1"]
    worker = await queue.workers.get("w1")
    assert worker
    assert (worker.capacity, worker.heard, worker.mode) == (5, True, "run")
    assert await queue.workers.get("w3") is None
    assert await queue.workers.control(["w2", "w3"], mode="quiet") == ["w2"]
    assert sorted(await queue.workers.control(everybody=True, capacity=2)) == ["w1", "w2"]
    for part in await queue.partitions():
        steered = await queue.part(part.tag).workers.get("w2")
        assert steered
        assert (steered.mode, steered.wanted) == ("quiet", 2)
    worker = await queue.workers.get("w2")
    assert worker
    assert not worker.heard
    with pytest.raises(BadArgument, match="one of these"):
        await queue.workers.control()


async def test_the_partition_of_a_task(queue: PartitionedQueue) -> None:
    receipt = await queue.enqueue("x", ordering_key="k")
    part = await queue.part_of(receipt.id)
    assert part
    assert part.name.endswith(receipt.id.rpartition("@")[2])
    assert await queue.part_of("nobody") is None


async def test_what_is_set_while_partitions_come_is_set_in_all(
    queue: PartitionedQueue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the copy of what was set and the new map; by somebody else, who knows the old map."""
    other = PartitionedQueue(adeq, queue.name, adeq.prefix, adeq.queue(queue.name))
    await queue.limits.set("user:bob", concurrency=5)
    await other.stats()
    publish = queue._publish

    async def publish_late(*how: Any, **more: Any) -> None:
        await other.limits.set("user:ann", concurrency=1)
        await other.limits.remove("user:bob")
        await other.shares.set("ann", 3)
        await other.configure(max_attempts=7)
        await other.admin.pause()
        await publish(*how, **more)

    monkeypatch.setattr(queue, "_publish", publish_late)
    await queue.repartition(16)
    await other.limits.set("all", concurrency=50)  # by the map of before
    for part in await queue.partitions():
        own = queue.part(part.tag)
        assert [limit.key for limit in await own.limits.list()] == ["all", "user:ann"]
        assert await own.shares.list() == {"ann": 3}
        settings = await own.settings()
        assert (settings.max_attempts, settings.mode) == (7, "paused")


async def test_a_schedule_is_not_put_where_partitions_are_not_known(queue: PartitionedQueue, adeq: Adeq) -> None:
    plain = adeq.queue(queue.name)
    with pytest.raises(PartitionsChanged):
        await plain.schedules.set("s", Every(60))
    assert (await queue.schedules.set("s", Every(60))).status == "created"
    other = PartitionedQueue(adeq, queue.name, adeq.prefix, plain)
    await other.stats()
    await queue.repartition(16)
    assert (await other.schedules.set("t", Every(60))).status == "created"
    assert sorted([one.name async for one in queue.schedules.iterate()]) == ["s", "t"]


async def test_a_drained_queue_says_so_when_something_is_due(url: str, base_name: str, clock: Clock) -> None:
    async with Adeq.from_url(url, clock=clock) as adeq:
        queue = adeq.partitioned(base_name)
        await queue.configure(clock="test")
        await queue.repartition(COUNT)
        await queue.schedules.set("s", Every(60))
        await queue.admin.drain()
        assert (await queue.schedules.fire_due()).firings == []
        clock.tick(70)
        with pytest.raises(QueueDraining):
            await queue.schedules.fire_due()


async def test_what_is_copied_is_raised_to_the_layout_too(queue: PartitionedQueue, adeq: Adeq) -> None:
    settings = await queue.settings()
    assert settings.layout == 2
    for part in await queue.partitions():
        await adeq.client.hset(f"{queue.part(part.tag).base}:config", mapping={"layout": 0, "layout_min": 0})
    worker = queue.part("-")
    await worker.workers.register("old")
    await adeq.client.hset(f"{worker.base}:worker:old", "layout", 0)
    with pytest.raises(ConflictError, match="old"):
        await queue.admin.migrate()
    assert [(await queue.part(part.tag).settings()).layout for part in await queue.partitions()] == [0] * (COUNT + 1)
    assert (await queue.admin.migrate(force=True)).model_dump() == {"before": 0, "layout": 2, "rewritten": 0}


async def test_what_is_said_while_new_partitions_are_settled_in_holds(
    queue: PartitionedQueue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By somebody who knows the new map, just before the last look at the model."""
    other = PartitionedQueue(adeq, queue.name, adeq.prefix, adeq.queue(queue.name))
    await queue.admin.pause()
    refuse = queue._refuse_earlier

    async def then_resume(known: Any) -> None:
        await refuse(known)
        monkeypatch.setattr(Queue, "configure", configure_late)

    configure, resumed = Queue.configure, False

    async def configure_late(own: Queue, **settings: Any) -> Any:
        nonlocal resumed
        if not resumed:
            resumed = True
            await other.admin.resume()
        return await configure(own, **settings)

    monkeypatch.setattr(queue, "_refuse_earlier", then_resume)
    await queue.repartition(16)
    assert resumed
    modes = {(await queue.part(part.tag).settings()).mode for part in await queue.partitions()}
    assert modes == {"running"}


async def test_repartition_again_after_an_error_settles_what_was_left(
    queue: PartitionedQueue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = queue._refuse_earlier

    async def then_fail(known: Any) -> None:
        await refuse(known)
        await adeq.queue(queue.name).admin.pause()
        for tag in known.before[-1]:
            await queue.part(tag).admin.pause()
        raise TransportError("away", retryable=True, may_have_applied=False)

    monkeypatch.setattr(queue, "_refuse_earlier", then_fail)
    with pytest.raises(TransportError):
        await queue.repartition(16)
    monkeypatch.undo()
    await queue.repartition(16)
    modes = {(await queue.part(part.tag).settings()).mode for part in await queue.partitions()}
    assert modes == {"paused"}

"""The queue as users meet it: Adeq.queue() on a real server."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pyadeq import Backoff, Failure, Lease, Task
from pyadeq.asyncio import Adeq, Queue
from pyadeq.errors import BadArgument, ClockError, ConflictError, LeaseLost, WaitTimeout, WorkerReplaced
from pyadeq.keys import queue_base
from tests.integration.conftest import Clock
from tests.waiting import DEADLINE


@pytest.fixture
async def adeq(url: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, source="tests") as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    return adeq.queue(base_name)


async def take(queue: Queue, limit: int = 1, **options: Any) -> list[Lease]:
    return await queue.claim("w1", limit, **options)


# Producing


async def test_a_task_comes_back_as_it_was_given(queue: Queue) -> None:
    given = {"text": "ünïcode", "list": [], "big": 2**60, "none": None}
    receipt = await queue.enqueue(
        given, kind="message", priority=3, user="ann@example.org", tags=["a", "b:c"], headers={"trace": "x"}
    )
    assert receipt.status == "created"
    (lease,) = await take(queue)
    assert (lease.id, lease.payload) == (receipt.id, given)
    assert (lease.kind, lease.user, lease.tags) == ("message", "ann@example.org", ("a", "b:c"))
    assert lease.headers == {"trace": "x"}
    assert (lease.attempt, lease.delivery) == (1, 1)


@pytest.mark.parametrize("data", [b"", b"\x00\xff\r\n", b"x" * 70_000])
async def test_bytes_pass_untouched(queue: Queue, data: bytes) -> None:
    await queue.enqueue(data)
    (lease,) = await take(queue)
    assert lease.data == data


async def test_a_known_id_is_told_apart_from_a_repeated_call(queue: Queue) -> None:
    assert (await queue.enqueue(1, id="t", rid="r")).status == "created"
    assert (await queue.enqueue(1, id="t", rid="r")).status == "created"
    assert (await queue.enqueue(2, id="t")).status == "exists"
    assert (await queue.stats()).ready == 1


async def test_many_tasks_stay_in_order_over_several_calls(queue: Queue) -> None:
    receipts = await queue.enqueue_many(Task(payload=n, id=f"task-{n}") for n in range(2_500))
    assert [receipt.id for receipt in receipts] == [f"task-{n}" for n in range(2_500)]
    seen: list[str] = []
    while leases := await take(queue, 700):
        seen += [lease.id for lease in leases]
    assert seen == [receipt.id for receipt in receipts]


async def test_a_task_model_is_enqueued_with_its_own_options(queue: Queue) -> None:
    task = Task(payload={"n": 1}, kind="count", user="ann", priority=1, tags=["x"])
    receipt = await queue.enqueue(task, rid="r")
    assert await queue.enqueue(task, rid="r") == receipt
    plain = await queue.enqueue(Task(id="plain"))
    (first, second) = await queue.get_many([receipt.id, plain.id])
    assert first
    assert second
    assert (first.payload, first.kind, first.user, first.priority, first.tags) == ({"n": 1}, "count", "ann", 1, ("x",))
    assert (first.id, second.id, second.payload) == ("r", "plain", None)
    with pytest.raises(WaitTimeout):
        await queue.run(Task(id="asked", kind="count"), wait=0)
    asked = await queue.get("asked")
    assert asked
    assert asked.kind == "count"
    acts: list[Callable[..., Any]] = [queue.enqueue, queue.run]
    for act in acts:
        with pytest.raises(BadArgument, match=r"(delay, kind|kind, delay): not accepted beside a Task; allowed: rid; "):
            await act(task, delay=5, kind="other")


async def test_a_list_with_a_bad_task_creates_nothing_and_names_its_place(queue: Queue) -> None:
    tasks = [Task(payload=n) for n in range(1_500)] + [Task(priority=10)]
    with pytest.raises(BadArgument, match=r"item\[500\]\.priority: 10") as refused:
        await queue.enqueue_many(tasks)
    assert "task 1000" in refused.value.__notes__[0]
    assert (await queue.stats()).ready == 0


async def test_the_same_rid_creates_tasks_without_ids_once(queue: Queue) -> None:
    for _ in range(2):
        assert (await queue.enqueue("one", rid="a")).id == "a"
        assert [receipt.id for receipt in await queue.enqueue_many(["x", "z"], rid="b")] == ["b.0", "b.1"]
    assert (await queue.stats()).ready == 3


@pytest.mark.parametrize("single", ["text", b"bytes", {"a": "mapping"}, Task()])
async def test_one_thing_is_not_taken_for_many(queue: Queue, single: Any) -> None:
    acts: list[Callable[[Any], Any]] = [queue.enqueue_many, queue.get_many, queue.cancel_many]
    for act in acts:
        with pytest.raises(BadArgument, match="must be a list"):
            await act(single)
    with pytest.raises(BadArgument, match="lanes must"):
        await queue.claim(lanes=single)
    with pytest.raises(BadArgument, match="tags must be a list"):
        await queue.enqueue(tags=single)


async def test_a_lease_alone_is_no_ack_and_no_failure(queue: Queue) -> None:
    await queue.enqueue()
    leases: Any = await queue.claim("w")
    with pytest.raises(BadArgument, match=r"acks must be \(lease, result\), .*, got Lease"):
        await queue.ack_many(leases)
    with pytest.raises(BadArgument, match=r"fails must be a Failure\(lease, error\), got Lease"):
        await queue.fail_many(leases)
    await queue.ack(leases[0])


async def test_what_is_printed_holds_no_payload(queue: Queue) -> None:
    await queue.enqueue("secret", headers={"h": "secret"}, id="t")
    (lease,) = await take(queue)
    assert "secret" not in repr([lease, Task(payload="secret"), Failure(lease, "secret"), await queue.get("t")])
    assert len({lease, lease}) == 1


async def test_a_lease_is_a_second_at_least(queue: Queue) -> None:
    with pytest.raises(BadArgument, match=r"lease: 0\.5 .* 1 s and more"):
        await queue.claim(lease=0.5)


async def test_large_batches_are_split_by_their_bytes(queue: Queue) -> None:
    receipts = await queue.enqueue_many([b"x" * 1_000_000] * 20)
    assert len(receipts) == 20
    assert (await queue.stats()).ready == 20


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"priority": 10}, "priority: 10 .* 0 to 9"),
        ({"priority": "high"}, "priority: 'high'"),
        ({"id": "with space"}, "id: 'with space' .* A-Z"),
        ({"lane": "group/"}, "lane: 'group/' .* group/<name>"),
        ({"tags": ["ok", "no,commas"]}, "tags: 'no,commas'"),
        ({"tags": [str(n) for n in range(17)]}, "tags.*1 to 16"),
        ({"user": ""}, "user: ''"),
        ({"delay": -1}, "delay: -1 is not accepted; allowed: 0 to "),
        ({"delay": "soon"}, "delay must be seconds"),
        ({"max_attempts": 0}, "max_attempts: 0 .* 1 to 1000"),
        ({"payload": b"x" * 1_048_577}, "payload: <1048577 bytes> .* 1048576"),
        ({"payload": float("nan")}, "JSON"),
        ({"payload": object()}, "JSON"),
        ({"headers": {"x": "y" * 5_000}}, "headers: <5008 bytes> .* 4096"),
    ],
)
async def test_bad_input_names_field_value_and_range(queue: Queue, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        await queue.enqueue(**wrong)
    assert (await queue.stats()).counters == {}


# Working


async def test_priorities_come_first_and_lanes_in_the_order_asked_for(queue: Queue) -> None:
    for name, priority, lane in [
        ("late", 9, "any"),
        ("any", 5, "any"),
        ("group", 5, "group/g"),
        ("inst", 5, "group/g/inst/1"),
        ("first", 0, "any"),
    ]:
        await queue.enqueue(name, priority=priority, lane=lane)
    leases = await take(queue, 10, lanes=["group/g/inst/1", "group/g", "any"])
    assert [lease.payload for lease in leases] == ["first", "inst", "group", "any", "late"]


async def test_claim_waits_for_a_task_that_is_due_later(queue: Queue) -> None:
    await queue.enqueue("soon", delay=0.3)
    assert [lease.payload for lease in await take(queue, wait=DEADLINE)] == ["soon"]


async def test_claim_gives_up_after_its_wait(queue: Queue) -> None:
    assert await take(queue, wait=0.05) == []


async def test_an_acknowledged_task_is_completed_with_its_result(queue: Queue) -> None:
    await queue.enqueue("work", id="t")
    (lease,) = await take(queue)
    await queue.ack(lease, {"n": 1})
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.result, task.worker, task.attempts) == ("completed", {"n": 1}, "w1", 1)
    await queue.ack(lease, {"n": 2})
    assert (await queue.get_many(["t", "unknown"]))[1] is None
    again = await queue.get("t")
    assert again is not None
    assert again.result == {"n": 1}


async def test_a_second_ack_with_another_result_is_not_silent(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    receipt = await queue.enqueue("work", id="t")
    (lease,) = await take(queue)
    assert [await queue.ack(lease, {"n": n}) for n in (1, 1, 2)] == ["completed", "completed", "already"]
    assert "task t was already completed with another result, which stays" in caplog.text
    view = await queue.get(receipt.id)
    assert view
    assert view.result == {"n": 1}


async def test_a_lost_lease_changes_nothing(timed: Queue, clock: Clock) -> None:
    await timed.enqueue("work", id="t")
    (lost,) = await take(timed)
    clock.tick(15)
    assert await timed.admin.reap() == 1
    (held,) = await timed.claim("w2")
    assert held.fence > lost.fence
    acts: list[Callable[[Lease], Any]] = [timed.ack, timed.fail, timed.release, timed.heartbeat]
    for act in acts:
        with pytest.raises(LeaseLost, match="task 't'"):
            await act(lost)
    assert (await timed.heartbeat(held)).status == "renewed"


async def test_a_failed_task_is_retried_and_then_dead(timed: Queue, clock: Clock) -> None:
    await timed.enqueue("work", id="t", backoff=Backoff(base=2, multiplier=3, cap=5, jitter=0), max_attempts=3)
    for delay in (2.0, 5.0):
        (lease,) = await take(timed)
        answer = await timed.fail(lease, "why", reason="broken")
        assert (answer.status, answer.due) == ("retried", (clock.now_ms + delay * 1000) / 1000)
        assert await take(timed) == []
        clock.tick(delay)
    (lease,) = await take(timed)
    assert (await timed.fail(lease, "why", reason="broken")).status == "dead"
    (task,) = [task async for task in timed.iterate("dead")]
    assert (task.id, task.reason, task.attempts, task.error) == ("t", "broken", 3, None)
    whole = await timed.get("t")
    assert whole is not None
    assert whole.error == "why"


async def test_a_task_that_cannot_succeed_is_dead_at_once(queue: Queue) -> None:
    await queue.enqueue("work")
    (lease,) = await take(queue)
    assert (await queue.fail(lease, retryable=False)).status == "dead"


async def test_a_released_task_returns_to_its_place_and_spends_no_attempt(queue: Queue) -> None:
    await queue.enqueue_many(["a", "b"])
    (lease,) = await take(queue)
    assert await queue.release(lease) == "released"
    leases = await take(queue, 2)
    assert [(one.payload, one.attempt, one.delivery) for one in leases] == [("a", 1, 2), ("b", 1, 1)]


async def test_settle_completes_fails_and_claims_in_one_call(queue: Queue) -> None:
    await queue.enqueue_many(range(4))
    one, two = await take(queue, 2)
    settled = await queue.leases.settle("w1", acks=[(one, "done")], fails=[Failure(two, b"why")], claim=10)
    assert (settled.acks, [fail.status for fail in settled.fails]) == (["completed"], ["retried"])
    assert [lease.payload for lease in settled.claimed.leases] == [2, 3]


async def test_a_waiting_task_is_cancelled_and_a_running_one_hears_of_it(queue: Queue) -> None:
    await queue.enqueue("waits", id="waits", delay=60)
    await queue.enqueue("runs", id="runs")
    (lease,) = await take(queue)
    assert await queue.cancel_many(["waits", "runs", "unknown"]) == ["cancelled", "cancelling", "not_found"]
    assert (await queue.heartbeat(lease)).status == "cancelling"
    assert (await queue.fail(lease)).status == "cancelled"
    assert await queue.cancel("runs") == "cancelled"
    assert {task.id async for task in queue.iterate("cancelled")} == {"waits", "runs"}


async def test_dead_tasks_are_counted_by_kind_and_reason_1000_a_call(queue: Queue) -> None:
    await queue.enqueue_many([Task(kind="k") for _ in range(1500)])
    for _ in range(2):
        leases = await take(queue, 750)
        await queue.fail_many([Failure(lease, reason="no", retryable=False) for lease in leases])
    whole = await queue.dead.summary()
    assert [(one.kind, one.reason, one.count) for one in whole.groups] == [("k", "no", 1500)]
    assert (whole.counted, whole.complete) == (1500, True)
    newest = await queue.dead.summary(1200)
    assert (newest.groups[0].count, newest.counted, newest.complete) == (1200, 1200, False)
    with pytest.raises(BadArgument, match="most: 0"):
        await queue.dead.summary(0)


async def test_a_crash_loop_ends_in_the_dead_set(timed: Queue, clock: Clock) -> None:
    await timed.enqueue("crashes", id="t")
    crashes = 0
    while not (await timed.stats()).dead:
        if await take(timed):
            crashes += 1
        clock.tick(20)
        await timed.admin.promote()
        await timed.admin.reap()
    task = await timed.get("t")
    assert task is not None
    assert (crashes, task.crashes, task.reason, task.attempts) == (5, 5, "crash_loop", 0)


# Workers


async def test_the_newest_registration_holds_the_name(queue: Queue, url: str) -> None:
    await queue.enqueue("work")
    await queue.workers.register("w1")
    async with Adeq.from_url(url) as another:
        other = another.queue(queue.name)
        await other.workers.register("w1")
        with pytest.raises(WorkerReplaced, match="'w1'"):
            await queue.claim("w1")
        assert len(await other.claim("w1")) == 1


async def test_a_worker_that_the_server_forgot_registers_again(queue: Queue, client: Any) -> None:
    await queue.enqueue_many(["a", "b"])
    await take(queue)
    client.delete(f"{queue.base}:worker:w1", f"{queue.base}:workers")
    assert [lease.payload for lease in await take(queue)] == ["b"]


async def test_deregistered_workers_are_not_counted(queue: Queue) -> None:
    await queue.workers.register("w1")
    assert (await queue.stats()).workers == 1
    assert await queue.workers.deregister("w1") == "deregistered"
    assert await queue.workers.deregister("w1") == "unregistered"
    assert (await queue.stats()).workers == 0


# Looking and settings


async def test_lists_are_paged_in_order(queue: Queue) -> None:
    receipts = await queue.enqueue_many(range(25))
    seen: list[str] = []
    cursor = ""
    while True:
        page = await queue.list("ready", cursor=cursor, limit=10)
        seen += [task.id for task in page.tasks]
        cursor = page.cursor
        if not cursor:
            break
    assert seen == [receipt.id for receipt in receipts]


async def test_stats_count_every_state(queue: Queue) -> None:
    await queue.enqueue_many([Task(payload=n, delay=60 if n == 0 else 0) for n in range(6)])
    leases = await take(queue, 3)
    await queue.ack(leases[0])
    await queue.fail(leases[1], retryable=False)
    stats = await queue.stats()
    assert (stats.ready, stats.delayed, stats.running, stats.finished, stats.dead) == (2, 1, 1, 1, 1)
    assert (stats.pending, stats.lanes, stats.workers) == (3, {"any": 2}, 1)
    assert {name: stats.counters[name] for name in ("enqueued", "claimed", "completed", "dead")} == {
        "enqueued": 6,
        "claimed": 3,
        "completed": 1,
        "dead": 1,
    }


async def test_settings_are_stored_and_answered_in_seconds(queue: Queue) -> None:
    assert (await queue.configure()).lease == 15
    settings = await queue.configure(lease=2.5, max_attempts=7, backoff=Backoff(base=0.25, jitter=0))
    assert (settings.lease, settings.max_attempts, settings.backoff.base) == (2.5, 7, 0.25)
    assert await queue.configure() == settings


async def test_the_clock_is_chosen_once(queue: Queue, timed: Queue) -> None:
    with pytest.raises(ClockError):
        await queue.stats()
    with pytest.raises(ConflictError):
        await timed.configure(clock="server")


async def test_events_tell_every_transition_and_who_made_it(queue: Queue, client: Any) -> None:
    await queue.enqueue("work", id="t")
    (lease,) = await take(queue)
    await queue.ack(lease)
    entries = [fields for _, fields in client.xrange(f"{queue_base(queue.name)}:events")]
    assert [entry[b"event"].decode() for entry in entries] == [
        "task.enqueued",
        "worker.registered",
        "task.claimed",
        "task.completed",
    ]
    assert {entry[b"source"] for entry in entries} == {b"tests"}
    assert [entry[b"id"] for entry in entries if entry[b"event"].startswith(b"task")] == [b"t"] * 3


async def test_calls_of_a_queue_go_through_a_pipeline(queue: Queue, adeq: Adeq) -> None:
    receipt = await queue.enqueue("work")
    async with adeq.pipeline() as pipe:
        stats = pipe.add(queue.calls.stats())
        tasks = pipe.add(queue.calls.get([receipt.id]))
        refused = pipe.add(queue.calls.list("ready", cursor="nonsense"))
    assert stats.value.ready == 1
    assert tasks.value[0] is not None
    with pytest.raises(BadArgument, match="cursor"):
        assert refused.value

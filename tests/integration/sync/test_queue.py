# Generated from tests/integration/aio/test_queue.py by pyadeq/_unasync.py; do not edit.
"""The queue as users meet it: Adeq.queue() on a real server."""

from collections.abc import Iterator, Callable
from typing import Any

import pytest

from pyadeq import Backoff, Failure, Lease, Task
from pyadeq import Adeq, Queue
from pyadeq.errors import BadArgument, ClockError, ConflictError, LeaseLost, WaitTimeout, WorkerReplaced
from pyadeq.keys import queue_base
from tests.integration.conftest import Clock
from tests.waiting import DEADLINE


@pytest.fixture
def adeq(url: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, source="tests") as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    return adeq.queue(base_name)


def take(queue: Queue, limit: int = 1, **options: Any) -> list[Lease]:
    return queue.claim("w1", limit, **options)


# Producing


def test_a_task_comes_back_as_it_was_given(queue: Queue) -> None:
    given = {"text": "ünïcode", "list": [], "big": 2**60, "none": None}
    receipt = queue.enqueue(
        given, kind="message", priority=3, user="ann@example.org", tags=["a", "b:c"], headers={"trace": "x"}
    )
    assert receipt.status == "created"
    (lease,) = take(queue)
    assert (lease.id, lease.payload) == (receipt.id, given)
    assert (lease.kind, lease.user, lease.tags) == ("message", "ann@example.org", ("a", "b:c"))
    assert lease.headers == {"trace": "x"}
    assert (lease.attempt, lease.delivery) == (1, 1)


@pytest.mark.parametrize("data", [b"", b"\x00\xff\r\n", b"x" * 70_000])
def test_bytes_pass_untouched(queue: Queue, data: bytes) -> None:
    queue.enqueue(data)
    (lease,) = take(queue)
    assert lease.data == data


def test_a_known_id_is_told_apart_from_a_repeated_call(queue: Queue) -> None:
    assert (queue.enqueue(1, id="t", rid="r")).status == "created"
    assert (queue.enqueue(1, id="t", rid="r")).status == "created"
    assert (queue.enqueue(2, id="t")).status == "exists"
    assert (queue.stats()).ready == 1


def test_many_tasks_stay_in_order_over_several_calls(queue: Queue) -> None:
    receipts = queue.enqueue_many(Task(payload=n, id=f"task-{n}") for n in range(2_500))
    assert [receipt.id for receipt in receipts] == [f"task-{n}" for n in range(2_500)]
    seen: list[str] = []
    while leases := take(queue, 700):
        seen += [lease.id for lease in leases]
    assert seen == [receipt.id for receipt in receipts]


def test_a_task_model_is_enqueued_with_its_own_options(queue: Queue) -> None:
    task = Task(payload={"n": 1}, kind="count", user="ann", priority=1, tags=["x"])
    receipt = queue.enqueue(task, rid="r")
    assert queue.enqueue(task, rid="r") == receipt
    plain = queue.enqueue(Task(id="plain"))
    (first, second) = queue.get_many([receipt.id, plain.id])
    assert first
    assert second
    assert (first.payload, first.kind, first.user, first.priority, first.tags) == ({"n": 1}, "count", "ann", 1, ("x",))
    assert (first.id, second.id, second.payload) == ("r", "plain", None)
    with pytest.raises(WaitTimeout):
        queue.run(Task(id="asked", kind="count"), wait=0)
    asked = queue.get("asked")
    assert asked
    assert asked.kind == "count"
    acts: list[Callable[..., Any]] = [queue.enqueue, queue.run]
    for act in acts:
        with pytest.raises(BadArgument, match=r"(delay, kind|kind, delay): not accepted beside a Task; allowed: rid; "):
            act(task, delay=5, kind="other")


def test_a_list_with_a_bad_task_creates_nothing_and_names_its_place(queue: Queue) -> None:
    tasks = [Task(payload=n) for n in range(1_500)] + [Task(priority=10)]
    with pytest.raises(BadArgument, match=r"item\[500\]\.priority: 10") as refused:
        queue.enqueue_many(tasks)
    assert "task 1000" in refused.value.__notes__[0]
    assert (queue.stats()).ready == 0


def test_the_same_rid_creates_tasks_without_ids_once(queue: Queue) -> None:
    for _ in range(2):
        assert (queue.enqueue("one", rid="a")).id == "a"
        assert [receipt.id for receipt in queue.enqueue_many(["x", "z"], rid="b")] == ["b.0", "b.1"]
    assert (queue.stats()).ready == 3


@pytest.mark.parametrize("single", ["text", b"bytes", {"a": "mapping"}, Task()])
def test_one_thing_is_not_taken_for_many(queue: Queue, single: Any) -> None:
    acts: list[Callable[[Any], Any]] = [queue.enqueue_many, queue.get_many, queue.cancel_many]
    for act in acts:
        with pytest.raises(BadArgument, match="must be a list"):
            act(single)
    with pytest.raises(BadArgument, match="lanes must"):
        queue.claim(lanes=single)
    with pytest.raises(BadArgument, match="tags must be a list"):
        queue.enqueue(tags=single)


def test_a_lease_alone_is_no_ack_and_no_failure(queue: Queue) -> None:
    queue.enqueue()
    leases: Any = queue.claim("w")
    with pytest.raises(BadArgument, match=r"acks must be \(lease, result\), .*, got Lease"):
        queue.ack_many(leases)
    with pytest.raises(BadArgument, match=r"fails must be a Failure\(lease, error\), got Lease"):
        queue.fail_many(leases)
    queue.ack(leases[0])


def test_what_is_printed_holds_no_payload(queue: Queue) -> None:
    queue.enqueue("secret", headers={"h": "secret"}, id="t")
    (lease,) = take(queue)
    assert "secret" not in repr([lease, Task(payload="secret"), Failure(lease, "secret"), queue.get("t")])
    assert len({lease, lease}) == 1


def test_a_lease_is_a_second_at_least(queue: Queue) -> None:
    with pytest.raises(BadArgument, match=r"lease: 0\.5 .* 1 s and more"):
        queue.claim(lease=0.5)


def test_large_batches_are_split_by_their_bytes(queue: Queue) -> None:
    receipts = queue.enqueue_many([b"x" * 1_000_000] * 20)
    assert len(receipts) == 20
    assert (queue.stats()).ready == 20


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
def test_bad_input_names_field_value_and_range(queue: Queue, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        queue.enqueue(**wrong)
    assert (queue.stats()).counters == {}


# Working


def test_priorities_come_first_and_lanes_in_the_order_asked_for(queue: Queue) -> None:
    for name, priority, lane in [
        ("late", 9, "any"),
        ("any", 5, "any"),
        ("group", 5, "group/g"),
        ("inst", 5, "group/g/inst/1"),
        ("first", 0, "any"),
    ]:
        queue.enqueue(name, priority=priority, lane=lane)
    leases = take(queue, 10, lanes=["group/g/inst/1", "group/g", "any"])
    assert [lease.payload for lease in leases] == ["first", "inst", "group", "any", "late"]


def test_claim_waits_for_a_task_that_is_due_later(queue: Queue) -> None:
    queue.enqueue("soon", delay=0.3)
    assert [lease.payload for lease in take(queue, wait=DEADLINE)] == ["soon"]


def test_claim_gives_up_after_its_wait(queue: Queue) -> None:
    assert take(queue, wait=0.05) == []


def test_an_acknowledged_task_is_completed_with_its_result(queue: Queue) -> None:
    queue.enqueue("work", id="t")
    (lease,) = take(queue)
    queue.ack(lease, {"n": 1})
    task = queue.get("t")
    assert task is not None
    assert (task.state, task.result, task.worker, task.attempts) == ("completed", {"n": 1}, "w1", 1)
    queue.ack(lease, {"n": 2})
    assert (queue.get_many(["t", "unknown"]))[1] is None
    again = queue.get("t")
    assert again is not None
    assert again.result == {"n": 1}


def test_a_second_ack_with_another_result_is_not_silent(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    receipt = queue.enqueue("work", id="t")
    (lease,) = take(queue)
    assert [queue.ack(lease, {"n": n}) for n in (1, 1, 2)] == ["completed", "completed", "already"]
    assert "task t was already completed with another result, which stays" in caplog.text
    view = queue.get(receipt.id)
    assert view
    assert view.result == {"n": 1}


def test_a_lost_lease_changes_nothing(timed: Queue, clock: Clock) -> None:
    timed.enqueue("work", id="t")
    (lost,) = take(timed)
    clock.tick(15)
    assert timed.admin.reap() == 1
    (held,) = timed.claim("w2")
    assert held.fence > lost.fence
    acts: list[Callable[[Lease], Any]] = [timed.ack, timed.fail, timed.release, timed.heartbeat]
    for act in acts:
        with pytest.raises(LeaseLost, match="task 't'"):
            act(lost)
    assert (timed.heartbeat(held)).status == "renewed"


def test_a_failed_task_is_retried_and_then_dead(timed: Queue, clock: Clock) -> None:
    timed.enqueue("work", id="t", backoff=Backoff(base=2, multiplier=3, cap=5, jitter=0), max_attempts=3)
    for delay in (2.0, 5.0):
        (lease,) = take(timed)
        answer = timed.fail(lease, "why", reason="broken")
        assert (answer.status, answer.due) == ("retried", (clock.now_ms + delay * 1000) / 1000)
        assert take(timed) == []
        clock.tick(delay)
    (lease,) = take(timed)
    assert (timed.fail(lease, "why", reason="broken")).status == "dead"
    (task,) = [task for task in timed.iterate("dead")]
    assert (task.id, task.reason, task.attempts, task.error) == ("t", "broken", 3, None)
    whole = timed.get("t")
    assert whole is not None
    assert whole.error == "why"


def test_a_task_that_cannot_succeed_is_dead_at_once(queue: Queue) -> None:
    queue.enqueue("work")
    (lease,) = take(queue)
    assert (queue.fail(lease, retryable=False)).status == "dead"


def test_a_released_task_returns_to_its_place_and_spends_no_attempt(queue: Queue) -> None:
    queue.enqueue_many(["a", "b"])
    (lease,) = take(queue)
    assert queue.release(lease) == "released"
    leases = take(queue, 2)
    assert [(one.payload, one.attempt, one.delivery) for one in leases] == [("a", 1, 2), ("b", 1, 1)]


def test_settle_completes_fails_and_claims_in_one_call(queue: Queue) -> None:
    queue.enqueue_many(range(4))
    one, two = take(queue, 2)
    settled = queue.leases.settle("w1", acks=[(one, "done")], fails=[Failure(two, b"why")], claim=10)
    assert (settled.acks, [fail.status for fail in settled.fails]) == (["completed"], ["retried"])
    assert [lease.payload for lease in settled.claimed.leases] == [2, 3]


def test_a_waiting_task_is_cancelled_and_a_running_one_hears_of_it(queue: Queue) -> None:
    queue.enqueue("waits", id="waits", delay=60)
    queue.enqueue("runs", id="runs")
    (lease,) = take(queue)
    assert queue.cancel_many(["waits", "runs", "unknown"]) == ["cancelled", "cancelling", "not_found"]
    assert (queue.heartbeat(lease)).status == "cancelling"
    assert (queue.fail(lease)).status == "cancelled"
    assert queue.cancel("runs") == "cancelled"
    assert {task.id for task in queue.iterate("cancelled")} == {"waits", "runs"}


def test_dead_tasks_are_counted_by_kind_and_reason_1000_a_call(queue: Queue) -> None:
    queue.enqueue_many([Task(kind="k") for _ in range(1500)])
    for _ in range(2):
        leases = take(queue, 750)
        queue.fail_many([Failure(lease, reason="no", retryable=False) for lease in leases])
    whole = queue.dead.summary()
    assert [(one.kind, one.reason, one.count) for one in whole.groups] == [("k", "no", 1500)]
    assert (whole.counted, whole.complete) == (1500, True)
    newest = queue.dead.summary(1200)
    assert (newest.groups[0].count, newest.counted, newest.complete) == (1200, 1200, False)
    with pytest.raises(BadArgument, match="most: 0"):
        queue.dead.summary(0)


def test_a_crash_loop_ends_in_the_dead_set(timed: Queue, clock: Clock) -> None:
    timed.enqueue("crashes", id="t")
    crashes = 0
    while not (timed.stats()).dead:
        if take(timed):
            crashes += 1
        clock.tick(20)
        timed.admin.promote()
        timed.admin.reap()
    task = timed.get("t")
    assert task is not None
    assert (crashes, task.crashes, task.reason, task.attempts) == (5, 5, "crash_loop", 0)


# Workers


def test_the_newest_registration_holds_the_name(queue: Queue, url: str) -> None:
    queue.enqueue("work")
    queue.workers.register("w1")
    with Adeq.from_url(url) as another:
        other = another.queue(queue.name)
        other.workers.register("w1")
        with pytest.raises(WorkerReplaced, match="'w1'"):
            queue.claim("w1")
        assert len(other.claim("w1")) == 1


def test_a_worker_that_the_server_forgot_registers_again(queue: Queue, client: Any) -> None:
    queue.enqueue_many(["a", "b"])
    take(queue)
    client.delete(f"{queue.base}:worker:w1", f"{queue.base}:workers")
    assert [lease.payload for lease in take(queue)] == ["b"]


def test_deregistered_workers_are_not_counted(queue: Queue) -> None:
    queue.workers.register("w1")
    assert (queue.stats()).workers == 1
    assert queue.workers.deregister("w1") == "deregistered"
    assert queue.workers.deregister("w1") == "unregistered"
    assert (queue.stats()).workers == 0


# Looking and settings


def test_lists_are_paged_in_order(queue: Queue) -> None:
    receipts = queue.enqueue_many(range(25))
    seen: list[str] = []
    cursor = ""
    while True:
        page = queue.list("ready", cursor=cursor, limit=10)
        seen += [task.id for task in page.tasks]
        cursor = page.cursor
        if not cursor:
            break
    assert seen == [receipt.id for receipt in receipts]


def test_stats_count_every_state(queue: Queue) -> None:
    queue.enqueue_many([Task(payload=n, delay=60 if n == 0 else 0) for n in range(6)])
    leases = take(queue, 3)
    queue.ack(leases[0])
    queue.fail(leases[1], retryable=False)
    stats = queue.stats()
    assert (stats.ready, stats.delayed, stats.running, stats.finished, stats.dead) == (2, 1, 1, 1, 1)
    assert (stats.pending, stats.lanes, stats.workers) == (3, {"any": 2}, 1)
    assert {name: stats.counters[name] for name in ("enqueued", "claimed", "completed", "dead")} == {
        "enqueued": 6,
        "claimed": 3,
        "completed": 1,
        "dead": 1,
    }


def test_settings_are_stored_and_answered_in_seconds(queue: Queue) -> None:
    assert (queue.configure()).lease == 15
    settings = queue.configure(lease=2.5, max_attempts=7, backoff=Backoff(base=0.25, jitter=0))
    assert (settings.lease, settings.max_attempts, settings.backoff.base) == (2.5, 7, 0.25)
    assert queue.configure() == settings


def test_the_clock_is_chosen_once(queue: Queue, timed: Queue) -> None:
    with pytest.raises(ClockError):
        queue.stats()
    with pytest.raises(ConflictError):
        timed.configure(clock="server")


def test_events_tell_every_transition_and_who_made_it(queue: Queue, client: Any) -> None:
    queue.enqueue("work", id="t")
    (lease,) = take(queue)
    queue.ack(lease)
    entries = [fields for _, fields in client.xrange(f"{queue_base(queue.name)}:events")]
    assert [entry[b"event"].decode() for entry in entries] == [
        "task.enqueued",
        "worker.registered",
        "task.claimed",
        "task.completed",
    ]
    assert {entry[b"source"] for entry in entries} == {b"tests"}
    assert [entry[b"id"] for entry in entries if entry[b"event"].startswith(b"task")] == [b"t"] * 3


def test_calls_of_a_queue_go_through_a_pipeline(queue: Queue, adeq: Adeq) -> None:
    receipt = queue.enqueue("work")
    with adeq.pipeline() as pipe:
        stats = pipe.add(queue.calls.stats())
        tasks = pipe.add(queue.calls.get([receipt.id]))
        refused = pipe.add(queue.calls.list("ready", cursor="nonsense"))
    assert stats.value.ready == 1
    assert tasks.value[0] is not None
    with pytest.raises(BadArgument, match="cursor"):
        assert refused.value

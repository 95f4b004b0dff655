"""Programs that know only the interfaces of older designs, on a queue."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyadeq import Adeq as PlainAdeq
from pyadeq._twins import aio_join, aio_spawn
from pyadeq.asyncio import Adeq, Mailbox, Program, Queue, Worker
from pyadeq.errors import BadArgument, ConfigError, LeaseLost, TaskGone, TransportError
from pyadeq.ext.move.adapters import (
    LANES,
    NOTIFICATION,
    OUTBOX,
    DequeuedBatch,
    QueueItem,
    QueueRuntime,
    Task,
    TaskQueue,
    TaskResult,
    TaskStatus,
    TaskTool,
    scope_of,
)
from pyadeq.ext.move.adapters.task_queue import as_queue_task, place_of, priority_of
from tests.integration.conftest import Clock, Proxy
from tests.quick import examples
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine

AGENT = "a+17"
SCOPES = Path(__file__).parents[2] / "embedding" / "typescript" / "scopes.json"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def adeq(url: str, clock: Clock) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, clock=clock) as adeq:
        yield adeq


@pytest.fixture
async def queue(adeq: Adeq, base_name: str) -> Queue:
    """A queue whose time is the test's."""
    queue = adeq.queue(base_name)
    await queue.configure(clock="test")
    return queue


def task(priority: int = 100, **fields: Any) -> Task:
    return Task(subagent_type="coder", prompt="p", user_id="ann", priority=priority, **fields)


async def run_now(wanted: Task) -> TaskResult:
    return TaskResult(wanted.id, TaskStatus.COMPLETED, wanted.prompt.upper(), exit_code=0)


def test_no_two_old_priorities_change_places() -> None:
    places = [place_of(old) for old in range(101)]
    order = [(priority, LANES.index(lane)) for priority, lane in places]
    assert order == sorted(set(order))
    assert {priority for priority, _ in places} == set(range(10))
    assert places[100] == (9, "any")
    assert [priority_of(*place) for place in places] == [*range(101)]


@pytest.mark.parametrize("bad", [-1, 101, True, 1.0, "5", None])
def test_other_priorities_are_refused(bad: Any) -> None:
    with pytest.raises(BadArgument, match=r"priority: .* is not accepted; allowed: 0 to 100"):
        place_of(bad)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=30), st.integers(1, 30))
@settings(max_examples=examples(40, 400), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tasks_come_in_the_order_of_the_old_priorities(url: str, priorities: list[int], released: int) -> None:
    with PlainAdeq.from_url(url) as adeq:
        plain = adeq.queue(f"old-order-{uuid4()}")
        receipts = plain.enqueue_many([as_queue_task(task(old)) for old in priorities])
        wanted = [receipts[place].id for place in sorted(range(len(receipts)), key=lambda place: priorities[place])]
        plain.leases.release_many(plain.claim("w", released, lanes=LANES))
        assert [lease.id for lease in plain.claim("w", 100, lanes=LANES)] == wanted


async def test_a_worker_gets_the_old_order(queue: Queue) -> None:
    tasks, worker = TaskQueue(queue), uuid4()
    old = [55, 100, 50, 0, 99, 45, 50, 10, 11, 100, 1, 56]
    ids = [await tasks.enqueue(task(priority)) for priority in old]
    wanted = [ids[place] for place in sorted(range(len(old)), key=lambda place: old[place])]
    first = await tasks.dequeue(worker, 0)
    assert first
    await tasks.unregister_worker(worker, "restart")  # the task is at its old place again
    got = [await tasks.dequeue(worker, 0) for _ in old]
    assert [one and one.id for one in got] == wanted
    assert [one and one.priority for one in got] == sorted(old)
    assert await tasks.dequeue(worker, 0) is None


async def test_the_life_of_a_task(queue: Queue, clock: Clock) -> None:
    tasks, worker, above = TaskQueue(queue), uuid4(), uuid4()
    await tasks.register_worker(worker, 3)
    begin = datetime.fromtimestamp(clock() / 1000, UTC)
    given = task(tags=["x"], system_prompt="s", model="m", parent_task=above, max_retries=1)
    assert await tasks.enqueue(given) == await tasks.enqueue(given) == given.id
    assert await tasks.get_status(given.id) == TaskStatus.PENDING

    taken = await tasks.dequeue(worker)
    assert taken
    fields = ("prompt", "system_prompt", "model", "subagent_type", "user_id", "tags", "parent_task", "max_retries")
    assert [getattr(taken, name) for name in fields] == [getattr(given, name) for name in fields]
    assert (taken.status, taken.retry_count, taken.agent_id) == (TaskStatus.RUNNING, 0, worker)
    assert (taken.created_at, taken.started_at, taken.completed_at) == (begin, begin, None)
    await tasks.fail(given.id, "no")
    assert await tasks.get_status(given.id) == TaskStatus.PENDING

    clock.tick(10)
    again = await tasks.dequeue(worker)
    assert again
    assert again.retry_count == 1
    assert (again.created_at, again.started_at) == (begin, begin + timedelta(seconds=10))
    await tasks.fail(given.id, "no")
    failed = await tasks.get(given.id)
    assert (failed.status, failed.error, failed.exit_code) == (TaskStatus.FAILED, "no", None)

    await tasks.retry(given.id)
    with pytest.raises(BadArgument, match=r"not_dead; allowed: a failed task"):
        await tasks.retry(given.id)
    assert await tasks.dequeue(worker)
    await tasks.complete(given.id, {"ok": True})
    done = await tasks.get(given.id)
    assert (done.status, done.result, done.exit_code) == ("completed", {"ok": True}, 0)
    assert (done.created_at, done.started_at, done.completed_at) == (begin, again.started_at, again.started_at)
    with pytest.raises(LeaseLost, match="was not dequeued here, or has ended"):
        await tasks.complete(given.id, {})

    other = await tasks.enqueue(task())
    await tasks.cancel(other)
    listed = [(one.id, one.status) for one in await tasks.list_by_user("ann")]
    assert sorted(listed) == sorted([(given.id, TaskStatus.COMPLETED), (other, TaskStatus.CANCELLED)])
    assert {one.created_at for one in await tasks.list_by_user("ann")} == {begin, again.started_at}
    assert [one.id for one in await tasks.list_by_user("ann", "cancelled")] == [other]
    assert await tasks.list_by_user("bob") == []
    for call in (tasks.cancel, tasks.retry, tasks.get_status):
        with pytest.raises(TaskGone, match="there is no task"):
            await call(uuid4())
    await tasks.unregister_worker(worker, "it is done")
    assert await queue.workers.list() == []


async def test_a_task_whose_worker_is_silent_runs_again(queue: Queue, clock: Clock) -> None:
    tasks, silent, alive = TaskQueue(queue), uuid4(), uuid4()
    lost, kept = await tasks.enqueue(task(1)), await tasks.enqueue(task(2))
    await tasks.dequeue(silent)
    await tasks.dequeue(alive)
    clock.tick(40)
    assert await tasks.heartbeat(alive) == []
    clock.tick(30)
    assert await tasks.get_status(lost) == TaskStatus.STALLED
    with pytest.raises(BadArgument, match=r"max_age_ms: 1000 is not accepted; allowed: 60000"):
        await tasks.requeue_stalled(1000)
    assert [await tasks.requeue_stalled(60000), await tasks.requeue_stalled()] == [1, 0]
    assert [await tasks.get_status(one) for one in (lost, kept)] == [TaskStatus.PENDING, TaskStatus.RUNNING]
    with pytest.raises(LeaseLost):
        await tasks.complete(lost, {})
    await tasks.cancel(kept)
    for _ in range(3):  # the worker goes on, and never settles it
        assert await tasks.heartbeat(alive) == [kept]
        clock.tick(25)
    await tasks.requeue_stalled()
    assert await tasks.get_status(kept) == TaskStatus.CANCELLED


async def test_two_workers_of_one_object_have_their_own_leases(queue: Queue, clock: Clock) -> None:
    tasks, silent, other = TaskQueue(queue), uuid4(), uuid4()
    ids = [await tasks.enqueue(task(priority)) for priority in (1, 2, 3)]
    assert await tasks.dequeue(silent, 0)
    assert await tasks.dequeue(silent, 0)
    clock.tick(61)
    for _ in ids:
        assert await tasks.dequeue(other, 0)
    with pytest.raises(LeaseLost):
        await tasks.fail(ids[0], "late", worker_id=silent)
    assert await tasks.heartbeat(silent) == [ids[1]]
    assert await tasks.heartbeat(silent) == []
    with pytest.raises(LeaseLost, match=f"was not dequeued by worker {silent}"):
        await tasks.complete(ids[1], {}, worker_id=silent)
    assert await tasks.heartbeat(other) == []
    await tasks.complete(ids[0], {"by": "other"}, worker_id=other)
    await tasks.complete(ids[1], {"by": "other"})
    await tasks.unregister_worker(silent, "away")
    assert [await tasks.get_status(one) for one in ids] == [TaskStatus.COMPLETED] * 2 + [TaskStatus.RUNNING]
    assert (await tasks.get(ids[0])).result == {"by": "other"}


async def test_a_queue_that_an_adapter_cannot_use_is_refused_at_once(adeq: Adeq, queue: Queue, url: str) -> None:
    wide = adeq.partitioned(queue.name)
    makers: tuple[tuple[str, Any], ...] = (
        ("TaskQueue", TaskQueue),
        ("QueueRuntime", QueueRuntime),
        ("TaskTool", lambda one: TaskTool(one, run_now)),
        ("TaskTool, inbox", lambda one: TaskTool(queue, run_now, inbox=one)),
    )
    with PlainAdeq.from_url(url) as plain:
        for name, make in makers:
            with pytest.raises(ConfigError, match=f"^{name}: .* may have partitions.*; allowed: adeq.queue"):
                make(wide)
            with pytest.raises(
                ConfigError, match=f"^{name}: Queue is not accepted; allowed: a queue of pyadeq.asyncio"
            ):
                make(plain.queue(queue.name))


async def test_a_task_of_another_program_is_dead(queue: Queue) -> None:
    tasks, other = TaskQueue(queue), uuid4()
    payloads: tuple[tuple[str, Any], ...] = (("a", {}), (str(other), "text"), (str(uuid4()), {}))
    ids = [(await queue.enqueue(payload, id=id)).id for id, payload in payloads]
    mine = await tasks.enqueue(task())
    found = await tasks.dequeue(uuid4(), 0)  # it does not end the loop of a worker
    assert found
    assert found.id == mine
    assert [found and (found.state, found.reason) for found in await queue.get_many(ids)] == [("dead", "bad_input")] * 3
    assert await tasks.get_status(other) == TaskStatus.FAILED


async def test_a_call_is_made_again_after_an_error_of_the_connection(proxy: Proxy, base_name: str) -> None:
    async with Adeq.from_url(proxy.url, retry_for=0) as adeq:
        tasks = TaskQueue(adeq.queue(base_name))
        id = await tasks.enqueue(task())
        assert await tasks.dequeue(uuid4())
        while adeq._registering.is_working:
            await asyncio.sleep(0)
        proxy.lose = 1
        with pytest.raises(TransportError):
            await tasks.complete(id, {"ok": 1})
        await tasks.complete(id, {"ok": 1})
        assert (await tasks.get(id)).result == {"ok": 1}


async def test_a_subagent_runs_at_once_or_as_a_task(queue: Queue) -> None:
    tool = TaskTool(queue, run_now)
    assert (await tool.run("hi", "coder")).result == "HI"
    assert (await queue.stats()).pending == 0
    own = uuid4()
    for _ in range(2):  # a second sending adds nothing
        pending = await tool.run("hi", "coder", persist=True, priority=7, tags=["t"], parent=AGENT, task_id=own)
        assert pending == TaskResult(own, TaskStatus.PENDING)
    stats = await queue.stats()
    assert (stats.ready, stats.blocked) == (1, 1)
    with pytest.raises(BadArgument, match="priority"):
        await tool.run("hi", "coder", persist=True, priority=101)


async def test_a_subagent_gets_what_the_tool_was_called_with(queue: Queue) -> None:
    ran: list[Task] = []

    async def run(wanted: Task) -> TaskResult:
        ran.append(wanted)
        return await run_now(wanted)

    tool = TaskTool(queue, run, output_dir="/var/out")
    about: dict[str, Any] = {"description": "Look", "tool_call_id": "c-1", "max_turns": 3}
    existing: dict[str, Any] = {"agent_id": "agent 1", "conversation_id": "17"}
    await tool.run("hi", "coder", **about, **existing, run_in_background=True)
    pending = await tool.run("hi", "coder", persist=True, **about, **existing, run_in_background=True)
    assert pending.output_file == f"/var/out/{pending.task_id}.last/stdout"
    assert await tool.result(pending.task_id) == pending
    taken = await tool.tasks.dequeue(uuid4())
    assert taken
    wanted = {**about, "existing_agent_id": "agent 1", "existing_conversation_id": "17"}
    for got in (*ran, taken):
        assert {name: getattr(got, name) for name in wanted} == wanted
    assert ran[0].run_in_background
    stored = await queue.get(str(pending.task_id))
    assert stored
    assert stored.payload == {"prompt": "hi", "system_prompt": None, "model": None, **wanted}


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
async def test_the_parent_is_notified_in_the_step_in_which_its_task_ends(queue: Queue, end: str) -> None:
    tool, runtime = TaskTool(queue, run_now), QueueRuntime(queue, [("a", "17")], window=0)
    id = (await tool.run("hi", "coder", persist=True, description="Look", parent=AGENT)).task_id
    await tool.run("hi", "coder", persist=True, parent=AGENT, silent=True)
    assert await queue.inspect.length([f"group/{AGENT}"]) == [0]
    assert await tool.tasks.dequeue(uuid4())
    if end == "completed":
        await tool.tasks.complete(id, {"ok": 1})
    elif end == "failed":
        await tool.tasks.fail(id, "why", retryable=False)
    else:
        await tool.tasks.cancel(id)
        await tool.tasks.fail(id, "stopped")
    batch = await runtime.try_dequeue(None)
    assert batch
    assert [(one.kind, one.id) for one in batch.items] == [(NOTIFICATION, f"{id}.ended")]
    (item,) = batch.items
    about = (item.source, item.agent_id, item.conversation_id, item.content)
    assert about == ("system", "a", "17", None)
    assert item.text
    assert item.text.startswith(f'Agent "Look": {end} (task {id})')
    assert ('result: {"ok":1}' in item.text, "error: why" in item.text) == (end == "completed", end == "failed")
    assert await runtime.try_dequeue(None) is None


async def test_a_parent_in_another_slot_is_notified_once(adeq: Adeq, queue: Queue) -> None:
    inbox = adeq.queue(f"{queue.name}-inbox")
    await inbox.configure(clock="test")
    tool = TaskTool(queue, run_now, inbox=inbox)
    id = (await tool.run("hi", "coder", persist=True, parent=AGENT)).task_id
    assert await tool.tasks.dequeue(uuid4())
    await tool.tasks.complete(id, {"long": "é" * 200_000})
    (lease,) = await queue.claim(lanes=[OUTBOX])
    assert [await tool.forward(lease), await tool.forward(lease)] == ["created", "exists"]  # a killed run comes again
    batch = await QueueRuntime(inbox, [("a", "17")], window=0).try_dequeue(None)
    assert batch
    text = batch.items[0].text
    assert text
    assert text.startswith(f'Agent "coder": completed (task {id})\nresult: {{"long":"é')
    assert (len(text), text[-1]) == (65_537, "…")  # what fits into a payload
    assert await inbox.inspect.length([f"group/{AGENT}"]) == [0]
    ended = await queue.get(f"{id}.ended")
    assert ended
    assert ended.max_attempts == 1000
    text = await tool.notification({**lease.payload, "task_id": str(uuid4())})
    assert text.endswith("and is no longer stored")


async def test_a_batch_whose_notification_cannot_be_read_is_not_lost(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, runtime = TaskTool(queue, run_now), QueueRuntime(queue, [("a", "17")], window=0)
    await tool.tasks.cancel((await tool.run("hi", "coder", persist=True, parent=AGENT)).task_id)
    await queue.enqueue({"kind": NOTIFICATION, "task_id": "no id!"}, kind=NOTIFICATION, lane=f"group/{AGENT}")
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "get", _lost)
        with pytest.raises(TransportError):
            await runtime.try_dequeue(None)
    batches = [batch async for batch in _all(runtime)]
    assert ["cancelled" in (one.text or "") for batch in batches for one in batch.items] == [True, False]
    assert batches[1].items[0].content["task_id"] == "no id!"  # of another program


async def _lost(*_: Any) -> None:
    raise TransportError("the connection is lost", retryable=True, may_have_applied=False)


@pytest.mark.parametrize("parent", ["priority-3", "outbox"])
async def test_a_parent_has_no_name_that_a_worker_of_tasks_serves(queue: Queue, parent: str) -> None:
    with pytest.raises(BadArgument, match=f"parent: '{parent}' is not accepted"):
        await TaskTool(queue, run_now).run("hi", "coder", persist=True, parent=parent)


@pytest.mark.slow
async def test_a_worker_runs_the_subagent_as_a_program(url: str, base_name: str, tmp_path: Path) -> None:
    """The error table of the design is that of failure classes: a signal is a crash, 65 is bad input."""
    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        tool = TaskTool(queue, run_now, output_dir=tmp_path)
        script = 'read p; echo "$p"; case "$p" in *final*) exit 65;; *crash*) kill -9 $$;; esac'
        program = Program(["sh", "-c", script], output_dir=tmp_path)
        worker = Worker(queue, program, lanes=LANES)
        running = aio_spawn(worker.run)
        try:
            enqueued = await tool.run("fine", "coder", persist=True, model="m")
            good = enqueued.task_id
            bad = (await tool.run("final", "coder", persist=True)).task_id
            crash = (await tool.run("crash", "coder", persist=True)).task_id
            done, failed = await tool.wait(good), await tool.wait(bad)
            assert (done.status, done.exit_code, done.result["model"]) == (TaskStatus.COMPLETED, 0, "m")
            for file in (enqueued.output_file, done.output_file):
                assert file
                assert json.loads(Path(file).read_text())["prompt"] == "fine"
            assert (failed.status, failed.exit_code) == (TaskStatus.FAILED, 65)
            async for update in queue.updates(str(crash), interval=0.05):
                if update.task and update.task.state == "delayed":
                    break
            retried = await tool.result(crash)
            assert (retried.status, retried.exit_code) == (TaskStatus.PENDING, 137)
        finally:
            worker.stop()
            await aio_join(running, DEADLINE)


@pytest.mark.slow
async def test_a_worker_forwards_notifications_to_another_queue(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        queue, inbox = adeq.queue(base_name), adeq.queue(f"{base_name}-inbox")
        tool = TaskTool(queue, run_now, inbox=inbox)
        worker = Worker(queue, tool.forward, lanes=[OUTBOX])
        running = aio_spawn(worker.run)
        try:
            id = (await tool.run("hi", "coder", persist=True, parent=AGENT)).task_id
            await tool.tasks.dequeue(uuid4())
            await tool.tasks.complete(id, {})
            batch = await inbox.mailbox(AGENT, window=0).dequeue(DEADLINE)
            assert batch
            assert [item["task_id"] for item in batch.items] == [str(id)]
            await batch.done()
        finally:
            worker.stop()
            await aio_join(running, DEADLINE)


def message(text: str, **fields: Any) -> QueueItem:
    return QueueItem(**{"kind": "message", "agent_id": "a", "conversation_id": "17", "content": text, **fields})


async def test_messages_of_a_conversation_are_merged_and_others_are_not(queue: Queue, clock: Clock) -> None:
    blocked: list[tuple[str, int]] = []
    runtime = QueueRuntime(queue, on_blocked=lambda *what: blocked.append(what))
    same: dict[str, Any] = {"agent_id": "a", "conversation_id": "17", "client_message_id": "c 1"}  # only passed on
    items = [
        message("1", **same),
        message("2", **same),
        QueueItem(kind="approval_result", source="hook", text="yes", **same),
        message("3"),
        message("other", conversation_id="18"),
    ]
    added = [await runtime.enqueue(one) for one in items]
    assert all(one and one.enqueued_at for one in added)
    assert await runtime.enqueue(message("1", id=added[0].id if added[0] else "")) is None
    assert await runtime.try_dequeue("a tool runs") is None
    assert blocked == [("a tool runs", 5)]
    assert await runtime.try_dequeue(None) is None  # the window of 50 ms is open
    clock.tick(0.06)
    batches = [batch async for batch in _all(runtime)]
    assert sorted([one.content or one.text for one in batch.items] for batch in batches) == [
        ["1", "2"], ["3"], ["other"], ["yes"],
    ]  # fmt: skip
    merged = next(batch for batch in batches if len(batch.items) == 2)
    assert (merged.merged_count, merged.held) == (2, None)
    assert [one.client_message_id for one in merged.items] == ["c 1", "c 1"]
    assert [batch.queue_len_after for batch in batches] == [
        5 - sum(len(batch.items) for batch in batches[: count + 1]) for count in range(4)
    ]
    assert [one.id for one in merged.items] == [one.id for one in added[:2] if one]
    assert len({batch.batch_id for batch in batches}) == 4
    await runtime.try_dequeue("again")
    assert len(blocked) == 1  # nothing waits


async def test_a_batch_that_is_not_settled_comes_again(queue: Queue, clock: Clock) -> None:
    runtime = QueueRuntime(queue, window=0, settle_at_once=False)
    await runtime.enqueue(message("1"))
    batch = await runtime.try_dequeue(None)
    assert batch
    assert batch.held
    await batch.held.release()
    again = await runtime.try_dequeue(None)
    assert again
    assert again.held
    await again.held.done()
    assert await runtime.length() == 0


async def test_an_item_that_another_process_has_now_is_left_out(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = QueueRuntime(queue, window=0)
    for text in "ab":
        await runtime.enqueue(message(text))
    ack_many = Queue.ack_many

    async def late(queue: Queue, acks: Any) -> Any:
        await queue.release(acks[0][0])
        return await ack_many(queue, acks)

    monkeypatch.setattr(Queue, "ack_many", late)
    batch = await runtime.try_dequeue(None)
    assert batch
    assert ([one.content for one in batch.items], batch.merged_count) == (["b"], 1)
    assert await runtime.try_dequeue(None) is None  # the other process has all of it
    assert await runtime.length() == 1


async def test_a_full_or_draining_queue_gives_null_and_clear_deletes(queue: Queue) -> None:
    runtime = QueueRuntime(queue)
    assert await runtime.length() == 0
    await runtime.enqueue(message("1"))
    await queue.admin.drain()
    assert await runtime.enqueue(message("2")) is None
    await queue.admin.resume()
    assert [await runtime.clear(), await runtime.length()] == [1, 0]


class InMemory:
    """The old side, which takes three items at most."""

    def __init__(self) -> None:
        self.items: deque[QueueItem] = deque()

    def enqueue(self, item: QueueItem) -> QueueItem | None:
        if len(self.items) == 3:
            return None
        self.items.append(item)
        return item

    def try_dequeue(self, blocked_reason: str | None) -> DequeuedBatch | None:
        if blocked_reason or not self.items:
            return None
        item = self.items.popleft()
        return DequeuedBatch(item.id, [item], 1, len(self.items))


async def test_the_old_queue_is_read_until_the_change_and_nothing_comes_twice(queue: Queue) -> None:
    different: list[str] = []
    both = QueueRuntime(queue, old=InMemory(), window=0, on_difference=different.extend)
    added = [await both.enqueue(message(text)) for text in "abcd"]
    assert [one and one.content for one in added] == ["a", "b", "c", None]
    first = await both.try_dequeue(None)
    assert first
    assert [one.content for one in first.items] == ["a"]
    assert added[1]
    await queue.ack((await queue.claim(limit=1, lanes=[f"group/{AGENT}"]))[0])
    await both.try_dequeue(None)
    assert different == [added[1].id]
    await queue.admin.drain()
    late = await both.enqueue(message("e"))
    assert late
    assert different == [added[1].id, late.id]  # the old side has it, and decides
    # The process ends. Its memory is lost, and what it has not given out is in the queue.
    batch = await QueueRuntime(queue, [("a", "17")], window=0).try_dequeue(None)
    assert batch
    assert [one.content for one in batch.items] == ["c"]


async def test_what_the_old_queue_accepts_is_written_to_both(queue: Queue) -> None:
    """Any name of a conversation; the client in TypeScript has the same mailboxes."""
    scopes = json.loads(SCOPES.read_text())
    different: list[str] = []
    for agent, conversation, scope in scopes:
        assert scope_of(agent, conversation) == scope
        both = QueueRuntime(queue, old=InMemory(), on_difference=different.extend)
        assert await both.enqueue(message("1", agent_id=agent, conversation_id=conversation))
        assert await both.length() == 1
        batch = await QueueRuntime(queue, [(agent, conversation)], window=0).try_dequeue(None)
        assert batch
        assert [(one.agent_id, one.conversation_id) for one in batch.items] == [(agent, conversation)]
    assert (different, len({scope for *_, scope in scopes})) == ([], len(scopes))
    both = QueueRuntime(queue, old=InMemory(), on_difference=different.extend)
    odd = await both.enqueue(message("1", conversation_id="\ud800"))  # half a character, which JSON cannot hold
    assert odd
    assert different == [odd.id]
    assert await both.try_dequeue(None)


async def test_what_the_old_queue_gives_out_too_early_does_not_come_twice(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    different: list[str] = []
    both = QueueRuntime(queue, old=InMemory(), window=0, on_difference=different.extend)
    enqueue = Mailbox.enqueue

    async def late(box: Mailbox, *arguments: Any, **options: Any) -> Any:
        """As if the connection had to be made again: the old queue is read first."""
        batch = await both.try_dequeue(None)
        assert batch
        return await enqueue(box, *arguments, **options)

    monkeypatch.setattr(Mailbox, "enqueue", late)
    assert await both.enqueue(message("a"))
    assert (different, await queue.inspect.length([f"group/{AGENT}"])) == ([], [0])


async def _all(runtime: QueueRuntime) -> AsyncIterator[DequeuedBatch]:
    while batch := await runtime.try_dequeue(None):
        yield batch

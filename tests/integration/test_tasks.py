"""Functions as tasks, with a real Worker: `@queue.task`, results, progress, middleware, failure classes."""

import asyncio
import time
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

import pyadeq
from pyadeq import BadArgument, Lease
from pyadeq.asyncio import (
    Adeq,
    Failures,
    Queue,
    RateLimited,
    Rule,
    TaskContext,
    TaskDead,
    Tasks,
    TaskView,
)
from pyadeq.errors import AdeqError, WaitTimeout
from tests.integration.conftest import Proxy
from tests.integration.running import adeq, queue, working
from tests.waiting import DEADLINE, eventually

__all__ = ["adeq", "queue"]  # fixtures


class Letter(BaseModel):
    to: str
    pages: int = 1


async def state(queue: Queue, id: str, *states: str) -> TaskView:
    """The task, once it is in one of the states."""
    async with asyncio.timeout(DEADLINE):
        while (task := await queue.get(id)) is None or task.state not in states:
            await asyncio.sleep(0.01)
    return task


async def test_a_call_is_a_task_and_its_result_comes_back(queue: Queue) -> None:
    @queue.task
    async def post(letter: Letter, *, fast: bool = False) -> Letter:
        return Letter(to=letter.to.upper(), pages=letter.pages + fast)

    @queue.task(name="sums.add", priority=1, max_attempts=7)
    def add(a: int, b: int) -> int:
        return a + b

    receipt = await add.options(id="sum", tags=["x"]).enqueue(1, b=2)
    assert (receipt.status, receipt.id) == ("created", "sum")
    view = await queue.get("sum")
    assert view is not None
    assert (view.kind, view.payload, view.priority, view.tags, view.max_attempts) == (
        *("sums.add", {"a": 1, "b": 2}),
        *(1, ("x",), 7),
    )
    async with working(queue, queue.tasks):
        assert (await state(queue, "sum", "completed")).result == 3
        assert await post.run(Letter(to="ann"), fast=True) == Letter(to="ANN", pages=2)
        assert await add.run(3, 4) == 7


async def test_a_receipt_knows_the_type_of_the_result(adeq: Adeq, queue: Queue) -> None:
    @queue.task
    async def post(letter: Letter) -> Letter:
        return letter

    @queue.task
    async def cut(data: str) -> bytes:
        return data.encode()

    async with working(queue, queue.tasks):
        receipt = await post.enqueue(Letter(to="ann"))
        assert await receipt.result(DEADLINE) == Letter(to="ann")
        assert await adeq.queue(queue.name).bind(post).result(receipt.id) == Letter(to="ann"), "also elsewhere"
        assert await queue.result(receipt.id) == {"to": "ann", "pages": 1}, "only JSON, where the function is not known"
        assert [update.state async for update in receipt.updates(timeout=DEADLINE)][-1] == "completed"
        assert await (await cut.enqueue("1")).result(DEADLINE) == b"1"
    lost = await queue.enqueue({"letter": {"to": "bob"}}, kind="post")
    (lease,) = await queue.claim("w", 1)
    await queue.ack(lease, {"of": "another build"})
    with pytest.raises(AdeqError, match="post: the result is not what the function says it returns"):
        await post.result(lost.id)


async def test_who_knows_only_json_can_enqueue(queue: Queue) -> None:
    @queue.task
    async def post(letter: Letter) -> int:
        return letter.pages

    async with working(queue, queue.tasks):
        receipt = await queue.enqueue(b'{"letter": {"to": "bob", "pages": 4}}', kind="post")
        assert (await state(queue, receipt.id, "completed")).result == 4


async def test_what_cannot_be_run_is_dead_at_once(queue: Queue) -> None:
    @queue.task
    async def post(letter: Letter) -> None: ...

    await queue.enqueue({"letter": {"to": 3}}, kind="post", id="misfit")
    await queue.enqueue({}, kind="other", id="unknown")
    async with working(queue, queue.tasks, unknown_for=0):
        misfit, unknown = await state(queue, "misfit", "dead"), await state(queue, "unknown", "dead")
    assert (misfit.reason, unknown.reason) == ("bad_input", "unknown_kind")
    assert "post: letter.to: Input should be a valid string, got int" in str(misfit.error)
    assert "kind: 'other' is not known here; known: post" in str(unknown.error)
    assert "Traceback" not in f"{misfit.error}{unknown.error}"
    with pytest.raises(BadArgument, match=r"post: letter: Input should be a valid dictionary .*, got str"):
        await post.enqueue("ann")  # type: ignore[arg-type]


async def test_a_free_registry_is_bound_where_it_is_used(adeq: Adeq, queue: Queue) -> None:
    tasks = Tasks()

    @tasks.task(timeout=60)
    async def double(n: int) -> int:
        return 2 * n

    bound = queue.bind(double)
    assert bound.kind not in queue.tasks
    queue.tasks.include(tasks)
    await queue.enqueue_many([double.options(id=f"t{n}").item(n) for n in range(3)])
    async with working(queue, queue.tasks):
        assert await bound.run(21) == 42
        assert [(await state(queue, f"t{n}", "completed")).result for n in range(3)] == [0, 2, 4]


async def test_who_waits_hears_how_it_failed(queue: Queue) -> None:
    @queue.task(max_attempts=1)
    async def fails() -> None:
        raise ValueError("no")

    async with working(queue, queue.tasks):
        with pytest.raises(TaskDead, match="ValueError"):
            await fails.run()
    with pytest.raises(WaitTimeout):
        await fails.options(wait=timedelta(milliseconds=10)).run()


async def test_the_sync_twin_enqueues_and_waits(url: str, queue: Queue) -> None:
    with pyadeq.Adeq.from_url(url) as client:
        twin = client.queue(queue.name)

        @twin.task
        async def double(n: int) -> int:
            return 2 * n

        def produce() -> list[int]:
            assert double.enqueue(1).status == "created"
            return [double.run(4), twin.bind(double).options(priority=1).run(5)]

        async with working(queue, twin.tasks):
            assert await asyncio.to_thread(produce) == [8, 10]


# The context


async def test_the_context_knows_the_task(queue: Queue) -> None:
    @queue.task
    async def look(context: TaskContext, more: bool = False) -> list[Any]:
        assert context is TaskContext.current()
        assert await context.heartbeat()
        return [context.id, context.fence, context.attempt, context.kind, context.queue_name, context.worker]

    receipt = await look.enqueue()
    async with working(queue, queue.tasks, name="w3"):
        task = await state(queue, receipt.id, "completed")
    assert task.result == [receipt.id, task.fence, 1, "look", queue.name, "w3"]


async def test_progress_goes_out_once_a_second_and_the_last_always(queue: Queue) -> None:
    goes_on = asyncio.Event()

    @queue.task
    async def count(context: TaskContext) -> None:
        for n in range(100):
            await context.progress((n + 1) / 200, f"step {n}", log=f"line {n}")
        await goes_on.wait()
        for n in range(100, 250):
            await context.progress((n + 1) / 200, f"step {n}", log=f"line {n}")
        await context.progress()

    receipt = await count.enqueue()
    async with working(queue, queue.tasks):
        await eventually(lambda: said(queue, receipt.id, "step 99"))
        goes_on.set()
        task = await state(queue, receipt.id, "completed")
    assert (task.progress, task.progress_text) == (1.0, "step 249")
    assert [line.text for line in await queue.inspect.log(receipt.id)] == [f"line {n}" for n in range(150, 250)]


async def test_progress_is_not_sent_more_often_than_once_a_second(queue: Queue, client: Any) -> None:
    @queue.task
    async def count(context: TaskContext) -> None:
        for n in range(100):
            await context.progress(n / 100)
            await asyncio.sleep(0.002)

    start = time.monotonic()
    receipt = await count.enqueue()
    async with working(queue, queue.tasks):
        assert (await state(queue, receipt.id, "completed")).progress == 0.99
    events = client.xrange(f"{queue.base}:events")
    sent = sum(entry[b"event"] == b"task.progress" for _, entry in events)
    assert 2 <= sent <= 2 + (time.monotonic() - start)


async def said(queue: Queue, id: str, text: str) -> bool:
    task = await queue.get(id)
    return task is not None and task.progress_text == text


async def test_a_thread_tells_of_its_progress(queue: Queue) -> None:
    @queue.task
    def count(context: TaskContext) -> None:
        for n in range(10):
            context.report(n / 10, log=str(n))

    receipt = await count.enqueue()
    async with working(queue, queue.tasks):
        task = await state(queue, receipt.id, "completed")
    assert task.progress == 0.9
    assert [line.text for line in await queue.inspect.log(receipt.id)] == [str(n) for n in range(10)]


async def test_progress_that_is_not_heard_fails_nothing(
    queue: Queue, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    async with Adeq.from_url(proxy.url, retry_for=0.2) as adeq:

        @queue.task
        async def count(context: TaskContext) -> str:
            proxy.deaf = True
            context.report(0.5)
            async with asyncio.timeout(DEADLINE):
                while "was not noted" not in caplog.text:
                    await asyncio.sleep(0.01)
            proxy.deaf = False
            return "done"

        receipt = await count.enqueue()
        async with working(adeq.queue(queue.name), queue.tasks):
            assert (await state(queue, receipt.id, "completed")).result == "done"


@pytest.mark.parametrize("why", ["cancelling", "lease_lost"])
async def test_who_tells_of_progress_hears_that_it_is_to_end(queue: Queue, why: str) -> None:
    await queue.enqueue("work", id="t")
    (lease,) = await queue.claim("w1")
    context = TaskContext(lease, queue)
    await (queue.cancel("t") if why == "cancelling" else queue.release(lease))
    context.report(0.1)
    await context.finish()
    assert context.interrupted == why


async def test_what_is_said_last_is_heard(queue: Queue) -> None:
    async def handle(lease: Lease) -> None:
        TaskContext.current().report(0.7, "the last")

    await queue.enqueue("work", id="t")
    async with working(queue, handle):
        task = await state(queue, "t", "completed")
    assert (task.progress, task.progress_text) == (0.7, "the last")


# Middleware and failure classes


async def test_middleware_sees_results_and_failures(queue: Queue) -> None:
    seen: list[Any] = []

    async def watch(lease: Lease, call_next: Any) -> Any:
        try:
            result = await call_next(lease)
        except ValueError as error:
            seen.append(str(error))
            raise
        seen.append(result)
        return result

    @queue.task(max_attempts=1)
    async def work(fails: bool) -> Letter:
        if fails:
            raise ValueError("no")
        return Letter(to="ann")

    async with working(queue, queue.tasks, middleware=[watch]):
        assert await work.run(False) == Letter(to="ann")
        with pytest.raises(TaskDead):
            await work.run(True)
    assert seen == [Letter(to="ann"), "no"]


class Flaky(Exception):
    pass


async def test_the_table_of_failures_says_what_becomes_of_a_task(queue: Queue, client: Any) -> None:
    @queue.task
    async def fail(how: str) -> None:
        match how:
            case "limited":
                raise RateLimited("slowly", 1000)
            case "memory":
                raise MemoryError
            case "flaky":
                raise Flaky
            case "slow":
                await asyncio.Event().wait()
        raise SyntaxError(how)

    table = Failures().changed(flaky=Rule(delay=500, alert=True)).when(Flaky, "flaky")
    for how in ("limited", "memory", "flaky", "syntax"):
        await fail.options(id=how).enqueue(how)
    await fail.options(id="slow", timeout=0.05, max_attempts=2).enqueue("slow")
    async with working(queue, queue.tasks, failures=table):
        limited, memory = await state(queue, "limited", "delayed"), await state(queue, "memory", "dead")
        flaky, syntax = await state(queue, "flaky", "delayed"), await state(queue, "syntax", "dead")
        slow = await state(queue, "slow", "dead")
    now = (await queue.stats()).now
    assert 900 < (limited.due or 0) - now <= 1000
    assert 400 < (flaky.due or 0) - now <= 500
    assert (memory.reason, syntax.reason, slow.reason) == ("out_of_memory", "bad_input", "timeout")
    assert slow.timeout == pytest.approx(0.1)
    events = client.xrange(f"{queue.base}:events")
    assert {entry[b"id"] for _, entry in events if entry[b"event"] == b"task.alert"} == {b"memory", b"flaky"}


async def test_bytes_come_back_as_they_are(queue: Queue) -> None:
    @queue.task
    async def echo(n: int) -> bytes:
        return [b"\x00\xff\xfe", b'"quoted"', b"123", b""][n]

    @queue.task
    async def lies() -> int:
        return "not a number"  # type: ignore[return-value]

    async with working(queue, queue):
        assert [await echo.run(n) for n in range(4)] == [b"\x00\xff\xfe", b'"quoted"', b"123", b""]
        with pytest.raises(AdeqError, match="lies: the result is not what the function says"):
            await lies.run()
    with pytest.raises(WaitTimeout):
        await echo.options(wait=0).run(0)


class Busy(ConnectionError):
    """Between the two that have a rule."""


class NoSuchAddress(Exception):
    retry_after = 3


async def test_a_function_has_rules_for_its_own_exceptions(queue: Queue) -> None:
    errors: dict[str, Exception] = {
        "busy": Busy("wait"),
        "gone": NoSuchAddress("no such address"),
        "other": ValueError("odd"),
    }
    rules = {OSError: Rule(delay=7), ConnectionError: Rule(delay=300, alert=True), NoSuchAddress: Rule(retry=False)}

    @queue.task(failures=rules, max_attempts=5)
    def send(what: str) -> None:
        raise errors[what]

    async with working(queue, queue.tasks):
        for what in errors:
            await send.options(id=what).enqueue(what)
        busy, gone = await state(queue, "busy", "delayed"), await state(queue, "gone", "dead")
        other = await state(queue, "other", "delayed", "ready")
    assert busy.due is not None
    assert busy.started is not None
    assert 250 < busy.due - busy.started < 350
    assert (busy.reason, gone.reason, other.reason) == ("connection_lost", "NoSuchAddress", "ValueError")
    with pytest.raises(pyadeq.ConfigError, match="allowed: exceptions, each with a Rule"):
        queue.task(name="wrong", failures={OSError: 5})(lambda: None)  # type: ignore[dict-item]

"""The context of a task, and what is around a handler, without a server."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from pyadeq import Lease, TaskContext, Tasks
from pyadeq._tasks.context import running
from pyadeq._worker.middleware import prepare
from pyadeq.errors import ConfigError


class Address(BaseModel):
    street: str
    number: int = 1


def lease(kind: str, payload: bytes = b"") -> Lease:
    return Lease("t", "token", 7, 2, 3, 0.0, payload, {"kind": kind.encode()})


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


async def waits() -> None: ...


async def test_a_context_says_why_the_work_is_to_end() -> None:
    context = TaskContext(lease("x"))
    waiting = asyncio.create_task(context.wait_cancelled())
    await asyncio.sleep(0)
    context.check()
    assert (context.cancelled, context.interrupted, context.worker, context.queue_name) == (False, None, None, None)
    context.interrupt("timed_out")
    context.interrupt("stopping")
    assert await waiting == await context.wait_cancelled() == "timed_out"
    assert context.cancelled
    assert not await context.heartbeat()
    with pytest.raises(asyncio.CancelledError, match="task t: timed_out"):
        context.check()
    assert repr(context) == "<TaskContext 't', fence 7, timed_out>"


def test_there_is_no_context_outside_of_a_task() -> None:
    with pytest.raises(ConfigError, match=r"TaskContext.current\(\): no task is run here"):
        TaskContext.current()


def test_a_context_for_a_test_tells_nobody() -> None:
    with running(TaskContext(lease("x"))) as context:
        assert TaskContext.current() is context
    context.report(1.0000001, "done", "a line")
    assert not context.talks
    with pytest.raises(ConfigError):
        TaskContext.current()


# Middleware


async def test_middleware_is_around_the_handler_the_first_outermost(tasks: Tasks) -> None:
    seen: list[Any] = []

    @tasks.task
    async def work(n: int) -> Address:
        seen.append(n)
        return Address(street="x", number=n)

    async def outer(lease: Lease, call_next: Any) -> Any:
        seen.append("in")
        result = await call_next(lease)
        seen.append(result)
        return result

    async def inner(lease: Lease, call_next: Any) -> Any:
        seen.append(lease.kind)
        result = await call_next(lease)
        result.number += 1
        return result

    run = prepare(tasks, [outer, inner])
    assert await run(lease("work", b'{"n":1}')) == b'{"street":"x","number":2}'
    assert seen == ["in", "work", 1, Address(street="x", number=2)]


async def test_middleware_may_answer_by_itself() -> None:
    async def handle(lease: Lease) -> str:
        raise AssertionError

    async def known(lease: Lease, call_next: Any) -> str:
        return "known"

    assert await prepare(handle, [known])(lease("x")) == "known"
    assert await prepare(Tasks(), [known])(lease("x")) == "known"


async def test_handlers_are_async_functions_plain_ones_and_registries(tasks: Tasks) -> None:
    async def handle(lease: Lease) -> str:
        return lease.id

    def plain(lease: Lease) -> str:
        return lease.id

    assert prepare(handle) is handle
    assert prepare(tasks) is tasks
    assert await prepare(plain)(lease("x")) == "t"


@pytest.mark.parametrize(
    ("handler", "middleware", "name"),
    [(3, [], "handler"), (Address, [], "handler"), (lambda: 1, [], "handler"), (waits, [print], "middleware")],
)
def test_what_cannot_be_called_for_a_lease_is_refused(handler: Any, middleware: Any, name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: .* is not accepted; allowed: "):
        prepare(handler, middleware)

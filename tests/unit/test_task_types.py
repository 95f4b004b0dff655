"""What mypy knows of tasks: it reads this file, and says so if one of the comments `type: ignore` is not needed."""

from collections.abc import Callable
from typing import Any, assert_type

import pytest

import pyadeq
from pyadeq import Receipt, Task, TaskContext, Tasks
from pyadeq import asyncio as aio
from pyadeq.errors import BadArgument

tasks = Tasks()


@tasks.task
async def send(to: str, copies: int = 1) -> float:
    return float(copies)


@tasks.task(timeout=5, executor="thread")
def crunch(context: TaskContext, *, data: list[int]) -> int:
    return sum(data)


def test_a_call_as_a_task_has_the_arguments_of_the_function() -> None:
    assert_type(send.item("ann", copies=2), Task)
    assert_type(crunch.item(data=[1]), Task)
    wrongs: list[Callable[[], Task]] = [
        lambda: send.item(),  # type: ignore[call-arg]  # noqa: PLW0108 - the call is what mypy must refuse
        lambda: send.item(3),  # type: ignore[arg-type]
        lambda: send.item("ann", copy=2),  # type: ignore[call-arg]
        lambda: send.options(priority=1).item("ann", "bob"),  # type: ignore[arg-type]
        lambda: crunch.item([1]),  # type: ignore[call-arg]
    ]
    for wrong in wrongs:
        with pytest.raises(BadArgument):
            wrong()


def test_called_it_is_the_function() -> None:
    async def check(context: TaskContext) -> None:
        assert_type(crunch(context, data=[1]), int)
        assert_type(await send("ann"), float)
        crunch(data=[1])  # type: ignore[call-arg]

    assert callable(check)


def test_options_have_types() -> None:
    assert_type(send.options(delay=3).item("ann"), Task)
    send.options(delay="soon")  # type: ignore[arg-type]
    with pytest.raises(pyadeq.ConfigError):
        send.options(colour="red")  # type: ignore[call-arg]


def test_a_task_of_a_queue_is_enqueued_and_run_with_types() -> None:
    async def with_await(queue: aio.Queue) -> None:
        posting, crunching = queue.bind(send), queue.bind(crunch)
        assert_type(await posting.enqueue("ann"), aio.Receipt[float])
        assert_type(await (await posting.enqueue("ann")).result(timeout=30), float)
        assert_type(await posting.result("id"), float)
        assert_type(await queue.enqueue("ann"), aio.Receipt)
        assert_type(await (await queue.enqueue("ann")).result(), Any)
        assert_type(await posting.options(wait=3).run("ann"), float)
        assert_type(await crunching.run(data=[1]), int)
        await posting.enqueue(1)  # type: ignore[arg-type]
        await crunching.run(1)  # type: ignore[call-arg, arg-type]

        @queue.task
        async def direct(context: TaskContext, a: str) -> int:
            return len(a)

        assert_type(await direct.enqueue("x"), aio.Receipt[int])
        assert_type(await direct.run("x"), int)
        await direct.enqueue(context=3, a="x")  # type: ignore[call-arg]

    def without(queue: pyadeq.Queue) -> None:
        @queue.task(name="other", max_attempts=1)
        def direct(a: str) -> list[int]:
            return [len(a)]

        assert_type(direct.enqueue("x"), Receipt[list[int]])
        assert_type(direct.enqueue("x").result(), list[int])
        wrong: str = direct.enqueue("x").result()  # type: ignore[assignment]
        assert wrong
        assert_type(direct.run("x"), list[int])
        assert_type(queue.bind(send).run("ann"), float)
        direct.enqueue(3)  # type: ignore[arg-type]
        queue.task(colour="red")  # type: ignore[call-overload]

    checked: list[Callable[..., Any]] = [with_await, without]
    assert checked

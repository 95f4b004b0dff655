"""Right and wrong calls of task functions. Nothing runs them: mypy reads this file in `make check`, pyright in
`test_typed_calls.py`.

Both report a comment that ignores an error which they do not find.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

from pydantic import BaseModel

import pyadeq
from pyadeq import Depends, Receipt, Rule, Shared, TaskContext, Tasks
from pyadeq import asyncio as aio
from pyadeq.testing import Run, override, worker

tasks = Tasks()


class Sent(BaseModel):
    to: str


class Pool: ...


class Session: ...


async def pool() -> AsyncIterator[Pool]:
    yield Pool()


async def session(pool: Pool = Shared(pool)) -> Session:
    return Session()


def settings() -> Iterator[dict[str, str]]:
    yield {}


@tasks.task(timeout=60, version=2, failures={ConnectionError: Rule(delay=30), LookupError: Rule(retry=False)})
async def send(to: str, copies: int = 1, *, pool: Pool = Shared(pool), session: Session = Depends(session)) -> Sent:
    return Sent(to=to)


@tasks.task
def count(context: TaskContext, words: list[str], *, settings: dict[str, str] = Depends(settings)) -> int:
    return len(words)


@send.upgrade(1)
def from_address(old: dict[str, Any]) -> dict[str, Any]:
    return {"to": old["address"]}


def dependencies() -> None:
    @tasks.task
    async def wrong(pool: Session = Shared(pool)) -> None: ...  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]

    @tasks.task
    async def also(session: Pool = Depends(session)) -> None: ...  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]

    @send.upgrade(1)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    def from_list(old: list[Any]) -> dict[str, Any]:
        return {}

    send.upgrade("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    tasks.task(failures=[LookupError])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    tasks.task(time=60)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


async def with_await(queue: aio.Queue, partitioned: aio.PartitionedQueue) -> None:
    sending, counting = queue.bind(send), queue.bind(count)

    receipt: aio.Receipt[Sent] = await sending.enqueue("ann", copies=2)
    sent: Sent = await receipt.result(timeout=30)
    assert_type(sent, Sent)
    assert_type(await sending.run("ann"), Sent)
    assert_type(await sending.result(receipt.id), Sent)
    assert_type(await counting.run(["a"]), int)
    assert_type(await partitioned.bind(send).enqueue("ann"), aio.Receipt[Sent])
    assert_type(await partitioned.bind(count).run(["a"]), int)
    untyped: aio.Receipt = await queue.enqueue({"to": "ann"}, kind="send")
    assert_type(await untyped.result(), Any)
    assert_type(await queue.enqueue_many([send.item("ann"), count.item(["a"])]), list[aio.Receipt])

    await sending.enqueue()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await sending.enqueue(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await sending.enqueue("ann", copies_=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await sending.options(delay=60).run("ann", "two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await sending.options(delay="soon").run("ann")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await counting.enqueue(None, ["a"])  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]

    _wrong: Receipt[Sent] = await sending.enqueue("ann")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _other: aio.Receipt[int] = await sending.enqueue("ann")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _number: int = await receipt.result()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _text: str = await counting.run(["a"])  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _late: Sent = receipt.result()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    sending.enqueue("ann").result()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]

    with worker(queue, tasks) as runs, override(pool, Pool):
        assert_type(runs, list[Run])


def without(queue: pyadeq.Queue) -> None:
    sending, counting = queue.bind(send), queue.bind(count)

    receipt: Receipt[Sent] = sending.enqueue("ann")
    assert_type(receipt.result(timeout=30), Sent)
    assert_type(counting.run(["a"]), int)
    _both: list[Receipt[object]] = [sending.enqueue("ann"), counting.enqueue(["a"])]

    sending.run(["a"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    _number: int = receipt.result()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _other: aio.Receipt[Sent] = sending.enqueue("ann")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

    async def mixed() -> None:
        await sending.enqueue("ann")  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
        await receipt.result()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]

    assert callable(mixed)


async def called(context: TaskContext, pool: Pool) -> None:
    assert_type(await send("ann", pool=pool), Sent)
    assert_type(count(context, ["a"]), int)
    count(["a"])  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]
    await count(context, ["a"])  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]

"""`assert_safe_to_run_twice`, on handlers that are, and on such that are not."""

from typing import Any

import pytest

from pyadeq import Adeq, Lease, Queue
from pyadeq import asyncio as aio
from pyadeq.asyncio import Tasks
from pyadeq.errors import ConfigError
from pyadeq.testing import Clock, assert_safe_to_run_twice, enqueued, run_all


@pytest.fixture
def queue(adeq: Adeq, adeq_clock: Clock) -> Queue:
    return adeq.queue("work")


@pytest.fixture
def aio_queue(aio_adeq: aio.Adeq, adeq_clock: Clock) -> aio.Queue:
    return aio_adeq.queue("work")


def payload(lease: Lease) -> Any:
    return lease.payload


def test_a_handler_that_may_run_twice(queue: Queue) -> None:
    seen: dict[str, list[tuple[int, int, int]]] = {}
    sent: set[str] = set()

    def handle(lease: Lease) -> str:
        seen.setdefault(lease.id, []).append((lease.attempt, lease.delivery, lease.fence))
        sent.add(lease.payload["to"])
        return "sent"

    queue.enqueue({"to": "somebody else"}, priority=0)
    assert_safe_to_run_twice(queue, handle, {"to": "a@example.org"}, state=lambda: sent)
    ((id, ((_, _, fence), second)),) = seen.items()
    assert second[:2] == (1, 2)
    assert second[2] > fence
    found = queue.get(id)
    assert found
    assert (found.state, found.result, sent) == ("completed", "sent", {"a@example.org"})
    assert [task.payload["to"] for task in enqueued(queue)] == ["somebody else"]


def test_a_handler_that_does_its_work_twice(queue: Queue) -> None:
    sent: list[str] = []

    def handle(lease: Lease) -> None:
        sent.append(lease.payload)

    with pytest.raises(AssertionError) as raised:
        assert_safe_to_run_twice(queue, handle, "mail", state=lambda: {"sent": sent})
    assert str(raised.value).splitlines()[:3] == [
        "the handler is not safe to run twice: state() is not the same after the second run",
        "  (- after the first run, + after the second)",
        "- {'sent': ['mail']}",
    ]
    assert "+ {'sent': ['mail', 'mail']}" in str(raised.value)
    assert run_all(queue, handle) == []


def test_a_state_that_cannot_be_compared(queue: Queue) -> None:
    class Box:
        def __repr__(self) -> str:
            return "Box"

    with pytest.raises(AssertionError, match="It looks the same, but does not compare as equal: answer plain data"):
        assert_safe_to_run_twice(queue, payload, state=Box)


def test_a_handler_with_another_result(queue: Queue) -> None:
    def handle(lease: Lease) -> int:
        return lease.delivery

    with pytest.raises(AssertionError, match="the results are not the same"):
        assert_safe_to_run_twice(queue, handle, state=bool)
    assert_safe_to_run_twice(queue, handle, state=bool, same_result=False)


def test_a_second_run_that_raises(queue: Queue) -> None:
    def handle(lease: Lease) -> None:
        if lease.delivery == 2:
            raise KeyError("duplicate")

    with pytest.raises(AssertionError, match=r"the second run of the same task raised KeyError\('duplicate'\)"):
        assert_safe_to_run_twice(queue, handle, state=bool)


def test_a_first_run_that_raises_is_no_answer(queue: Queue) -> None:
    with pytest.raises(ZeroDivisionError):
        assert_safe_to_run_twice(queue, lambda lease: 1 / 0, state=bool)
    assert queue.stats().dead == 1


def test_it_needs_the_clock_and_a_queue_that_runs(adeq: Adeq, adeq_prefix: str) -> None:
    with pytest.raises(ConfigError, match="ask for the fixture adeq_clock"):
        assert_safe_to_run_twice(adeq.queue("work"), payload, state=bool)
    clocked = Adeq(adeq.client, prefix=adeq_prefix, clock=Clock())
    with clocked:
        clocked.queue("other").configure(clock="test")
        clocked.queue("other").admin.pause()
        with pytest.raises(ConfigError, match="'other' does not lease the task; is it paused"):
            assert_safe_to_run_twice(clocked.queue("other"), payload, state=bool)


async def test_twice_in_an_async_test(aio_queue: aio.Queue) -> None:
    async def handle(lease: Lease) -> None:
        await aio_queue.enqueue("child", delay=60, idempotency_key=f"child/{lease.id}")

    async def careless(lease: Lease) -> None:
        await aio_queue.enqueue("child", delay=60)

    async def state() -> list[Any]:
        return [task.payload for task in await enqueued(aio_queue)]

    await assert_safe_to_run_twice(aio_queue, handle, state=state)
    assert await state() == ["child"]
    with pytest.raises(AssertionError, match="state"):
        await assert_safe_to_run_twice(aio_queue, careless, state=state)


def test_twice_with_a_registered_function(queue: Queue) -> None:
    tasks = Tasks()

    @tasks.task
    async def add(left: int, right: int = 1) -> int:
        return left + right

    @tasks.task
    def shout(text: str) -> str:
        return text.upper()

    assert_safe_to_run_twice(queue, tasks, add.item(1, 2), state=bool)
    assert_safe_to_run_twice(queue, shout, {"text": "hey"}, kind="shout", state=bool)

"""A call that is cancelled leaves no reply behind for the next one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pyadeq._async.kernel.hints import Hints
from pyadeq._core.kernel.call import Answer, Call, build_call, parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq.asyncio import Adeq
from pyadeq.errors import TransportError
from pyadeq.keys import queue_base
from tests.waiting import DEADLINE, eventually


def read(base: str, verb: str, **groups: Any) -> Call[Answer]:
    script = library()[f"queue.{verb}.v1"]
    return build_call(script.id, base, {}, groups, decode=lambda reply: parse_reply(script, reply))


@pytest.mark.parametrize("calls", [1, 120])
async def test_cancelled_while_waiting_for_replies(proxy: Any, base_name: str, calls: int) -> None:
    base = queue_base(base_name)
    async with Adeq.from_url(proxy.url, max_connections=1) as adeq:
        await adeq.load_scripts()
        pipe = adeq.pipeline()
        for _ in range(calls):
            pipe.add(read(base, "get", item=[("a",)]))
        proxy.hold.clear()
        task = asyncio.create_task(pipe.execute())
        await asyncio.to_thread(proxy.held.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        proxy.hold.set()
        for _ in range(3):
            assert (await adeq.send(read(base, "stats")))["ready"] == 0


async def test_a_caller_of_a_batch_that_is_cancelled_takes_nothing_with_it(proxy: Any, base_name: str) -> None:
    async with Adeq.from_url(proxy.url, batch=True) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue("first")
        proxy.hold.clear()
        sent = [asyncio.create_task(queue.enqueue(n, id=f"sent{n}")) for n in range(10)]
        await asyncio.to_thread(proxy.held.wait, 30)
        waiting = [asyncio.create_task(queue.enqueue(n, id=f"waiting{n}")) for n in range(10)]
        await asyncio.sleep(0)
        for task in [*sent[::2], *waiting[::2]]:
            task.cancel()
        proxy.hold.set()
        await asyncio.gather(*sent, *waiting, return_exceptions=True)
        assert [task.cancelled() for task in [*sent, *waiting]] == [True, False] * 10
        assert [task.result().id for task in waiting[1::2]] == [f"waiting{n}" for n in range(1, 10, 2)]
        assert (await queue.stats()).ready == 1 + 10 + 5


async def test_what_sends_a_batch_is_cancelled(proxy: Any, base_name: str) -> None:
    async with Adeq.from_url(proxy.url, batch=True) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue("first")
        proxy.hold.clear()
        callers = [asyncio.create_task(queue.enqueue(n)) for n in range(10)]
        await asyncio.to_thread(proxy.held.wait, 30)
        mine = {asyncio.current_task(), *callers}
        for task in asyncio.all_tasks() - mine:
            task.cancel()
        proxy.hold.set()
        _, *errors = await asyncio.gather(*callers, return_exceptions=True)
        assert [isinstance(one, TransportError) and one.may_have_applied for one in errors] == [True] * 9
        assert (await queue.enqueue("next")).status == "created"


async def test_cancelled_at_every_step(url: str, base_name: str) -> None:
    base = queue_base(base_name)
    for steps in range(40):
        async with Adeq.from_url(url, max_connections=1) as adeq:
            for _ in range(2):  # a new connection, then the same one
                task = asyncio.create_task(adeq.send(read(base, "get", item=[("a",)])))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asked = task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert task.cancelled() == asked
                assert (await adeq.send(read(base, "stats")))["ready"] == 0


async def test_a_cancelled_task_can_still_call(url: str, base_name: str) -> None:
    base = queue_base(base_name)
    async with Adeq.from_url(url) as adeq:

        async def tidy_up() -> Answer:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return await adeq.send(read(base, "stats"))
            raise AssertionError("not cancelled")

        task = asyncio.create_task(tidy_up())
        await asyncio.sleep(0)
        task.cancel()
        assert (await task).status == "ok"


async def test_a_listener_is_cancelled_at_every_step(url: str, client: Any, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        hints = Hints(adeq._nodes)

        async def listen() -> None:
            async with hints.listening(base_name) as ear:
                await ear.wait(DEADLINE)

        async def exchange(steps: int) -> None:
            task = asyncio.create_task(listen())
            for _ in range(steps):
                await asyncio.sleep(0)
            asked = task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled() == asked

        for steps in range(40):
            await exchange(steps)  # a new connection, then the same one
            await exchange(steps)
            assert not hints._exchange._channels
            async with hints.listening(base_name) as ear:
                client.spublish(base_name, "word")
                assert await ear.wait(DEADLINE) == ["word"]
            await hints.aclose()
    assert len(asyncio.all_tasks()) == 1


def test_a_loop_that_ends_takes_its_listeners_along(url: str, client: Any, base_name: str) -> None:
    async def listen(hints: Hints) -> None:
        async with hints.listening(base_name) as ear:
            client.spublish(base_name, "word")
            assert await ear.wait(DEADLINE) == ["word"]

    adeq = Adeq.from_url(url)
    hints = Hints(adeq._nodes)
    for _ in range(2):
        asyncio.run(listen(hints))
        assert not hints._exchange._lines


async def test_a_cancelled_reader_of_updates_leaves_no_subscription(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        receipt = await queue.enqueue("work", reply=True)
        heard = asyncio.Event()

        async def follow() -> None:
            async for _ in receipt.updates():
                heard.set()

        task = asyncio.create_task(follow())
        await asyncio.wait_for(heard.wait(), DEADLINE)
        channels = queue._runner.hints._exchange._channels
        assert len(channels) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: channels == {})


Claim = Callable[[Any], Coroutine[Any, Any, Any]]
CLAIMS: dict[str, Claim] = {
    "claim": lambda queue: queue.claim(limit=20, wait=DEADLINE),
    "claim_once": lambda queue: queue.leases.claim_once(limit=20),
    "settle": lambda queue: queue.leases.settle(claim=20),
    "partitions": lambda queue: queue.claim(limit=20, wait=DEADLINE),
}


@pytest.mark.parametrize("how", CLAIMS)
async def test_a_claim_that_is_cancelled_at_any_step_gives_its_tasks_back(url: str, base_name: str, how: str) -> None:
    async with Adeq.from_url(url) as adeq:
        for turn in range(5):  # the server is as fast as it is
            queue: Any = adeq.queue(f"{base_name}-{turn}")
            if how == "partitions":
                queue = adeq.partitioned(queue.name)
                await queue.repartition(2)
            await queue.enqueue_many(range(20))
            steps = 0
            while True:
                steps += 1 + steps // 20
                task = asyncio.create_task(CLAIMS[how](queue))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                if not task.cancelled():
                    break
                stats = await queue.stats()
                assert (stats.ready, stats.running) == (20, 0), steps
            assert (await queue.stats()).running == 20

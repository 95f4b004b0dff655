"""What asyncio and threads do differently, where it needs no server."""

import asyncio
from functools import partial

from pyadeq._twins import aio_follow, aio_Gate, aio_takes, follow, takes


async def hear(word: str, heard: list[str]) -> None:
    heard.append(word)


async def test_a_gate_lets_in_who_came_first() -> None:
    gate = aio_Gate(2, 30)
    served: list[int] = []

    async def come(number: int) -> None:
        for _ in range(3):
            assert await gate.enter()
            served.append(number)
            await asyncio.sleep(0)
            gate.leave()

    await asyncio.gather(*map(come, range(6)))
    assert [sorted(served[turn : turn + 6]) for turn in (0, 6, 12)] == [list(range(6))] * 3


async def test_a_gate_that_stays_shut() -> None:
    gate = aio_Gate(1, 0.01)
    assert await gate.enter()
    assert not await gate.enter()
    waiting = asyncio.create_task(aio_Gate.enter(gate))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.leave()
    assert await gate.enter()


def test_a_gate_serves_one_event_loop_after_another() -> None:
    gate = aio_Gate(1, 0.01)

    async def come() -> tuple[bool, bool]:
        return await gate.enter(), await gate.enter()

    for _ in range(2):
        assert asyncio.run(come()) == (True, False)


async def test_callbacks_that_are_coroutine_functions() -> None:
    heard: list[str] = []
    assert aio_takes(hear)
    assert not takes(hear)
    assert takes(heard.append)
    assert not takes("x")
    assert aio_follow("an answer") is None
    assert follow("an answer") is None
    rest = aio_follow(partial(hear, "later", heard)())
    assert rest is not None
    await rest()
    assert heard == ["later"]

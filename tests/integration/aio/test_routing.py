"""Which worker gets a task: lanes of a group and of an instance, and what becomes of those that nobody takes."""

from typing import Any

import pytest

from pyadeq.asyncio import Lease, Queue
from pyadeq.errors import BadArgument
from tests.integration.conftest import Clock

LANES = ["group/gpu/inst/w1", "group/gpu", "any"]


@pytest.fixture
def queue(timed: Queue) -> Queue:
    return timed


async def take(queue: Queue, limit: int = 1, worker: str = "w1", **options: Any) -> list[Lease]:
    return await queue.claim(worker, limit, **options)


async def fill(queue: Queue) -> None:
    for lane in reversed(LANES):
        for priority in (5, 0):
            await queue.enqueue(lane, lane=lane, priority=priority)


async def test_the_lowest_priority_comes_first_and_then_the_instance_the_group_and_any(queue: Queue) -> None:
    await fill(queue)
    assert [lease.payload for lease in await take(queue, 6, lanes=LANES)] == LANES * 2


async def test_lane_first_turns_it_round(queue: Queue) -> None:
    await fill(queue)
    leases = await take(queue, 6, lanes=LANES, lane_first=True)
    assert [lease.payload for lease in leases] == [lane for lane in LANES for _ in range(2)]
    assert [lease.record.get("priority", b"5") for lease in leases] == [b"0", b"5"] * 3


async def test_a_task_of_an_instance_waits_for_it(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, lane=LANES[0])
    clock.tick(86_400)
    assert await take(queue, lanes=["group/gpu", "any"]) == []
    assert len(await take(queue, lanes=LANES)) == 1


async def test_a_task_goes_from_an_instance_to_its_group_to_any(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, id="t", lane=LANES[0], fallback="wider", fallback_after=30)
    clock.tick(29)
    assert await take(queue, lanes=["group/gpu", "any"]) == []
    clock.tick(1)
    await queue.admin.expire()
    task = await queue.get("t")
    assert task is not None
    assert (task.lane, task.fallback) == ("group/gpu", ("any",))
    clock.tick(29)
    assert await take(queue, worker="w2", lanes=["any"]) == []
    clock.tick(1)
    assert [lease.id for lease in await take(queue, worker="w2", lanes=["any"])] == ["t"]


async def test_a_task_that_nobody_takes_fails_where_it_says_so(queue: Queue, clock: Clock) -> None:
    await queue.enqueue(1, id="t", lane="group/gpu", fallback=["any", "fail"], fallback_after=10)
    clock.tick(10)
    await queue.admin.expire()
    clock.tick(10)
    await queue.admin.expire()
    task = await queue.get("t")
    assert task is not None
    assert (task.state, task.reason) == ("dead", "nobody_came")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fallback": "wider"}, "'wider' of lane 'any'"),
        ({"fallback": "somewhere", "fallback_after": 1}, "'wider', or lanes"),
        ({"fallback": ["any"] * 4, "fallback_after": 1}, "1 to 3 lanes"),
        ({"fallback": "any"}, "fallback_after"),
        ({"fallback_after": 1}, "fallback_after"),
    ],
)
async def test_a_route_that_makes_no_sense_is_refused(queue: Queue, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        await queue.enqueue(1, **options)

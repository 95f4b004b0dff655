"""The history of a queue and the marks of an installation."""

from collections.abc import AsyncIterator

import pytest

from pyadeq.asyncio import Adeq, Queue
from pyadeq.errors import BadArgument
from tests.integration.conftest import Clock


@pytest.fixture
async def adeq(url: str, base_name: str, clock: Clock) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, prefix=base_name, clock=clock) as adeq:
        yield adeq


@pytest.fixture
async def queue(adeq: Adeq) -> Queue:
    queue = adeq.queue("jobs")
    await queue.configure(clock="test")
    return queue


async def minutes(queue: Queue, clock: Clock, enqueued: list[int]) -> None:
    """A minute for each number: so many tasks are enqueued, and completed a minute later."""
    for number in [*enqueued, 0]:
        leases = await queue.claim(limit=1000)
        await queue.ack_many([(lease, None) for lease in leases])
        await queue.admin.snapshot()
        if number:
            await queue.enqueue_many([b""] * number)
        clock.tick(60)
    await queue.admin.snapshot()


async def test_rates_of_the_past(queue: Queue, clock: Clock) -> None:
    await minutes(queue, clock, [6, 12, 0])
    points = await queue.inspect.history()
    assert [point.enqueued for point in points] == [6, 12, 0, 0]
    assert [point.completed for point in points] == [0, 6, 12, 0]
    assert [point.rate("enqueued") for point in points] == [0.1, 0.2, 0, 0]
    assert points[1].waited == 6 * 60
    assert await queue.inspect.history(step=3 * 3600) == []  # the first of an hour is the base of the next
    newest = await queue.inspect.history(since=points[1].at)
    assert newest == points[2:]
    with pytest.raises(BadArgument, match="step"):
        await queue.inspect.history(step=59)


async def test_more_minutes_than_one_call_returns(queue: Queue, clock: Clock) -> None:
    for _ in range(1100):
        await queue.admin.snapshot()
        clock.tick(60)
    points = await queue.inspect.history()
    assert len(points) == 1099
    assert [point.at for point in points] == sorted({point.at for point in points})
    assert sum(point.seconds for point in await queue.inspect.history(step=600)) == 1099 * 60


async def test_partitions_are_added_up(adeq: Adeq, clock: Clock) -> None:
    queue = adeq.partitioned("jobs")
    await queue.configure(clock="test")
    await queue.repartition(2)
    assert await queue.admin.snapshot() is True
    assert await queue.admin.snapshot() is False
    await queue.enqueue_many([str(number) for number in range(20)])
    clock.tick(60)
    await queue.admin.snapshot()
    (point,) = await queue.inspect.history()
    assert (point.enqueued, point.ready, point.seconds) == (20, 20, 60)
    first, *_ = [queue.part(part.tag) for part in await queue.partitions()]
    for _ in range(2):
        clock.tick(60)
        await first.admin.snapshot()
    assert [point.ready for point in await queue.inspect.history()] == [20, 20, 20]


async def test_marks(url: str, base_name: str) -> None:
    async with Adeq.from_url(url, prefix=base_name) as adeq:
        assert await adeq.annotations() == []
        await adeq.annotate("v1.1", actor="ann")
        await adeq.annotate("v1.2 ü")
        first, second = await adeq.annotations()
        assert [(one.text, one.actor) for one in (first, second)] == [("v1.1", "ann"), ("v1.2 ü", "")]
        assert first.at <= second.at
        assert await adeq.annotations(second.at + 1) == []
        for text in ("", "x" * 201):
            with pytest.raises(BadArgument, match="allowed: 1 to 200"):
                await adeq.annotate(text)


async def test_a_minute_of_partitions_is_left_out_until_all_have_it(adeq: Adeq, clock: Clock) -> None:
    queue = adeq.partitioned("jobs")
    await queue.configure(clock="test")
    parts = [queue.part(one.tag) for one in await queue.repartition(2) if one.current]
    for _ in range(3):
        for part in parts:
            await part.admin.snapshot()
        clock.tick(60)
    await parts[0].admin.snapshot()
    ends = [point.at for point in await queue.inspect.history()]
    assert ends == [point.at for point in await parts[1].inspect.history()]
    await parts[1].admin.snapshot()
    assert [point.at for point in await queue.inspect.history()] == [
        point.at for point in await parts[0].inspect.history()
    ]

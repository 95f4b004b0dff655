"""Wherever a task is cancelled that applies a change, the change is approved again or completed, and no lease stays."""

import asyncio
from itertools import count
from time import monotonic

from pyadeq.asyncio import Adeq, Changes
from tests.waiting import DEADLINE


async def approve(changes: Changes, id: str) -> None:
    """Approve a change of this id, and allow many attempts."""
    put = await changes.put(id, type="deploy", description="a test", actor="ann")
    await changes.submit(put, policy="review", reviewers=["user:bob"], actor="ann")
    await changes.approve(put, actor="bob")


async def apply(changes: Changes, id: str) -> None:
    async with changes.apply(id, agent="deployer", lease=60):
        await asyncio.sleep(0)


async def test_at_every_step(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq, Adeq.from_url(url) as other:
        changes, reader = adeq.changes(base_name[-64:]), other.changes(base_name[-64:])
        await reader.policies.set("review", required=1)
        states = set()
        steps = 0  # how often the loop turns before it is cancelled, until it has ended before: on a busy machine, late
        for number in count():
            id = f"c{number}"
            await approve(reader, id)
            task = asyncio.create_task(apply(changes, id))
            for _ in range(steps):
                await asyncio.sleep(0)
            asked = task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled() == asked
            until = monotonic() + DEADLINE
            while (found := await reader.get(id)) is None or found.state == "applying":
                assert monotonic() < until, (steps, found)
                await asyncio.sleep(0.001)
            states.add((asked, found.state, found.run.attempts if found.run else 0))
            if not asked and number >= 100:
                break
            steps += 1 + steps // 100
        assert {(True, "approved", 0), (False, "completed", 0)} <= states
        assert states <= {(True, "approved", 0), (True, "completed", 0), (False, "completed", 0)}


async def test_a_cancelled_block_gives_the_change_back(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        changes = adeq.changes(base_name[-64:])
        await changes.policies.set("review", required=1)
        await approve(changes, "c1")
        inside = asyncio.Event()

        async def work() -> None:
            async with changes.apply("c1", agent="deployer"):
                inside.set()
                await asyncio.sleep(DEADLINE)

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        change = await changes.get("c1")
        assert change
        assert change.run
        assert (change.state, change.run.result, change.run.attempts) == ("approved", "released", 0)

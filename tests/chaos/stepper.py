"""A worker whose tasks have steps. Each function of a step notes that it ran, and whether its result was stored before.

python tests/chaos/stepper.py <url of the queue's server> <url of the notes' server> <number of steps>
"""

from __future__ import annotations

import asyncio
import sys

import redis.asyncio

from pyadeq import TaskContext
from pyadeq.asyncio import Adeq, Tasks, Worker

KEY = "ade:{queue:q}:steps:"


async def main(url: str, notes_url: str, steps: int) -> None:
    tasks = Tasks()
    stored, notes = redis.asyncio.Redis.from_url(url), redis.asyncio.Redis.from_url(notes_url)

    async def effect(id: str, step: int) -> int:
        name = TaskContext.current().idempotency_key.removeprefix(f"{id}/")
        if await stored.hexists(KEY + id, name):
            await notes.incr("stored before")
        await notes.hincrby("runs", f"{id}/{name}", 1)
        return step

    @tasks.task
    async def work(context: TaskContext) -> int:
        total = 0
        for step in range(steps):
            total += await context.step("work", effect, context.id, step)
            if step == steps // 2:
                await context.sleep("nap", 0.05)
        return total

    async with Adeq.from_url(url) as adeq:
        await Worker(adeq.queue("q"), tasks, concurrency=50, lease=2).run(signals=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

"""A worker beside those of other languages. Which one, says the environment; it stops on SIGTERM."""

import asyncio
import os
from typing import Any

from pyadeq.asyncio import Adeq, Lease, TaskFailed, Worker

NAME = os.environ["ADEQ_WORKER"]


async def main() -> None:
    async with Adeq.from_url(os.environ["ADEQ_URL"]) as adeq:
        locks, client = adeq.locks(os.environ["ADEQ_QUEUE"]), adeq.client

        async def handle(lease: Lease) -> dict[str, str]:
            task: dict[str, Any] = lease.payload
            if task.get("fail_first") and lease.attempt == 1:
                raise TaskFailed("the first attempt fails")
            if resource := task.get("lock"):
                async with locks.acquire(resource, owner=lease.id, wait=30) as grant:
                    await client.rpush(f"mixed:{resource}", f"enter {grant.fence}")
                    await asyncio.sleep(task.get("ms", 0) / 1000)
                    await client.rpush(f"mixed:{resource}", f"leave {grant.fence}")
            else:
                await asyncio.sleep(task.get("ms", 0) / 1000)
            return {"by": NAME, "language": "python"}

        worker = Worker(
            adeq.queue(os.environ["ADEQ_QUEUE"]),
            handle,
            name=NAME,
            group=os.environ["ADEQ_GROUP"],
            lanes=os.environ["ADEQ_LANES"].split(","),
            concurrency=int(os.environ["ADEQ_CAPACITY"]),
            on_start=lambda: print("ready", flush=True),
        )
        await worker.run(signals=True)


asyncio.run(main())

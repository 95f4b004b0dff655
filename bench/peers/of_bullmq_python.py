"""BullMQ for Python beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from bullmq import Queue, Worker

from bench.peers.contract import CONCURRENCY, PAYLOAD, Peer, bulks, main, noop, report


class BullmqPython(Peer):
    packages = ("bullmq", "redis", "hiredis")
    mode = "locks, renewed; events; results kept"
    done = "return redis.call('ZCARD', 'bull:bench:completed')"

    async def open(self, stack: AsyncExitStack) -> None:
        self.queue = Queue("bench", {"connection": self.url})
        stack.push_async_callback(self.queue.close)

    async def enqueue(self, count: int) -> None:
        for size in bulks(count):
            await self.queue.addBulk([{"name": "noop", "data": {"payload": PAYLOAD}} for _ in range(size)])

    async def send(self, sent: int, hold: int) -> None:
        await self.queue.add("report", {"sent": sent, "hold": hold})

    async def work(self) -> None:
        worker = Worker("bench", handle, {"connection": self.url, "concurrency": CONCURRENCY, "autorun": False})
        await worker.run()


async def handle(job: Any, token: str) -> str:
    return await noop(**job.data) if job.name == "noop" else await report(**job.data)


if __name__ == "__main__":
    main(BullmqPython)

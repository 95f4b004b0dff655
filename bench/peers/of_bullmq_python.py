"""BullMQ for Python beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from bullmq import Queue, Worker

from bench.peers.contract import CONCURRENCY, PAYLOAD, Peer, bulks, main, noop, report


class BullmqPython(Peer):
    packages = ("bullmq", "redis", "hiredis")
    mode = "locks, renewed; events; results kept"
    done = "return ARGV[1] - redis.call('LLEN', 'bull:bench:wait') - redis.call('LLEN', 'bull:bench:active')"
    kept = "removeOnComplete: a number"
    leaves = 0

    async def open(self, stack: AsyncExitStack) -> None:
        self.queue = Queue("bench", {"connection": self.url})
        stack.push_async_callback(self.queue.close)

    async def enqueue(self, count: int) -> None:
        for size in bulks(count):
            await self.queue.addBulk([{"name": "noop", "data": {"payload": PAYLOAD}} for _ in range(size)])

    def put(self) -> Any:
        return self.queue.add("noop", {"payload": PAYLOAD})

    async def send(self, sent: int, hold: int) -> None:
        await self.queue.add("report", {"sent": sent, "hold": hold})

    async def work(self) -> None:
        options: Any = {"connection": self.url, "concurrency": CONCURRENCY, "autorun": False}
        if self.keep:
            options["removeOnComplete"] = {"count": self.keep}
        worker = Worker("bench", handle, options)
        await worker.run()


async def handle(job: Any, token: str) -> str:
    return await noop(**job.data) if job.name == "noop" else await report(**job.data)


if __name__ == "__main__":
    main(BullmqPython)

"""pyadeq beside its peers."""

from __future__ import annotations

from contextlib import AsyncExitStack

from bench.peers.contract import CONCURRENCY, PAYLOAD, Peer, bulks, main, noop, report
from pyadeq.asyncio import Adeq, Lease, Task, Worker


class Pyadeq(Peer):
    packages = ("pyadeq", "redis", "hiredis")
    mode = "leases, renewed; events; results"
    done = """
        local base = 'ade:{queue:bench}'
        return ARGV[1] - redis.call('ZCARD', base .. ':ready:any') - redis.call('ZCARD', base .. ':leases')"""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.adeq = Adeq.from_url(url)
        self.queue = self.adeq.queue("bench")

    async def open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.adeq)

    async def enqueue(self, count: int) -> None:
        for size in bulks(count):
            await self.queue.enqueue_many(Task(payload=PAYLOAD, kind="noop") for _ in range(size))

    async def send(self, sent: int, hold: int) -> None:
        await self.queue.enqueue({"sent": sent, "hold": hold}, kind="report")

    async def work(self) -> None:
        await Worker(self.queue, handle, concurrency=CONCURRENCY).run()


async def handle(lease: Lease) -> str:
    return await noop(lease.payload) if lease.kind == "noop" else await report(**lease.payload)


if __name__ == "__main__":
    main(Pyadeq)

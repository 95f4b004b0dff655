"""pyadeq beside its peers."""

from __future__ import annotations

import inspect
from contextlib import AsyncExitStack
from typing import Any

import pyadeq
from bench.peers.contract import CONCURRENCY, PAYLOAD, Peer, bulks, main, noop, report
from pyadeq.asyncio import Adeq, Lease, Task, Worker

BATCH = ", batch=True" if "batch" in inspect.signature(Adeq.from_url).parameters else ""
"""What an earlier version may not have."""


class Pyadeq(Peer):
    packages = ("pyadeq", "redis", "hiredis")
    mode = "leases, renewed; events; results"
    ways = tuple(sorted({"asyncio", f"asyncio{BATCH}", "threads", f"threads{BATCH}"}))
    kept = "finished_max: a number"
    leaves = 60
    done = """
        local base = 'ade:{queue:bench}'
        return ARGV[1] - redis.call('ZCARD', base .. ':ready:any') - redis.call('ZCARD', base .. ':leases')"""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        options: dict[str, Any] = {"batch": True} if self.way.endswith("batch=True") else {}
        self.adeq = Adeq.from_url(url, **options)
        self.queue = self.adeq.queue("bench")
        self.blocking = pyadeq.Adeq.from_url(url, **options)
        self.blocking_queue = self.blocking.queue("bench")

    async def open(self, stack: AsyncExitStack) -> None:
        stack.enter_context(self.blocking)
        await stack.enter_async_context(self.adeq)
        if self.keep:
            await self.queue.configure(finished_max=self.keep)

    def put(self) -> Any:
        if self.way.startswith("asyncio"):
            return self.queue.enqueue(PAYLOAD, kind="noop")
        self.blocking_queue.enqueue(PAYLOAD, kind="noop")
        return None

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

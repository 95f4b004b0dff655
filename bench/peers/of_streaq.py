"""streaq beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from streaq import Worker

from bench.peers.contract import CONCURRENCY, KEEP_SECONDS, PAYLOAD, Peer, bulks, main, noop, report


class Streaq(Peer):
    packages = ("streaq", "coredis")
    mode = "stream, acknowledged after the result; renewed; results for five minutes"
    done = "return ARGV[1] - redis.call('XLEN', 'streaq:default:queues:normal')"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.worker = Worker(redis_url=url, concurrency=CONCURRENCY)
        keep: Any = {"ttl": KEEP_SECONDS} if self.keep else {}
        self.noop, self.report = self.worker.task(noop, **keep), self.worker.task(report)

    async def open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.worker)

    async def enqueue(self, count: int) -> None:
        for size in bulks(count):
            await self.worker.enqueue_many([self.noop.enqueue(PAYLOAD) for _ in range(size)])

    def put(self) -> Any:
        return self.noop.enqueue(PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        await self.report.enqueue(sent, hold)

    async def work(self) -> None:
        await self.worker.run_async()


if __name__ == "__main__":
    main(Streaq)

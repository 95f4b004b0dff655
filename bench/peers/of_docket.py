"""docket beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

from docket import Docket, Worker

from bench.peers.contract import CONCURRENCY, KEEP_SECONDS, PAYLOAD, Peer, main, noop, report


class OfDocket(Peer):
    packages = ("pydocket", "redis", "hiredis")
    mode = "stream, acknowledged at the end; renewed; state and results for 15 minutes; max_connections=1000"
    kept = f"state and results for {KEEP_SECONDS} s"
    done = "return ARGV[1] - redis.call('XLEN', 'bench:stream')"

    def __init__(self, url: str) -> None:
        # redis-py 8 has a pool of 100, which is too few for 100 tasks at a time: some would never end
        super().__init__(f"{url}?max_connections=1000")

    async def open(self, stack: AsyncExitStack) -> None:
        keep: Any = {"execution_ttl": timedelta(seconds=KEEP_SECONDS)} if self.keep else {}
        self.docket = await stack.enter_async_context(Docket(name="bench", url=self.url, **keep))
        self.docket.register(noop)
        self.docket.register(report)

    async def enqueue(self, count: int) -> None:
        await self.docket.add_many(self.docket.call(noop)(PAYLOAD) for _ in range(count))

    def put(self) -> Any:
        return self.docket.add(noop)(PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        await self.docket.add(report)(sent, hold)

    async def work(self) -> None:
        async with AsyncExitStack() as stack:
            await self.open(stack)
            worker = await stack.enter_async_context(Worker(self.docket, concurrency=CONCURRENCY))
            await worker.run_forever()


if __name__ == "__main__":
    main(OfDocket)

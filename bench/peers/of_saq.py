"""SAQ beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from saq import Queue, Worker

from bench.peers.contract import CONCURRENCY, KEEP_SECONDS, PAYLOAD, Peer, main, noop, repeat, report


class Saq(Peer):
    packages = ("saq", "redis", "hiredis")
    mode = "list of the active, swept every minute; one attempt; results for ten minutes"
    done = "return ARGV[1] - redis.call('ZCARD', 'saq:default:incomplete')"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.queue = Queue.from_url(url)

    async def open(self, stack: AsyncExitStack) -> None:
        stack.push_async_callback(self.queue.disconnect)

    async def enqueue(self, count: int) -> None:
        await repeat(count, self.put)

    def put(self) -> Any:
        return self.queue.enqueue("noop", payload=PAYLOAD, **({"ttl": KEEP_SECONDS} if self.keep else {}))

    async def send(self, sent: int, hold: int) -> None:
        await self.queue.enqueue("report", sent=sent, hold=hold)

    async def work(self) -> None:
        await Worker(self.queue, [("noop", do_noop), ("report", do_report)], concurrency=CONCURRENCY).start()


async def do_noop(context: Any, *, payload: str) -> str:
    return await noop(payload)


async def do_report(context: Any, *, sent: int, hold: int) -> str:
    return await report(sent, hold)


if __name__ == "__main__":
    main(Saq)

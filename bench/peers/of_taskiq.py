"""taskiq with taskiq-redis beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from taskiq.api import run_receiver_task
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from bench.peers.contract import CONCURRENCY, KEEP_SECONDS, PAYLOAD, Peer, main, noop, repeat, report


class Taskiq(Peer):
    packages = ("taskiq", "taskiq-redis", "redis", "hiredis")
    mode = "RedisStreamBroker, acknowledged after the result; RedisAsyncResultBackend"
    kept = f"results for {KEEP_SECONDS} s; maxlen of the stream"
    # what was read by the one consumer group, less what it has not acknowledged
    done = """
        local group = redis.call('XINFO', 'GROUPS', 'taskiq')[1]
        local found = {}
        for i = 1, #group, 2 do found[group[i]] = group[i + 1] end
        return (found['entries-read'] or 0) - found['pending']"""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        ttl: Any = {"result_ex_time": KEEP_SECONDS} if self.keep else {}
        backend: Any = RedisAsyncResultBackend(url, **ttl)
        # the stream keeps what is acknowledged; it must not lose what is not
        self.broker = RedisStreamBroker(url, maxlen=self.keep or None).with_result_backend(backend)
        self.noop = self.broker.register_task(noop, task_name="noop")
        self.report = self.broker.register_task(report, task_name="report")

    async def open(self, stack: AsyncExitStack) -> None:
        await self.broker.startup()
        stack.push_async_callback(self.broker.shutdown)

    async def enqueue(self, count: int) -> None:
        await repeat(count, self.put)

    def put(self) -> Any:
        return self.noop.kiq(PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        await self.report.kiq(sent, hold)

    async def work(self) -> None:
        await run_receiver_task(self.broker, max_async_tasks=CONCURRENCY, run_startup=True)


if __name__ == "__main__":
    main(Taskiq)

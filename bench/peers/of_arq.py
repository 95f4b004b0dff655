"""arq beside pyadeq."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from arq.connections import RedisSettings, create_pool
from arq.worker import Worker, func

from bench.peers.contract import CONCURRENCY, KEEP_SECONDS, PAYLOAD, Peer, main, noop, repeat, report


class Arq(Peer):
    packages = ("arq", "redis", "hiredis")
    mode = "sorted set, polled; a key for what is in progress; results for an hour"
    done = "return ARGV[1] - redis.call('ZCARD', 'arq:queue')"

    async def open(self, stack: AsyncExitStack) -> None:
        self.pool = await create_pool(RedisSettings.from_dsn(self.url))
        stack.push_async_callback(self.pool.aclose)

    async def enqueue(self, count: int) -> None:
        await repeat(count, self.put)

    def put(self) -> Any:
        return self.pool.enqueue_job("noop", PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        await self.pool.enqueue_job("report", sent, hold)

    async def work(self) -> None:
        functions = [func(do_noop, name="noop"), func(do_report, name="report")]
        keep: Any = {"keep_result": KEEP_SECONDS} if self.keep else {}
        settings = RedisSettings.from_dsn(self.url)
        await Worker(functions, redis_settings=settings, max_jobs=CONCURRENCY, **keep).async_run()


async def do_noop(context: dict[Any, Any], payload: str) -> str:
    return await noop(payload)


async def do_report(context: dict[Any, Any], sent: int, hold: int) -> str:
    return await report(sent, hold)


if __name__ == "__main__":
    main(Arq)

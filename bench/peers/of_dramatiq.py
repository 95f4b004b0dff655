"""dramatiq beside pyadeq."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import asyncio

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bench.peers.contract import (
    CONCURRENCY,
    KEEP_SECONDS,
    PAYLOAD,
    Peer,
    blocking_noop,
    blocking_report,
    main,
    repeat_in_threads,
)


class Dramatiq(Peer):
    packages = ("dramatiq", "redis", "hiredis")
    mode = "100 threads; acknowledged after the result; a heartbeat; Results for ten minutes; max_connections=1000"
    ways = ("threads",)
    done = "return ARGV[1] - redis.call('HLEN', 'dramatiq:default.msgs')"

    def __init__(self, url: str) -> None:
        # redis-py 8 has a pool of 100; 100 threads and what reads for them may need more, and would wait for seconds
        super().__init__(f"{url}?max_connections=1000")
        self.broker = RedisBroker(url=self.url)
        ttl = KEEP_SECONDS * 1000 if self.keep else None
        self.broker.add_middleware(Results(backend=RedisBackend(url=self.url), store_results=True, result_ttl=ttl))
        self.noop = dramatiq.actor(blocking_noop, broker=self.broker)
        self.report = dramatiq.actor(blocking_report, broker=self.broker)

    async def enqueue(self, count: int) -> None:
        repeat_in_threads(count, self.put)

    def put(self) -> None:
        self.noop.send(PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        self.report.send(sent, hold)

    async def work(self) -> None:
        self.broker.emit_after("process_boot")  # as the command line does: it starts the time limits
        dramatiq.Worker(self.broker, worker_threads=CONCURRENCY).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    main(Dramatiq)

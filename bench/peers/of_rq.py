"""RQ beside pyadeq."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from typing import Any

from redis import Redis
from rq import Queue, SimpleWorker

from bench.peers.contract import KEEP_SECONDS, PAYLOAD, Peer, blocking_noop, blocking_report, bulks, main


class Rq(Peer):
    packages = ("rq", "redis", "hiredis")
    mode = "SimpleWorker: one at a time, without the fork for each job; abandoned jobs fail; results for 500 s"
    # what is popped and does not run yet counts too early: one job at most
    done = "return ARGV[1] - redis.call('LLEN', 'rq:queue:bench') - redis.call('ZCARD', 'rq:wip:bench')"
    ways = ("threads",)
    kept = f"results for {KEEP_SECONDS} s; the worker cleans its list of them as often"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.ttl = KEEP_SECONDS if self.keep else None
        self.queue = Queue("bench", connection=Redis.from_url(url))

    async def enqueue(self, count: int) -> None:
        for size in bulks(count):
            self.queue.enqueue_many(
                [Queue.prepare_data(blocking_noop, (PAYLOAD,), result_ttl=self.ttl) for _ in range(size)]
            )

    def put(self) -> None:
        self.queue.enqueue(blocking_noop, PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        self.queue.enqueue(blocking_report, sent, hold)

    async def work(self) -> None:
        clean: Any = {"maintenance_interval": KEEP_SECONDS} if self.keep else {}
        SimpleWorker([self.queue], connection=self.queue.connection, **clean).work(logging_level="WARNING")


if __name__ == "__main__":
    main(Rq)

"""RQ beside pyadeq."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from redis import Redis
from rq import Queue, SimpleWorker

from bench.peers.contract import PAYLOAD, Peer, blocking_noop, blocking_report, bulks, main


class Rq(Peer):
    packages = ("rq", "redis", "hiredis")
    mode = "SimpleWorker: one at a time, without the fork for each job; abandoned jobs fail; results for 500 s"
    done = "return redis.call('ZCARD', 'rq:finished:bench')"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.queue = Queue("bench", connection=Redis.from_url(url))

    async def enqueue(self, count: int) -> None:
        for size in bulks(count):
            self.queue.enqueue_many([Queue.prepare_data(blocking_noop, (PAYLOAD,)) for _ in range(size)])

    async def send(self, sent: int, hold: int) -> None:
        self.queue.enqueue(blocking_report, sent, hold)

    async def work(self) -> None:
        SimpleWorker([self.queue], connection=self.queue.connection).work(logging_level="WARNING")


if __name__ == "__main__":
    main(Rq)

"""Celery beside pyadeq."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import os

from celery import Celery

from bench.peers.contract import CONCURRENCY, KEEP_SECONDS, PAYLOAD, Peer, blocking_noop, blocking_report, main


class OfCelery(Peer):
    packages = ("celery", "kombu", "redis", "hiredis")
    mode = "acks_late; a pool of 100 threads; visible again after an hour; Redis result backend, results for a day"
    # what is popped and not yet noted as unacknowledged counts too early: one task at most, for there is one reader
    done = "return ARGV[1] - redis.call('LLEN', 'celery') - redis.call('HLEN', 'unacked')"
    ways = ("threads",)

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.app = Celery("bench", broker=url, backend=url)
        self.app.conf.update(task_acks_late=True, worker_redirect_stdouts=False)
        if self.keep:
            self.app.conf.result_expires = KEEP_SECONDS
        self.noop = self.app.task(blocking_noop, name="noop")
        self.report = self.app.task(blocking_report, name="report")

    async def enqueue(self, count: int) -> None:
        # of kombu, since 5.7; the fastest there is, yet each task's result is subscribed to by a call of its own
        with self.app.producer_or_acquire() as producer, producer.batch():
            for _ in range(count):
                self.noop.apply_async((PAYLOAD,), producer=producer)

    def put(self) -> None:
        self.noop.delay(PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        self.report.delay(sent, hold)

    async def work(self) -> None:
        name = f"bench{os.getpid()}@localhost"  # two of the same name would not do
        self.app.Worker(pool="threads", concurrency=CONCURRENCY, hostname=name, quiet=True).start()


if __name__ == "__main__":
    main(OfCelery)

"""Huey beside pyadeq."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from huey import RedisExpireHuey, RedisHuey

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


class OfHuey(Peer):
    packages = ("huey", "redis", "hiredis")
    mode = "100 threads; popped, no acknowledgement: lost with its worker; results until read; max_connections=1000"
    # what is popped counts too early: 100 tasks at most, for there is no acknowledgement
    done = "return ARGV[1] - redis.call('LLEN', 'huey.redis.bench')"
    ways = ("threads",)
    kept = f"RedisExpireHuey: results for {KEEP_SECONDS} s"

    def __init__(self, url: str) -> None:
        # redis-py 8 has a pool of 100, all of which 100 threads hold: the scheduler would get none
        super().__init__(f"{url}?max_connections=1000")
        self.huey = (
            RedisExpireHuey("bench", url=self.url, expire_time=KEEP_SECONDS)
            if self.keep
            else RedisHuey("bench", url=self.url)
        )
        self.noop = self.huey.task(name="noop")(blocking_noop)
        self.report = self.huey.task(name="report")(blocking_report)

    async def enqueue(self, count: int) -> None:
        repeat_in_threads(count, self.put)

    def put(self) -> None:
        self.noop(PAYLOAD)

    async def send(self, sent: int, hold: int) -> None:
        self.report(sent, hold)

    async def work(self) -> None:
        self.huey.create_consumer(workers=CONCURRENCY, worker_type="thread").run()


if __name__ == "__main__":
    main(OfHuey)

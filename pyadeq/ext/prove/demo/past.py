"""The last six hours of the queues of the scene: real calls, by a clock that runs from then to now.

So charts and rates show what a queue looks like that has worked for some time.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi, sin
from time import time
from typing import Final, NamedTuple

from pyadeq import Adeq, Backoff, Failure, Task

MINUTES: Final = 360
RECENT: Final = 40
"""Minutes that are lived one by one. The ones before are lived five at a time, as charts draw them."""
WAVE: Final = 3600.0
"""Seconds from one time of much load to the next."""


class Past(NamedTuple):
    """What a queue did.

    worker, kind: of its tasks. rate: tasks in a minute, on average. until: minutes ago when the last one comes.
    fails: from how many minutes ago to how many minutes ago each third attempt fails.
    """

    worker: str
    kind: str
    rate: float
    until: int = 0
    fails: tuple[int, int] = (0, 0)


def live_through(adeq: Adeq, queues: Mapping[str, Past], marks: Mapping[int, str]) -> None:
    """Let queues that do not exist yet work for six hours. marks: texts by minutes ago."""
    end = int(time()) // 60 * 60 - 1
    now = (end - 60 * MINUTES) * 1000
    then = Adeq(adeq.client, prefix=adeq.prefix, source=adeq.source, clock=lambda: now)
    there = [(then.queue(name), past) for name, past in queues.items()]
    deployments = then.config("_marks")
    deployments.configure(clock="test")
    for queue, _ in there:
        queue.configure(clock="test", backoff=Backoff(base=60, cap=60, jitter=0), max_attempts=10)
    for ago in [*range(MINUTES - 5, RECENT, -5), *range(RECENT, -1, -1)]:
        now = (end - 60 * ago) * 1000
        if text := marks.get(ago):
            then.annotate(text, actor="ann")
        for at, (queue, past) in enumerate(there):
            if ago >= past.until:
                queue.enqueue_many([_task(past, ago, n) for n in range(_number(past, ago, at))])
            leases = queue.claim(past.worker, limit=1000)
            third = 3 if past.fails[0] > ago >= past.fails[1] else len(leases) + 1
            queue.ack_many([(one, None) for n, one in enumerate(leases, 1) if n % third])
            late = [Failure(one, "421 try again later", reason="smtp_timeout") for one in leases[third - 1 :: third]]
            queue.fail_many(late)
    for base in (deployments.base, *(queue.base for queue, _ in there)):
        # Its clock is chosen once. Nothing else knows this base yet, so that it can go on by the clock of the server.
        adeq.client.hset(f"{base}:config", "clock", "server")


def _number(past: Past, ago: int, at: int) -> int:
    """How many tasks come in this minute, or in these five: more and less in waves, which differ by queue."""
    wave = 1 + sin(60 * ago / WAVE * 2 * pi + at) / 2 + sin(ago * ago) / 6
    return round(past.rate * wave * (5 if ago > RECENT else 1))


def _task(past: Past, ago: int, number: int) -> Task:
    return Task(id=f"{past.kind}-{MINUTES - ago}-{number}", kind=past.kind, user=f"user-{number % 4}")
